"""Recalibrate rows, each from the outcomes that had arrived when it was predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.tables import Arrivals


def recalibrate_rows(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None = None,
) -> Floats:
    """Return each row's probability, made from the outcomes that had arrived by then.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fresh one, with room for every row.
    scores, outcomes : array of float
        One a row; the outcome of a row that never arrives is not looked at.
    arrivals : Arrivals
        Which outcomes are known when.
    by : sequence of str or int, optional
        The group of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.tables.scored import at_once
    >>> outcomes = np.array([1.0, np.nan, 0.0])
    >>> arrivals = at_once(~np.isnan(outcomes))
    >>> recalibrate_rows(Recalibrator(), np.array([0.5, 0.5, 0.5]), outcomes, arrivals)
    array([...])
    """
    if arrivals.are_at_once:
        return recalibrator.run(scores, outcomes, by)
    predictions = np.empty(len(scores))
    happened, order = outcomes.tolist(), arrivals.order.tolist()
    groups: Sequence[Id | None] = [None] * len(scores) if by is None else by
    learned = 0
    rows = zip(scores.tolist(), arrivals.known.tolist(), groups, strict=True)
    for row, (score, known, group) in enumerate(rows):
        for late in order[learned:known]:
            recalibrator.update(happened[late], id=late)
        learned = known
        predictions[row] = recalibrator.predict(score, id=row, by=group)
    return predictions
