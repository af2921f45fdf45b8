"""What decisions caught and cost, beside what a plain threshold would have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_unit_series, check_same_length
from calibrant.decide.decider import Booleans, Decider
from calibrant.decide.hindsight import (
    cheapest_threshold,
    precise_threshold,
    recalling_threshold,
    sized_threshold,
)

#: Rows of a window where the decider has none of its own.
WINDOW = 10_000
OWN = "decided"


@dataclass(frozen=True)
class Reviewed:
    """What one way to decide did to the rows whose outcomes are known.

    Attributes
    ----------
    acts : int
        Rows acted on.
    share : float
        The same, of all rows.
    least, most : float
        The least and the greatest share in a window.
    recall : float
        The share of the events that were acted on.
    precision : float
        The share of what was acted on that was an event.
    cost : float
        What all of it cost, where costs decide; else NaN.

    Examples
    --------
    >>> from calibrant.decide import Decider, review
    >>> decider = Decider(cost_of_acting=1, cost_of_missing=4)
    >>> p, happened = [0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1]
    >>> reviewed = review(decider, p, decider.decide_many(p), happened)
    >>> reviewed["decided"].cost, reviewed["best threshold in hindsight"].cost
    (6.0, 3.0)
    """

    acts: int
    share: float
    least: float
    most: float
    recall: float
    precision: float
    cost: float


def review(
    decider: Decider,
    probabilities: npt.ArrayLike,
    acts: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    scores: npt.ArrayLike | None = None,
) -> dict[str, Reviewed]:
    """Return what decisions did, beside the raw scores and the best threshold in hindsight.

    Parameters
    ----------
    decider : Decider
        The decider; only its criterion is used.
    probabilities, acts, outcomes : array_like of shape (T,)
        What it was given, what it decided, and the outcomes, all known.
    scores : array_like of shape (T,), optional
        The model's own probabilities, for a plain threshold on them: that of the costs, of the
        floor, or of the budget as tuned on the first tenth.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decide import Decider, review
    >>> random = np.random.default_rng(0)
    >>> p = random.beta(1, 9, 20_000)
    >>> happened = random.random(20_000) < p
    >>> decider = Decider(budget=0.05, per=1000)
    >>> found = review(decider, p, decider.decide_many(p), happened)
    >>> found["decided"].least >= 0.04 and found["decided"].most <= 0.06
    True
    >>> found["best threshold in hindsight"].most > 0.06
    True
    """
    p, y = as_unit_series(probabilities, "probabilities"), as_unit_series(outcomes, "outcomes")
    acted = np.asarray(acts, dtype=np.bool_)
    check_same_length("acts", len(acted), "outcomes", len(y))
    check_same_length("probabilities", len(p), "outcomes", len(y))
    found = {OWN: reviewed(decider, acted, y)}
    if len(y) == 0:
        return found
    if scores is not None:
        raw = as_unit_series(scores, "scores")
        check_same_length("scores", len(raw), "outcomes", len(y))
        found["plain threshold on scores"] = reviewed(decider, raw >= plain(decider, raw), y)
    best = p >= hindsight(decider, p, y)
    found["best threshold in hindsight"] = reviewed(decider, best, y)
    return found


def reviewed(decider: Decider, acts: Booleans, outcomes: Floats) -> Reviewed:
    """Return what these acts did."""
    count, events, caught = int(acts.sum()), outcomes.sum(), outcomes[acts].sum()
    per = decider.per if decider.budget is not None and isinstance(decider.per, int) else WINDOW
    shares = np.array([acts.mean()]) if len(acts) else np.array([math.nan])
    if len(acts) >= per:
        sums = np.append(0, np.cumsum(acts))
        shares = (sums[per:] - sums[:-per]) / per
    cost, costs = math.nan, decider.cost_matrix
    if costs is not None:
        (c00, c01), (c10, c11) = costs
        missed = events - caught
        quiet = len(acts) - count - missed
        cost = float(quiet * c00 + missed * c01 + (count - caught) * c10 + caught * c11)
    return Reviewed(
        count, count / max(len(acts), 1), float(shares.min()), float(shares.max()),
        float(caught / events) if events else math.nan,
        float(caught / count) if count else math.nan, cost,
    )  # fmt: skip


def plain(decider: Decider, scores: Floats) -> float:
    """Return the threshold on scores that somebody would set who trusts them."""
    if decider.budget is not None:
        first = scores[: max(len(scores) // 10, 1)]
        return float(np.quantile(first, 1.0 - decider.budget))
    if decider.recall is not None:
        return float(np.quantile(scores, 1.0 - decider.recall))
    return decider.threshold if decider.precision is None else decider.precision


def hindsight(decider: Decider, p: Floats, y: Floats) -> float:
    """Return the best single threshold for the question of a decider."""
    if decider.budget is not None:
        return sized_threshold(p, y, decider.budget)
    if decider.precision is not None:
        return precise_threshold(p, y, decider.precision)
    if decider.recall is not None:
        return recalling_threshold(p, y, decider.recall)
    assert decider.cost_matrix is not None
    return cheapest_threshold(p, y, decider.cost_matrix)
