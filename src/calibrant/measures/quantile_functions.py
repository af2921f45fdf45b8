"""Quantiles at a few levels as a whole distribution: linear in the logit of the level.

Between two levels the quantile is linear in log(p / (1 - p)); beyond the outermost it continues
linearly, as an exponential tail with the slope of the last five levels. So a quantile, a
probability, the mean and the CRPS have closed forms. `values` have the levels on their last axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, describe

#: How many levels the slope of a tail is taken over.
TAIL = 5


def as_levels(levels: object, name: str = "levels") -> Floats:
    """Return levels that increase, each inside (0, 1), or say what is wrong with them.

    Examples
    --------
    >>> from calibrant.measures.quantile_functions import as_levels
    >>> as_levels([0.1, 0.5, 0.9]).tolist()
    [0.1, 0.5, 0.9]
    """
    try:
        found: Floats = np.array(levels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim != 1 or len(found) < 2 or isinstance(levels, str | bytes):
        raise ValueError(f"{name} must be two or more numbers in (0, 1), got {describe(levels)}")
    if not ((found > 0.0) & (found < 1.0)).all():  # also refuses NaN
        bad = found[~((found > 0.0) & (found < 1.0))]
        raise ValueError(f"{name} must be inside (0, 1), got {float(bad[0])!r}")
    if not (np.diff(found) > 0.0).all():
        raise ValueError(f"{name} must increase, got {describe(levels)}")
    return found


def as_quantiles(values: object, levels: int, name: str = "quantiles") -> Floats:
    """Return quantiles with this many levels on the last axis, or say what is wrong with them."""
    try:
        found: Floats = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {describe(values)}") from None
    if found.ndim == 0 or found.shape[-1] != levels or isinstance(values, str | bytes):
        raise ValueError(f"{name} must have {levels} columns, one per level, got {found.shape}")
    if np.isnan(found).any():
        raise ValueError(f"{name} must not be NaN")
    crossing = (found[..., 1:] < found[..., :-1]).reshape(-1, levels - 1).any(axis=1)
    if crossing.any():
        where = f" in row {int(crossing.argmax())}" if found.ndim > 1 else ""
        raise ValueError(f"{name} must not fall as the level rises: they cross{where}")
    return found


def logit(p: npt.ArrayLike) -> Floats:
    """Return log(p / (1 - p))."""
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def knots(levels: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the logits of the levels, and the slopes of the lower and of the upper tail."""
    x = logit(levels)
    low, high = min(TAIL, len(x)) - 1, max(len(x) - TAIL, 0)
    with np.errstate(invalid="ignore"):
        lower = (values[..., low] - values[..., 0]) / (x[low] - x[0])
        upper = (values[..., -1] - values[..., high]) / (x[-1] - x[high])
    # A tail next to an infinite quantile is infinite: no slope is needed.
    lower, upper = (np.where(np.isfinite(slope), slope, 0.0) for slope in (lower, upper))
    return x, lower, upper


def quantile_at(levels: Floats, values: Floats, wanted: npt.ArrayLike) -> Floats:
    """Return the quantiles at other levels, in place of those on the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures.quantile_functions import quantile_at
    >>> levels, values = np.array([0.1, 0.5, 0.9]), np.array([-1.0, 0.0, 1.0])
    >>> quantile_at(levels, values, [0.25, 0.5]).round(3).tolist()
    [-0.5, 0.0]
    """
    x, lower, upper = knots(levels, values)
    at = logit(np.atleast_1d(wanted))
    left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    share = np.clip((at - x[left]) / (x[left + 1] - x[left]), 0.0, 1.0)
    below, above = values[..., left], values[..., left + 1]
    with np.errstate(invalid="ignore"):
        found = np.where(share == 0.0, below, below + share * (above - below))
        found = np.where(share == 1.0, above, found)
        found = found - lower[..., None] * np.maximum(x[0] - at, 0.0)
        found = found + upper[..., None] * np.maximum(at - x[-1], 0.0)
    # Between -inf and +inf, and between a number and infinity, the nearer end counts.
    return np.where(np.isnan(found), np.where(share < 0.5, below, above), found)


