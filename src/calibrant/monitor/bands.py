"""Confidence sequences of the running bias: bands that hold at all times at once.

With x = y - p and a guess of x made before y is known, |x - guess| <= 1. For each rate lam in
(0, 1)

    exp(lam sum(x - E x) - psi(lam) sum(x - guess)^2),   psi(lam) = -log(1 - lam) - lam

is a supermartingale that starts at 1 (Fan, Grama & Liu 2015; Howard et al. 2021), and so is a
mixture over rates. The probability that it ever exceeds 1 / alpha is at most alpha; solving for
sum(x - E x) gives a bound in terms of V = sum(x - guess)^2, at all times at once and for any E x.

If rounds are pending, this holds for blocks instead of rounds. A block has as many rounds as are
pending, so that its outcomes are known when the block after the next begins: even and odd blocks
each form such a sequence, if each is divided by the largest number of rounds in a block. The two
bounds, each with half of alpha, add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats

#: Columns of `MonitorKernel._ranges`.
V_AT, MOST, BLOCKS, TOTALS = 3, 5, 6, slice(9, 11)
RATES = 0.7 * 2.0 ** -np.arange(12)
_SHARES = 1.0 / (np.arange(len(RATES)) + 2.0) ** 1.4
_LOG_WEIGHTS = np.log(_SHARES / _SHARES.sum())
_PSI = -np.log1p(-RATES) - RATES


class Band(NamedTuple):
    """Observed minus predicted in a range of predictions, since the last restart.

    Examples
    --------
    >>> from calibrant.monitor import Monitor
    >>> monitor = Monitor()
    >>> _ = monitor.run([0.5] * 400, [0, 1, 1, 1] * 100)
    >>> band = monitor.bands()[0]
    >>> print(f"bias {band.bias:.2f}, {band.bias_low:.2f} to {band.bias_high:.2f}")
    bias 0.25, 0.17 to 0.33
    """

    low: float
    high: float
    rounds: int
    bias: float
    bias_low: float
    bias_high: float


class Curve(NamedTuple):
    """Predicted and observed since the last restart, in each range of predictions."""

    low: Floats
    high: Floats
    rounds: Floats
    mean_prediction: Floats
    mean_outcome: Floats


def bands_of(edges: Floats, ranges: Floats, level: float) -> list[Band]:
    """Return the band of each range with rounds, from the rows of `MonitorKernel._ranges`."""
    n, predicted, happened = ranges.T[:3]
    most, V, alpha = ranges[:, MOST], spread_of(ranges), (1.0 - level) / 2.0
    half = largest_sum(V, alpha)
    size = np.maximum(most, 1.0)
    half = np.where(most > 0, 2.0 * size * largest_sum(V / (2.0 * size**2), alpha / 2.0), half)
    half /= np.maximum(n, 1.0)
    bias = (happened - predicted) / np.maximum(n, 1.0)
    return [
        Band(
            float(edges[i]), float(edges[i + 1]), int(n[i]), float(bias[i]),
            max(float(bias[i] - half[i]), -1.0), min(float(bias[i] + half[i]), 1.0),
        )
        for i in np.flatnonzero(n)
    ]  # fmt: skip


def spread_of(ranges: Floats) -> Floats:
    """Return the sum of squares in each range: of rounds or, if some were pending, of blocks."""
    in_blocks = ranges[:, BLOCKS] + (ranges[:, TOTALS] ** 2).sum(axis=1)
    return np.where(ranges[:, MOST] > 0, in_blocks, ranges[:, V_AT])


def curve_of(edges: Floats, ranges: Floats) -> Curve:
    """Return the curve of the ranges with rounds."""
    some = ranges[:, 0] > 0
    n, predicted, happened, *_ = ranges[some].T
    return Curve(edges[:-1][some], edges[1:][some], n, predicted / n, happened / n)


def largest_sum(V: Floats, alpha: float) -> Floats:
    """Return u that a sum of x - E x with this V ever exceeds with probability at most alpha."""
    low, high = np.zeros(len(V)), 2.0 + 8.0 * np.sqrt(V) + V
    goal = np.log(1.0 / alpha)
    while not _passes(high, V, goal).all():
        high = np.where(_passes(high, V, goal), high, 2.0 * high)
    for _ in range(60):
        middle = (low + high) / 2.0
        passes = _passes(middle, V, goal)
        low, high = np.where(passes, low, middle), np.where(passes, middle, high)
    return high


def _passes(total: Floats, V: Floats, goal: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    powers = _LOG_WEIGHTS + RATES * total[:, None] - _PSI * V[:, None]
    most = powers.max(axis=1)
    passes: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        most + np.log(np.exp(powers - most[:, None]).sum(axis=1)) >= goal
    )
    return passes
