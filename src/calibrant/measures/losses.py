"""Proper losses, and Murphy's decomposition: reliability, resolution and uncertainty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures.distinct import distinct_of
from calibrant.measures.exact import kl_terms


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

    Nothing is clipped: the mean is infinite when an outcome that was given probability 0 occurs.
    The arguments are those of `brier`.

    Examples
    --------
    >>> round(log_loss([0.5, 0.5], [1, 0]), 6)
    0.693147
    >>> log_loss([0.0], [1])
    inf
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    return float(np.mean(log_losses(p, y)))


class Decomposition(NamedTuple):
    """The parts of a mean loss, which is ``reliability - resolution + uncertainty``.

    Attributes
    ----------
    reliability : float
        The loss from miscalibration: the calibration error per round.
    resolution : float
        The gain from mean outcomes that differ between predictions.
    uncertainty : float
        The loss of always predicting the mean outcome.

    Examples
    --------
    >>> Decomposition(0.01, 0.04, 0.25).loss
    0.22
    """

    reliability: float
    resolution: float
    uncertainty: float

    @property
    def loss(self) -> float:
        """The mean loss that was split."""
        return self.reliability - self.resolution + self.uncertainty


def murphy(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> Decomposition:
    """Split the Brier score by distinct prediction, exactly.

    Reliability is ``cal2 / T``, resolution the variance of rho (the mean outcome of a prediction)
    over rounds, uncertainty the variance of the outcomes: m (1 - m) for outcomes of 0 and 1 with
    mean m, less for fractional ones. The three parts always sum to `brier`, whose arguments these
    are.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score.

    Examples
    --------
    >>> murphy([0.25, 0.25, 0.75, 0.75], [0, 0, 1, 0])
    Decomposition(reliability=0.0625, resolution=0.0625, uncertainty=0.1875)
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    distinct = distinct_of(p, y)
    mean = y.mean()
    return Decomposition(
        reliability=float((distinct.residual**2 / distinct.count).sum() / len(p)),
        resolution=float((distinct.count * (distinct.mean_outcome - mean) ** 2).sum() / len(p)),
        uncertainty=float(np.mean((y - mean) ** 2)),
    )


def murphy_log(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> Decomposition:
    """Split the log loss by distinct prediction, exactly.

    Reliability is ``klcal / T``, resolution the mean of KL(rho, m) over rounds, with m the mean
    outcome, and uncertainty the entropy of m, all in nats. The log loss is linear in the outcome,
    so nothing changes for fractional ones. The three parts sum to `log_loss`; it is infinite
    exactly when the reliability is. The arguments are those of `brier`.

    Examples
    --------
    >>> parts = murphy_log([0.25, 0.25, 0.75, 0.75], [0, 0, 1, 0])
    >>> [round(part, 6) for part in parts]
    [0.215762, 0.215762, 0.562335]
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    distinct = distinct_of(p, y)
    mean: Floats = np.full(len(distinct), y.mean())
    uncertainty = float(log_losses(mean[:1], mean[:1])[0])
    gained = float(kl_terms(mean, distinct.count, distinct.total).sum() / len(p))
    lost = float(kl_terms(distinct.prediction, distinct.count, distinct.total).sum() / len(p))
    return Decomposition(
        reliability=lost,
        # The uncertainty bounds it; where the mean rounds to 0 or 1, `gained` is infinite.
        resolution=min(gained, uncertainty),
        uncertainty=uncertainty,
    )


def log_losses(p: Floats, y: Floats) -> Floats:
    """Return the log loss of each round."""
    with np.errstate(divide="ignore", invalid="ignore"):
        happened = np.where(y > 0.0, -y * np.log(p), 0.0)
        failed = np.where(y < 1.0, -(1.0 - y) * np.log1p(-p), 0.0)
    return happened + failed
