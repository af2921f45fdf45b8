"""The measures of windows: of every so many rounds by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from calibrant._kernels.saved import SLACK
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.rounds import Floats
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


class Windows:
    """Measures each window of `size` rounds by itself."""

    def __init__(self, size: int, bins: int) -> None:
        self.size = size
        self.bins = bins
        self._finished: list[WindowMeasures] = []
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

    def get_state(self) -> dict[str, Any]:
        """Return all windows, as arrays and numbers by name."""
        rows = [[getattr(each, name) for name in MEASURES] for each in self._finished]
        finished = np.array(rows, dtype=np.float64).reshape(-1)
        return self._tally._get_state() | {"finished": finished}

    def set_state(self, state: dict[str, Any], rounds: int) -> None:
        """Take over a state of `get_state` after so many rounds, or raise ValueError."""
        finished, self._used = divmod(rounds, self.size)
        values = state.pop("finished")
        if values.dtype != np.float64 or len(values) != finished * len(MEASURES):
            raise ValueError(f"saved finished must hold {finished} windows")
        rows = values.reshape(-1, len(MEASURES))
        highest = [1.0, 1.0, self.size, self.size, math.inf, 1.0, math.inf, 1.0]
        if not ((rows >= 0.0) & (rows <= np.array(highest) * (1 + SLACK))).all():
            raise ValueError("saved finished must be measures of windows")
        self._tally = load_tally(state, self.bins, self._used)
        self._finished = [
            WindowMeasures(number * self.size, (number + 1) * self.size, *row)
            for number, row in enumerate(rows.tolist())
        ]

    def _advance(self, rounds: int) -> None:
        self._used += rounds
        if self._used == self.size:
            self._finished.append(self._measure())
            self._tally = TallyKernel(self.bins)
            self._used = 0

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
