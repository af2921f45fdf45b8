"""Binned calibration errors, as most of the field reports them."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import check_choice, check_integer, describe
from calibrant.measures.rounds import Floats, Indices, as_some_rounds, sum_by

Scheme: TypeAlias = Literal["width", "mass"]


def ece(
    predictions: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    bins: int = 20,
    scheme: Scheme = "width",
    norm: Literal[1, 2] = 1,
) -> float:
    """Return the expected calibration error over bins, in [0, 1].

    With d the difference of mean outcome and mean prediction in a bin and w its share of the
    rounds, this is the sum of w |d| (norm 1) or the root of the sum of w d^2 (norm 2).

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.
    bins : int
        How many bins.
    scheme : {"width", "mass"}
        Bins of equal width, [i/bins, (i+1)/bins), the last one closed, so that 0 and 1 are in
        real bins; or of equal mass, cut by rank. Equal predictions share a bin always: that of
        their middle rank.
    norm : {1, 2}
        Which mean of the differences.

    Examples
    --------
    >>> ece([0.0, 0.25, 1.0, 1.0], [0, 1, 1, 1])
    0.1875
    """
    p, y = as_some_rounds(predictions, outcomes)
    bins = check_integer("bins", bins, 1)
    if norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got {describe(norm)}")
    which = bins_of(p, bins, scheme)
    residual = sum_by(which, y - p, bins)
    if norm == 1:
        return float(np.abs(residual).sum() / len(p))
    count = np.bincount(which, minlength=bins)
    return math.sqrt((residual**2 / np.maximum(count, 1)).sum() / len(p))


def debiased_ece2(
    predictions: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    bins: int = 20,
    scheme: Scheme = "width",
) -> float:
    """Return an estimate without bias of the squared l2 error, ``ece(..., norm=2) ** 2``.

    The plain square is too large, because a bin's mean residual has a variance of its own even
    when calibration is perfect. From each bin's squared mean residual this takes the estimated
    variance of that mean. The estimate can be negative, and is then as good as 0. A bin with one
    round counts 0: its residual cannot be told from noise. The result lies in [-1, 1].

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.
    bins, scheme
        As in `ece`.

    Notes
    -----
    Where a bin holds a single prediction and outcomes are 0 or 1 this is the estimator of Kumar,
    Liang and Ma, which takes rho (1 - rho) / (n - 1). Elsewhere theirs leaves out that
    predictions vary within the bin; the variance of the residuals, used here, has it in.

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration.

    Examples
    --------
    >>> round(debiased_ece2([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0]), 6)
    0.0
    """
    p, y = as_some_rounds(predictions, outcomes)
    bins = check_integer("bins", bins, 1)
    which = bins_of(p, bins, scheme)
    count = np.bincount(which, minlength=bins)
    mean = sum_by(which, y - p, bins) / np.maximum(count, 1)
    spread = sum_by(which, (y - p - mean[which]) ** 2, bins)
    noise = spread / np.maximum(count * (count - 1), 1)
    return float((count * np.where(count > 1, mean**2 - noise, 0.0)).sum() / len(p))


def bins_of(p: Floats, bins: int, scheme: str) -> Indices:
    """Return the bin of each prediction."""
    if check_choice("scheme", scheme, ("width", "mass")) == "width":
        return width_bins(p, bins)
    _, which, count = np.unique(p, return_inverse=True, return_counts=True)
    twice_middle = 2 * np.cumsum(count) - count
    return ((twice_middle * bins) // (2 * len(p)))[which]


def edges_of(bins: int) -> Floats:
    """Return the edges of bins of equal width, from 0 to 1."""
    return np.arange(bins + 1) / bins


def width_bins(p: Floats, bins: int) -> Indices:
    """Return the bin of equal width that holds each prediction; the last one holds 1 too."""
    return np.minimum(np.searchsorted(edges_of(bins), p, side="right") - 1, bins - 1)
