"""What a column of an undescribed table holds: its kind, its range, its missing values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from calibrant._checks import Floats
from calibrant.tables.cells import Cells, Clock, is_empty, is_missing
from calibrant.tables.errors import InputError

#: 0 or 1 (also as words), other numbers in [0, 1], numbers, times, two other values, text, or no
#: values at all.
Kind: TypeAlias = Literal["binary", "probability", "number", "time", "two values", "text", "empty"]


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What one column holds.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        binary, probability, number, time, two values, text or empty.
    missing : int
        How many rows have no value.
    distinct : int
        How many different values there are, as written.
    examples : tuple of str
        The smallest and the greatest number or time; of other kinds, the most common values.
    empty : int
        How many cells are empty, without even a word such as NA, which may be a name.
    counts : mapping of str to int
        How often each value occurs, if there are two.
    numbers : array or None
        The values as numbers, NaN where missing, if they are numbers.
    clock : Clock or None
        The values as times, if they are.

    Examples
    --------
    >>> from calibrant.tables import Cells
    >>> facts_of(Cells("rain", ["yes", "no", "NA", "yes"]))
    ColumnFacts(name='rain', kind='binary', missing=1, distinct=2, examples=('yes', 'no'))
    """

    name: str
    kind: Kind
    missing: int
    distinct: int
    examples: tuple[str, ...]
    empty: int = field(default=0, repr=False)
    counts: dict[str, int] = field(default_factory=dict, repr=False)
    numbers: Floats | None = field(default=None, repr=False)
    clock: Clock | None = field(default=None, repr=False)

    @property
    def is_range(self) -> bool:
        """Whether the examples are the smallest and the greatest value."""
        return self.kind in ("probability", "number", "time")


def facts_of(cells: Cells) -> ColumnFacts:
    """Return what a column holds."""
    written = Counter(str(cell).strip() for cell in cells.values() if not is_empty(cell))
    counts = Counter({value: of for value, of in written.items() if not is_missing(value)})
    kind, numbers, clock = _kind(cells, len(counts))
    if kind == "text":  # among names, NA may be one
        counts = written
    common = tuple(value for value, _ in counts.most_common(3))
    if numbers is not None and kind in ("probability", "number"):
        common = (f"{np.nanmin(numbers):.4g}", f"{np.nanmax(numbers):.4g}")
    if clock is not None:
        common = (
            clock.shown(int(np.nanargmin(clock.ticks))),
            clock.shown(int(np.nanargmax(clock.ticks))),
        )
    rows = len(cells.values())
    return ColumnFacts(
        cells.column,
        kind,
        rows - counts.total(),
        len(counts),
        common,
        rows - written.total(),
        dict(counts) if len(counts) == 2 else {},
        numbers,
        clock,
    )


def _kind(cells: Cells, distinct: int) -> tuple[Kind, Floats | None, Clock | None]:
    """Return the kind of a column, and its values as numbers or as a clock if they are."""
    if not distinct:
        return "empty", None, None
    for read in (cells.numbers, cells.outcomes):  # the second also reads words
        try:
            numbers = read(missing=True)
        except InputError:
            continue
        known = numbers[~np.isnan(numbers)]
        if np.isin(known, (0.0, 1.0)).all():
            return "binary", numbers, None
        if ((known >= 0.0) & (known <= 1.0)).all():
            return "probability", numbers, None
        return "two values" if distinct == 2 else "number", numbers, None
    try:
        return "time", None, cells.clock()
    except InputError:
        return "two values" if distinct == 2 else "text", None, None
