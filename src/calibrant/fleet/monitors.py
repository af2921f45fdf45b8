"""What the monitors of a fleet found: episodes, and which keys are miscalibrated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_integer, check_real
from calibrant._kernels.fleet.key_batch import KeyBatch, checked_keys
from calibrant._kernels.watch.key_evidence import WEIGHT
from calibrant.fleet.watch import SIDES, ShardWatch
from calibrant.monitor.episodes import Episode
from calibrant.monitor.monitor import Monitor

if TYPE_CHECKING:
    from _thread import RLock

    from calibrant.fleet.shard import Shard

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KeyMiscalibration:
    """A key whose predictions are miscalibrated.

    Attributes
    ----------
    key : int or str
        The key.
    evidence : float
        The evidence relative to the threshold, as in `Monitor.evidence`: a key is listed from 1 on.
    bias : float
        Mean of outcome minus prediction, since the evidence last changed direction.
    outcomes : int
        The number of outcomes in that mean.

    Examples
    --------
    >>> from calibrant.fleet import KeyMiscalibration
    >>> print(KeyMiscalibration("shop 7", 1.2, -0.21, 180))
    predictions for key 'shop 7' are too high by 0.21 (its last 180 outcomes)
    """

    key: Id
    evidence: float
    bias: float
    outcomes: int

    @property
    def direction(self) -> str:
        """What is wrong with the predictions: "too low" or "too high"."""
        return "too low" if self.bias > 0 else "too high"

    def __str__(self) -> str:
        return (
            f"predictions for key {self.key!r} are {self.direction} by {abs(self.bias):.2g} "
            f"(its last {self.outcomes:,} outcomes)"
        )


class Watched(NamedTuple):
    """A shard of a fleet, and its monitors."""

    shard: Shard
    watch: ShardWatch


class FleetMonitor:
    """A monitor of all predictions of a fleet, and of each key.

    ``Fleet(monitor=True).monitors`` has one of the raw scores and one of the calibrated
    predictions. While the null of `Monitor` holds, the probability that an alarm is raised or any
    key is listed within n predictions is at most n / `every`, however many keys there are; keys
    whose predictions are calibrated are listed no more often if others are not. The proof is in
    docs/monitor.md.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Fleet
    >>> random = np.random.default_rng(0)
    >>> shops, scores = random.integers(0, 100, 50_000), random.uniform(0.1, 0.7, 50_000)
    >>> outcomes = random.random(50_000) < scores + 0.2 * (shops == 42)
    >>> fleet = Fleet(monitor=True)
    >>> _ = fleet.run(shops, scores, outcomes)
    >>> for each in fleet.monitors.raw.miscalibrated_keys():
    ...     print(each)
    predictions for key 42 are too low by 0.19 (its last 495 outcomes)
    >>> fleet.monitors.calibrated.miscalibrated_keys()
    []
    """

    __slots__ = ("_lock", "_shards", "_side")

    def __init__(self, shards: Mapping[int, Watched], lock: RLock, side: int) -> None:
        self._shards, self._lock, self._side = shards, lock, side

    @property
    def rounds(self) -> int:
        """The number of predictions so far."""
        return sum(monitor.rounds for monitor in self.of_shards().values())

    @property
    def outcomes(self) -> int:
        """The number of outcomes of keys so far."""
        with self._lock:
            return sum(watch.keys.rounds for _, watch in self._shards.values())

    @property
    def tolerance(self) -> float:
        """The tolerated miscalibration."""
        return next(iter(self.of_shards().values())).tolerance

    @property
    def false_alarm_probability(self) -> float:
        """A bound on the probability that any calibrated key was ever listed so far."""
        one = next(iter(self.of_shards().values()))
        if one.alpha is not None:
            return min(WEIGHT * one.alpha * len(self._shards), 1.0)
        return min(WEIGHT * self.rounds / one.every, 1.0)

    def of_shards(self) -> dict[int, Monitor]:
        """Return the monitor of the ranges of predictions of each shard, which knows no keys."""
        with self._lock:
            for _, watch in self._shards.values():
                watch.catch_up()
            return {
                number: getattr(watch.sides, SIDES[self._side])
                for number, (_, watch) in self._shards.items()
            }

    @property
    def episodes(self) -> list[Episode]:
        """The episodes in ranges of predictions, shard by shard, whose predictions are rounds."""
        return [each for monitor in self.of_shards().values() for each in monitor.episodes]

    @property
    def evidence(self) -> float:
        """The evidence relative to the threshold of an alarm or of listing a key; 1 reaches it."""
        with self._lock:
            ways = [monitor.evidence for monitor in self.of_shards().values()]
            for _, watch in self._shards.values():
                found = watch.evidence(self._side)
                if len(found):
                    ways.append(way_to(float(found.max()), watch.threshold))
        return min(max(ways, default=0.0), 1.0)

    @property
    def state(self) -> str:
        """The state: "miscalibrated" while an episode is open or a key is listed."""
        return "miscalibrated" if self.evidence >= 1.0 else "calibrated"

    def miscalibrated_keys(
        self,
        most: int | None = None,
        *,
        least: float = 1.0,
        among: Sequence[Id] | npt.NDArray[Any] | None = None,
    ) -> list[KeyMiscalibration]:
        """Return the keys that are miscalibrated now, those with the most evidence first.

        Parameters
        ----------
        most : int, optional
            The maximal number of keys.
        least : float, default 1.0
            The least evidence, in (0, 1]. With less than 1, keys are suspects, without the
            guarantee.
        among : sequence of int or str, optional
            Check only these keys, in a time that does not depend on the number of others.

        Evidence is limited to 1,000 times the threshold. Among keys with the same evidence, those
        with the larger bias come first.
        """
        limit = None if most is None else check_integer("most", most, 0)
        check_real("least", least, 1e-6, 1.0)
        asked = None if among is None else checked_keys(among)
        found = []
        with self._lock:
            for shard, watch in self._shards.values():
                names, slots = names_and_slots(shard, watch, asked)
                evidence = watch.keys.evidence(slots, self._side)
                cells = watch.keys.cells_at(slots)[:, self._side]
                count = np.maximum(cells["n"], 1)
                bias = cells["S"].astype(np.float64) / count
                enough = watch.threshold**least * (1.0 - 1e-12)
                rows = foremost(np.flatnonzero(evidence >= enough), evidence, np.abs(bias), limit)
                found += [
                    KeyMiscalibration(
                        name,
                        way_to(float(evidence[row]), watch.threshold),
                        float(bias[row]),
                        int(cells["n"][row]),
                    )
                    for name, row in zip(names(rows), rows.tolist(), strict=True)
                ]
        found.sort(key=lambda each: (-each.evidence, -abs(each.bias), str(each.key)))
        return found[:limit]

    def __repr__(self) -> str:
        off = len(self.miscalibrated_keys())
        return f"<{self.rounds:,} rounds: {self.state}, {off:,} keys off>"


def names_and_slots(
    shard: Shard, watch: ShardWatch, among: KeyBatch | None
) -> tuple[Callable[[Integers], list[Id]], Integers]:
    """Return the slots of all keys of a shard, or of those `among` some, and what names rows."""
    if among is None:
        return shard.index.keys_at, np.arange(len(watch.keys))
    shard.check(among, None)
    slots, first = np.unique(shard.index.slots(among), return_index=True)
    asked = among.take(first[slots >= 0])
    return lambda rows: asked.take(rows).tolist(), slots[slots >= 0]


def foremost(rows: Integers, evidence: Floats, size: Floats, most: int | None) -> Integers:
    """Return the rows with the most evidence, of equals the larger ones, and what equals the last.

    So that of a million miscalibrated keys only those are looked at that are asked for.
    """
    if not most or len(rows) <= most:
        return rows
    order = rows[np.lexsort((-size[rows], -evidence[rows]))]
    last = order[most - 1]
    is_as_far = (evidence[order] == evidence[last]) & (size[order] == size[last])
    return order[: int(np.flatnonzero(is_as_far)[-1]) + 1]


def way_to(evidence: float, threshold: float) -> float:
    """Return how far evidence is on its way to the threshold, from 0 on, in its logarithm."""
    return max(math.log(max(evidence, 1e-300)) / math.log(threshold), 0.0)


class FleetMonitors:
    """The monitors of a fleet, of raw scores and of calibrated predictions side by side.

    Both get each outcome once, when it is learned, with the score and the expected prediction at
    the time of the prediction.

    Attributes
    ----------
    raw : FleetMonitor
        Of the scores.
    calibrated : FleetMonitor
        Of the expected predictions.

    Examples
    --------
    >>> from calibrant import Fleet
    >>> fleet = Fleet(monitor={"every": 10_000, "tolerance": 0.05})
    >>> _ = fleet.run(["a", "b"] * 300, [0.5] * 600, [1, 0] * 300)
    >>> [each.key for each in fleet.monitors.raw.miscalibrated_keys()]
    ['a', 'b']
    >>> fleet.monitors.gain_evidence > 100
    True
    """

    __slots__ = ("_lock", "_shards", "calibrated", "raw")

    def __init__(self, shards: Mapping[int, Shard], lock: RLock) -> None:
        self._shards = {
            number: Watched(shard, shard.watch)
            for number, shard in shards.items()
            if shard.watch is not None
        }
        self._lock = lock
        self.raw, self.calibrated = (
            FleetMonitor(self._shards, lock, side) for side in range(len(SIDES))
        )

    @property
    def gain_evidence(self) -> float:
        """What the predictions won against the scores, as `SideBySide.gain_evidence`."""
        self.raw.of_shards()
        with self._lock:
            return math.fsum(watch.sides.gain_evidence for _, watch in self._shards.values())

    def __repr__(self) -> str:
        return f"<raw scores: {self.raw!r}, calibrated predictions: {self.calibrated!r}>"
