"""The routes that write: streams, predictions, outcomes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from calibrant.service.api import schemas
from calibrant.service.api.body import NDJSON, batches_of_lines, content_type, whole
from calibrant.service.api.common import Name, checked_name, looked, service_of
from calibrant.service.api.mailbox import promised
from calibrant.service.api.rows import (
    Outcomes,
    Predictions,
    as_rows,
    outcomes_of,
    parse,
    predictions_of,
)
from calibrant.service.problems import Problem
from calibrant.service.service import Service
from calibrant.service.stream import views
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import as_probabilities
from calibrant.service.stream.stream import Answer

router = APIRouter(prefix="/v1/streams")

Shower = Callable[[Any, Any, Definition], list[dict[str, Any]]]
Reader = Callable[[list[dict[str, Any]], Definition, float], Predictions | Outcomes]


@router.put(
    "/{name}",
    openapi_extra=schemas.PUT_STREAM,
    status_code=201,
    responses={200: {"description": "It was there already, with these settings"}},
)
async def put_stream(name: Name, request: Request) -> Response:
    """Make a stream; with the same settings again nothing happens, with others it is a 409."""
    service = service_of(request)
    body = await whole(request)
    if body:
        content_type(request)
    definition = Definition.from_json(parse(body) if body else {})

    def create() -> tuple[dict[str, Any], bool]:
        stream, is_new = service.owner.create(name, definition)
        return views.detail(stream), is_new

    found, is_new = await looked(service, create)
    shown = {key: found[key] for key in ("name", "settings", "created")}
    return as_json(shown, 201 if is_new else 200)


@router.post("/{name}/predictions", openapi_extra=schemas.POST_PREDICTIONS)
async def post_predictions(name: Name, request: Request) -> Response:
    """Predict one row, a list of rows, or lines of them; each is stored before it is answered."""
    return await predicted(service_of(request), name, request)


@router.post("/{name}/outcomes", openapi_extra=schemas.POST_OUTCOMES)
async def post_outcomes(name: Name, request: Request) -> Response:
    """Bring the outcomes of predictions, by id; each is stored before it is answered."""
    return await learned(service_of(request), name, request)


async def predicted(service: Service, name: str, request: Request) -> Response:
    """Answer rows to predict."""
    return await answer(service, name, request, predictions_of, shown_predictions)


async def learned(service: Service, name: str, request: Request) -> Response:
    """Answer outcomes."""
    return await answer(service, name, request, outcomes_of, shown_outcomes)


async def answer(
    service: Service,
    name: str,
    request: Request,
    read: Reader,
    show: Shower,
) -> Response:
    """Read rows, let the owner work on them, and show what became of them."""
    definition = service.owner.stream(checked_name(name)).definition
    if content_type(request) == NDJSON:
        lines = answered_lines(service, name, request, definition, read, show)
        return AnsweredLines(await begun(lines), media_type=NDJSON)
    rows, is_list = as_rows(parse(await whole(request)))
    columns = read(rows, definition, service.clock.now())
    shown = show(columns, await worked_on(service, name, columns), definition)
    return as_json(shown if is_list else shown[0])


async def worked_on(service: Service, name: str, columns: Predictions | Outcomes) -> Any:
    """Return the answers once the rows are committed."""
    return await promised(partial(service.owner.submit, name, columns))


class AnsweredLines(StreamingResponse):
    """Answers that go out while the body comes in.

    A StreamingResponse takes messages from the client, to see whether it is still there. Here they
    are the body.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the lines."""
        await self.stream_response(send)


async def answered_lines(
    service: Service,
    name: str,
    request: Request,
    definition: Definition,
    read: Reader,
    show: Shower,
) -> AsyncIterator[bytes]:
    """Answer lines as they come. A batch that is refused ends it: the last line is the problem."""
    first = 0
    try:
        async for lines in batches_of_lines(request):
            rows, _ = as_rows(parse(b"[" + b",".join(lines) + b"]"))
            columns = read(rows, definition, service.clock.now())
            shown = show(columns, await worked_on(service, name, columns), definition)
            yield b"".join(to_json(row) + b"\n" for row in shown)
            first += len(lines)
    except Problem as problem:
        if first == 0:
            raise
        yield to_json(problem.as_json() | {"rows_done": first}) + b"\n"


async def begun(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the lines with the first at hand, so that a bad first batch still has a status."""
    first = await anext(lines, b"")

    async def rest() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return rest()


def shown_predictions(
    _: Predictions, answers: list[Answer], definition: Definition
) -> list[dict[str, Any]]:
    """Return what is answered to predictions."""
    raw: list[Any] = [None] * len(answers)
    if definition.kind != "margin":
        raw = as_probabilities([row.score for row, _ in answers], definition.kind)
    return [
        {
            "id": row.id,
            "probability": row.probability,
            "smooth": row.smooth,
            "raw": own,
            "sequence": row.sequence,
            "answer": word,
        }
        for (row, word), own in zip(answers, raw, strict=True)
    ]


def shown_outcomes(rows: Outcomes, words: list[str], _: Definition) -> list[dict[str, Any]]:
    """Return what is answered to outcomes."""
    return [{"id": id_, "answer": word} for id_, word in zip(rows.ids, words, strict=True)]


def as_json(value: Any, status: int = 200) -> Response:
    """Return an answer; nothing of it needs to be looked through once more."""
    return Response(to_json(value), status, media_type="application/json")
