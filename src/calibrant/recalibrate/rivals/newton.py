"""Logistic recalibration by the online Newton step: Platt and beta scaling."""

from __future__ import annotations

import math
from abc import abstractmethod

from calibrant._checks import check_real
from calibrant.recalibrate.rivals.base import Rival

#: Scores of 0 and 1 have no logit: all are moved at least this far inside.
INSIDE = 1e-3


def clipped(score: float) -> float:
    """Return a score moved inside [0.001, 0.999]."""
    return min(max(score, INSIDE), 1.0 - INSIDE)


def logit(score: float) -> float:
    """Return the log odds of a score that is moved inside."""
    p = clipped(score)
    return math.log(p / (1.0 - p))


def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


class NewtonScaling(Rival):
    """Predict sigmoid(theta . x), with x the features of the score.

    With g = (p - y) x, the gradient of the log loss: A += g g^T, theta -= A^-1 g / gamma. Only
    A^-1 is kept, by the formula of Sherman and Morrison.
    """

    def __init__(self, start: list[float], gamma: float, ridge: float) -> None:
        super().__init__()
        self._rate = 1.0 / check_real("gamma", gamma, 1e-6, 1e6)
        diagonal = 1.0 / check_real("ridge", ridge, 1e-6, 1e12)
        self._theta = start
        self._inverse = [
            [diagonal if i == j else 0.0 for j in range(len(start))] for i in range(len(start))
        ]
        self._features = [0.0] * len(start)
        self._probability = 0.5

    @abstractmethod
    def _features_of(self, score: float) -> list[float]:
        """Return x."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """The weights theta of the features, as they stand."""
        return tuple(self._theta)

    def _forecast(self, score: float) -> float:
        self._features = self._features_of(score)
        logit = 0.0
        for weight, x in zip(self._theta, self._features, strict=True):
            logit += weight * x
        self._probability = sigmoid(logit)
        return self._probability

    def _learn(self, outcome: float) -> None:
        residual = self._probability - outcome
        g = [residual * x for x in self._features]
        u = [sum(a * b for a, b in zip(row, g, strict=True)) for row in self._inverse]
        s = 1.0 + sum(a * b for a, b in zip(g, u, strict=True))
        for i, row in enumerate(self._inverse):
            shrink = u[i] / s
            for j, value in enumerate(u):
                row[j] -= shrink * value
            self._theta[i] -= self._rate * shrink  # u / s is the new A^-1 times g


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
        return [logit(score), 1.0]


class OnlineBeta(NewtonScaling):
    """Predict sigmoid(a log(score) + b log(1 - score) + c), learned by the online Newton step.

    The family is that of Kull, Silva Filho and Flach 2017, *Beta calibration*; learning it as
    in `OnlinePlatt` is the online beta scaling of Gupta and Ramdas 2023. It starts at
    (a, b, c) = (1, -1, 0), the score itself. Scores are clipped as in `OnlinePlatt`. Left open by
    the source: Kull and others keep a >= 0 >= b, so that the map rises; here nothing does, as
    an inverted score must be turned around.

    Parameters
    ----------
    gamma, ridge
        As in `OnlinePlatt`.

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
