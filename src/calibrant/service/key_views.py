"""What there is to see of a stream's keys, as JSON. Asked in the owner's thread, as `views` is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from calibrant.fleet import FleetMonitor, KnownKey
from calibrant.service.keys import Key
from calibrant.service.learners import ByKey
from calibrant.service.problems import Problem
from calibrant.service.stream import Stream
from calibrant.service.telling import key_off_json


def keys(stream: Stream, by: str, limit: int, start: int) -> dict[str, Any]:
    """Return keys, those with the most of something first."""
    learner = by_key(stream)
    found = learner.rankings.ranked(by, limit, start)
    return {
        "count": len(learner.fleet),
        "sort": by,
        "start": start,
        "keys": [key_json(*each) for each in found],
    }


def one_key(stream: Stream, name: str) -> dict[str, Any]:
    """Return what is known of a key."""
    learner = by_key(stream)
    key = learner.key_of(name)
    return key_json(key, learner.fleet[key])


def keys_off(stream: Stream, limit: int) -> dict[str, Any]:
    """Return the keys that are off, those with the most evidence first, and what is guaranteed."""
    learner = by_key(stream)
    watch = learner.watch
    if watch is None:
        raise Problem(404, f"the keys of stream {stream.name!r} are not watched (watch_keys)")

    def of(side: str) -> dict[str, Any] | None:
        if side not in watch.monitors:
            return None
        since = watch.since[side]
        found = learner.rankings.off(side, limit)
        # A ranking that was kept may have keys that are off no more.
        keys = [key_off_json(each, since[each.key]) for each in found if each.key in since]
        return {"count": len(since), "keys": keys}

    monitor = watch.monitors["calibrated"]
    return {
        "outcomes": monitor.outcomes,
        "chance_of_a_false_name": monitor.chance_of_a_false_name,
        "guarantee": guarantee(monitor),
        "calibrated": of("calibrated"),
        "raw": of("raw"),
    }


def guarantee(monitor: FleetMonitor) -> str:
    """Say in a sentence what the list of keys that are off promises."""
    chance, rounds = monitor.chance_of_a_false_name, f"{monitor.outcomes:,} outcomes"
    if chance >= 1.0:
        return (
            f"After {rounds} nothing is promised any more of keys that are calibrated: "
            "the setting every is too small for so many."
        )
    return (
        f"The chance that a key which was always calibrated, to within {monitor.tolerance:g}, was "
        f"ever named in these {rounds} is at most {100.0 * chance:.2g} %, however many keys there "
        "are."
    )


def by_key(stream: Stream) -> ByKey:
    """Return what learns in a keyed stream."""
    learner = stream.engine.learner
    if not isinstance(learner, ByKey):
        raise Problem(404, f"stream {stream.name!r} is not keyed")
    return learner


def key_json(key: Key, known: KnownKey) -> dict[str, Any]:
    """Return what is known of a key as JSON has it."""
    return {"key": key, **asdict(known), "trouble": known.trouble}
