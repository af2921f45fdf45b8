"""The events of a stream as they are stored: what began or ended."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, cast

from calibrant.fleet import KeyMiscalibration
from calibrant.monitor import Episode
from calibrant.monitor.numbers import NumberEpisode
from calibrant.service.store.records import EventRow
from calibrant.service.stream import models
from calibrant.service.stream.key_watch import KeyChange
from calibrant.service.stream.measures import EpisodeChange


def event_of(stream: str, now: float, change: EpisodeChange | KeyChange) -> EventRow:
    """Return the event of an episode, or of a miscalibrated key, that began or ended."""
    body: dict[str, Any]
    if isinstance(change, EpisodeChange):
        kind = "episode.closed" if change.is_over else "episode.opened"
        body = {"of": change.of, "episode": episode_json(change.episode, change.question)}
    else:
        kind = "key.calibrated" if change.found is None else "key.miscalibrated"
        key: Any = {"key": change.key, "since": finite(change.since)}
        if change.found is not None:
            key = key_json(change.found, change.since)
        body = {"of": change.of, "key": key, "count": change.many}
    return EventRow(0, stream, now, kind, json.dumps(body))


def identity_of(event: EventRow) -> tuple[Any, ...]:
    """Return the identity of an event among the events of a stream."""
    body = json.loads(event.body)
    about = body.get("episode", body.get("key", {}))
    named = (about.get(name) for name in ("alarm", "group", "question", "key", "since"))
    return event.kind, body.get("of"), *named


def key_json(found: KeyMiscalibration, since: float) -> models.MiscalibratedKey:
    """Return a miscalibrated key for JSON."""
    own = {"direction": found.direction, "since": finite(since), "text": str(found)}
    return cast(models.MiscalibratedKey, asdict(found) | own)


def finite(since: float) -> float | None:
    """Return since when a key is miscalibrated; None if since before its stream began."""
    return since if math.isfinite(since) else None


def episode_json(episode: Episode, question: str | None = None) -> models.EpisodeView:
    """Return an episode for JSON; of numbers, with the question that it is about."""
    own: dict[str, Any] = {"direction": episode.direction, "text": in_words(episode, question)}
    if question is not None:
        own["question"] = question
    return cast(models.EpisodeView, asdict(episode) | own)


def in_words(episode: Episode, question: str | None = None) -> str:
    """Return the sentence of an episode, with dates."""
    dated = replace(
        episode,
        onset_at=as_date(episode.onset_at),
        alarm_at=as_date(episode.alarm_at),
        end_at=as_date(episode.end_at),
    )
    return str(dated if question is None else NumberEpisode(question, dated))


def as_date(seconds: str | float | None) -> str | None:
    """Return seconds since 1970 as a date with its time, UTC."""
    if seconds is None or isinstance(seconds, str):
        return seconds
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
