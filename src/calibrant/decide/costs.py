"""What each mistake costs, as a threshold of the probability or a quantile of the number."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_real, describe

LARGEST = 1e300  # sums of a few are finite, too
WANTED = "[[cost of not acting if 0, if 1], [cost of acting if 0, if 1]]"


def threshold_of_costs(costs: npt.ArrayLike) -> float:
    """Return the probability from which acting is the cheaper choice.

    Parameters
    ----------
    costs : array_like of shape (2, 2)
        What it costs not to act if the event does not happen and if it does; then what it costs
        to act, if it does not happen and if it does.

    Notes
    -----
    Acting costs ``(1 - p) c10 + p c11`` in expectation and not acting ``(1 - p) c00 + p c01``. The
    first is at most the second from ``(c10 - c00) / (c10 - c00 + c01 - c11)`` on.

    Examples
    --------
    >>> from calibrant.decide import threshold_of_costs
    >>> threshold_of_costs([[0, 20], [1, 1]])   # a check costs 1, a miss 20
    0.05
    >>> threshold_of_costs([[0, 3], [1, 0]])    # a false alarm costs 1, a miss 3
    0.25
    """
    return float(thresholds_of_costs(costs, None)[0])


def thresholds_of_costs(costs: npt.ArrayLike, rows: int | None) -> Floats:
    """Return the threshold of each row, from one matrix per row; or of one matrix, if None."""
    try:
        table = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"costs must be {WANTED}, got {describe(costs)}") from None
    table = table[None] if table.ndim == 2 and rows is None else table
    if table.ndim != 3 or table.shape[1:] != (2, 2):
        raise ValueError(f"costs must be {WANTED}, got shape {np.shape(costs)}")
    if rows is not None and len(table) != rows:
        raise ValueError(f"costs must be one matrix per row, got {len(table)} for {rows} rows")
    if not (np.abs(table) <= LARGEST).all():  # also refuses NaN
        raise ValueError(f"costs must be finite numbers, in [-{LARGEST:g}, {LARGEST:g}]")
    if_not, if_so = table[:, 1, 0] - table[:, 0, 0], table[:, 0, 1] - table[:, 1, 1]
    wrong = ~((if_not >= 0.0) & (if_so > 0.0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            "costs must make acting no cheaper if the event does not happen, and cheaper if it "
            f"does; got {table[row].tolist()}" + (f" at position {row}" if rows else "")
        )
    found: Floats = if_not / (if_not + if_so)
    return found


def critical_quantile(*, cost_of_over: float, cost_of_under: float) -> float:
    """Return the quantile to choose of a number, if too much and too little cost per unit.

    The newsvendor's rule: of stock, staff or time to set aside, the quantile at
    ``cost_of_under / (cost_of_under + cost_of_over)`` has the least expected cost.

    Examples
    --------
    >>> from calibrant.decide import critical_quantile
    >>> critical_quantile(cost_of_over=1, cost_of_under=4)  # running out costs four times as much
    0.8
    """
    over = check_real("cost_of_over", cost_of_over, math.ulp(0.0), LARGEST)
    under = check_real("cost_of_under", cost_of_under, math.ulp(0.0), LARGEST)
    return under / (under + over)
