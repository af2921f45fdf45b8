"""Online beta scaling."""

from __future__ import annotations

import math

from calibrant.recalibrate.rivals.newton import NewtonScaling, clipped


class OnlineBeta(NewtonScaling):
    """Predict sigmoid(a log(score) + b log(1 - score) + c), learned by the online Newton step.

    The family is that of Kull, Silva Filho and Flach 2017, *Beta calibration*; learning it as
    in `OnlinePlatt` is the online beta scaling of Gupta and Ramdas 2023. It starts at
    (a, b, c) = (1, -1, 0), the score itself. Scores are clipped as in `OnlinePlatt`. Left open by
    the source: Kull and others keep a >= 0 >= b, so that the map rises; here nothing does, as
    an inverted score must be turned around.

    Parameters
    ----------
    gamma : float, default 0.1
        The inverse of the step size.
    ridge : float, default 100
        The matrix A starts as this many times the identity.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlineBeta
    >>> rival = OnlineBeta()
    >>> round(rival.predict(0.25), 12)
    0.25
    >>> rival.coefficients
    (1.0, -1.0, 0.0)
    """

    def __init__(self, *, gamma: float = 0.1, ridge: float = 100.0) -> None:
        super().__init__([1.0, -1.0, 0.0], gamma, ridge)

    def _features_of(self, score: float) -> list[float]:
        p = clipped(score)
        return [math.log(p), math.log(1.0 - p), 1.0]
