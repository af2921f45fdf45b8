"""When the rounds of a report were: by a clock, by words, or by their number alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import as_listed, check_same_length
from calibrant.measures.distinct import Indices
from calibrant.tables import Cells, InputError
from calibrant.tables.cells import Clock

#: Dates and times, or numbers: what an axis can show.
Moments: TypeAlias = npt.NDArray[Any]
Times: TypeAlias = npt.ArrayLike | Clock | Callable[[int], object] | None


@dataclass(frozen=True, eq=False)
class Timeline:
    """The rounds of a report in time.

    Attributes
    ----------
    rows : array of int or None
        The position of each round among all rows, those without an outcome included; None where
        each row has an outcome, or no row was kept.
    clock : Clock or None
        The reading of a clock at each row.
    call : callable or None
        What to call a row, where there is no clock.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.report.timeline import Timeline
    >>> times = Timeline.from_times(["2013-04-22T1030", "2013-04-22T1100"], np.arange(2), 2)
    >>> times.name(1), times.moments
    ('2013-04-22 11:00', array(['2013-04-22T10:30:00', '2013-04-22T11:00:00'], ...))
    """

    rows: Indices | None
    clock: Clock | None = None
    call: Callable[[int], object] | None = None

    @classmethod
    def from_times(cls, times: Times, rows: Indices, rounds: int) -> Timeline:
        """Make sense of what was given as the times of all `rounds`."""
        if times is None or isinstance(times, Clock):
            return cls(rows, times)
        if callable(times):
            return cls(rows, call=times)
        if isinstance(times, np.ndarray) and times.dtype.kind == "M":
            times = times.astype("datetime64[us]")  # nanoseconds would be listed as integers
        listed = as_listed(times, "times", "the time of each round")
        check_same_length("times", len(listed), "outcomes", rounds)
        try:
            return cls(rows, Cells("times", listed).clock())
        except InputError:  # text that is no time
            return cls(rows, call=listed.__getitem__)

    def name(self, at: int) -> str:
        """Return what to call a round: its time to the minute or second, or its number."""
        row = at if self.rows is None else int(self.rows[at])
        if self.clock is None:
            return f"round {row + 1:,}" if self.call is None else str(self.call(row))
        if not self.has_dates or np.isnan(self.clock.ticks[row]):
            return self.clock.shown(row)
        moment = datetime.fromtimestamp(float(self.clock.ticks[row]), UTC)
        return moment.strftime(self._form)

    @cached_property
    def _form(self) -> str:
        """How dates are written: as finely as the whole clock needs it, hence looked at once."""
        assert self.clock is not None
        if (self.clock.ticks % 86_400.0 == 0.0).all():
            form = "%Y-%m-%d"
        elif (self.clock.ticks % 60.0 >= 1.0).any():
            form = "%Y-%m-%d %H:%M:%S"
        else:
            form = "%Y-%m-%d %H:%M"
        return form + (" UTC" if self.clock.sort == "times with a zone" else "")

    @property
    def has_dates(self) -> bool:
        """Whether the clock shows dates and times, not numbers."""
        return self.clock is not None and self.clock.sort not in (None, "numbers")

    @property
    def moments(self) -> Moments | None:
        """Each round's place on an axis of time; None where only its number says when it was."""
        if self.clock is None:
            return None
        ticks = self.clock.ticks if self.rows is None else self.clock.ticks[self.rows]
        if np.isnan(ticks).any() or (np.diff(ticks) < 0.0).any():
            return None
        return ticks.astype("datetime64[s]") if self.has_dates else ticks


def as_clock(
    available: npt.ArrayLike | Clock, clock: Clock | None, rounds: int, name: str = "available"
) -> Clock:
    """Return when outcomes became known, or were due, by the clock of the rounds."""
    if clock is None:
        raise ValueError(f"{name} needs times by the same clock, as dates or as numbers")
    if isinstance(available, Clock):  # of a table, which was checked
        return available
    if isinstance(available, np.ndarray) and available.dtype.kind == "M":
        available = available.astype("datetime64[us]")
    listed = as_listed(available, name, "the time of each outcome")
    check_same_length(name, len(listed), "outcomes", rounds)
    later = Cells(name, listed).clock()
    clock.check_order(available=later)
    return later
