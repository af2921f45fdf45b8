"""``calibrant serve --adopt``: a state of ``calibrant run --state`` becomes a stream.

The state is kept as the stream's snapshot before its first row, for good. The log goes on from
there, so a replay, and ``--check``, begin with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant import Fleet, Recalibrator
from calibrant.fleet.file import MAGIC as FLEET
from calibrant.saving import unpack
from calibrant.service.definition import Definition
from calibrant.service.engine import Engine
from calibrant.service.keeping import PIECE
from calibrant.service.learners import ByKey, OneForAll
from calibrant.service.limits import MOST_ROWS, NAME
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
        return engine_with_recalibrator(Recalibrator.from_bytes(blob), unpack(blob).state)
    except Problem as problem:
        raise InputError(f"does not make a stream: {problem.detail}", source=str(path)) from None
    except ValueError as error:
        raise InputError(str(error), source=str(path)) from None


def engine_with_fleet(fleet: Fleet) -> Engine:
    """Return the engine of a keyed stream."""
    if fleet.parts != 1:
        raise ValueError(f"the fleet has {fleet.parts} parts; a stream's has one")
    engine = Engine(definition_of(fleet, keyed=True, **watched_with(fleet)))
    if engine.ledger.has_deadlines:
        go_on_from(engine, *fleet.part_arrays(0)["deadline_clock"].tolist())
    engine.learner = ByKey(fleet, engine.definition)
    if engine.learner.watch is not None:
        engine.learner.watch.begin()
    return engine


def engine_with_recalibrator(recalibrator: Recalibrator, state: Mapping[str, Any]) -> Engine:
    """Return the engine of a stream that is not keyed."""
    engine = Engine(definition_of(recalibrator, groups=recalibrator.max_groups))
    if engine.ledger.has_deadlines:
        go_on_from(engine, state["deadline_now"], state["deadline_timed"])
    for name in recalibrator.groups:
        if not isinstance(name, str):
            raise ValueError(f"its group {name!r} is no text; a stream's groups are")
        engine.tallies.know(name)
    engine.learner = OneForAll(recalibrator, engine.definition)
    return engine


def definition_of(learner: Recalibrator | Fleet, **own: Any) -> Definition:
    """Return the settings of a stream in which this learns."""
    settings = {
        name: getattr(learner, name) for name in ("kind", "seed", "silence", "after", "hold")
    }
    settings |= {"capacity": room(learner)} | own
    return Definition.from_json({k: v for k, v in settings.items() if v is not None})


def watched_with(fleet: Fleet) -> dict[str, Any]:
    """Return the settings of a stream whose keys are watched as those of a fleet are."""
    if fleet.monitors is None:
        return {}
    (monitor,) = fleet.monitors.calibrated.of_parts().values()
    if monitor.alpha is not None:  # a stream has no end, and keeps to so many false alarms
        return {}
    return {"watch_keys": True, "every": monitor.every, "tolerance": monitor.tolerance}


def go_on_from(engine: Engine, now: float, timed: float) -> None:
    """Let the time of a stream go on from that of its state; `timed` is -1 if there is none yet."""
    if timed not in (-1, int(engine.definition.is_timed)):
        raise ValueError(
            "its deadlines are numbers on a clock of its own; a stream counts predictions, or "
            'time with a unit such as "30d"'
        )
    if engine.definition.is_timed:
        engine.ledger.now = float(now)


def room(learner: Recalibrator | Fleet) -> int:
    """Return how many predictions may wait in a stream: its last request comes on top."""
    if learner.capacity < 2 * MOST_ROWS:
        raise ValueError(f"its capacity is {learner.capacity:,}; a stream needs {2 * MOST_ROWS:,}")
    return learner.capacity - MOST_ROWS


def pieces(blob: bytes) -> Iterator[bytes]:
    """Return a state as it is stored."""
    for start in range(0, len(blob), PIECE):
        yield blob[start : start + PIECE]
