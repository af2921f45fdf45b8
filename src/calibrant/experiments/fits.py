"""How an error grows: c x^a log(x)^b with b given, fitted to means over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats

RESAMPLES = 2000
SEED = 1
#: The interval leaves out as much on each side.
OUTSIDE = 0.025


@dataclass(frozen=True)
class Fit:
    """A fitted exponent a, its bootstrap interval of 95 %, and the constant c."""

    exponent: float
    low: float
    high: float
    constant: float


def fit_growth(x: Sequence[float], errors: ArrayLike, *, log_power: float = 0.0) -> Fit:
    """Fit c x^a log(x)^b to errors, by least squares on the logarithms of their means.

    The errors are by size and seed, or by world, size and seed. At each size the world with the
    largest mean counts, since a bound must hold in all of them. For the interval whole seeds are
    resampled, since the runs of one seed at several sizes share their outcomes.
    """
    sizes, values = np.asarray(x, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3 or values.shape[1] != len(sizes) or not values.size:
        raise ValueError(
            f"errors must be by size and seed, or by world, size and seed, with {len(sizes)} "
            f"sizes, got the shape {np.shape(errors)}"
        )
    if len(set(sizes.tolist())) < 2 or not (sizes > (1.0 if log_power else 0.0)).all():
        raise ValueError(
            "x must be at least two different sizes above 0, and above 1 where logarithms count, "
            f"got {sizes.tolist()}"
        )
    logs = np.log(sizes)
    offset = log_power * np.log(logs) if log_power else np.zeros_like(logs)
    means = envelope(values)
    if not (np.isfinite(means) & (means > 0.0)).all():
        raise ValueError(f"errors must be above 0 on average, got the means {means.tolist()}")
    exponent = slope(logs, np.log(means) - offset)
    constant = float(np.exp((np.log(means) - offset - exponent * logs).mean()))

    rng = np.random.default_rng(SEED)
    seeds = values.shape[2]
    drawn = rng.integers(seeds, size=(RESAMPLES, seeds))
    # A resample is a weight for each seed; means of all resamples are then one product.
    weights = np.stack([np.bincount(row, minlength=seeds) for row in drawn], axis=1) / seeds
    again = (values @ weights).max(axis=0)
    with np.errstate(divide="ignore"):  # a resample of nothing but zeros
        heights = np.log(again) - offset[:, None]
    slopes = slope_of_columns(logs, heights[:, np.isfinite(heights).all(axis=0)])
    low, high = np.quantile(slopes, [OUTSIDE, 1.0 - OUTSIDE])
    return Fit(float(exponent), float(low), float(high), constant)


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
