"""Rows with times of arrival: each is predicted from the outcomes that had arrived by then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from calibrant._checks import Floats, Id
from calibrant.measures import DelayCheck
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.rounds.policy import Policy

if TYPE_CHECKING:
    from calibrant._kernels.rounds.book import Book
    from calibrant.tables import Scored


class Recalibrated(NamedTuple):
    """What was predicted of each row before its outcome was known, and the outcome that counted.

    `expected` is the mean of what might have been predicted, which a monitor watches; `smooth` the
    estimate for ranking, None unless it was asked for. `outcomes` are those that were settled, NaN
    where none was; of rows that still wait, what is known by their deadlines.
    """

    predictions: Floats
    expected: Floats
    outcomes: Floats
    smooth: Floats | None


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


def check_unit(rows: Scored, policy: Policy) -> None:
    """Refuse deadlines after a span without a unit, for rows predicted at dates."""
    is_dated = rows.clock is not None and rows.clock.sort not in (None, "numbers")
    if policy.has_deadlines and is_dated and rows.due is None:
        policy.check_unit()


def delays_of(rows: Scored) -> DelayCheck | None:
    """Return whether the delays of a table depend on the outcome; None if it does not say."""
    if rows.clock is None or rows.available is None:
        return None
    return DelayCheck.from_times(
        rows.outcomes, rows.clock.ticks, rows.available.ticks, scores=rows.scores,
        is_time=rows.clock.sort != "numbers",
    )  # fmt: skip


def late_answers(book: Book) -> Counter[str]:
    """Return what became of outcomes of tables that became known after silence was learned."""
    _, repeated, conflict = book.late
    return +Counter(repeated=repeated, conflict=conflict)


def recalibrate_rows(
    recalibrator: Recalibrator,
    rows: Scored,
    ids: Sequence[Id] | None = None,
    *,
    smooth: bool = False,
) -> Recalibrated:
    """Return each row's probability, made from the outcomes that had arrived by then.

    What arrives after the last row, or is due then, waits in the recalibrator: the next table goes
    on as if both were one. Rows with `ids` wait under these.
    """
    made, known, due = when_of(rows)
    book = recalibrator._book
    if known is None and ids is None and not book.has_deadlines and not book.coming():
        if due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        predictions, watched, words = recalibrator._run(
            rows.scores, rows.outcomes, rows.groups, means=True, smooth=smooth
        )
        assert watched is not None
        return Recalibrated(predictions, watched[1], rows.outcomes, words)
    told, outcomes = recalibrator._play(
        rows.scores, rows.outcomes, rows.groups, at=made, known=known, due=due, ids=ids,
        smooth=smooth,
    )  # fmt: skip
    return Recalibrated(told[0], told[1], outcomes, told[2] if smooth else None)
