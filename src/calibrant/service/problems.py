"""Errors of requests as problem details (RFC 9457): problem+json, never a stack trace."""

from __future__ import annotations

from typing import Any

#: The statuses that are answered, with their titles in RFC 9110.
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class Problem(Exception):  # noqa: N818 - the name in RFC 9457
    """A request that is rejected without any effect.

    `field` is the invalid field, `allowed` describes its allowed values, and `row` is the position
    in a list of rows, from 0.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        allowed: str | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.field, self.allowed, self.row = field, allowed, row

    def as_json(self) -> dict[str, Any]:
        """Return the problem's document."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES.get(self.status, "Bad Request"),
            "status": self.status,
            "detail": self.detail,
        }
        own = {"field": self.field, "allowed": self.allowed, "row": self.row}
        return document | {name: value for name, value in own.items() if value is not None}


def bad_value(
    detail: str, field: str, allowed: str, row: int | None = None, *, status: int = 422
) -> Problem:
    """Return the problem of one invalid value."""
    where = "" if row is None else f" in row {row}"
    return Problem(
        status,
        f"{field}{where}: {detail}; allowed: {allowed}",
        field=field,
        allowed=allowed,
        row=row,
    )
