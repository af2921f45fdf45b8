"""Which keys of a stream are miscalibrated, and since when.

The fleet's monitors hold the evidence of each key. This module records when a key becomes
miscalibrated and when that ends, in the order of the log, so a replay records the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from calibrant import Fleet
from calibrant._bytes import Saved, pack, unpack
from calibrant.fleet import KeyMiscalibration
from calibrant.fleet.monitors import FleetMonitor
from calibrant.service.stream.keys import Key, same_kind


class KeyChange(NamedTuple):
    """A key that became miscalibrated at a time, or calibrated again.

    `found` is what was known of it when that began; None at the end. `many` is how many keys are
    miscalibrated after it.
    """

    of: str
    key: Key
    since: float
    found: KeyMiscalibration | None
    many: int


class KeyWatch:
    """The miscalibrated keys, of the calibrated probabilities and of the raw scores.

    A key that was miscalibrated before its stream began is so since minus infinity.
    """

    name = "miscalibrated_keys"

    def __init__(self, fleet: Fleet, kind: str) -> None:
        monitors = fleet.monitors
        if monitors is None:
            raise ValueError("the keys of a fleet without monitors are not monitored")
        self.monitors: dict[str, FleetMonitor] = {"calibrated": monitors.calibrated}
        if kind != "margin":  # a margin is no probability to be watched
            self.monitors["raw"] = monitors.raw
        #: Since when which keys are miscalibrated.
        self.since: dict[str, dict[Key, float]] = {of: {} for of in self.monitors}
        self._changes: list[KeyChange] = []
        self._fleet = fleet

    def begin(self) -> None:
        """Note the keys that are miscalibrated before the first row of a stream."""
        for of, monitor in self.monitors.items():
            self.since[of] = {each.key: -math.inf for each in monitor.miscalibrated_keys()}

    def look(self, times: Mapping[Key, float]) -> None:
        """Look at keys whose outcomes were just learned, the last of each at a time."""
        self._fleet._let_monitors_see()
        asked: list[Any] = list(times)
        for of, monitor in self.monitors.items():
            since = self.since[of]
            found = {each.key: each for each in monitor.miscalibrated_keys(among=asked)}
            for key in asked:
                if (key in found) == (key in since):
                    continue
                began = since.pop(key, None)
                if began is None:
                    began = since[key] = times[key]
                self._changes.append(KeyChange(of, key, began, found.get(key), len(since)))

    def changes(self) -> list[KeyChange]:
        """Return what began and ended since the last call."""
        changes, self._changes = self._changes, []
        return changes

    def ranked(self, of: str, most: int) -> list[KeyMiscalibration]:
        """Return the miscalibrated keys, those with the most evidence first."""
        return self.monitors[of].miscalibrated_keys(most, among=same_kind(self.since[of]))

    # -- saving ---------------------------------------------------------------------------------

    def frozen(self) -> Callable[[], bytes]:
        """Return a function that gives all as of now as bytes, in any thread."""
        state: dict[str, Any] = {}
        for of, since in self.since.items():
            state[f"{of}_keys"] = list(since)
            state[f"{of}_since"] = np.array(list(since.values()), dtype=np.float64)
        return lambda: pack(Saved("KeyWatch", {}, 0, state))

    def load(self, blob: bytes | memoryview) -> None:
        """Restore what `frozen` gave."""
        state = unpack(blob, what="list of keys").state
        self.since = {
            of: dict(zip(state[f"{of}_keys"], state[f"{of}_since"].tolist(), strict=True))
            for of in self.monitors
        }
