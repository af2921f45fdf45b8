"""Which outcomes are known to which predictions, and a recalibration that respects it.

Rows are predicted in their order. An outcome that became known at time t is used by predictions
made after t; one made at exactly t does without it, because clocks with coarse ticks cannot say
which came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant.recalibrate.clocks import Clock
from calibrant.recalibrate.errors import RowError
from calibrant.recalibrate.recalibrator import Recalibrator
from calibrant.recalibrate.waiting import Id

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The order in which outcomes become known.

    Attributes
    ----------
    order : array of int
        The rows whose outcomes arrive, first to last. Equal times keep the order of rows.
    known : array of int
        For each row, how many of these have arrived when it is predicted. Never falls.

    Examples
    --------
    >>> import numpy as np
    >>> arrivals = at_once(np.array([True, False, True]))
    >>> arrivals.order, arrivals.known
    (array([0, 2]), array([0, 1, 1]))
    """

    order: Rows
    known: Rows

    @property
    def never(self) -> int:
        """How many outcomes never arrive."""
        return len(self.known) - len(self.order)

    @property
    def too_late(self) -> int:
        """How many arrive when the last prediction has been made, besides that one's own."""
        if not len(self.known):
            return 0
        last = len(self.known) - 1
        return int(np.count_nonzero(self.order[self.known[-1] :] != last))

    @property
    def are_at_once(self) -> bool:
        """Whether each outcome is known to the very next prediction, and none is missing."""
        rows = np.arange(len(self.known))
        return np.array_equal(self.order, rows) and np.array_equal(self.known, rows)


def at_once(arrives: Mask) -> Arrivals:
    """Return the arrivals of outcomes that are known before the next row, or never."""
    return Arrivals(np.flatnonzero(arrives), np.cumsum(arrives) - arrives)


def by_clock(time: Clock, available: Clock, arrives: Mask) -> Arrivals:
    """Return the arrivals of outcomes that become known at times of their own.

    Parameters
    ----------
    time : Clock
        When each row is predicted; must be there and never run backwards.
    available : Clock
        When each row's outcome becomes known, not before its prediction; missing for never.
    arrives : array of bool
        Whether the row has an outcome at all.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibrate.clocks import read_clock
    >>> time, available = read_clock([1, 2, 3, 4], "t"), read_clock([3.5, 2, None, 4], "known")
    >>> arrivals = by_clock(time, available, np.full(4, True))
    >>> arrivals.order, arrivals.known      # row 1 is known to row 2, row 0 only to row 3
    (array([1, 0, 3]), array([0, 0, 1, 2]))
    """
    check_order(time)
    if available.sort not in (None, time.sort):
        raise ValueError(
            f"column {available.column!r} holds {available.sort} and column {time.column!r} holds "
            f"{time.sort}: the two cannot be compared"
        )
    early = available.ticks < time.ticks
    if early.any():
        row = int(early.argmax())
        raise RowError(
            f"the outcome is available at {available.shown(row)}, before its prediction at "
            f"{time.shown(row)}",
            column=available.column,
            row=row,
        )
    rows = np.flatnonzero(arrives & ~np.isnan(available.ticks))
    order = rows[np.argsort(available.ticks[rows], kind="stable")]
    # No outcome is available before its own prediction and time never runs backwards, so all that
    # arrive before a row is predicted belong to earlier rows.
    return Arrivals(order, np.searchsorted(available.ticks[order], time.ticks, side="left"))


def check_order(time: Clock) -> None:
    """Refuse a clock of predictions that has gaps or runs backwards."""
    time.require_all()
    time.require_order()


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
