"""What is wrong with a request, as RFC 9457 says it: problem+json, never a stack."""

from __future__ import annotations

from typing import Any

TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "The token does not allow this",
    404: "There is no such thing",
    405: "Not this way",
    408: "Too slow",
    409: "This conflicts with what is stored",
    413: "Too large",
    415: "Not this kind of content",
    421: "Not this host",
    422: "A value is not allowed",
    500: "The service failed",
    502: "The process that was asked did not answer properly",
    503: "Not now",
}


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that is refused; nothing of it was done.

    `field` names what was wrong, `allowed` says what is allowed, `row` counts from 0 in a list.
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
            "title": TITLES.get(self.status, "The request is refused"),
            "status": self.status,
            "detail": self.detail,
        }
        own = {"field": self.field, "allowed": self.allowed, "row": self.row}
        return document | {name: value for name, value in own.items() if value is not None}


def bad_value(
    detail: str, field: str, allowed: str, row: int | None = None, *, status: int = 422
) -> Problem:
    """Return the refusal of one value."""
    where = "" if row is None else f" in row {row}"
    return Problem(
        status,
        f"{field}{where}: {detail}; allowed is {allowed}",
        field=field,
        allowed=allowed,
        row=row,
    )
