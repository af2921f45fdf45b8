"""Lower distance from calibration: how far predictions must move to be calibrated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import check_integer
from calibrant.measures.rounds import Cells, Floats, as_rounds, cells_of

# Distinct predictions of an exact answer: the program has twice their square in variables.
MOST_PREDICTIONS = 200
# The answer is exact to this much a round.
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
        Numbers in [0, 1], with at most 200 distinct predictions unless `grid` is given.
    grid : int, optional
        First move every prediction to the nearest multiple of 1 / grid, at most 200. The result
        is then off by at most T / (2 grid), up or down, and for predictions on the grid not at
        all.

    Notes
    -----
    A linear program over the masses moved from each (prediction, outcome) to each target q.
    Targets are the predictions, 0 and 1 at first; then those are added that the dual solution
    shows to be missing, until it proves that none could lower the sum by more than 1e-8 T.

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
    cells = cells_of(p, y)
    if grid is None and len(cells.rounds) > MOST_PREDICTIONS:
        raise ValueError(
            f"predictions must have at most {MOST_PREDICTIONS} distinct values for an exact "
            f"distance, got {len(cells.rounds)}; grid={MOST_PREDICTIONS} bounds them"
        )
    if len(p) == 0:
        return 0.0
    return len(p) * _mean_distance(cells)


class Masses(NamedTuple):
    """The share of all rounds at each prediction, of one of the two outcomes."""

    place: Floats
    mass: Floats


def _mean_distance(cells: Cells) -> float:
    """Return the least mean distance, adding targets until no other can lower it."""
    rounds = cells.rounds.sum()
    happened, failed = cells.total > 0.0, cells.rounds > cells.total
    ones = Masses(cells.prediction[happened], cells.total[happened] / rounds)
    zeros = Masses(cells.prediction[failed], (cells.rounds - cells.total)[failed] / rounds)
    targets = np.unique(np.concatenate([[0.0, 1.0], cells.prediction]))
    while True:
        distance, price_of_one, price_of_zero = _move(ones, zeros, targets)
        missing = _missing_targets(ones.place, price_of_one, zeros.place, price_of_zero)
        more = np.union1d(targets, missing)
        if len(more) == len(targets):
            return distance
        targets = more


def _move(ones: Masses, zeros: Masses, targets: Floats) -> tuple[float, Floats, Floats]:
    """Move both outcomes to calibrated targets at the least cost; return it and dual prices."""
    optimize, sparse = _import_scipy()
    everywhere = np.ones((1, len(targets)))
    leaves = [sparse.kron(sparse.eye(len(side.mass)), everywhere) for side in (ones, zeros)]
    # At a target u, (1 - u) times the ones balances u times the zeros.
    arrives = sparse.hstack(
        [
            sparse.kron(np.ones((1, len(ones.mass))), sparse.diags(1.0 - targets)),
            sparse.kron(np.ones((1, len(zeros.mass))), sparse.diags(-targets)),
        ]
    )
    places = np.concatenate([ones.place, zeros.place])
    solution = optimize.linprog(
        np.abs(places[:, None] - targets).ravel(),
        A_eq=sparse.vstack([sparse.block_diag(leaves), arrives]).tocsc(),
        b_eq=np.concatenate([ones.mass, zeros.mass, np.zeros(len(targets))]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success:
        raise RuntimeError(f"the linear program of lower_distance failed: {solution.message}")
    prices: Floats = solution.eqlin.marginals[: len(places)]
    return float(solution.fun), prices[: len(ones.mass)], prices[len(ones.mass) :]


def _missing_targets(
    ones: Floats, price_of_one: Floats, zeros: Floats, price_of_zero: Floats
) -> Floats:
    """Return targets that would lower the cost.

    A pair that sends u of a one at p and 1 - u of a zero at q to the target u saves its prices
    and costs u |p - u| + (1 - u) |q - u|. As a function of u, cost less savings is linear outside
    [p, q], concave inside when q < p, and the quadratic below when p < q: only there can a new
    target be better than the predictions, 0 and 1, which are targets already.
    """
    p, q = ones[:, None], zeros[None, :]
    a, b = price_of_one[:, None], price_of_zero[None, :]
    u = np.clip((p + q + 1.0 + a - b) / 4.0, p, np.maximum(p, q))
    saved = u * a + (1.0 - u) * b - (2.0 * u**2 - (p + q + 1.0) * u + q)
    saved = np.where(p < q, saved, 0.0)
    if saved.size == 0:
        return np.empty(0)
    best = saved.argmax(axis=1)
    every = np.arange(len(ones))
    missing: Floats = u[every, best][saved[every, best] > TOLERANCE]
    return missing


def _import_scipy() -> tuple[Any, Any]:
    """Return SciPy's optimisation and its sparse matrices, which the core does without."""
    try:
        import scipy.optimize  # noqa: PLC0415
        import scipy.sparse  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("lower_distance needs SciPy: pip install 'calibrant[lp]'") from error
    return scipy.optimize, scipy.sparse
