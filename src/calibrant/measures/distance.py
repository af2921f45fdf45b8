"""Lower distance from calibration: how far predictions must move to be calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, check_integer
from calibrant.measures.distinct import DistinctTable, distinct_of

# With more distinct predictions, the linear program takes minutes.
MOST_PREDICTIONS = 5000
# The largest error of the result, per round.
TOLERANCE = 1e-8


def lower_distance(
    predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, grid: int | None = None
) -> float:
    """Return the lower distance from calibration: the least sum of |p - q| over calibrated q.

    Each round's prediction p may move to a random q that knows p and the outcome, and the q must
    be calibrated: of the mass moved to q, the share q has outcome 1. A sum in [0, T]; with smCE
    for `smooth_calibration`, ``smCE / 2 <= lower_distance <= 2 * smCE``. A fractional outcome y
    counts as a mass y of outcome 1 and 1 - y of outcome 0, as it does in every other measure.

    Needs SciPy: ``pip install 'calibrant[lp]'``.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], with at most 5000 distinct predictions unless `grid` is given.
    grid : int, optional
        First move every prediction to the nearest multiple of 1 / grid, with grid at most 5000.
        The result is then wrong by at most T / (2 grid) in either direction, and exact for
        predictions on the grid.

    Notes
    -----
    The dual of the program over masses moved from each (prediction, outcome) to each target is
    to maximise the sum of y a(p) + (1 - y) b(p) over 1-Lipschitz functions a and b with
    u a(u) + (1 - u) b(u) <= 0 at every target u in [0, 1]: a linear program as long as the list
    of targets. These are the predictions, 0 and 1 at first; then those are added that the
    solution violates, until it proves that none could lower the distance by more than 1e-8 T.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration.

    Examples
    --------
    >>> round(lower_distance([0.25, 0.75], [1, 0]), 6)
    0.5
    """
    p, y = as_rounds(predictions, outcomes)
    if grid is not None:
        grid = check_integer("grid", grid, 1, MOST_PREDICTIONS)
        p = np.rint(p * grid) / grid
    distinct = distinct_of(p, y)
    if grid is None and len(distinct) > MOST_PREDICTIONS:
        raise ValueError(
            f"predictions must have at most {MOST_PREDICTIONS} distinct values for an exact "
            f"distance, got {len(distinct)}; grid=1000 bounds them"
        )
    return len(p) * _mean_distance(distinct) if len(p) else 0.0


def _mean_distance(distinct: DistinctTable) -> float:
    """Return the least mean distance, adding targets until no other can lower it."""
    targets = np.unique(np.concatenate([[0.0, 1.0], distinct.prediction]))
    # The loop ends: the excess in `_missing_targets` has curvature 4 and is 0 at every target, so
    # each new target is at least sqrt(TOLERANCE / 2) from all others.
    while True:
        ones, zeros = np.zeros(len(targets)), np.zeros(len(targets))
        at = np.searchsorted(targets, distinct.prediction)
        ones[at] = distinct.total / distinct.count.sum()
        zeros[at] = (distinct.count - distinct.total) / distinct.count.sum()
        distance, a, b = _best_prices(ones, zeros, targets)
        more = np.union1d(targets, _missing_targets(a, b, targets))
        if len(more) == len(targets):
            return distance
        targets = more


def _best_prices(ones: Floats, zeros: Floats, u: Floats) -> tuple[float, Floats, Floats]:
    """Maximise ones . a + zeros . b; return the maximum, a and b."""
    optimize, sparse = _import_scipy()
    size = len(u)
    step = sparse.diags([-1.0, 1.0], [0, 1], shape=(size - 1, size))
    slopes = sparse.block_diag([step, step])
    balance = sparse.hstack([sparse.diags(u), sparse.diags(1.0 - u)])
    gaps = np.diff(u)
    solution = optimize.linprog(
        -np.concatenate([ones, zeros]),
        A_ub=sparse.vstack([slopes, -slopes, balance]).tocsc(),
        b_ub=np.concatenate([gaps, gaps, gaps, gaps, np.zeros(size)]),
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success:
        raise RuntimeError(f"the linear program of lower_distance failed: {solution.message}")
    return max(-float(solution.fun), 0.0), solution.x[:size], solution.x[size:]


def _missing_targets(a: Floats, b: Floats, targets: Floats) -> Floats:
    """Return the targets, at most one per gap, where u a(u) + (1 - u) b(u) must be positive.

    Inside a gap (g, h) the lowest 1-Lipschitz functions are a = max(a_g - (u - g),
    a_h - (h - u)) and b alike. Of the four products of a line for a and a line for b, only the
    one that takes a from the left and b from the right is concave; the others are largest at the
    ends of the gap, where they are not positive.
    """
    g, h = targets[:-1], targets[1:]
    a_line, b_line = a[:-1] + g, b[1:] - h
    u = np.clip((a_line - b_line + 1.0) / 4.0, g, h)
    excess = u * (a_line - u) + (1.0 - u) * (b_line + u)
    missing: Floats = u[excess > TOLERANCE]
    return missing


def _import_scipy() -> tuple[Any, Any]:
    """Return SciPy's optimisation and its sparse matrices, which the core does without."""
    try:
        import scipy.optimize  # noqa: PLC0415
        import scipy.sparse  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("lower_distance needs SciPy: pip install 'calibrant[lp]'") from error
    return scipy.optimize, scipy.sparse
