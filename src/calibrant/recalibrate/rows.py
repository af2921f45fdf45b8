"""Rows with times of arrival: each is predicted from the outcomes that had arrived by then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds import Round
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.waiting import Pending

if TYPE_CHECKING:
    from calibrant.tables import Arrivals


class Recalibrated(NamedTuple):
    """What was said of each row before its outcome was known: placed, and the mixture's word."""

    predictions: Floats
    smooth: Floats


def recalibrate_rows(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None = None,
    ids: Sequence[Id] | None = None,
) -> Recalibrated:
    """Return each row's probability, made from the outcomes that had arrived by then.

    `by` gives the rows' groups. Outcomes that arrive after the last row are learned at the end;
    that of a row that never arrives is not looked at. Rows with `ids` then wait for it in the
    recalibrator, which knows all the ids it has seen; others are given up.
    """
    waiting = recalibrator._waiting
    with waiting.lock:
        if ids is not None:
            waiting.check_new_ids(list(ids))
        rows, order = np.arange(len(scores)), arrivals.order
        if np.array_equal(order, rows) and np.array_equal(arrivals.known, rows):
            result = Recalibrated(*recalibrator._run_smooth(scores, outcomes, by))
            opened: list[Round | Pending] = []
        else:
            opened, result = play(recalibrator, scores, outcomes, arrivals, by)
        if ids is not None:
            late = np.setdiff1d(rows, order).tolist()
            waiting.keep_many([ids[row] for row in late], [opened[row] for row in late])
            waiting.remember([ids[row] for row in order], outcomes[order].tolist())
    return result


def play(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None,
) -> tuple[list[Round | Pending], Recalibrated]:
    """Predict row after row and learn what arrives in between; return what was predicted."""
    happened, order = outcomes.tolist(), arrivals.order.tolist()
    groups: Sequence[Id | None] = [None] * len(scores) if by is None else by
    opened: list[Round | Pending] = []
    learned = 0
    rounds = zip(scores.tolist(), arrivals.known.tolist(), groups, strict=True)
    for score, known, group in rounds:
        for late in order[learned:known]:
            recalibrator._learn(opened[late], happened[late])
        learned = known
        opened.append(recalibrator._begin_row(score, group))
    for late in order[learned:]:
        recalibrator._learn(opened[late], happened[late])
    predictions = np.array([each.prediction for each in opened])
    return opened, Recalibrated(predictions, np.array([each.mean for each in opened]))
