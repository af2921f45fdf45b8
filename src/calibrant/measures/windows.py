"""The scores of consecutive windows of rounds, each by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibrant._kernels.tally import TallyKernel
from calibrant.measures.rounds import Floats


@dataclass(frozen=True, slots=True)
class WindowScore:
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


def score_of(tally: TallyKernel, start: int, stop: int) -> WindowScore:
    """Read a tally of the rounds from start to stop."""
    rounds = stop - start
    _, *sums = tally.sums
    mean_prediction, mean_outcome, brier, log_loss, ece = (
        total / rounds if rounds else math.nan for total in (*sums, tally.binned)
    )
    return WindowScore(
        start, stop, mean_prediction, mean_outcome, *tally.errors, brier, log_loss, ece
    )


class Windows:
    """Scores a window every so many rounds, and then starts the next.

    Examples
    --------
    >>> windows = Windows(2, bins=20)
    >>> for outcome in (1, 0, 1):
    ...     windows.add(0.5, outcome)
    >>> [score.cal1 for score in windows.scores()]
    [0.0, 0.5]
    """

    def __init__(self, size: int, bins: int) -> None:
        self.size = size
        self.bins = bins
        self._finished: list[WindowScore] = []
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

    def scores(self) -> list[WindowScore]:
        """Return the score of each window in turn, the unfinished last one included."""
        return [*self._finished, self._score()] if self._used else list(self._finished)

    def _advance(self, rounds: int) -> None:
        self._used += rounds
        if self._used == self.size:
            self._finished.append(self._score())
            self._tally = TallyKernel(self.bins)
            self._used = 0

    def _score(self) -> WindowScore:
        start = len(self._finished) * self.size
        return score_of(self._tally, start, start + self._used)
