"""The routes that read streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from calibrant.fleet.ranking import RANKINGS
from calibrant.service.api.requests import Id, Name, access_of, as_json, asked, service_of
from calibrant.service.limits import LONGEST_ID, MOST_KEYS
from calibrant.service.problems import Problem
from calibrant.service.stream import models, views
from calibrant.service.stream.stream import Stream

router = APIRouter(prefix="/v1/streams")

Named = Annotated[str | None, Query(min_length=1, max_length=LONGEST_ID)]
Limit = Annotated[int, Query(ge=0, le=10_000, description="How many, at most.")]
KeyLimit = Annotated[int, Query(ge=0, le=1000, description="How many, at most.")]


async def shown(
    request: Request, name: str, view: Callable[[Stream], Mapping[str, Any]]
) -> Response:
    """Answer with a view of a stream."""
    service = service_of(request)
    return as_json(await asked(service, lambda: view(service.owner.stream(name))))


@router.get("", response_model=models.Summaries)
async def get_streams(request: Request) -> Response:
    """All streams that the token may see, by name, each with its verdict."""
    service, access = service_of(request), access_of(request)
    found = await asked(service, service.summaries)
    return as_json({"streams": [each for each in found if access.sees(each["name"])]})


@router.get("/{name}", response_model=models.Detail)
async def get_stream(name: Name, request: Request) -> Response:
    """One stream, with its settings."""
    return await shown(request, name, views.detail)


@router.get("/{name}/predictions/{id:path}", response_model=models.StoredPrediction)
async def get_prediction(name: Name, request: Request, id: Id) -> Response:  # noqa: A002
    """One prediction as it is stored, with its outcome."""
    service = service_of(request)

    def found() -> Mapping[str, Any] | None:
        stream = service.owner.stream(name)
        return stream.stored(id, service.store.known(stream.number, [id]))

    row = await asked(service, found)
    if row is None:
        raise Problem(404, f"stream {name!r} has no prediction {id[:60]!r}", field="id")
    return as_json(row)


@router.get("/{name}/scorecard", response_model=models.ScorecardView | models.NumberMeasuresView)
async def get_scorecard(name: Name, request: Request) -> Response:
    """The measures of raw, calibrated and smooth probabilities; of numbers, of distributions."""
    return await shown(request, name, views.scorecard)


@router.get("/{name}/reliability", response_model=models.Reliability)
async def get_reliability(
    name: Name,
    request: Request,
    bins: Annotated[int, Query(ge=1, le=200)] = 10,
    level: Annotated[float, Query(ge=0.5, le=0.9999)] = 0.95,
) -> Response:
    """Observed frequencies by predicted probability, with intervals."""
    return await shown(request, name, lambda stream: views.reliability(stream, bins, level))


@router.get("/{name}/coverage", response_model=models.Coverage)
async def get_coverage(name: Name, request: Request) -> Response:
    """The coverage of each level and the PIT histogram, of a stream of numbers."""
    return await shown(request, name, views.coverage)


@router.get("/{name}/classes", response_model=models.Classes)
async def get_classes(name: Name, request: Request) -> Response:
    """Predictions and outcomes by class, of a stream of several classes."""
    return await shown(request, name, views.classes)


@router.get("/{name}/fan", response_model=models.Fan)
async def get_fan(
    name: Name, request: Request, points: Annotated[int, Query(ge=1, le=300)] = 300
) -> Response:
    """The last settled rounds with their intervals, of a stream of numbers."""
    return await shown(request, name, lambda stream: views.fan(stream, points))


@router.get("/{name}/map", response_model=models.ScoreMap)
async def get_map(
    name: Name,
    request: Request,
    points: Annotated[int, Query(ge=2, le=2001)] = 101,
    by: Named = None,
    key: Named = None,
) -> Response:
    """The current map from score to probability, of one group or key if given."""
    return await shown(request, name, lambda stream: views.score_map(stream, points, by, key))


@router.get("/{name}/episodes", response_model=models.Episodes)
async def get_episodes(name: Name, request: Request) -> Response:
    """Stretches of rounds in which the probabilities were miscalibrated."""
    return await shown(request, name, views.episodes)


@router.get("/{name}/pending", response_model=models.Pending)
async def get_pending(name: Name, request: Request, limit: Limit = 100) -> Response:
    """Pending predictions, the oldest first, and how long outcomes take."""
    return await shown(request, name, lambda stream: views.pending(stream, limit))


@router.get("/{name}/groups", response_model=models.Groups)
async def get_groups(name: Name, request: Request, limit: Limit = 100) -> Response:
    """The groups, those with the clearest bias first."""
    return await shown(request, name, lambda stream: views.groups(stream, limit))


@router.get("/{name}/keys", response_model=models.Keys)
async def get_keys(
    name: Name,
    request: Request,
    sort: Annotated[str, Query(pattern=f"^({'|'.join(RANKINGS)})$")] = "trouble",
    limit: KeyLimit = 100,
    start: Annotated[int, Query(ge=0, le=MOST_KEYS, description="How many to skip.")] = 0,
) -> Response:
    """Keys of a keyed stream: those that differ most clearly, or with the most outcomes, first."""
    return await shown(request, name, lambda stream: views.keys(stream, sort, limit, start))


@router.get("/{name}/keys/{key:path}", response_model=models.KeyView)
async def get_key(name: Name, request: Request, key: Id) -> Response:
    """A key: its outcomes, its offset and the standard error of the offset."""
    return await shown(request, name, lambda stream: views.one_key(stream, key))


@router.get("/{name}/miscalibrated_keys", response_model=models.MiscalibratedKeys)
async def get_miscalibrated_keys(name: Name, request: Request, limit: KeyLimit = 100) -> Response:
    """Keys that are miscalibrated now, if keys are monitored, and the guarantee of the list."""
    return await shown(request, name, lambda stream: views.miscalibrated_keys(stream, limit))


@router.get("/{name}/history", response_model=models.HistoryView | models.NumberHistoryView)
async def get_history(
    name: Name, request: Request, points: Annotated[int, Query(ge=1, le=512)] = 512
) -> Response:
    """Predictions and outcomes over time, with the evidence of the monitors."""
    return await shown(request, name, lambda stream: views.history(stream, points))


@router.get("/{name}/experts", response_model=models.Experts)
async def get_experts(name: Name, request: Request) -> Response:
    """What the probabilities are based on now, by weight."""
    return await shown(request, name, views.experts)
