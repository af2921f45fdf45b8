"""Dates and times of a whole column at once, if they are written in one of the usual ways.

A column with any other cell, be it right or wrong, is read cell by cell (`cells.read_tick`), which
gives the same numbers bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Floats
from calibrant.tables.notation import is_missing

if TYPE_CHECKING:
    from calibrant.tables.cells import Sort

_MINUTES = "0000-00-00T00:00"
_TIMES = (_MINUTES, f"{_MINUTES}:00", f"{_MINUTES}:00.000", f"{_MINUTES}:00.000000")
#: The usual ways, with 0 for any digit. A cell's length tells which of them it may be.
FORMS = {
    len(time + zone): (time, zone)
    for time, zone in (
        ("0000-00-00", ""),
        *((time, zone) for time in _TIMES for zone in ("", "Z", "+00:00")),
    )
}
#: Makes a date its form.
AS_FORM = str.maketrans("123456789 ", "000000000T")
#: NumPy knows a year 0, Python does not.
FIRST = np.datetime64("0001-01-01")
#: Up to here a float64 holds every integer, and a division rounds only once, as Python's does.
EXACT = 2**53


def dates_at_once(cells: Sequence[str | None]) -> tuple[Floats, Sort | None] | None:
    """Return the seconds since 1970, NaN for a missing cell, and what the times are.

    None if not all cells are missing or times of one sort, written in a usual way.

    Examples
    --------
    >>> from calibrant.tables.dates import dates_at_once
    >>> dates_at_once(["1970-01-02", None, "1970-01-02 01:00"])
    (array([86400.,    nan, 90000.]), 'times without a zone')
    >>> dates_at_once(["1970-01-02", "a day later"])
    """
    sizes = np.array([len(cell or "") for cell in cells])
    ticks = np.full(len(cells), np.nan)
    sorts: set[Sort] = set()
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        alike = [cells[row] or "" for row in rows.tolist()]
        if size not in FORMS:
            if not all(map(is_missing, alike)):
                return None
            continue
        time, zone = FORMS[size]
        found = _of_one_form(alike, time, zone)
        if found is None:
            return None
        ticks[rows] = found
        sorts.add("times with a zone" if zone else "times without a zone")
    return (ticks, next(iter(sorts), None)) if len(sorts) <= 1 else None


def _of_one_form(cells: Sequence[str], time: str, zone: str) -> Floats | None:
    """Return the seconds since 1970 of cells that all have the length of one form."""
    text = "".join(cells)
    # The form of a zone is also that of others.
    if text.translate(AS_FORM) != (time + zone) * len(cells) or text.count(zone) < len(cells):
        return None
    unit, per_second = ("us", 1e6) if "." in time else ("s", 1.0)
    whole = np.frombuffer(text.encode(), f"S{len(time + zone)}")
    try:
        dates = whole.astype(f"S{len(time)}").astype(f"datetime64[{unit}]")
    except ValueError:  # no such day, hour or minute
        return None
    counts = dates.astype(np.int64)
    if (dates < FIRST).any() or (np.abs(counts) > EXACT).any():
        return None
    return counts / per_second
