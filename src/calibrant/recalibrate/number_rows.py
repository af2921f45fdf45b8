"""A table of forecasts and outcomes: quantiles for every row, from what was known by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.numbers.number_rule import LARGEST
from calibrant.measures.quantile_functions import as_levels, quantile_at
from calibrant.recalibrate.numbers import NumberRecalibrator
from calibrant.tables import Table
from calibrant.tables.cells import Clock
from calibrant.tables.scored import check_parts, take_groups

#: The levels of the columns that are added, unless others are asked for.
SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Forecasts:
    """The columns of a table that a recalibration of numbers needs, checked; NaN for missing."""

    forecasts: Floats
    outcomes: Floats
    clock: Clock | None
    available: Clock | None
    groups: list[Id] | None


def take_forecasts(
    table: Table,
    *,
    forecast: str,
    outcome: str,
    time: str | None = None,
    available: str | None = None,
    by: str | None = None,
) -> Forecasts:
    """Return what a recalibration of numbers takes from a table, or say which row is wrong.

    Examples
    --------
    >>> from calibrant.recalibrate.number_rows import take_forecasts
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"m": ["3.5", ""], "y": ["4", "2"]})
    >>> take_forecasts(table, forecast="m", outcome="y").forecasts
    array([3.5, nan])
    """
    check_parts(forecast, outcome, by)
    if available is not None and time is None:
        raise ValueError("available needs time: an outcome is late for predictions made before it")
    m, y = (
        table.cells(name).numbers(low=-LARGEST, high=LARGEST, missing=True)
        for name in (forecast, outcome)
    )
    clock, known = (
        None if name is None else table.cells(name).clock() for name in (time, available)
    )
    if clock is not None:
        clock.check_order(available=known)
    groups = None if by is None else take_groups(table.cells(by))
    return Forecasts(m, y, clock, known, groups)


def recalibrate_numbers(
    recalibrator: NumberRecalibrator, rows: Forecasts, ids: list[Id] | None = None
) -> Floats:
    """Return the quantiles of every row, at the levels of the recalibrator, which learns them.

    Each is made from outcomes that were known by then: without a column of when they became
    available, those of all rows above.

    Examples
    --------
    >>> from calibrant import NumberRecalibrator
    >>> from calibrant.recalibrate.number_rows import recalibrate_numbers, take_forecasts
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"m": ["3.5", ""], "y": ["4", "2"]})
    >>> rows = take_forecasts(table, forecast="m", outcome="y")
    >>> recalibrate_numbers(NumberRecalibrator(), rows).shape
    (2, 33)
    """
    opened: list[object] = []
    clock, known = rows.clock, rows.available
    outcomes = recalibrator._rule.within(rows.outcomes)
    recalibrator._play_table(
        rows.forecasts, outcomes, rows.groups, at=None if clock is None else clock.ticks,
        known=None if known is None else known.ticks, ids=ids,
        is_dated=clock is not None and clock.sort != "numbers", opened=opened,
    )  # fmt: skip
    return recalibrator._rule.answers(opened)


def quantile_columns(
    recalibrator: NumberRecalibrator, quantiles: Floats, levels: Sequence[float] = SHOWN
) -> dict[str, Floats]:
    """Return new columns, each named by its level: q05 for 0.05, q97.5 for 0.975.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import NumberRecalibrator
    >>> from calibrant.recalibrate.number_rows import quantile_columns
    >>> list(quantile_columns(NumberRecalibrator(), np.zeros((2, 33)), [0.05, 0.975]))
    ['q05', 'q97.5']
    """
    wanted = as_levels(levels) if len(levels) != 1 else as_levels([levels[0] / 2, *levels])[1:]
    found = quantile_at(recalibrator.levels, quantiles, wanted)
    return {
        column_name(level): np.ascontiguousarray(found[:, at])
        for at, level in enumerate(wanted.tolist())
    }


def column_name(level: float) -> str:
    """Return what a column of quantiles is called."""
    percent = f"{100 * level:.6f}".rstrip("0").rstrip(".")
    whole, point, rest = percent.partition(".")
    return f"q{whole:0>2}{point}{rest}"
