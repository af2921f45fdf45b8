"""What the monitors of one shard of a fleet know: of ranges of predictions, and of each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._kernels.saved import check_names, floats
from calibrant._kernels.watch.key_evidence import KEY_CELL, WEIGHT, KeyEvidence
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
    of the fleet. The chance of ever one, `alpha`, is shared out.
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
        """Show the monitors of ranges what happened since, if more than so many steps did.

        An interruption loses none of them, and shows none twice.
        """
        if self.keys.unseen_count > behind:
            numbers, (raw, expected, outcomes) = self.keys.unseen()
            with self.sides.undone_if_stopped():
                self.sides.play_steps(numbers, raw, expected, outcomes, None)
                self.keys.empty()

    def evidence(self, side: int) -> npt.NDArray[np.float64]:
        """Return the weighted evidence of each key, by slot; `threshold` of it names a key."""
        return evidence_of(self.keys.cells_of_keys()[:, side])

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
            f"{PREFIX}gain": np.array([self.sides.gain_evidence]),
            f"{PREFIX}heard": np.array([self.keys.rounds], dtype=np.float64),
            **{
                f"{PREFIX}{side}": np.frombuffer(getattr(self.sides, side).to_bytes(), np.uint8)
                for side in SIDES
            },
        }

    def load(
        self, arrays: Mapping[str, npt.NDArray[Any]], keys: int, rounds: int, learned: int,
        copy: bool,
    ) -> None:  # fmt: skip
        """Take over what `arrays` returned of a shard with so many keys, rounds and outcomes."""
        own = {k.removeprefix(PREFIX): v for k, v in arrays.items() if k.startswith(PREFIX)}
        check_names(own, {"keys", "gain", "heard", *SIDES})
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
        rows = own["keys"]
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != 2 * KEY_CELL.itemsize:
            raise ValueError(f"saved keys must be {2 * KEY_CELL.itemsize} bytes each")
        cells = np.ascontiguousarray(rows).reshape(-1).view(KEY_CELL).reshape(-1, 2)
        if len(cells) > keys:
            raise ValueError(f"saved evidence must be of at most {keys} keys")
        if copy:
            check_cells(cells, self.keys.most_kept, heard)
        self.keys.load(cells, heard, copy)


def evidence_of(cells: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
    """Return the weighted evidence of cells of one side, a key each."""
    return np.asarray(WEIGHT * cells["M"].mean(axis=1, dtype=np.float64))


def check_cells(cells: npt.NDArray[np.void], most: float, rounds: int) -> None:
    """Refuse evidence that so many rounds cannot have left behind."""
    bets, sums, counts = cells["M"], cells["S"], cells["n"]
    if not ((bets >= 0) & (bets <= most)).all():
        raise ValueError(f"saved bets of keys must be in [0, {most}]")
    if (counts.sum(axis=0, dtype=np.int64) > rounds).any():
        raise ValueError(f"saved keys must count at most {rounds} outcomes")
    if not (np.abs(sums) <= counts * 1.001).all():
        raise ValueError("saved sums of keys must be at most 1 an outcome")
