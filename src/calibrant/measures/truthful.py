"""Measures that do not reward a forecaster for predicting something other than it believes.

Most measures do: on outcomes drawn from known probabilities, predictions other than these
have a smaller error on average, since errors of the draws can cancel against others. There are two
known solutions: to use a random half of the rounds, or to choose bins such that the errors of the
draws are the same whatever is predicted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, check_integer, check_seed
from calibrant.measures.cumulative import step_calibration
from calibrant.measures.distinct import distinct_of
from calibrant.measures.smooth import smooth_calibration


def subsampled_smooth_calibration(
    predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, draws: int = 100, seed: int = 0
) -> float:
    """Return `smooth_calibration` of a random half of the rounds, on average.

    Each round is kept with probability 1/2. A sum in [0, T]. For outcomes drawn from probabilities
    that may depend on the past, predicting these minimises the expectation up to a constant
    factor (Theorem of the reference); this does not hold for `smooth_calibration` itself.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]; an outcome may be fractional.
    draws : int, default 100
        Random halves to average over; the expectation is over all of them.
    seed : int, default 0
        Seed of the halves, in [0, 2**64 - 1].

    References
    ----------
    Haghtalab, Qiao, Yang, Zhao (2024), Truthfulness of calibration measures.

    Examples
    --------
    >>> from calibrant.measures import subsampled_smooth_calibration
    >>> round(subsampled_smooth_calibration([0.25, 0.75], [1, 0], draws=1000), 1)
    0.5
    """
    return _subsampled(smooth_calibration, predictions, outcomes, draws, seed)


def subsampled_step_calibration(
    predictions: npt.ArrayLike, outcomes: npt.ArrayLike, *, draws: int = 100, seed: int = 0
) -> float:
    """Return `step_calibration` of a random half of the rounds, on average.

    Each round is kept with probability 1/2. A sum in [0, T], of the same arguments as
    `subsampled_smooth_calibration`. Like `step_calibration`, it bounds the regret of anyone who
    acts on the predictions, and for independent outcomes the true probabilities minimise its
    expectation up to a constant factor (both proved in the reference).

    References
    ----------
    Qiao, Zhao (2025), Truthfulness of decision-theoretic calibration measures.

    Examples
    --------
    >>> from calibrant.measures import subsampled_step_calibration
    >>> round(subsampled_step_calibration([0.25, 0.75], [1, 0], draws=1000), 1)
    0.6
    """
    return _subsampled(step_calibration, predictions, outcomes, draws, seed)


def two_bin_calibration(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the squared error of two bins, below and from q on, averaged over q in [0, 1].

    The sums of y - p over each bin are squared, added and divided by T^2: a mean in [0, 1], exact
    in about T log T steps. For predictions fixed in advance and independent outcomes,
    the true probabilities minimise the expectation exactly: the sum of the two variances does not
    depend on the predictions, and only the true probabilities have no bias in any bin.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1]; an outcome may be fractional.

    References
    ----------
    Hartline, Hu, Wu (2025), A perfectly truthful calibration measure.

    Examples
    --------
    >>> from calibrant.measures import two_bin_calibration
    >>> two_bin_calibration([0.25, 0.75], [1, 0])
    0.140625
    """
    distinct = distinct_of(*as_rounds(predictions, outcomes, mean=True))
    below = np.concatenate([[0.0], np.cumsum(distinct.residual)])
    widths = np.diff(np.concatenate([[0.0], distinct.prediction, [1.0]]))
    squares = below**2 + (below[-1] - below) ** 2
    return float(widths @ squares / distinct.count.sum() ** 2)


def _subsampled(
    measure: Callable[[Floats, Floats], float],
    predictions: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    draws: int,
    seed: int,
) -> float:
    """Return a measure of random halves of the rounds, on average."""
    p, y = as_rounds(predictions, outcomes)
    halves = np.random.default_rng(check_seed(seed))
    found = []
    for _ in range(check_integer("draws", draws, 1)):
        kept = halves.random(len(p)) < 0.5
        found.append(measure(p[kept], y[kept]))
    return float(np.mean(found))
