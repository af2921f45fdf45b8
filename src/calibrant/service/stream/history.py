"""Predictions and outcomes over time, in a bounded number of buckets.

A bucket holds a fixed number of consecutive settled rows. When there are too many buckets, each two
neighbours are merged, and the next ones hold twice as many rows. Probabilities are counted in units
of 2**-32, so that sums are exact and do not depend on how the rows are batched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import Floats
from calibrant.service.stream.plain import numbers

MOST_BUCKETS, FIRST_SIZE = 512, 32
UNIT = 2.0**32
#: Bins of the error within a bucket.
BINS = 10
#: Sums of a bucket, integers: rows; delays in milliseconds, and how many there were; predictions
#: that waited at its end.
COUNT, DELAY, DELAYS, WAITING = range(4)
SUMS = 4
#: Sums of probabilities, in units.
RAW, PREDICTED, SMOOTH, OBSERVED = range(4)
MEANS = 4
#: Numbers of a bucket: first and last time, and the highest evidence of raw and calibrated.
START, END, EVIDENCE_RAW, EVIDENCE = range(4)
MARKS = 4
#: What is saved.
PARTS = ("sums", "marks", "own")

Integers = npt.NDArray[np.int64]


class Buckets(ABC):
    """The buckets, the last one unfinished. A value that does not exist is NaN.

    This class counts what all kinds of streams have: rows, delays, times and evidence. A subclass
    has an array of further sums, `own`, with one row per bucket.
    """

    __slots__ = ("marks", "own", "size", "sums", "used")

    own: npt.NDArray[Any]

    def __init__(self, own: npt.NDArray[Any]) -> None:
        self.size, self.used, self.own = FIRST_SIZE, 0, own
        self.sums = np.zeros((MOST_BUCKETS, SUMS), dtype=np.int64)
        self.marks = np.zeros((MOST_BUCKETS, MARKS))

    @abstractmethod
    def _add_own(self, at: int, rows: dict[str, Floats]) -> None:
        """Add rows to the sums of a bucket of one's own."""

    @abstractmethod
    def _own_columns(self, own: npt.NDArray[Any], count: Floats) -> dict[str, Floats]:
        """Return the columns of one's own, from sums over so many rows."""

    def add(self, rows: dict[str, Floats]) -> None:
        """Count settled rows, in order.

        `rows` has outcome, at, delay, waiting, evidence, evidence_raw if anything raw is watched,
        and what `_add_own` wants.
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
        self.own[:half] = self.own[first] + self.own[second]
        starts = self.marks[first, START].copy()
        self.marks[:half] = np.fmax(self.marks[first], self.marks[second])
        self.marks[:half, START] = starts
        for array in (self.sums, self.marks, self.own):
            array[half:] = 0
        self.used, self.size = half, 2 * self.size

    def _add_to_last(self, rows: dict[str, Floats]) -> None:
        at = self.used - 1
        sums, marks = self.sums[at], self.marks[at]
        if sums[COUNT] == 0:
            marks[:] = rows["at"][0], rows["at"][0], np.nan, np.nan
        sums[COUNT] += len(rows["at"])
        known = rows["delay"][~np.isnan(rows["delay"])]
        sums[DELAY] += np.rint(known * 1000.0).astype(np.int64).sum()
        sums[DELAYS] += len(known)
        sums[WAITING] = int(rows["waiting"][-1])
        marks[END] = np.fmax(marks[END], rows["at"].max())
        for place, name in ((EVIDENCE_RAW, "evidence_raw"), (EVIDENCE, "evidence")):
            if name in rows:
                marks[place] = np.fmax(marks[place], np.fmax.reduce(rows[name]))
        self._add_own(at, rows)

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
        delays = np.where(sums[:, DELAYS] > 0, sums[:, DELAYS], np.nan)
        return {
            "start": marks[:, START],
            "end": marks[:, END],
            "count": count,
            **self._own_columns(np.add.reduceat(self.own[: self.used], first), count),
            "evidence_raw": marks[:, EVIDENCE_RAW],
            "evidence_calibrated": marks[:, EVIDENCE],
            "waiting": sums[:, WAITING].astype(np.float64),
            "delay": sums[:, DELAY] / 1000.0 / delays,
        }

    # -- saving ---------------------------------------------------------------------------------

    def view(self, points: int) -> dict[str, Any]:
        """Return the columns as lists, as a client sees them."""
        columns: dict[str, Any] = {
            name: numbers(column) for name, column in self.columns(points).items()
        }
        for name in ("count", "waiting"):
            columns[name] = [int(each) for each in columns[name]]
        rows = max(columns["count"], default=self.size)
        return {"rows_a_bucket": rows, "threshold": 1.0, "buckets": columns}

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        state: dict[str, Any] = {
            name: getattr(self, name)[: self.used].reshape(-1) for name in PARTS
        }
        return pack(Saved(type(self).__name__, {"size": self.size}, self.used, state))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return what `to_bytes` saved."""
        saved = unpack(blob, what="history")
        history = cls()  # type: ignore[call-arg]  # a subclass makes its own sums
        history.size, history.used = saved.parameters["size"], saved.rounds
        for name in PARTS:
            array = getattr(history, name)
            array[: history.used] = saved.state[name].reshape(-1, *array.shape[1:])
        return history


