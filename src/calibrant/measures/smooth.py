"""Smooth calibration: tests of the residuals that vary slowly with the prediction."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_rounds
from calibrant.measures.distinct import distinct_of


def smooth_calibration(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the largest sum of f(p) (y - p) over 1-Lipschitz functions f into [-1, 1].

    A sum in [0, T], at most `cal1`; exact up to rounding, in about m log m steps for m distinct
    predictions.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]; an outcome may be fractional.

    Notes
    -----
    By duality, the supremum is the least cost of clearing the residuals r_1, ..., r_m of the sorted
    predictions: some are carried to a neighbour at a cost of its distance d per unit, the rest is
    written off at 1 per unit. The least cost W(g) of everything left of a gap, as a function of the
    amount g carried over the gap, is convex and piecewise linear. Passing a prediction caps its
    slopes at -1
    and 1 (write off) and shifts it by r; passing a gap adds d |g|. So it is enough to keep its
    kinks: insert one at 0, trim both ends.

    References
    ----------
    Kakade, Foster (2008), Deterministic calibration and Nash equilibrium.
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration.

    Examples
    --------
    >>> smooth_calibration([0.25, 0.75], [1, 0])
    0.375
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    if len(distinct) == 0:
        return 0.0
    residuals: list[float] = distinct.residual.tolist()
    gaps: list[float] = np.diff(distinct.prediction).tolist()
    # A kink lies at its place + shift, because W shifts after the kink is made; its weight is how
    # much the slope grows there. Two heaps of the same kinks give the lowest and the highest.
    places = [0.0]
    weights = [2.0]
    lowest = [(0.0, 0)]
    highest = [(-0.0, 0)]
    # Left of all kinks, W(g) = intercept - g once the slopes are capped.
    shift = intercept = residuals[0]
    for kink, (gap, residual) in enumerate(zip(gaps, residuals[1:], strict=True), start=1):
        place = -shift
        places.append(place)
        weights.append(2.0 * gap)
        heapq.heappush(lowest, (place, kink))
        heapq.heappush(highest, (-place, kink))
        for trimmed, weight in _trim(lowest, weights, gap):
            intercept -= weight * (places[trimmed] + shift)
        _trim(highest, weights, gap)
        shift += residual
        intercept += residual
    kinks = np.array(places) + shift
    # No amount leaves the last prediction: W(0), from the line on the left.
    return float(max(intercept - np.minimum(kinks, 0.0) @ np.array(weights), 0.0))


def _trim(
    ends: list[tuple[float, int]], weights: list[float], excess: float
) -> list[tuple[int, float]]:
    """Take `excess` weight from the kinks at the top of a heap; return each kink and its loss."""
    cuts = []
    while excess > 0.0:
        kink = ends[0][1]
        weight = min(weights[kink], excess)
        cuts.append((kink, weight))
        weights[kink] -= weight
        excess -= weight
        if weights[kink] == 0.0:
            heapq.heappop(ends)
    return cuts
