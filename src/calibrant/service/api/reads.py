"""The routes that look at streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from calibrant.fleet.ranking import RANKINGS
from calibrant.service.api.common import Name, access_of, looked, service_of
from calibrant.service.api.writes import as_json
from calibrant.service.limits import LONGEST_ID, MOST_KEYS
from calibrant.service.stream import key_views, views
from calibrant.service.stream.stream import Stream

router = APIRouter(prefix="/v1/streams")

Named = Annotated[str | None, Query(min_length=1, max_length=LONGEST_ID)]
Limit = Annotated[int, Query(ge=0, le=10_000, description="How many, at the most.")]


async def seen(request: Request, name: str, view: Callable[[Stream], dict[str, Any]]) -> Response:
    """Answer with a view of a stream."""
    service = service_of(request)
    return as_json(await looked(service, lambda: view(service.owner.stream(name))))


@router.get("")
async def get_streams(request: Request) -> Response:
    """All streams that the token may see, by name, each with its verdict."""
    service, access = service_of(request), access_of(request)

    def ask() -> list[dict[str, Any]]:
        return [each for each in service.summaries() if access.sees(each["name"])]

    return as_json({"streams": await looked(service, ask)})


@router.get("/{name}")
async def get_stream(name: Name, request: Request) -> Response:
    """One stream, with its settings."""
    return await seen(request, name, views.detail)


@router.get("/{name}/scorecard")
async def get_scorecard(name: Name, request: Request) -> Response:
    """How good the raw, the calibrated and the smooth probabilities were."""
    return await seen(request, name, views.scorecard)


@router.get("/{name}/reliability")
async def get_reliability(
    name: Name,
    request: Request,
    bins: Annotated[int, Query(ge=1, le=200)] = 10,
    level: Annotated[float, Query(ge=0.5, le=0.9999)] = 0.95,
) -> Response:
    """What was said and what happened, by bin, with intervals."""
    return await seen(request, name, lambda stream: views.reliability(stream, bins, level))


@router.get("/{name}/map")
async def get_map(
    name: Name,
    request: Request,
    points: Annotated[int, Query(ge=2, le=2001)] = 101,
    by: Named = None,
    key: Named = None,
) -> Response:
    """The map from score to probability as it is now, of a group or of a key if it is named."""
    return await seen(request, name, lambda stream: views.score_map(stream, points, by, key))


@router.get("/{name}/episodes")
async def get_episodes(name: Name, request: Request) -> Response:
    """Stretches in which the probabilities were not calibrated."""
    return await seen(request, name, views.episodes)


@router.get("/{name}/pending")
async def get_pending(name: Name, request: Request, limit: Limit = 100) -> Response:
    """Predictions that wait, the oldest first, and how long outcomes take."""
    return await seen(request, name, lambda stream: views.pending(stream, limit))


@router.get("/{name}/groups")
async def get_groups(name: Name, request: Request, limit: Limit = 100) -> Response:
    """The groups, the most troubled first."""
    return await seen(request, name, lambda stream: views.groups(stream, limit))


@router.get("/{name}/keys")
async def get_keys(
    name: Name,
    request: Request,
    sort: Annotated[str, Query(pattern=f"^({'|'.join(RANKINGS)})$")] = "trouble",
    limit: Annotated[int, Query(ge=0, le=1000, description="How many, at the most.")] = 100,
    start: Annotated[int, Query(ge=0, le=MOST_KEYS, description="After so many.")] = 0,
) -> Response:
    """Keys of a keyed stream: those clearly off first, or those with the most outcomes."""
    return await seen(request, name, lambda stream: key_views.keys(stream, sort, limit, start))


@router.get("/{name}/keys/{key:path}")
async def get_key(
    name: Name, request: Request, key: Annotated[str, Path(min_length=1, max_length=LONGEST_ID)]
) -> Response:
    """What is known of a key: its outcomes, its offset and how uncertain that is."""
    return await seen(request, name, lambda stream: key_views.one_key(stream, key))


@router.get("/{name}/keys_off")
async def get_keys_off(
    name: Name, request: Request, limit: Annotated[int, Query(ge=0, le=1000)] = 100
) -> Response:
    """Keys that are off now, where they are watched, ranked, and what is guaranteed of that."""
    return await seen(request, name, lambda stream: key_views.keys_off(stream, limit))


@router.get("/{name}/history")
async def get_history(
    name: Name, request: Request, points: Annotated[int, Query(ge=1, le=512)] = 512
) -> Response:
    """What was said and what happened through time, with the monitors' evidence."""
    return await seen(request, name, lambda stream: views.history(stream, points))


@router.get("/{name}/experts")
async def get_experts(name: Name, request: Request) -> Response:
    """What the probabilities rest on now, in words, the heaviest first."""
    return await seen(request, name, views.experts)
