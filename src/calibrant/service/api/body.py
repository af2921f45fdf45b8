"""Bodies: bounded in size and in time, as a whole or line by line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import Request

from calibrant.service.limits import LONGEST_LINE, MOST_BYTES, MOST_ROWS
from calibrant.service.problems import Problem

JSON, NDJSON = "application/json", "application/x-ndjson"
#: Seconds for a whole body, and for the next piece of one that is streamed.
PATIENCE = 20.0


def content_type(request: Request) -> str:
    """Return the kind of a body; anything but JSON and NDJSON is refused.

    A form of another site's page cannot send these.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, NDJSON):
        raise Problem(
            415, f"content type {kind[:60]!r} is not understood", field="content-type",
            allowed=f"{JSON}, {NDJSON}",
        )  # fmt: skip
    return kind


async def whole(request: Request) -> bytes:
    """Return a body of bounded size."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
        raise Problem(413, f"a body has at most {MOST_BYTES:,} bytes; send more as {NDJSON}")
    pieces, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                pieces.append(piece)
                size += len(piece)
                if size > MOST_BYTES:
                    raise Problem(
                        413, f"a body has at most {MOST_BYTES:,} bytes; send more as {NDJSON}"
                    )
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
            raise Problem(408, f"nothing came for {PATIENCE:g} seconds") from None
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
