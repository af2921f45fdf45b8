"""How long cells take: guessed at first, measured as soon as there is something to measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from calibrant.experiments.cells import PSEUDO, Cell

# Nanoseconds a round with the default parameters, roughly: only their ratios matter, and only until
# the first cells are played. The stream and the scorecard take about as long as Zoom.
GUESSES = {
    "zoom": 40.0,
    "interval": 350.0,
    "swap": 350.0,
    "refined": 400.0,
    "restarting": 450.0,
    "foster-vohra": 7000.0,
    "foster-1999": 80.0,
    "abernethy-bartlett-hazan": 100.0,
    "k29": 120.0,
    "k29-star": 120.0,
    "aosa": 120.0,
}
OTHER = 30.0
AROUND = 60.0  # the stream and the scorecard
PSEUDO_FACTOR = 3.0  # a second game, and every point of it tallied
A_CELL = 200_000.0  # whatever its rounds


class Progress(NamedTuple):
    """How far a sweep is.

    Examples
    --------
    >>> from calibrant.experiments.pace import Progress
    >>> Progress(cells=3, of=10, work=0.5, seconds_left=60.0).work
    0.5
    """

    cells: int  # finished so far, those of an earlier run included
    of: int
    work: float  # the finished part of the time that all cells of this run take
    seconds_left: float | None  # not known before the first cell


def guess(cell: Cell, measures: Iterable[str]) -> float:
    """Return about how many seconds a cell takes."""
    name = cell.forecaster.partition(":")[0]
    a_round = GUESSES.get(name, OTHER) + AROUND
    if any(measure in PSEUDO for measure in measures):
        a_round *= PSEUDO_FACTOR
    return (A_CELL + cell.rounds * a_round) * 1e-9


class Pace:
    """The time that is left, by what each forecaster has taken so far.

    A forecaster that has not been seen yet counts at its guess, corrected by how far the
    guesses of the others were off.
    """

    def __init__(self, cells: Iterable[Cell], measures: Iterable[str], workers: int) -> None:
        self._measures, self._workers = tuple(measures), workers
        self._waiting: dict[str, float] = defaultdict(float)
        self._guessed: dict[str, float] = defaultdict(float)
        self._taken: dict[str, float] = defaultdict(float)
        for cell in cells:
            self._waiting[cell.forecaster] += guess(cell, self._measures)

    def finish(self, cell: Cell, seconds: float) -> None:
        """Note how long a cell took."""
        guessed = guess(cell, self._measures)
        self._waiting[cell.forecaster] -= guessed
        self._guessed[cell.forecaster] += guessed
        self._taken[cell.forecaster] += seconds

    def left(self) -> float:
        """Return the seconds of work that are left for one worker."""
        guessed = sum(self._guessed.values())
        overall = sum(self._taken.values()) / guessed if guessed else 1.0
        return sum(
            max(0.0, waiting)
            * (self._taken[name] / self._guessed[name] if self._guessed[name] else overall)
            for name, waiting in self._waiting.items()
        )

    def progress(self, cells: int, of: int) -> Progress:
        """Return how far the sweep is."""
        done, left = sum(self._taken.values()), self.left()
        work = 1.0 if cells == of else done / (done + left) if done else 0.0
        return Progress(cells, of, work, left / self._workers if done else None)
