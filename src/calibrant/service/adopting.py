"""``calibrant serve --adopt``: a state of ``calibrant run --state`` becomes a stream.

The state is kept as the stream's snapshot before its first row, for good. The log goes on from
there, so a replay, and ``--check``, begin with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calibrant import Fleet, Recalibrator
from calibrant.fleet.file import MAGIC as FLEET
from calibrant.service.definition import Definition
from calibrant.service.engine import Engine
from calibrant.service.keeping import PIECE
from calibrant.service.learners import ByKey, OneForAll
from calibrant.service.limits import NAME
from calibrant.service.problems import Problem
from calibrant.service.store.interface import Store, StoreError
from calibrant.service.stream import checksum_of
from calibrant.tables import InputError


def adopt(store: Store, name: str, path: Path, now: float, *, give_up: bool = False) -> str:
    """Make a stream of a saved state in a store that no service uses; return what was done.

    What waits for outcomes cannot come along: the store has no row of it. `give_up` lets it go.
    """
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"{name!r} is no name of a stream: 1 to 100 letters, digits, dots, dashes or "
            "underscores, a letter or digit first"
        )
    engine = engine_of(path)
    learner = engine.learner.fleet if isinstance(engine.learner, ByKey) else (
        engine.learner.recalibrator)  # fmt: skip
    waited = learner.forget_ids()
    engine.book.expired = 0  # it counts those of the stream
    if waited and not give_up:
        raise ValueError(
            f"{path}: {waited:,} predictions wait for outcomes, which the stream could not take: "
            "their ids are not in its log. Bring the outcomes with calibrant run first, or let "
            "them go with --give-up-waiting"
        )
    blob = engine.to_bytes()
    made = {"predictions": learner.rounds, "outcomes": learner.learned, "given_up": waited}
    settings = json.dumps(engine.definition.as_json() | {"adopted": made}, sort_keys=True)
    store.open()
    try:
        if name in [each.name for each in store.streams()]:
            raise StoreError(f"{store} has a stream {name!r} already")
        store.add_stream(name, settings, now, [*pieces(blob)], checksum_of(blob))
    finally:
        store.close()
    keys = f", {len(learner):,} keys" if isinstance(learner, Fleet) else ""
    return (
        f"stream {name!r} goes on after {learner.rounds:,} predictions and {learner.learned:,} "
        f"outcomes{keys}; {waited:,} that waited are given up"
    )


def engine_of(path: Path) -> Engine:
    """Return the engine of a stream with a saved state, and with no row of its own."""
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=str(path)) from None
    try:
        if blob.startswith(FLEET):
            return engine_with_fleet(Fleet.from_bytes(blob))
        return engine_with_recalibrator(Recalibrator.from_bytes(blob))
    except Problem as problem:
        raise InputError(f"does not make a stream: {problem.detail}", source=str(path)) from None
    except ValueError as error:
        raise InputError(str(error), source=str(path)) from None


def engine_with_fleet(fleet: Fleet) -> Engine:
    """Return the engine of a keyed stream."""
    if fleet.shards != 1:
        raise ValueError(f"the fleet has {fleet.shards} shards; a stream's has one")
    engine = Engine(definition_of(fleet, keyed=True, **watched_with(fleet)))
    engine.learner = ByKey(fleet, engine.definition)
    check_clock(engine)
    if engine.learner.watch is not None:
        engine.learner.watch.begin()
    return engine


def engine_with_recalibrator(recalibrator: Recalibrator) -> Engine:
    """Return the engine of a stream that is not keyed."""
    engine = Engine(definition_of(recalibrator, groups=recalibrator.max_groups))
    engine.learner = OneForAll(recalibrator)
    check_clock(engine)
    for name in recalibrator.groups:
        if not isinstance(name, str):
            raise ValueError(f"its group {name!r} is no text; a stream's groups are")
        engine.tallies.know(name)
    return engine


def definition_of(learner: Recalibrator | Fleet, **own: Any) -> Definition:
    """Return the settings of a stream in which this learns."""
    names = ("kind", "seed", "silence", "after", "hold", "capacity")
    settings = {name: getattr(learner, name) for name in names} | own
    return Definition.from_json({k: v for k, v in settings.items() if v is not None})


def watched_with(fleet: Fleet) -> dict[str, Any]:
    """Return the settings of a stream whose keys are watched as those of a fleet are."""
    if fleet.monitors is None:
        return {}
    (monitor,) = fleet.monitors.calibrated.of_shards().values()
    if monitor.alpha is not None:  # a stream has no end, and keeps to so many false alarms
        return {}
    return {"watch_keys": True, "every": monitor.every, "tolerance": monitor.tolerance}


def check_clock(engine: Engine) -> None:
    """Refuse a state whose deadlines are on another clock than those of a stream."""
    if engine.book.is_timed not in (None, engine.definition.is_timed):
        raise ValueError(
            "its deadlines are numbers on a clock of its own; a stream counts predictions, or "
            'time with a unit such as "30d"'
        )


def pieces(blob: bytes) -> Iterator[bytes]:
    """Return a state as it is stored."""
    for start in range(0, len(blob), PIECE):
        yield blob[start : start + PIECE]
