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
    bins : int, default 20
        The scores are rounded to multiples of 1 / bins, the even one when in the middle.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import Calibeating
    >>> Calibeating().run([0.26, 0.25, 0.25], [1, 0, 0]).tolist()
    [0.25, 1.0, 0.5]
    """

    def __init__(self, bins: int = 20) -> None:
        super().__init__()
        self._bins = check_integer("bins", bins, 1, 2**24)
        self._visits = [0] * (self._bins + 1)
        self._totals = [0.0] * (self._bins + 1)
        self._bin = 0

    def _forecast(self, score: float) -> float:
        self._bin = round(score * self._bins)
        visits = self._visits[self._bin]
        return self._totals[self._bin] / visits if visits else self._bin / self._bins

    def _learn(self, outcome: float) -> None:
        self._visits[self._bin] += 1
        self._totals[self._bin] += outcome
