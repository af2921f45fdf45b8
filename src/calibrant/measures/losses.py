"""Proper losses: what calibration and sharpness cost together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.measures.rounds import Floats, as_rounds


def brier(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the mean squared difference of prediction and outcome, in [0, 1].

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.

    Examples
    --------
    >>> brier([0.5, 1.0], [1, 1])
    0.125
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    return float(np.mean((p - y) ** 2))


def log_loss(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the mean of -y log p - (1 - y) log(1 - p), in nats, in [0, inf].

    Nothing is clipped: the mean is infinite when something predicted with probability 0 happened.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.

    Examples
    --------
    >>> round(log_loss([0.5, 0.5], [1, 0]), 6)
    0.693147
    >>> log_loss([0.0], [1])
    inf
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    return float(np.mean(log_losses(p, y)))


def log_losses(p: Floats, y: Floats) -> Floats:
    """Return the log loss of each round."""
    with np.errstate(divide="ignore", invalid="ignore"):
        happened = np.where(y > 0.0, -y * np.log(p), 0.0)
        failed = np.where(y < 1.0, -(1.0 - y) * np.log1p(-p), 0.0)
    return happened + failed
