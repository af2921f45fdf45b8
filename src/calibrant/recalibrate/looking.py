"""Looking at what a score would become: one score or many, and the mixture's means."""

from __future__ import annotations

from typing import SupportsFloat

import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.recalibrate import RecalibrateKernel


def is_one(score: object) -> bool:
    """Return whether this is one score, or no score at all, and not many."""
    return isinstance(score, str | bytes) or not getattr(score, "shape", hasattr(score, "__len__"))


def mean_of(kernel: RecalibrateKernel, score: SupportsFloat) -> float:
    """Return the mixture's mean for a score."""
    return kernel._look(score)[1]


def means_of(kernel: RecalibrateKernel, scores: npt.ArrayLike) -> Floats:
    """Return the mixture's mean for each score."""
    return kernel._look_many(scores)[1]
