"""What was predicted and observed through time, in a bounded number of buckets.

A bucket holds a number of settled rows, one after the other. When there are too many buckets, each
two become one, and the next ones hold twice as many. Probabilities are counted in units of 2**-32,
so that sums are exact: it does not matter in which portions the rows come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import Floats

MOST_BUCKETS, FIRST_SIZE = 512, 32
UNIT = 2.0**32
#: Bins of the error within a bucket.
BINS = 10
#: Sums of a bucket, integers: rows; raw, predicted, smooth, observed in units; delays in
#: milliseconds, and how many there were; predictions that waited at its end.
COUNT, RAW, PREDICTED, SMOOTH, OBSERVED, DELAY, DELAYS, WAITING = range(8)
SUMS = 8
#: Numbers of a bucket: first and last time, and the highest evidence of raw and calibrated.
START, END, EVIDENCE_RAW, EVIDENCE = range(4)
MARKS = 4

Integers = npt.NDArray[np.int64]


class History:
    """The buckets, the last one unfinished. A value that does not exist is NaN."""

    __slots__ = ("errors", "marks", "size", "sums", "used")

    def __init__(self) -> None:
        self.size, self.used = FIRST_SIZE, 0
        self.sums = np.zeros((MOST_BUCKETS, SUMS), dtype=np.int64)
        self.marks = np.zeros((MOST_BUCKETS, MARKS))
        # Of raw and of calibrated: observed minus predicted, by bin, in units.
        self.errors = np.zeros((MOST_BUCKETS, 2, BINS), dtype=np.int64)

    def add(self, rows: dict[str, Floats]) -> None:
        """Count settled rows, in order.

        `rows` has raw, prediction, smooth, outcome, at, delay, waiting, evidence_raw and evidence.
        """
        total, done = len(rows["at"]), 0
        while done < total:
            if self.used == 0 or self.sums[self.used - 1, COUNT] == self.size:
                self._begin_bucket()
            room = self.size - int(self.sums[self.used - 1, COUNT])
            part = slice(done, min(done + room, total))
            self._add_to_last({name: column[part] for name, column in rows.items()})
            done = part.stop

    def _begin_bucket(self) -> None:
        if self.used == MOST_BUCKETS:
            self._merge_pairs()
        if self.used == 0 or self.sums[self.used - 1, COUNT] == self.size:
            self.used += 1

    def _merge_pairs(self) -> None:
        half = MOST_BUCKETS // 2
        first, second = slice(0, None, 2), slice(1, None, 2)
        waiting = self.sums[second, WAITING].copy()
        self.sums[:half] = self.sums[first] + self.sums[second]
        self.sums[:half, WAITING] = waiting
        self.errors[:half] = self.errors[first] + self.errors[second]
        starts = self.marks[first, START].copy()
        self.marks[:half] = np.fmax(self.marks[first], self.marks[second])
        self.marks[:half, START] = starts
        for array in (self.sums, self.marks, self.errors):
            array[half:] = 0
        self.used, self.size = half, 2 * self.size

    def _add_to_last(self, rows: dict[str, Floats]) -> None:
        at = self.used - 1
        sums, marks, observed = self.sums[at], self.marks[at], in_units(rows["outcome"])
        if sums[COUNT] == 0:
            marks[:] = rows["at"][0], rows["at"][0], np.nan, np.nan
        sums[COUNT] += len(observed)
        sums[OBSERVED] += observed.sum()
        sums[SMOOTH] += in_units(rows["smooth"]).sum()
        for which, (place, name) in enumerate(((RAW, "raw"), (PREDICTED, "prediction"))):
            if np.isnan(rows[name][0]):
                continue  # a margin is no probability
            predicted = in_units(rows[name])
            sums[place] += predicted.sum()
            bins = np.minimum(rows[name] * BINS, BINS - 1).astype(np.int64)
            np.add.at(self.errors[at, which], bins, observed - predicted)
        known = rows["delay"][~np.isnan(rows["delay"])]
        sums[DELAY] += np.rint(known * 1000.0).astype(np.int64).sum()
        sums[DELAYS] += len(known)
        sums[WAITING] = int(rows["waiting"][-1])
        marks[END] = np.fmax(marks[END], rows["at"].max())
        marks[EVIDENCE_RAW] = np.fmax(marks[EVIDENCE_RAW], np.fmax.reduce(rows["evidence_raw"]))
        marks[EVIDENCE] = np.fmax(marks[EVIDENCE], np.fmax.reduce(rows["evidence"]))

    # -- looking --------------------------------------------------------------------------------

    def columns(self, points: int = MOST_BUCKETS) -> dict[str, Floats]:
        """Return the buckets as columns, the oldest first; neighbours together if too many."""
        together = max(1, -(-self.used // points))
        first = np.arange(0, self.used, together)
        last = np.minimum(first + together, self.used) - 1
        sums = np.add.reduceat(self.sums[: self.used], first)
        sums[:, WAITING] = self.sums[last, WAITING]
        marks = np.fmax.reduceat(self.marks[: self.used], first)
        marks[:, START] = self.marks[first, START]
        count = sums[:, COUNT].astype(np.float64)
        error = np.abs(np.add.reduceat(self.errors[: self.used], first)).sum(axis=2) / UNIT
        delays = np.where(sums[:, DELAYS] > 0, sums[:, DELAYS], np.nan)
        return {
            "start": marks[:, START],
            "end": marks[:, END],
            "count": count,
            "mean_raw": sums[:, RAW] / UNIT / count,
            "mean_prediction": sums[:, PREDICTED] / UNIT / count,
            "mean_smooth": sums[:, SMOOTH] / UNIT / count,
            "mean_outcome": sums[:, OBSERVED] / UNIT / count,
            "error_raw": error[:, 0] / count,
            "error_calibrated": error[:, 1] / count,
            "evidence_raw": marks[:, EVIDENCE_RAW],
            "evidence_calibrated": marks[:, EVIDENCE],
            "waiting": sums[:, WAITING].astype(np.float64),
            "delay": sums[:, DELAY] / 1000.0 / delays,
        }

    # -- saving ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        state: dict[str, Any] = {
            name: getattr(self, name)[: self.used].reshape(-1)
            for name in ("sums", "marks", "errors")
        }
        return pack(Saved("History", {"size": self.size}, self.used, state))

    @classmethod
    def from_bytes(cls, blob: bytes) -> History:
        """Return what `to_bytes` saved."""
        saved = unpack(blob, what="history")
        history = cls()
        history.size, history.used = saved.parameters["size"], saved.rounds
        for name in ("sums", "marks", "errors"):
            array = getattr(history, name)
            array[: history.used] = saved.state[name].reshape(-1, *array.shape[1:])
        return history


def in_units(values: Floats) -> Integers:
    """Return probabilities as integers."""
    return np.rint(values * UNIT).astype(np.int64)
