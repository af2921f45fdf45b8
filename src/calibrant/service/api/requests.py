"""What all routes do with a request: authorization, a bounded body, and the response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Path, Request
from fastapi.responses import Response
from pydantic import StringConstraints
from pydantic_core import to_json

from calibrant.service.limits import (
    LONGEST_ID,
    LONGEST_LINE,
    MOST_BYTES,
    MOST_ROWS,
    NAME,
    NAME_IN_WORDS,
)
from calibrant.service.problems import Problem, bad_value
from calibrant.service.service import Service
from calibrant.service.store.records import StoreError
from calibrant.service.stream.owner import Job, Question
from calibrant.service.stream.stream import Outcomes, Predictions
from calibrant.service.tokens import Access

T = TypeVar("T")
#: A stream's name in an address.
Name = Annotated[str, Path(pattern=f"^{NAME}$")]
#: An id or a key in an address.
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=r"^[^\u0000]+$")
]
Id = Annotated[Text, Path()]
JSON, NDJSON = "application/json", "application/x-ndjson"
TOO_LARGE = f"a body has at most {MOST_BYTES:,} bytes; send more as {NDJSON}"
#: Seconds for a whole body, and for the next piece of one that is streamed.
PATIENCE = 20.0


def service_of(request: Request) -> Service:
    """Return the service behind the app."""
    service: Service = request.app.state.service
    return service


def access_of(request: Request) -> Access:
    """Return the permissions that the gate found."""
    access: Access = request.state.access
    return access


def check_name(name: str) -> None:
    """Reject an invalid stream name."""
    if not re.fullmatch(NAME, name):
        raise bad_value(f"got {name[:60]!r}", "name", NAME_IN_WORDS)


async def asked(service: Service, question: Callable[[], T]) -> T:
    """Run a function in the owner's thread, and return its result."""
    awaited: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    service.owner.submit(Question(question, awaited))
    try:
        return await awaited
    except StoreError as error:
        raise Problem(503, str(error)) from None


async def answered(service: Service, name: str, rows: Predictions | Outcomes) -> Any:
    """Return the results of rows once they are committed."""
    awaited: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    service.owner.submit(Job(name, rows, awaited))
    return await awaited


def as_json(value: Any, status: int = 200) -> Response:
    """Return a response, which needs no validation."""
    return Response(to_json(value), status, media_type=JSON)


# -- bodies ---------------------------------------------------------------------------------------


def content_type(request: Request) -> str:
    """Return the type of a body; anything but JSON and NDJSON is rejected.

    A form on a page of another site cannot send these types.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, NDJSON):
        raise Problem(
            415, f"content type {kind[:60]!r} is not supported", field="content-type",
            allowed=f"{JSON}, {NDJSON}",
        )  # fmt: skip
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise Problem(
            415, f"content encoding {coding[:60]!r} is not supported", field="content-encoding",
            allowed="identity",
        )  # fmt: skip
    return kind


async def whole(request: Request) -> bytes:
    """Return a body of bounded size."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
        raise Problem(413, TOO_LARGE)
    pieces, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                pieces.append(piece)
                size += len(piece)
                if size > MOST_BYTES:
                    raise Problem(413, TOO_LARGE)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {PATIENCE:g} seconds") from None
    return b"".join(pieces)


async def batches_of_lines(request: Request) -> AsyncIterator[list[bytes]]:
    """Return the lines of a body that is streamed, some thousands at a time."""
    lines: list[bytes] = []
    rest = b""
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(PATIENCE):
                piece = await anext(stream, None)
        except TimeoutError:
            raise Problem(408, f"nothing arrived for {PATIENCE:g} seconds") from None
        if piece is None:
            break
        *whole_lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST_LINE or any(len(line) > LONGEST_LINE for line in whole_lines):
            raise Problem(413, f"a line has at most {LONGEST_LINE:,} bytes")
        lines += [line for line in whole_lines if line.strip()]
        while len(lines) >= MOST_ROWS:
            yield lines[:MOST_ROWS]
            lines = lines[MOST_ROWS:]
    if rest.strip():
        lines.append(rest)
    for start in range(0, len(lines), MOST_ROWS):
        yield lines[start : start + MOST_ROWS]
