"""Server-sent events: stored events, resumable, and the summary of each stream, once a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from calibrant.service.api.requests import Name, access_of, as_json, asked, service_of
from calibrant.service.listeners import Listener
from calibrant.service.problems import Problem, bad_value
from calibrant.service.service import Service, event_json
from calibrant.service.store.records import EventRow
from calibrant.service.stream import models
from calibrant.service.tokens import Access

router = APIRouter(prefix="/v1")

#: Seconds between two progress events, and between two keep-alive comments.
PROGRESS, KEEP_ALIVE = 1.0, 15.0
#: Seconds between two checks that the token still permits following.
LOOK = 0.5
#: Stored events that are read at once.
MANY = 500
#: The highest number that an event can have.
MOST = 2**63 - 1

After = Annotated[int | None, Query(ge=0, le=MOST, description="Events above this number.")]
Limit = Annotated[int, Query(ge=1, le=1000)]
Format = Annotated[str, Query(pattern="^(sse|json)$", description="sse, or json for one page.")]


@router.get("/events", response_model=models.Events)
async def get_events(
    request: Request,
    after: After = None,
    limit: Limit = 100,
    format: Format = "sse",  # noqa: A002 - the name in the address
) -> Response:
    """Events of all streams that the token may see."""
    return await followed(request, None, after, limit, format)


@router.get("/streams/{name}/events", response_model=models.Events)
async def get_stream_events(
    name: Name,
    request: Request,
    after: After = None,
    limit: Limit = 100,
    format: Format = "sse",  # noqa: A002 - the name in the address
) -> Response:
    """Events of one stream."""
    service_of(request).owner.stream(name)
    return await followed(request, name, after, limit, format)


async def followed(
    request: Request, name: str | None, after: int | None, limit: int, form: str
) -> Response:
    """Answer with a page of stored events, or follow them from a number on."""
    service, access = service_of(request), access_of(request)
    start = last_seen(request, after)
    await asked(service, lambda: None)  # the events of what was answered are stored
    if form == "json":
        rows = await asyncio.to_thread(service.store.events, start or 0, name, limit)
        shown = [
            event_json(row) | {"number": row.number} for row in rows if access.sees(row.stream)
        ]
        return as_json({"events": shown})
    listener = service.listeners.add()
    if listener is None:
        raise Problem(503, "too many clients are following the events")
    lines = lines_for(service, listener, access, name, start, request.state.is_admitted)
    return StreamingResponse(lines, media_type="text/event-stream")


def last_seen(request: Request, after: int | None) -> int | None:
    """Return the id of the last event that a client has received."""
    seen = request.headers.get("last-event-id")
    if not seen:
        return after
    if not seen.isascii() or not seen.isdecimal() or int(seen[:20]) > MOST:
        raise bad_value(f"got {seen[:40]!r}", "Last-Event-ID", "the id of an event, an integer")
    return int(seen)


async def lines_for(
    service: Service,
    listener: Listener,
    access: Access,
    name: str | None,
    after: int | None,
    is_admitted: Callable[[], bool],
) -> AsyncIterator[bytes]:
    """Yield the lines for one client, until it leaves, falls behind or is no longer authorized."""

    def concerns(stream: str) -> bool:
        return access.sees(stream) and name in (None, stream)

    try:
        yield b"retry: 2000\n: hello\n\n"
        last, quiet = 0, 0.0
        if after is not None:
            last = after
            while rows := await asyncio.to_thread(service.store.events, last, name, MANY):
                yield b"".join(as_event(row) for row in rows if concerns(row.stream))
                last = rows[-1].number
                if not is_admitted():
                    return
        while not listener.is_dropped and is_admitted():
            try:
                async with asyncio.timeout(LOOK):
                    await listener.wake.wait()
            except TimeoutError:
                quiet += LOOK
                if quiet >= KEEP_ALIVE:
                    quiet = 0.0
                    yield b": keep-alive\n\n"
                continue
            events, changed = listener.take()
            shown = [as_event(row) for row in events if row.number > last and concerns(row.stream)]
            progress = await summaries(service, [each for each in changed if concerns(each)])
            if shown or progress:
                yield b"".join(shown + progress)
            await asyncio.sleep(PROGRESS)
    finally:
        service.listeners.remove(listener)


async def summaries(service: Service, names: list[str]) -> list[bytes]:
    """Return the summaries of streams, one event each."""
    if not names:
        return []
    try:
        found = await asked(service, lambda: service.summaries(names))
    except Problem:  # the service is stopping
        return []
    return [f"event: progress\ndata: {json.dumps(each)}\n\n".encode() for each in found]


def as_event(row: EventRow) -> bytes:
    """Return a stored event as a server-sent event."""
    data = json.dumps(event_json(row))
    return f"id: {row.number}\nevent: {row.kind}\ndata: {data}\n\n".encode()
