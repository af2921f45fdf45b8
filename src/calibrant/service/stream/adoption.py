"""``calibrant serve --adopt``: create a stream from a saved state.

The state is stored permanently as the snapshot before the first row of the stream. The log
continues from there, so a replay, and ``--check``, start with it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from calibrant import Fleet, NumberRecalibrator, Recalibrator
from calibrant._bytes import unpack
from calibrant.fleet.file import MAGIC as FLEET
from calibrant.service.limits import NAME, NAME_IN_WORDS
from calibrant.service.problems import Problem
from calibrant.service.store.base import Store
from calibrant.service.store.records import StoreError
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.learners import ByKey, OfRows, OfScores
from calibrant.service.stream.snapshots import pieces
from calibrant.service.stream.stream import checksum_of
from calibrant.tables import InputError

#: The arguments of what learns that are settings of a stream.
OF_SCORES = ("kind", "seed", "silence", "after", "hold", "capacity")
OF_NUMBERS = ("seed", "hold", "capacity", "levels", "periods", "bounds")


def adopt(store: Store, name: str, path: Path, now: float, *, give_up: bool = False) -> str:
    """Create a stream from a saved state in a store that is not in use; return a message.

    Pending predictions cannot be adopted, since the store has no rows of them. `give_up` drops
    them.
    """
    if not re.fullmatch(NAME, name):
        raise ValueError(f"{name!r} is no name of a stream: {NAME_IN_WORDS}")
    engine = engine_of(path)
    learner = engine.learner.fleet if isinstance(engine.learner, ByKey) else (
        engine.learner.recalibrator)  # fmt: skip
    waited = learner.forget_ids()
    engine.book.expired = 0  # it counts those of the stream
    if waited and not give_up:
        raise ValueError(
            f"{path}: {waited:,} predictions are pending, which the stream cannot take over: "
            "their ids are not in its log. Report their outcomes first, or drop them with "
            "--drop-pending"
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
        f"stream {name!r} continues after {learner.rounds:,} predictions and {learner.learned:,} "
        f"outcomes{keys}; {waited:,} that waited were dropped"
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
        if unpack(blob).name == NumberRecalibrator.__name__:
            return engine_with_numbers(NumberRecalibrator.from_bytes(blob))
        return engine_with_recalibrator(Recalibrator.from_bytes(blob))
    except Problem as problem:
        raise InputError(f"does not make a stream: {problem.detail}", source=str(path)) from None
    except ValueError as error:
        raise InputError(str(error), source=str(path)) from None


def engine_with_fleet(fleet: Fleet) -> Engine:
    """Return the engine of a keyed stream."""
    if fleet.shards != 1:
        raise ValueError(f"the fleet has {fleet.shards} shards; a stream's has one")
    definition = definition_of(fleet, OF_SCORES, keyed=True, **watched_with(fleet))
    learner = ByKey(fleet, definition)
    if learner.watch is not None:
        learner.watch.begin()
    return checked(Engine(definition, learner))


def engine_with_recalibrator(recalibrator: Recalibrator) -> Engine:
    """Return the engine of a stream that is not keyed."""
    definition = definition_of(recalibrator, OF_SCORES, groups=recalibrator.max_groups)
    return with_groups(checked(Engine(definition, OfScores(recalibrator))), recalibrator)


def engine_with_numbers(recalibrator: NumberRecalibrator) -> Engine:
    """Return the engine of a stream of numbers."""
    definition = definition_of(
        recalibrator, OF_NUMBERS, kind="number", groups=recalibrator.max_groups
    )
    return with_groups(checked(Engine(definition, OfRows(recalibrator))), recalibrator)


def with_groups(engine: Engine, recalibrator: Recalibrator | NumberRecalibrator) -> Engine:
    """Return an engine that counts the groups that are there already."""
    for name in recalibrator.groups:
        if not isinstance(name, str):
            raise ValueError(f"its group {name!r} is not text; the groups of a stream are")
        engine.tallies.add_group(name)
    return engine


def definition_of(learner: Any, names: tuple[str, ...], **own: Any) -> Definition:
    """Return the settings of a stream in which this learns, with its arguments of these names."""
    settings = {name: learner._given[name] for name in names} | own
    return Definition.from_json({k: v for k, v in settings.items() if v is not None})


def watched_with(fleet: Fleet) -> dict[str, Any]:
    """Return the settings of a stream whose keys are watched as those of a fleet are."""
    if fleet.monitors is None:
        return {}
    (monitor,) = fleet.monitors.calibrated.of_shards().values()
    if monitor.alpha is not None:  # a stream has no end, and keeps to so many false alarms
        return {}
    return {"watch_keys": True, "every": monitor.every, "tolerance": monitor.tolerance}


def checked(engine: Engine) -> Engine:
    """Return an engine; refuse a learner whose deadlines are on another clock than a stream's."""
    if engine.book.is_timed not in (None, engine.definition.is_timed):
        raise ValueError(
            "its deadlines are numbers on a clock of its own; a stream counts predictions, or "
            'time with a unit such as "30d"'
        )
    return engine
