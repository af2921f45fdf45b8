"""The score as it is."""

from __future__ import annotations

from calibrant.recalibrate.rivals.base import Rival


class Raw(Rival):
    """Predict the score itself: what every recalibrator must beat.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import Raw
    >>> Raw().predict(0.25)
    0.25
    """

    def _forecast(self, score: float) -> float:
        return score

    def _learn(self, outcome: float) -> None:
        pass
