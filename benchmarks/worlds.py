"""Worlds with a given deviation, on which the certificates are measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant._checks import Floats

Generator = np.random.Generator
World = Callable[[int, float, Generator], Floats]


def _burst(base: float, height: float) -> World:
    """Return a world that leaves `base` for one stretch at a random place, as long as C allows."""

    def means(T: int, C: float, rng: Generator) -> Floats:
        length = int(min(C / abs(height - base), T / 2))
        start = int(rng.integers(T - length + 1))
        q = np.full(T, base)
        q[start : start + length] = height
        return q

    return means


def _steady(T: int, _C: float, _rng: Generator) -> Floats:
    return np.full(T, 0.5)


def _sine(T: int, C: float, _rng: Generator) -> Floats:
    """Two waves around 1/2; the mean of |sin| is 2/pi."""
    height = min(0.5, C * math.pi / 2 / T)
    return 0.5 + height * np.sin(4 * math.pi * np.arange(T) / T)


def _blocks(T: int, C: float, _rng: Generator) -> Floats:
    """Eight stretches, above and below 1/2 in turn."""
    height = min(0.5, C / T)
    return 0.5 + height * np.where(np.arange(T) * 8 // T % 2 == 1, 1.0, -1.0)


def _late(T: int, C: float, _rng: Generator) -> Floats:
    """A switch from 0.5 to 0.9, as late as C asks for."""
    q = np.full(T, 0.5)
    q[T - int(min(C / 0.4, T / 2)) :] = 0.9
    return q


#: Means of T outcomes whose deviation is C, or as near to it as T rounds allow.
WORLDS: dict[str, World] = {
    "steady": _steady,
    "burst to 1": _burst(0.5, 1.0),
    "burst to 0.9 from 0.1": _burst(0.1, 0.9),
    "sine": _sine,
    "eight blocks": _blocks,
    "late switch": _late,
}
