"""Calibration decision loss: what trusting the predictions costs the worst-off decision maker."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures.binned import sum_by
from calibrant.measures.distinct import DistinctTable, distinct_of


def decision_loss(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the calibration decision loss (CDL): the largest swap regret over decision tasks.

    A decision maker with payoffs in [0, 1] answers each prediction p with the action that is best
    if p is right. The swap regret is what the best fixed relabelling of predictions, p to rho,
    would have added in sum; the CDL is its supremum over all such tasks. A sum in [0, T], with
    ``cal2 <= decision_loss <= 2 * cal1``. Exact up to rounding, in about m log m steps for m
    distinct predictions.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]. A fractional outcome pays in proportion.

    Notes
    -----
    A task is a convex function G on [0, 1], the best payoff expected as a function of the
    probability, and its swap regret the sum of n D_G(rho, p) with the Bregman divergence D_G. Up
    to a straight line, G is a mixture of hinges (x - v)_+ with weights mu(v), and its payoffs fit
    into [0, 1] exactly when both the integral of v mu and that of (1 - v) mu are at most 1. A
    hinge at v regrets V(v), the sum of n |rho - v| over the predictions with v between p and rho.
    So the CDL is a linear program with two constraints; its dual is the line of least
    L(0) + L(1) above V, and the CDL is twice the concave envelope of V at 1/2. V is linear between
    the points p and rho, hence the envelope needs no others.

    References
    ----------
    Hu, Wu (2024), Predict to minimize swap regret for all payoff-bounded tasks.

    Examples
    --------
    >>> decision_loss([0.5, 0.5, 0.25], [1, 1, 0])
    2.0
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    if len(distinct) == 0:
        return 0.0
    places, regrets = hinge_regrets(distinct)
    return 2.0 * _envelope_at_half(places, regrets)


def hinge_regrets(distinct: DistinctTable) -> tuple[Floats, Floats]:
    """Return V at 0, at 1 and at every p and rho."""
    rate = distinct.mean_outcome
    places = np.unique(np.concatenate([[0.0, 1.0], distinct.prediction, rate]))
    first = np.searchsorted(places, np.minimum(distinct.prediction, rate))
    last = np.searchsorted(places, np.maximum(distinct.prediction, rate))
    # A prediction adds +-(n v - s) from one of its two places to the other.
    sign = np.where(rate < distinct.prediction, 1.0, -1.0)
    size = len(places) + 1
    slope, constant = (
        np.cumsum(sum_by(first, sign * part, size) - sum_by(last + 1, sign * part, size))[:-1]
        for part in (distinct.count, distinct.total)
    )
    return places, np.maximum(slope * places - constant, 0.0)


def _envelope_at_half(x: Floats, y: Floats) -> float:
    """Return the least concave function above the points (x, y), x from 0 to 1, at 1/2."""
    hull: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    corners = np.array(hull)
    return float(np.interp(0.5, corners[:, 0], corners[:, 1]))


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
