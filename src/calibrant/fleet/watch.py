"""What the monitors of one shard of a fleet know: of ranges of predictions, and of each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.saved import check_names, floats
from calibrant._kernels.watch.key_evidence import KEY_CELL, LATE, KeyEvidence
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.side_by_side import MOST_GAIN, SideBySide

#: The arguments of Monitor that a fleet's may have. Keys have no blocks.
WATCHED_WITH = ("every", "tolerance", "alpha")
#: The two that are watched, in the order of a key's cells.
SIDES = ("raw", "calibrated")
#: How many outcomes the monitors of ranges may be behind: they catch up when somebody looks.
MOST_UNSEEN = 2**16
PREFIX = "watch_"


def shard_settings(settings: Mapping[str, Any], shards: int) -> dict[str, Any]:
    """Return the arguments of the monitors of each shard, from those of the fleet.

    False alarms `every` so many rounds are counted in the rounds of a shard, which add up to those
    of the fleet. The probability `alpha` of any false alarm is shared out.
    """
    alpha = settings.get("alpha")
    return {**settings, "alpha": None if alpha is None else alpha / shards}


class ShardWatch:
    """Two monitors of the ranges of predictions, raw and calibrated, and the evidence of keys."""

    __slots__ = ("keys", "sides")

    def __init__(self, settings: Mapping[str, Any], patience: int) -> None:
        self.sides = SideBySide(settings, max_groups=0, patience=patience)
        one = self.sides.raw
        self.keys = KeyEvidence(one._threshold, one.tolerance, one.alpha or 0.0)

    @property
    def threshold(self) -> float:
        """The weighted evidence of an alarm."""
        return self.sides.raw._threshold

    def catch_up(self, behind: int = 0) -> None:
        """Show the monitors of ranges the steps since, if they are more than so many.

        An interruption loses none of them, and shows none twice.
        """
        if self.keys.unseen_count > behind:
            numbers, (raw, expected, outcomes) = self.keys.unseen()
            with uninterrupted, self.sides.undone_if_stopped():
                self.sides.play_steps(numbers, raw, expected, outcomes, None)
                self.keys.empty()

    def evidence(self, side: int) -> npt.NDArray[np.float64]:
        """Return the weighted evidence of each key, by slot; `threshold` of it names a key."""
        return self.keys.evidence(np.arange(len(self.keys)), side)

    # -- saving ---------------------------------------------------------------------------------

    def save_sides(self) -> dict[str, Any]:
        """Return what the monitors of ranges know, all outcomes seen."""
        self.catch_up()
        return self.sides.save()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as arrays by name."""
        self.catch_up()
        cells = self.keys.cells_of_keys()
        return {
            f"{PREFIX}keys": cells.view(np.uint8).reshape(-1, 2 * KEY_CELL.itemsize),
            f"{PREFIX}late": self.keys.late_of_keys().view(np.uint8).reshape(-1, LATE.itemsize),
            f"{PREFIX}gain": np.array([self.sides.gain_evidence]),
            f"{PREFIX}heard": np.array([self.keys.rounds], dtype=np.float64),
            **{
                f"{PREFIX}{side}": np.frombuffer(getattr(self.sides, side).to_bytes(), np.uint8)
                for side in SIDES
            },
        }

    def load(
        self, arrays: Mapping[str, npt.NDArray[Any]], keys: int, rounds: int, learned: int,
        opened: npt.NDArray[np.void], copy: bool,
    ) -> None:  # fmt: skip
        """Restore what `arrays` returned of a shard with so many keys, rounds and outcomes.

        `opened` are its pending predictions.
        """
        own = {k.removeprefix(PREFIX): v for k, v in arrays.items() if k.startswith(PREFIX)}
        check_names(own, {"keys", "late", "gain", "heard", *SIDES})
        for side in SIDES:
            saved = Monitor.from_bytes(np.asarray(own[side], dtype=np.uint8).tobytes())
            if saved._given != getattr(self.sides, side)._given:
                raise ValueError(f"the saved monitor of {side} has other arguments than the fleet")
            setattr(self.sides, side, saved)
        both = (self.sides.raw, self.sides.calibrated)
        if both[0].rounds != both[1].rounds or any(each._last_key >= rounds for each in both):
            raise ValueError("the saved monitors must have seen rounds that were predicted")
        heard = int(floats(own, "heard", size=1, low=0.0, high=learned)[0])
        gain = floats(own, "gain", size=1, low=-MOST_GAIN, high=MOST_GAIN)
        self.sides.gain_evidence = float(gain[0])
        cells = rows_of(own, "keys", KEY_CELL, 2).reshape(-1, 2)
        late = rows_of(own, "late", LATE, 1)
        if max(len(cells), len(late)) > keys:
            raise ValueError(f"saved evidence must be of at most {keys} keys")
        if copy:
            check_cells(cells, self.keys.most_kept, heard)
        check_late(late, opened, self.keys.most_kept)
        self.keys.load(cells, late, both[0].rounds, heard, copy)


def rows_of(
    arrays: Mapping[str, npt.NDArray[Any]], name: str, dtype: np.dtype[np.void], each: int
) -> npt.NDArray[np.void]:
    """Return saved rows, so many of this type each, as they were before."""
    rows, size = arrays[name], each * dtype.itemsize
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != size:
        raise ValueError(f"saved {name} must be {size} bytes each")
    return np.ascontiguousarray(rows).reshape(-1).view(dtype)


def check_cells(cells: npt.NDArray[np.void], most: float, rounds: int) -> None:
    """Refuse evidence that so many rounds cannot have left behind."""
    bets, sums, counts = cells["M"], cells["S"], cells["n"]
    if not ((bets >= 0) & (bets <= most)).all():
        raise ValueError(f"saved bets of keys must be in [0, {most}]")
    if (counts.sum(axis=0, dtype=np.int64) > rounds).any():
        raise ValueError(f"saved keys must count at most {rounds} outcomes")
    if not (np.abs(sums) <= counts * 1.001).all():
        raise ValueError("saved sums of keys must be at most 1 an outcome")


def check_late(late: npt.NDArray[np.void], opened: npt.NDArray[np.void], most: float) -> None:
    """Refuse what keys cannot know of the pending predictions."""
    stakes, is_staked = opened["stakes"], opened["is_staked"]
    if not (np.isin(is_staked, (0, 1)).all() and ((stakes >= 0) & (stakes <= most + 1)).all()):
        raise ValueError(f"saved stakes of predictions that wait must be in [0, {most + 1}]")
    slots = opened["slot"][(is_staked == 1) & (opened["slot"] >= 0)]
    if not np.array_equal(np.trim_zeros(late["open"], "b"), np.bincount(slots)):
        raise ValueError("saved keys must count those of their predictions that wait")
    is_known = late["D"] > 0
    if not (late["D"][is_known] >= np.maximum(late["open"][is_known], 1)).all():
        raise ValueError("saved D of a key must be at least what waits")
    if not (np.isfinite(late["D"]) & (late["D"] >= 0)).all() or late["open"][~is_known].any():
        raise ValueError("saved D of a key must be a number that is at least what waits")
    if not ((late["predicted"] >= 0) & (late["predicted"] <= 1)).all():
        raise ValueError("saved mean prediction of a key must be in [0, 1]")
    if not (np.abs(late["escrow"]) <= 4 * (late["open"][:, None] + 1.0) * (most + 1)).all():
        raise ValueError("saved stakes of a key must be those of its predictions that wait")
    if (late["named"] > 3).any():
        raise ValueError("saved names of a key must be of two sides")
