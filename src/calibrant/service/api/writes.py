"""The routes that write: streams, predictions, outcomes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json

from calibrant.service.api import schemas
from calibrant.service.api.gate import App, Receive, Scope, Send, refuse
from calibrant.service.api.requests import (
    NDJSON,
    Name,
    Text,
    access_of,
    answered,
    as_json,
    asked,
    batches_of_lines,
    check_name,
    content_type,
    service_of,
    whole,
)
from calibrant.service.api.rows import as_rows, outcomes_of, parse, predictions_of
from calibrant.service.limits import MOST_ERASED, NAME, NAME_IN_WORDS
from calibrant.service.problems import Problem, bad_value
from calibrant.service.service import Service
from calibrant.service.stream import models
from calibrant.service.stream.definition import CHANGEABLE, Definition
from calibrant.service.stream.plain import shown
from calibrant.service.stream.stream import Stream

router = APIRouter(prefix="/v1/streams")

Predicted = models.PredictionAnswer | models.NumberAnswer | models.ClassAnswer
ROWS = re.compile(rf"/v1/streams/({NAME})/(predictions|outcomes)")


@router.put(
    "/{name}",
    openapi_extra=schemas.PUT_STREAM,
    status_code=201,
    response_model=models.Created,
    responses={200: {"description": "It exists, with these settings", "model": models.Created}},
)
async def put_stream(name: Name, request: Request) -> Response:
    """Create a stream. Repeating it changes nothing; with other settings, it is a 409."""
    service = service_of(request)
    body = await whole(request)
    if body:
        content_type(request)
    definition = Definition.from_json(parse(body) if body else {})
    stream, is_new = await asked(service, lambda: service.owner.create(name, definition))
    return as_json(made(stream), 201 if is_new else 200)


@router.patch("/{name}", openapi_extra=schemas.PATCH_STREAM, response_model=models.Created)
async def patch_stream(name: Name, request: Request) -> Response:
    """Change the name, capacity or retention of a stream; other settings are kept."""
    service = service_of(request)
    content_type(request)
    changed = parse(await whole(request))
    if not isinstance(changed, dict):
        raise Problem(422, "the changes of a stream must be a JSON object")
    for field in changed:
        if field not in ("name", *CHANGEABLE):
            allowed = ", ".join(("name", *CHANGEABLE))
            raise bad_value("it cannot be changed", str(field)[:100], allowed)
    called = changed.pop("name", name)
    if called != name:
        if not isinstance(called, str):
            raise bad_value("got " + shown(called), "name", NAME_IN_WORDS)
        check_name(called)
        if not access_of(request).sees(called):
            raise Problem(403, f"this needs the scope admin on stream {called!r}", field="name")
    stream = await asked(service, lambda: service.owner.change(name, called, changed))
    service.courier.adopt(stream.name)
    return as_json(made(stream))


@router.delete("/{name}", response_model=models.Deleted)
async def delete_stream(name: Name, request: Request) -> Response:
    """Delete a stream with everything stored of it, and revoke its tokens."""
    service = service_of(request)
    stream = await asked(service, lambda: service.owner.drop(name))
    service.courier.adopt(name)  # of which nothing is left
    found: models.Deleted = {"name": name, "predictions": stream.engine.tallies.predictions}
    return as_json(found)


@router.delete("/{name}/predictions", response_model=models.Erased)
async def delete_predictions(
    name: Name,
    request: Request,
    id: Annotated[list[Text], Query(min_length=1, max_length=MOST_ERASED)],  # noqa: A002
) -> Response:
    """Erase predictions and their outcomes, by id. What was learned from them remains."""
    service = service_of(request)
    asked_for = [*dict.fromkeys(id)]
    gone = set(await asked(service, lambda: service.owner.erase(name, asked_for)))
    found: models.Erased = {
        "erased": len(gone), "unknown": [each for each in asked_for if each not in gone]
    }  # fmt: skip
    return as_json(found)


@router.post(
    "/{name}/predictions",
    openapi_extra=schemas.POST_PREDICTIONS,
    response_model=Predicted | list[Predicted],
)
async def post_predictions(name: Name, request: Request) -> Response:
    """Predict one row, a list of rows, or lines of them; each is stored before it is answered."""
    return await post_rows(service_of(request), name, "predictions", request)


@router.post(
    "/{name}/outcomes",
    openapi_extra=schemas.POST_OUTCOMES,
    response_model=models.OutcomeAnswer | list[models.OutcomeAnswer],
)
async def post_outcomes(name: Name, request: Request) -> Response:
    """Report the outcomes of predictions, by id; each is stored before it is answered."""
    return await post_rows(service_of(request), name, "outcomes", request)


def made(stream: Stream) -> models.Created:
    """Return a stream as it is now."""
    settings = stream.definition.as_json()
    return {"name": stream.name, "settings": settings, "created": stream.created}


class RowRoutes:
    """The two routes that carry all rows, without FastAPI in between.

    The same functions are among its routes, for the OpenAPI document; through it, a single row
    would cost twice as much.
    """

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer predictions and outcomes; hand on everything else."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = ROWS.fullmatch(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
            return
        try:
            name, kind = found.groups()
            response = await post_rows(self.service, name, kind, Request(scope, receive))
        except Problem as problem:
            await refuse(problem, send)
        else:
            await response(scope, receive, send)


async def post_rows(service: Service, name: str, kind: str, request: Request) -> Response:
    """Answer predictions or outcomes: one row, a list of them, or lines."""
    definition = service.owner.stream(name).definition
    if content_type(request) == NDJSON:
        lines = lines_of(service, name, kind, request, definition)
        return AnsweredLines(await begun(lines), media_type=NDJSON)
    rows, is_list = as_rows(parse(await whole(request)))
    found = await answers_to(service, name, kind, rows, definition)
    return as_json(found if is_list else found[0])


async def answers_to(
    service: Service, name: str, kind: str, rows: list[Any], definition: Definition
) -> Sequence[Mapping[str, Any]]:
    """Read rows, process them in the owner's thread, and return the results."""
    if kind == "predictions":
        columns = predictions_of(rows, definition, service.clock.now())
        return definition.of_kind.shown(await answered(service, name, columns), definition)
    outcomes = outcomes_of(rows, definition, service.clock.now())
    answers: list[str] = await answered(service, name, outcomes)
    return [
        {"id": id_, "answer": answer} for id_, answer in zip(outcomes.ids, answers, strict=True)
    ]


# -- lines ----------------------------------------------------------------------------------------


class AnsweredLines(StreamingResponse):
    """A response that is sent while the body of the request arrives.

    A StreamingResponse would consume messages from the client, to detect a disconnect. Here these
    messages are the body.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the lines."""
        await self.stream_response(send)


async def lines_of(
    service: Service, name: str, kind: str, request: Request, definition: Definition
) -> AsyncIterator[bytes]:
    """Answer lines as they arrive; a rejected batch ends the response with its problem."""
    done = 0
    try:
        async for lines in batches_of_lines(request):
            rows, _ = as_rows(parse(b"[" + b",".join(lines) + b"]"))
            found = await answers_to(service, name, kind, rows, definition)
            yield b"".join(to_json(row) + b"\n" for row in found)
            done += len(lines)
    except Problem as problem:
        if done == 0:
            raise
        yield to_json(problem.as_json() | {"rows_done": done}) + b"\n"


async def begun(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Wait for the first line, so that an invalid first batch still determines the status."""
    first = await anext(lines, b"")

    async def rest() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return rest()
