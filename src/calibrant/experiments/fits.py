"""The growth of an error: c x^a log(x)^b with given b, fitted to means over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats

RESAMPLES = 2000
SEED = 1
#: The interval leaves out this share on each side.
OUTSIDE = 0.025


class Interval(NamedTuple):
    """A bootstrap interval of 95%."""

    low: float
    high: float


class Fit(NamedTuple):
    """A fitted exponent a with its interval, and the constant c."""

    exponent: float
    interval: Interval
    constant: float


class Comparison(NamedTuple):
    """A comparison of two forecasters: the ratio of their errors, and the gap of their slopes.

    The level is the geometric mean over the sizes, and the slope is plain, without a logarithm.
    """

    level: float
    level_interval: Interval
    last: float  # at the largest size
    last_interval: Interval
    gap: float
    gap_interval: Interval


def fit_growth(x: Sequence[float], errors: ArrayLike, *, log_power: float = 0.0) -> Fit:
    """Fit c x^a log(x)^b to errors, by least squares on the logarithms of their means.

    The errors are by size and seed, or by world, size and seed. At each size the world with the
    largest mean is used, since a bound must hold in all of them. For the interval, all runs of a
    seed are resampled together, since they share their outcomes.
    """
    sizes = np.asarray(x, dtype=np.float64)
    values = _by_world(sizes, errors)
    if len(set(sizes.tolist())) < 2 or not (sizes > (1.0 if log_power else 0.0)).all():
        raise ValueError(
            "x must be at least two different sizes above 0, and above 1 where logarithms count, "
            f"got {sizes.tolist()}"
        )
    logs = np.log(sizes)
    offset = log_power * np.log(logs) if log_power else np.zeros_like(logs)
    means = envelope(values)
    exponent = slope(logs, np.log(means) - offset)
    constant = float(np.exp((np.log(means) - offset - exponent * logs).mean()))

    heights = log_resampled(values) - offset[:, None]
    slopes = slope_of_columns(logs, heights[:, np.isfinite(heights).all(axis=0)])
    return Fit(float(exponent), _interval(slopes), constant)


def compare_growth(x: Sequence[float], errors: ArrayLike, others: ArrayLike) -> Comparison:
    """Compare the errors of two forecasters on the same outcomes, as `fit_growth` takes them.

    Both are resampled together, seed by seed.
    """
    sizes = np.asarray(x, dtype=np.float64)
    pair = [_by_world(sizes, values) for values in (errors, others)]
    if pair[0].shape[2] != pair[1].shape[2]:
        raise ValueError(
            f"both must have the same seeds, got {pair[0].shape[2]} and {pair[1].shape[2]}"
        )
    means = np.log(envelope(pair[0])) - np.log(envelope(pair[1]))
    again = log_resampled(pair[0]) - log_resampled(pair[1])
    again = again[:, np.isfinite(again).all(axis=0)]
    logs = np.log(sizes)
    return Comparison(
        float(np.exp(means.mean())), _interval(np.exp(again.mean(axis=0))),
        float(np.exp(means[-1])), _interval(np.exp(again[-1])),
        slope(logs, means), _interval(slope_of_columns(logs, again)),
    )  # fmt: skip


def log_resampled(values: Floats) -> Floats:
    """Return the logarithm of the envelope for each resample of the seeds, by size."""
    seeds = values.shape[2]
    drawn = np.random.default_rng(SEED).integers(seeds, size=(RESAMPLES, seeds))
    # A resample is a weight for each seed; means of all resamples are then one product.
    weights = np.stack([np.bincount(row, minlength=seeds) for row in drawn], axis=1) / seeds
    with np.errstate(divide="ignore"):  # a resample of nothing but zeros
        logs: Floats = np.log((values @ weights).max(axis=0))
    return logs


def _by_world(sizes: Floats, errors: ArrayLike) -> Floats:
    """Return errors by world, size and seed, checked."""
    values = np.asarray(errors, dtype=np.float64)
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3 or values.shape[1] != len(sizes) or not values.size:
        raise ValueError(
            f"errors must be by size and seed, or by world, size and seed, with {len(sizes)} "
            f"sizes, got the shape {np.shape(errors)}"
        )
    means = envelope(values)
    if not (np.isfinite(means) & (means > 0.0)).all():
        raise ValueError(f"errors must be above 0 on average, got the means {means.tolist()}")
    return values


def _interval(values: Floats) -> Interval:
    low, high = np.quantile(values, [OUTSIDE, 1.0 - OUTSIDE])
    return Interval(float(low), float(high))


def envelope(errors: Floats) -> Floats:
    """Return the mean over seeds at each size, in the world where it is largest."""
    largest: Floats = errors.mean(axis=2).max(axis=0)
    return largest


def slope(x: Floats, y: Floats) -> float:
    """Return the slope of the line of least squares."""
    return float(slope_of_columns(x, y[:, None])[0])


def slope_of_columns(x: Floats, columns: Floats) -> Floats:
    """Return the slope for each column of heights."""
    centred = x - x.mean()
    slopes: Floats = centred @ columns / (centred @ centred)
    return slopes
