"""Murphy's split of a proper loss: how calibrated, how sharp, how hard."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.measures.exact import kl_terms
from calibrant.measures.losses import log_losses
from calibrant.measures.rounds import Floats, as_rounds, distinct_of


class Decomposition(NamedTuple):
    """The parts of a mean loss, which is ``reliability - resolution + uncertainty``.

    Attributes
    ----------
    reliability : float
        What miscalibration costs: the calibration error a round.
    resolution : float
        What telling rounds apart gains.
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
    over rounds, uncertainty the variance of the outcomes. For outcomes of 0 and 1 the last is
    m (1 - m), with m their mean. For fractional outcomes it is smaller, and the variance of
    outcomes within one prediction, uncertainty - resolution, is what Brier keeps besides
    reliability in both cases: the three parts sum to Brier always.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each.

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
        reliability=float((distinct.residual**2 / distinct.rounds).sum() / len(p)),
        resolution=float((distinct.rounds * (distinct.rate - mean) ** 2).sum() / len(p)),
        uncertainty=float(np.mean((y - mean) ** 2)),
    )


def murphy_log(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> Decomposition:
    """Split the log loss by distinct prediction, exactly.

    Reliability is ``klcal / T``, resolution the mean of KL(rho, m) over rounds, with m the mean
    outcome, and uncertainty the entropy of m, all in nats. The log loss is linear in the outcome,
    so nothing changes for fractional ones. The three parts sum to the log loss; it and the
    reliability are infinite together.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each.

    Examples
    --------
    >>> parts = murphy_log([0.25, 0.25, 0.75, 0.75], [0, 0, 1, 0])
    >>> [round(part, 6) for part in parts]
    [0.215762, 0.215762, 0.562335]
    """
    p, y = as_rounds(predictions, outcomes, mean=True)
    distinct = distinct_of(p, y)
    mean: Floats = np.full(len(distinct.rounds), y.mean())
    uncertainty = float(log_losses(mean[:1], mean[:1])[0])
    gained = float(kl_terms(mean, distinct.rounds, distinct.total).sum() / len(p))
    return Decomposition(
        reliability=float(kl_terms(*distinct).sum() / len(p)),
        # No more can be gained than there is; a mean that rounds to 0 or 1 would say infinity.
        resolution=min(gained, uncertainty),
        uncertainty=uncertainty,
    )
