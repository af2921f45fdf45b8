"""Foster and Hart's calibeating, a running mean for each distinct forecast."""

from __future__ import annotations

from calibrant._checks import check_integer
from calibrant.recalibrate.rivals.base import Rival


class Calibeating(Rival):
    """Predict the mean of the outcomes that followed the same score before.

    Foster and Hart 2023, *"Calibeating": beating forecasters at their own game*. Its Brier score
    exceeds that of the scores without their reliability part by O(log T) for each distinct score.
    Left open by the source: real scores hardly repeat, so they are first rounded to a grid; the
    forecast of a score without a past is the rounded score itself.

    Parameters
    ----------
    cells : int, default 20
        The scores are rounded to multiples of 1 / cells, the even one when in the middle.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import Calibeating
    >>> Calibeating().run([0.26, 0.25, 0.25], [1, 0, 0]).tolist()
    [0.25, 1.0, 0.5]
    """

    def __init__(self, cells: int = 20) -> None:
        super().__init__()
        self._cells = check_integer("cells", cells, 1, 2**24)
        self._visits = [0] * (self._cells + 1)
        self._totals = [0.0] * (self._cells + 1)
        self._place = 0

    def _forecast(self, score: float) -> float:
        self._place = round(score * self._cells)
        visits = self._visits[self._place]
        return self._totals[self._place] / visits if visits else self._place / self._cells

    def _learn(self, outcome: float) -> None:
        self._visits[self._place] += 1
        self._totals[self._place] += outcome