class History(Buckets):
    """Probabilities: means, and the binned error of each bucket.

    `own` holds raw, predicted, smooth and observed, then observed minus predicted by bin, of raw
    and of calibrated, all in units.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(np.zeros((MOST_BUCKETS, MEANS + 2 * BINS), dtype=np.int64))

    def _add_own(self, at: int, rows: dict[str, Floats]) -> None:
        own, observed = self.own[at], in_units(rows["outcome"])
        own[OBSERVED] += observed.sum()
        own[SMOOTH] += in_units(rows["smooth"]).sum()
        errors = own[MEANS:].reshape(2, BINS)
        for which, (place, name) in enumerate(((RAW, "raw"), (PREDICTED, "prediction"))):
            if np.isnan(rows[name][0]):
                continue  # a margin is no probability
            predicted = in_units(rows[name])
            own[place] += predicted.sum()
            bins = np.minimum(rows[name] * BINS, BINS - 1).astype(np.int64)
            np.add.at(errors[which], bins, observed - predicted)

    def _own_columns(self, own: npt.NDArray[Any], count: Floats) -> dict[str, Floats]:
        error = np.abs(own[:, MEANS:].reshape(-1, 2, BINS)).sum(axis=2) / UNIT
        return {
            "mean_raw": own[:, RAW] / UNIT / count,
            "mean_prediction": own[:, PREDICTED] / UNIT / count,
            "mean_smooth": own[:, SMOOTH] / UNIT / count,
            "mean_outcome": own[:, OBSERVED] / UNIT / count,
            "error_raw": error[:, 0] / count,
            "error_calibrated": error[:, 1] / count,
        }


class NumberHistory(Buckets):
    """Numbers: means of what was predicted and observed, and what the 90% intervals covered.

    `own` holds, of the rounds whose interval is finite, sums of forecasts, medians, lower and upper
    ends and outcomes, and their number; then the outcomes covered in all rounds.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(np.zeros((MOST_BUCKETS, 7)))

    def _add_own(self, at: int, rows: dict[str, Floats]) -> None:
        low, high, y = rows["low"], rows["high"], rows["outcome"]
        columns = np.column_stack([rows["forecast"], rows["median"], low, high, y, np.ones(len(y))])
        columns[~np.isfinite(columns).all(axis=1)] = 0.0
        covered = (low <= y) & (y <= high)
        # One after the other: sums in portions would differ in their last bits.
        added = np.vstack([self.own[at], np.column_stack([columns, covered])])
        self.own[at] = np.cumsum(added, axis=0)[-1]

    def _own_columns(self, own: npt.NDArray[Any], count: Floats) -> dict[str, Floats]:
        finite = np.where(own[:, 5] > 0.0, own[:, 5], np.nan)
        names = ("mean_forecast", "mean_median", "mean_low", "mean_high", "mean_outcome")
        means = {name: own[:, at] / finite for at, name in enumerate(names)}
        return {**means, "covered": own[:, 6] / count}


def in_units(values: Floats) -> Integers:
    """Return probabilities as integers."""
    return np.rint(values * UNIT).astype(np.int64)
