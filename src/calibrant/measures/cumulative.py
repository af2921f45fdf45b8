"""Measures computed from cumulative sums in the order of predictions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures.distinct import distinct_of


def step_calibration(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the largest |sum of y - p over the rounds with p <= v| over all thresholds v.

    A sum in [0, T]: `cal1` with step functions of the prediction as the only tests.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]; an outcome may be fractional.

    References
    ----------
    Qiao, Zhao (2025), Truthfulness of decision-theoretic calibration measures.

    Examples
    --------
    >>> step_calibration([0.25, 0.5, 0.75], [1, 0, 0])
    0.75
    """
    return float(np.abs(_cumulative_residual(predictions, outcomes)).max())


def cutoff_calibration(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the largest |sum of y - p over the rounds with p in an interval| over intervals.

    A sum in [0, T], with the same arguments as `step_calibration`: the largest minus the smallest
    cumulative residual, so it is between one and two times `step_calibration` and at most `cal1`.

    References
    ----------
    Rossellini, Soloff, Barber, Ren, Willett (2025), Can a calibration metric be both testable
    and actionable?

    Examples
    --------
    >>> cutoff_calibration([0.25, 0.5, 0.75], [1, 0, 0])
    1.25
    """
    return float(np.ptp(_cumulative_residual(predictions, outcomes)))


def u_calibration(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the largest regret under a V-shaped loss (V-calibration), in [0, 2 T].

    For the loss (v - y) sgn(p - v), whose values lie in [-1, 1], the regret compares the
    predictions made with the best constant one. The largest over v in [0, 1] is within a factor
    of 2 of U-calibration, the same over all proper losses with values in [-1, 1]. A sum, not a
    mean, of the same arguments as `step_calibration`.

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng (2023), U-calibration: forecasting for an unknown agent.

    Examples
    --------
    >>> u_calibration([0.25, 0.25, 0.75], [1, 1, 0])
    3.0
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    if len(distinct) == 0:
        return 0.0
    # Regret to a constant above v: 2 (y - v) for each round at or below v. Regret to a constant
    # below v: 2 (v - y) for each round at or above v. Both are largest at a prediction.
    n, s, v = distinct.count, distinct.total, distinct.prediction
    too_low = np.cumsum(s) - np.cumsum(n) * v
    too_high = np.cumsum(n[::-1])[::-1] * v - np.cumsum(s[::-1])[::-1]
    return float(2.0 * max(0.0, too_low.max(), too_high.max()))


def _cumulative_residual(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> Floats:
    """Return the sums of y - p up to each distinct prediction, after the empty sum."""
    distinct = distinct_of(*as_rounds(predictions, outcomes))
    return np.concatenate([[0.0], np.cumsum(distinct.residual)])
