"""Which outcomes are known to which predictions, in the order of their times.

Rows are predicted in their order. An outcome that became known at time t is used by predictions
made after t; one made at exactly t does without it, because clocks with coarse ticks cannot say
which came first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.tables.clocks import Clock
from calibrant.tables.row_errors import RowError

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
    >>> from calibrant.tables.clocks import read_clock
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
