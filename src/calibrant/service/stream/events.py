"""What is told of a stream: what began or ended in it, as events that are stored."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from calibrant.fleet import KeyOff
from calibrant.monitor import Episode
from calibrant.service.store.interface import EventRow
from calibrant.service.stream.engine import Happening
from calibrant.service.stream.key_watch import KeyChange


def event_of(stream: str, now: float, happening: Happening | KeyChange) -> EventRow:
    """Return what is told of an episode, or of a key that is off."""
    body: dict[str, Any]
    if isinstance(happening, Happening):
        kind = "episode.closed" if happening.is_over else "episode.opened"
        body = {"of": happening.of, "episode": episode_json(happening.episode)}
    else:
        kind = "key.back" if happening.off is None else "key.off"
        key = {"key": happening.key, "since": moment(happening.since)}
        if happening.off is not None:
            key = key_off_json(happening.off, happening.since)
        body = {"of": happening.of, "key": key, "count": happening.many}
    return EventRow(0, stream, now, kind, json.dumps(body))


def key_off_json(off: KeyOff, since: float) -> dict[str, Any]:
    """Return a key that is off as JSON has it."""
    return {
        **asdict(off), "direction": off.direction, "since": moment(since), "text": str(off),
    }  # fmt: skip


def moment(since: float) -> float | None:
    """Return since when a key has been off; None if that was before its stream began."""
    return since if math.isfinite(since) else None


def episode_json(episode: Episode) -> dict[str, Any]:
    """Return an episode as JSON has it."""
    return {**asdict(episode), "direction": episode.direction, "text": in_words(episode)}


def in_words(episode: Episode) -> str:
    """Return the sentence of an episode, with dates."""
    dated = replace(
        episode,
        onset_at=as_date(episode.onset_at),
        alarm_at=as_date(episode.alarm_at),
        end_at=as_date(episode.end_at),
    )
    return str(dated)


def as_date(seconds: str | float | None) -> str | None:
    """Return seconds since 1970 as a date with its time, UTC."""
    if seconds is None or isinstance(seconds, str):
        return seconds
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
