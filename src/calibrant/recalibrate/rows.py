"""Rows with times of arrival: each is predicted from the outcomes that had arrived by then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.score_rounds import Round
from calibrant.measures import DelayCheck
from calibrant.recalibrate.learning import watched_of
from calibrant.recalibrate.looking import smooth_of_begun
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.waiting import Pending

if TYPE_CHECKING:
    from calibrant.recalibrate.deadlines import Deadlines
    from calibrant.tables import Arrivals, Scored


class Recalibrated(NamedTuple):
    """What was said of each row before its outcome was known: placed, smooth, and to be expected.

    `expected` is the mean of what might have been predicted, which a monitor watches.
    """

    predictions: Floats
    smooth: Floats
    expected: Floats


class When(NamedTuple):
    """By one clock: when rows are predicted, when outcomes become known, and the deadlines.

    None where nothing is said of it; NaN for an outcome that never becomes known.
    """

    made: Floats | None = None
    known: Floats | None = None
    due: Floats | None = None


def when_of(rows: Scored) -> When:
    """Return the times of a table's rows."""
    clocks = (rows.clock, rows.available, rows.due)
    return When(*(None if clock is None else clock.ticks for clock in clocks))


def check_unit(rows: Scored, deadlines: Deadlines | None) -> None:
    """Refuse deadlines after a span without a unit, for rows predicted at dates."""
    is_dated = rows.clock is not None and rows.clock.sort not in (None, "numbers")
    if deadlines is not None and is_dated and rows.due is None:
        deadlines.check_unit()


def delays_of(rows: Scored) -> DelayCheck | None:
    """Return whether the delays of a table depend on the outcome; None if it does not say."""
    if rows.clock is None or rows.available is None:
        return None
    return DelayCheck.from_times(
        rows.outcomes, rows.clock.ticks, rows.available.ticks, scores=rows.scores,
        is_time=rows.clock.sort != "numbers",
    )  # fmt: skip


def settled_outcomes(rows: Scored, recalibrator: Recalibrator) -> Floats:
    """Return what happened, silence included where its deadline is within the table."""
    deadlines, silence = recalibrator._deadlines, recalibrator.silence
    if deadlines is None or silence is None:
        return rows.outcomes
    made, _, due = when_of(rows)
    if made is None:
        made, now = np.arange(float(len(rows.scores))), float(len(rows.scores))
    else:
        now = float(made[-1]) if len(made) else 0.0
    if due is None:
        assert deadlines.span is not None
        due = made + deadlines.span.length
    return np.where(np.isnan(rows.outcomes) & (due <= now), float(silence), rows.outcomes)


def recalibrate_rows(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None = None,
    ids: Sequence[Id] | None = None,
    when: When = When(),  # noqa: B008 - a tuple does not change
) -> Recalibrated:
    """Return each row's probability, made from the outcomes that had arrived by then.

    `by` gives the rows' groups. Outcomes that arrive after the last row are learned at the end;
    that of a row that never arrives is not looked at. Rows with `ids` then wait for it in the
    recalibrator, which knows all the ids it has seen; others are given up. A recalibrator with
    `silence` or `hold` is also told `when`.
    """
    waiting = recalibrator._waiting
    with waiting.lock:
        if ids is not None:
            waiting.check_new_ids(list(ids))
        if recalibrator._deadlines is not None:
            return play_until(recalibrator, scores, outcomes, arrivals, by, ids, when)
        if when.due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        rows, order = np.arange(len(scores)), arrivals.order
        if np.array_equal(order, rows) and np.array_equal(arrivals.known, rows):
            words, watched = np.empty(len(scores)), np.empty((2, len(scores)))
            predictions = recalibrator._run(scores, outcomes, by, words, watched)
            result = Recalibrated(predictions, words, watched[1])
            opened: list[Round | Pending] = []
        else:
            opened, result = play(recalibrator, scores, outcomes, arrivals, by)
        if ids is not None:
            late = np.setdiff1d(rows, order).tolist()
            waiting.keep_many([ids[row] for row in late], [opened[row] for row in late])
            waiting.remember([ids[row] for row in order], outcomes[order])
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
    words: list[float] = []
    learned = 0
    rounds = zip(scores.tolist(), arrivals.known.tolist(), groups, strict=True)
    for score, known, group in rounds:
        for late in order[learned:known]:
            recalibrator._learn(opened[late], happened[late])
        learned = known
        opened.append(recalibrator._begin_row(score, group))
        words.append(smooth_of_begun(recalibrator, recalibrator._groups, opened[-1]))
    for late in order[learned:]:
        recalibrator._learn(opened[late], happened[late])
    return opened, what_was_said(opened, words)


def play_until(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None,
    ids: Sequence[Id] | None,
    when: When,
) -> Recalibrated:
    """Predict row after row, and learn at deadlines what arrives in between.

    At the end rows with ids go on waiting for theirs.
    """
    deadlines = recalibrator._deadlines
    assert deadlines is not None
    is_timed = when.made is not None
    made, due = (
        [None] * len(scores) if ticks is None else ticks.tolist() for ticks in (when.made, when.due)
    )
    # Without a time of its own an outcome is known right after its prediction.
    news = made if when.known is None else when.known.tolist()
    happened, order = outcomes.tolist(), arrivals.order.tolist()
    opened: list[Round | Pending] = []
    words: list[float] = []
    learned = 0

    def hear(rows: list[int]) -> None:
        """Take in outcomes that arrived, first to last."""
        for row in rows:
            at = news[row]
            if is_timed and at is not None:
                recalibrator._settle(at, before=True)
            entry = deadlines.entries.get(opened[row].number)
            if entry is not None:
                deadlines.note(entry, happened[row])
            elif deadlines.pending is None:  # held, and later than that
                recalibrator._learn(opened[row], happened[row])

    for row, (score, known) in enumerate(
        zip(scores.tolist(), arrivals.known.tolist(), strict=True)
    ):
        hear(order[learned:known])
        learned = known
        times = recalibrator._times([made[row]], [due[row]])
        recalibrator._pass_to(times, is_timed)
        opened.append(recalibrator._begin_row(score, None if by is None else by[row]))
        words.append(smooth_of_begun(recalibrator, recalibrator._groups, opened[-1]))
        recalibrator._wait(opened[-1:], [None], times)
    hear(order[learned:])
    leave(recalibrator, opened, ids, outcomes)
    return what_was_said(opened, words)


def what_was_said(opened: Sequence[Round | Pending], words: Sequence[float]) -> Recalibrated:
    """Return what was said of rows that were predicted one by one."""
    predictions = np.array([each.prediction for each in opened])
    expected = np.array([watched_of(each)[1] for each in opened])
    return Recalibrated(predictions, np.array(words), expected)


def leave(
    recalibrator: Recalibrator,
    opened: Sequence[Round | Pending],
    ids: Sequence[Id] | None,
    outcomes: Floats,
) -> None:
    """Let rows with ids wait on for their deadlines, and give up the others."""
    deadlines, waiting = recalibrator._deadlines, recalibrator._waiting
    assert deadlines is not None
    if ids is None:
        deadlines.give_up()
        return
    for row, prediction in enumerate(opened):
        entry = deadlines.entries.get(prediction.number)
        if entry is not None:
            entry.name = ids[row]
            waiting.keep_many([ids[row]], [prediction])
        elif deadlines.pending is not None or not np.isnan(outcomes[row]):
            waiting.remember([ids[row]], outcomes[row : row + 1])
        else:
            waiting.keep_many([ids[row]], [prediction])
