"""The measures of windows: of every so many rounds by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from calibrant._kernels.saved import SLACK
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.binned import width_bins
from calibrant.measures.chance import LEVEL, ece_left, ece_left_at_most, normal
from calibrant.measures.rounds import Floats, Indices, sum_by
from calibrant.measures.saved_tallies import load_tally


@dataclass(frozen=True, slots=True)
class WindowMeasures:
    """The measures of the rounds ``start <= t < stop`` alone, as `Scorecard` defines them.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard(window=2)
    >>> card.extend([0.5, 0.5, 0.5], [1, 0, 1])
    >>> [(w.start, w.stop, w.cal1) for w in card.windows]
    [(0, 2, 0.0), (2, 3, 0.5)]
    """

    start: int
    stop: int
    mean_prediction: float
    mean_outcome: float
    cal1: float
    cal2: float
    klcal: float
    brier: float
    log_loss: float
    ece: float


#: What is measured of a window, in order.
MEASURES = tuple(each.name for each in fields(WindowMeasures))[2:]


class Stretches(NamedTuple):
    """Windows, or several at a time, as arrays: means, and what chance alone explains.

    Attributes
    ----------
    stop : array of int
        Rounds so far at the end of each stretch.
    rounds : array of int
        Its own rounds.
    mean_prediction, mean_outcome, ece : array of float
        As in `WindowMeasures`.
    chance_ece, ece_limit : array of float
        Were every prediction right: the mean ECE, and what it stays below in 95 of 100 stretches.
    chance_mean : array of float
        How far the mean outcome would then lie from the mean prediction, in 95 of 100.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard(window=2)
    >>> card.extend([0.5, 0.5, 0.5, 0.5, 1.0, 1.0], [1, 0, 1, 1, 1, 1])
    >>> card.stretches(4).mean_outcome
    array([0.75, 1.  ])
    """

    stop: Indices
    rounds: Indices
    mean_prediction: Floats
    mean_outcome: Floats
    ece: Floats
    chance_ece: Floats
    ece_limit: Floats
    chance_mean: Floats


class Windows:
    """Measures each window of `size` rounds by itself."""

    def __init__(self, size: int, bins: int) -> None:
        self.size = size
        self.bins = bins
        self._finished: list[WindowMeasures] = []
        self._binned: list[Floats] = []  # of each, residuals and variances by bin
        self._tally = TallyKernel(bins)
        self._used = 0

    def add(self, p: float, y: float) -> None:
        """Count a checked round."""
        self._tally.add(p, y)
        self._advance(1)

    def extend(self, p: Floats, y: Floats) -> None:
        """Count checked rounds, window by window."""
        done = 0
        while done < len(p):
            upto = min(len(p), done + self.size - self._used)
            self._tally.extend(p[done:upto], y[done:upto])
            self._advance(upto - done)
            done = upto

    def measures(self) -> list[WindowMeasures]:
        """Return the measures of each window in turn, the unfinished last one included."""
        return [*self._finished, self._measure()] if self._used else list(self._finished)

    def stretches(self, size: int) -> Stretches:
        """Return what is known of every `size` rounds, a multiple of the size of a window.

        A last one with less than half of its rounds is left out: its numbers would be noise.
        """
        windows = self.measures()
        over = windows[-1].stop % size
        if len(windows) * self.size > size and 0 < 2 * over < size:
            windows = windows[: windows[-1].stop // size * (size // self.size)]
        starts = np.arange(0, len(windows), size // self.size)
        rounds = np.array([each.stop - each.start for each in windows], dtype=np.intp)
        last = [self._by_bin()] if self._used else []
        binned = np.array([*self._binned, *last])[: len(windows)]
        residual, variance = np.add.reduceat(binned, starts).transpose(1, 0, 2)
        own = np.add.reduceat(rounds, starts)
        means = [
            np.add.reduceat([getattr(each, name) for each in windows] * rounds, starts) / own
            for name in ("mean_prediction", "mean_outcome")
        ]
        return Stretches(
            np.cumsum(own), own, means[0], means[1], np.abs(residual).sum(axis=1) / own,
            ece_left(variance) / own, ece_left_at_most(variance) / own,
            normal(LEVEL) * np.sqrt(variance.sum(axis=1)) / own,
        )  # fmt: skip

    def get_state(self) -> dict[str, Any]:
        """Return all windows, as arrays and numbers by name."""
        rows = [
            [*(getattr(each, name) for name in MEASURES), *binned.ravel()]
            for each, binned in zip(self._finished, self._binned, strict=True)
        ]
        finished = np.array(rows, dtype=np.float64).reshape(-1)
        return self._tally._get_state() | {"finished": finished}

    def set_state(self, state: dict[str, Any], rounds: int) -> None:
        """Take over a state of `get_state` after so many rounds, or raise ValueError."""
        finished, self._used = divmod(rounds, self.size)
        values, width = state.pop("finished"), len(MEASURES) + 2 * self.bins
        if values.dtype != np.float64 or len(values) != finished * width:
            raise ValueError(f"saved finished must hold {finished} windows")
        rows, binned = np.split(values.reshape(-1, width), [len(MEASURES)], axis=1)
        highest = [1.0, 1.0, self.size, self.size, math.inf, 1.0, math.inf, 1.0]
        if not ((rows >= 0.0) & (rows <= np.array(highest) * (1 + SLACK))).all():
            raise ValueError("saved finished must be measures of windows")
        residual, variance = binned.reshape(-1, 2, self.bins).transpose(1, 0, 2)
        most = self.size / 4 * (1 + SLACK)
        apart = np.abs(np.abs(residual).sum(axis=1) / self.size - rows[:, -1])
        if not (apart <= SLACK).all() or not ((variance >= 0.0) & (variance <= most)).all():
            raise ValueError("saved finished must have the residuals and variances of its windows")
        self._binned = list(binned.reshape(-1, 2, self.bins))
        self._tally = load_tally(state, self.bins, self._used)
        self._finished = [
            WindowMeasures(number * self.size, (number + 1) * self.size, *row)
            for number, row in enumerate(rows.tolist())
        ]

    def _advance(self, rounds: int) -> None:
        self._used += rounds
        if self._used == self.size:
            self._finished.append(self._measure())
            self._binned.append(self._by_bin())
            self._tally = TallyKernel(self.bins)
            self._used = 0

    def _by_bin(self) -> Floats:
        """Return the residuals of the current window, and what their variances would be."""
        p, n, s = self._tally.entries()
        which = width_bins(p, self.bins)
        return np.array([sum_by(which, each, self.bins) for each in (s - n * p, n * p * (1 - p))])

    def _measure(self) -> WindowMeasures:
        start = len(self._finished) * self.size
        return measures_of(self._tally, start, start + self._used)


def measures_of(tally: TallyKernel, start: int, stop: int) -> WindowMeasures:
    """Return the measures of the rounds from start to stop that a tally counted."""
    rounds = stop - start
    _, *sums = tally.sums
    mean_prediction, mean_outcome, brier, log_loss, ece = [
        total / rounds if rounds else math.nan for total in (*sums, tally.binned)
    ]
    return WindowMeasures(
        start, stop, mean_prediction, mean_outcome, *tally.errors, brier, log_loss, ece
    )
