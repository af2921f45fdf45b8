"""Evidence that recalibrated probabilities are closer to the truth than their scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_unit_series, check_same_length

#: Scores and predictions keep this far from 0 and 1: a 0 that comes true would be infinite
#: evidence.
LEAST = 1e-6


def gain_evidence(
    scores: npt.ArrayLike, calibrated: npt.ArrayLike, outcomes: npt.ArrayLike
) -> Floats:
    """Return the evidence of the calibrated probabilities against the scores, round by round.

    The null: in each round, the probability of the event, given all that was known, is the score.
    Under the null, the product over rounds of the likelihood ratios of the calibrated probability
    to the score is a martingale that starts at 1, if each probability was made before its outcome
    (Vovk, Petej & Gammerman 2021): the probability that it ever reaches 1 / alpha is at most alpha.
    Its natural logarithm is returned. If it is below 0, the scores were better so far.

    Scores are first moved into [1e-6, 1 - 1e-6], and it is the moved score that is tested.

    Parameters
    ----------
    scores : array_like of shape (T,)
        A model's probabilities.
    calibrated : array_like of shape (T,)
        The probabilities made from them, each before its outcome was known.
    outcomes : array_like of shape (T,)
        The outcomes, in [0, 1].

    Examples
    --------
    >>> from calibrant import Recalibrator, streams
    >>> from calibrant.monitor import gain_evidence
    >>> nba = streams.load("nba538")
    >>> calibrated = Recalibrator().run(nba.scores, nba.outcomes)
    >>> bool(gain_evidence(nba.scores, calibrated, nba.outcomes)[-1] > 20)  # log 1e6 is 14
    True
    """
    s = np.clip(as_unit_series(scores, "scores"), LEAST, 1.0 - LEAST)
    q = np.clip(as_unit_series(calibrated, "calibrated"), LEAST, 1.0 - LEAST)
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("calibrated", len(q), "scores", len(s))
    check_same_length("outcomes", len(y), "scores", len(s))
    return np.cumsum(np.log(y * (q / s) + (1.0 - y) * ((1.0 - q) / (1.0 - s))))