def probability_below(levels: Floats, values: Floats, outcomes: npt.ArrayLike) -> Floats:
    """Return the probability of at most each outcome, one per row of values or one for all.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures.quantile_functions import probability_below
    >>> float(probability_below(np.array([0.1, 0.5, 0.9]), np.array([-1.0, 0.0, 1.0]), 0.0))
    0.5
    """
    x, lower, upper = knots(levels, values)
    y = np.asarray(outcomes, dtype=np.float64)[..., None]
    count = (values <= y).sum(axis=-1)  # the last level whose quantile is not above
    left = np.clip(count - 1, 0, len(x) - 2)
    below = np.take_along_axis(np.broadcast_to(values, (*count.shape, len(x))), left[..., None], -1)
    above = np.take_along_axis(
        np.broadcast_to(values, (*count.shape, len(x))), left[..., None] + 1, -1
    )
    y, below, above = y[..., 0], below[..., 0], above[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.nan_to_num((y - below) / (above - below), nan=0.0, posinf=1.0), 0.0, 1.0)
        at = x[left] + share * (x[left + 1] - x[left])
        at = np.where(count == 0, x[0] - (values[..., 0] - y) / lower, at)
        at = np.where(count == len(x), x[-1] + (y - values[..., -1]) / upper, at)
        # Exactly on the last quantile, or in a tail without any width.
        at = np.where((count == len(x)) & (y == values[..., -1]), x[-1], at)
        return np.asarray(1.0 / (1.0 + np.exp(-at)))


def integral(p: Floats) -> Floats:
    """Return the integral of logit from 0 to p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = p * np.log(p) + (1.0 - p) * np.log1p(-p)
    return np.asarray(np.nan_to_num(found, nan=0.0))


def moment(p: Floats) -> Floats:
    """Return the integral of p logit(p) from 0 to p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (p * p * np.log(p) + (1.0 - p * p) * np.log1p(-p) + p) / 2.0
    return np.asarray(np.where(p == 0.0, 0.0, np.where(p == 1.0, 0.5, found)))


def pieces(levels: Floats, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the straight pieces of the quantile function, the tails included.

    Where each begins and ends, and q = a + b logit(p) in it.
    """
    x, lower, upper = knots(levels, values)
    with np.errstate(invalid="ignore"):
        inner = np.diff(values) / np.diff(x)
        slopes = np.concatenate([lower[..., None], inner, upper[..., None]], axis=-1)
        at = np.concatenate([values[..., :1], values], axis=-1)
        start = at - slopes * np.concatenate([x[:1], x])
    edges = np.concatenate([[0.0], levels, [1.0]])
    return edges[:-1], edges[1:], start, slopes


def mean_of(levels: Floats, values: Floats) -> Floats:
    """Return the mean of the part of each distribution that is finite; NaN if none is.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures.quantile_functions import mean_of
    >>> round(float(mean_of(np.array([0.1, 0.5, 0.9]), np.array([0.0, 1.0, 2.0]))), 9)
    1.0
    """
    low, high, start, slope = pieces(levels, values)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = start * (high - low) + slope * (integral(high) - integral(low))
        is_finite = np.isfinite(part)
        weight = (is_finite * (high - low)).sum(axis=-1)
        return np.asarray(np.where(is_finite, part, 0.0).sum(axis=-1) / weight)


def exact_crps(levels: Floats, values: Floats, outcomes: npt.ArrayLike) -> Any:
    """Return the CRPS of each distribution, as given: twice the integral of its pinball losses.

    Infinite where a quantile is.
    """
    y = np.asarray(outcomes, dtype=np.float64)
    low, high, start, slope = pieces(levels, values)
    split = np.clip(probability_below(levels, values, y)[..., None], low, high)

    def linear(p: Floats, q: Floats) -> Floats:
        """The integral of q(p) - y from p to q."""
        return (start - y[..., None]) * (q - p) + slope * (integral(q) - integral(p))

    def weighted(p: Floats, q: Floats) -> Floats:
        """The integral of p (q(p) - y) from p to q."""
        return (start - y[..., None]) * (q * q - p * p) / 2.0 + slope * (moment(q) - moment(p))

    with np.errstate(invalid="ignore"):
        # Below the outcome the loss is p (y - q), above it (1 - p) (q - y).
        below = -weighted(low + 0.0 * split, split)
        above = linear(split, high + 0.0 * split) - weighted(split, high + 0.0 * split)
        found = 2.0 * (below + above).sum(axis=-1)
    return np.where(np.isnan(found), np.inf, found)
