"""Smooth ECE: a kernel instead of bins, with an automatic bandwidth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures.binned import sum_by
from calibrant.measures.distinct import DistinctTable, distinct_of

# Steps of the grid within one bandwidth. The trapezoid rule errs only where the smoothed residual
# changes sign, by at most 1 / (4 * 64^2) of its size there, 6e-5; moving residuals to the grid
# errs far less.
STEPS_PER_BANDWIDTH = 64
COARSEST, FINEST = 2**10, 2**18
# Bisection stops when the bracket is shorter than this part of its upper end.
TOLERANCE = 1e-6


def smece(predictions: npt.ArrayLike, outcomes: npt.ArrayLike) -> float:
    """Return the smooth expected calibration error, in [0, 1].

    The mean residuals (y - p) / T are spread by a Gaussian kernel of bandwidth sigma, reflected
    at 0 and 1, and the absolute value of the result is integrated over [0, 1]. The integral falls
    as sigma grows; where the two are equal, both are the smECE.

    Parameters
    ----------
    predictions, outcomes : array_like of shape (T,)
        Numbers in [0, 1], at least one of each; an outcome may be fractional.

    Notes
    -----
    Computed by a cosine transform on a grid with 64 steps a bandwidth, to a relative error below
    1e-4. The finest grid has 2^18 steps, so a result below 64 / 2^18 = 2.4e-4 is only known to
    lie below that and below ``cal1 / T``. The cost is one sort and some transforms, whatever the
    number of predictions.

    References
    ----------
    Blasiok, Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> round(smece([0.5] * 10, [1] * 7 + [0] * 3), 6)
    0.2
    """
    return smece_of(distinct_of(*as_rounds(predictions, outcomes, mean=True)))


def smece_of(distinct: DistinctTable) -> float:
    """Return `smece` of rounds that are already summed by distinct prediction."""
    if len(distinct.count) == 0:
        raise ValueError("a mean needs at least one round")
    residual = (distinct.total - distinct.count * distinct.prediction) / distinct.count.sum()
    # Smoothing never adds to the integral, and keeps the sum: the root lies between these.
    low, high = float(abs(residual.sum())), float(np.abs(residual).sum())
    size = COARSEST
    while True:
        spectrum = _spectrum(distinct.prediction, residual, size)
        resolved = STEPS_PER_BANDWIDTH / size
        if size == FINEST or _smoothed(spectrum, resolved) >= resolved:
            break
        high = min(high, resolved)
        size *= 4
    while high - low > TOLERANCE * high:
        middle = (low + high) / 2.0
        if _smoothed(spectrum, middle) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _spectrum(p: Floats, residual: Floats, size: int) -> npt.NDArray[np.complex128]:
    """Return the Fourier coefficients of the residuals on a circle of two mirrored copies.

    Reflection at 0 and 1 is what a kernel on that circle does by itself. A residual between grid
    points goes to the four next ones, with the weights of cubic interpolation.
    """
    step = np.floor(p * size)
    t = p * size - step
    nodes = step[:, None].astype(np.intp) + np.arange(-1, 3)
    weights = np.column_stack(
        [
            -t * (t - 1.0) * (t - 2.0) / 6.0,
            (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
            -(t + 1.0) * t * (t - 2.0) / 2.0,
            (t + 1.0) * t * (t - 1.0) / 6.0,
        ]
    )
    around = (nodes % (2 * size)).ravel()
    mass = sum_by(around, (weights * residual[:, None]).ravel(), 2 * size)
    mirrored = np.roll(mass[::-1], 1)
    return np.fft.rfft(mass + mirrored)


def _smoothed(spectrum: npt.NDArray[np.complex128], bandwidth: float) -> float:
    """Return the integral over [0, 1] of the absolute value of the smoothed residuals."""
    size = len(spectrum) - 1
    damping = np.exp(-0.5 * (np.pi * bandwidth * np.arange(size + 1)) ** 2)
    # The transform gives the integral over a step rather than the density.
    value = np.abs(np.fft.irfft(spectrum * damping, 2 * size)[: size + 1])
    return float(value.sum() - (value[0] + value[-1]) / 2.0)
