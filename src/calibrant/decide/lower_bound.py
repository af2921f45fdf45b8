"""A lower bound of the precision of what was acted on that holds at all times at once."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_unit_series, check_real, check_same_length

#: What is bet, as a share of the stake: small bets pay in the long run, large ones early.
BETS = np.geomspace(0.002, 0.8, 16)


def precision_bound(
    probabilities: npt.ArrayLike, outcomes: npt.ArrayLike, *, alpha: float = 0.05
) -> float:
    """Return what the mean chance of the events acted on is at least, at confidence 1 - alpha.

    Parameters
    ----------
    probabilities : array_like of shape (n,)
        The probabilities of what was acted on, each known before its outcome.
    outcomes : array_like of shape (n,)
        What was observed, in [0, 1].
    alpha : float, default 0.05
        The chance that the bound is ever wrong, whenever one looks and however often.

    Notes
    -----
    With mu the chance of an outcome y given what came before, and any p known before it,
    ``exp(b (y - mu) - psi(b) (y - p)^2)`` with ``psi(b) = -log(1 - b) - b`` has mean at most 1
    (Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 4). Products of such bets over the rounds, and
    a mixture of these products over b, are therefore above ``1 / alpha`` at any time with chance at
    most alpha. The bound is the smallest mean of mu for which the mixture is not. Chances may
    drift; the better the probabilities, the nearer the bound is to what was observed. It takes that
    the order in which outcomes become known does not depend on what they are: where events are
    announced early, learn outcomes at a deadline (``silence`` or ``hold``).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decide import precision_bound
    >>> happened = np.arange(1000) % 10 < 7
    >>> round(precision_bound(np.full(1000, 0.7), happened), 2)
    0.65
    """
    p = as_unit_series(probabilities, "probabilities")
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("outcomes", len(y), "probabilities", len(p))
    level = check_real("alpha", alpha, 1e-12, 0.5)
    return bound_of_sums(len(y), float(y.sum()), float(((y - p) ** 2).sum()), level)


def bound_of_sums(count: int, hits: float, spread: float, alpha: float) -> float:
    """Return the bound from the number of outcomes, their sum, and their distance from p."""
    if count == 0:
        return 0.0
    penalty = (-np.log1p(-BETS) - BETS) * spread
    wanted = math.log(len(BETS) / alpha)
    low, high = 0.0, hits / count
    for _ in range(60):
        mean = 0.5 * (low + high)
        won = BETS * (hits - count * mean) - penalty
        if won.max() + math.log(np.exp(won - won.max()).sum()) >= wanted:
            low = mean
        else:
            high = mean
    return low
