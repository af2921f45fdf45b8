"""Online Platt scaling."""

from __future__ import annotations

import math

from calibrant.recalibrate.rivals.newton import NewtonScaling, clipped


class OnlinePlatt(NewtonScaling):
    """Predict sigmoid(a logit(score) + b), with (a, b) learned by the online Newton step.

    Gupta and Ramdas 2023, *Online Platt scaling with calibeating* (OPS); the step is that of
    Hazan, Agarwal and Kale 2007. It starts at (a, b) = (1, 0), the score itself.

    Left open by the source: what to do with scores of 0 and 1, which are clipped to
    [0.001, 0.999] here. Left out: the projection of (a, b) onto a ball of radius 100, which the
    regret bound needs; on every stream of the benchmarks their norm stays below 3.

    Parameters
    ----------
    gamma : float, default 0.1
        The inverse of the step size.
    ridge : float, default 100
        The matrix A starts as this many times the identity.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlinePlatt
    >>> rival = OnlinePlatt()
    >>> rival.coefficients
    (1.0, 0.0)
    >>> rival.run([0.25, 0.25], [1, 1]).round(4).tolist()
    [0.25, 0.2819]
    """

    def __init__(self, *, gamma: float = 0.1, ridge: float = 100.0) -> None:
        super().__init__([1.0, 0.0], gamma, ridge)

    def _features_of(self, score: float) -> list[float]:
        p = clipped(score)
        return [math.log(p / (1.0 - p)), 1.0]
