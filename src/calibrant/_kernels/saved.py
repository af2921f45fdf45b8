"""Loading a saved state: the checks of a kernel before it accepts any number.

A checksum detects damage, but anybody can compute one. So every number has a range that the rounds
played can reach, and others are refused: a loaded state predicts as if it had been played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

#: How far a sum of many rounded numbers may be off, relative to the number of rounds.
SLACK = 1e-6

#: The largest weight of an outcome relative to the mean; larger ones are clipped.
MOST_WEIGHT = 5.0


def check_names(state: Mapping[str, Any], names: set[str]) -> None:
    """Refuse a state with a missing or an unknown part."""
    if set(state) != names:
        raise ValueError(f"saved state must hold {sorted(names)}, got {sorted(state)}")


def check_all(what: str, must_hold: Iterable[tuple[str, Callable[[Any], Any]]], parts: Any) -> None:
    """Refuse saved parts of which something does not hold that must: one truth, or many."""
    for words, holds in must_hold:
        found = holds(parts)
        if not all(np.all(each) for each in (found if isinstance(found, list) else [found])):
            raise ValueError(f"{what} {words}")


def floats(
    state: Mapping[str, Any],
    name: str,
    *,
    size: int | None = None,
    low: float = -np.inf,
    high: float = np.inf,
) -> npt.NDArray[np.float64]:
    """Return a saved array of finite numbers, each inside [low, high]."""
    return _numbers(state, name, np.dtype(np.float64), size, low, high)


def singles(
    state: Mapping[str, Any],
    name: str,
    *,
    size: int | None = None,
    low: float = -np.inf,
    high: float = np.inf,
) -> npt.NDArray[np.float32]:
    """Return a saved array as `floats` does, of numbers in single precision."""
    return _numbers(state, name, np.dtype(np.float32), size, low, high)


def _numbers(
    state: Mapping[str, Any],
    name: str,
    dtype: np.dtype[Any],
    size: int | None,
    low: float,
    high: float,
) -> npt.NDArray[Any]:
    values = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != dtype or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of {dtype}")
    if size is not None and len(values) != size:
        raise ValueError(f"saved {name} must have {size} values, got {len(values)}")
    if not (np.isfinite(values) & (values >= low) & (values <= high)).all():
        raise ValueError(f"saved {name} must be finite and in [{low}, {high}]")
    return np.ascontiguousarray(values)


def counts(
    state: Mapping[str, Any], name: str, *, size: int | None = None, total: int
) -> npt.NDArray[np.float64]:
    """Return a saved array of whole numbers, none negative, that sum to `total`."""
    values = floats(state, name, size=size, low=0.0, high=total)
    if (values != np.floor(values)).any() or values.sum() != total:
        raise ValueError(f"saved {name} must be whole numbers that sum to {total}")
    return values


def number(state: Mapping[str, Any], name: str, *, low: float, high: float) -> float:
    """Return a saved number inside [low, high]."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"saved {name} must be a number in [{low}, {high}], got {value!r:.60}")
    return float(value)


def integer(state: Mapping[str, Any], name: str, *, low: int, high: int) -> int:
    """Return a saved integer inside [low, high]."""
    value = number(state, name, low=low, high=high)
    if value != int(value):
        raise ValueError(f"saved {name} must be an integer, got {value!r}")
    return int(state[name])


def check_sum(name: str, values: npt.NDArray[np.float64], total: float, rounds: int) -> None:
    """Refuse parts whose sum is another than it was kept as, beyond what rounding explains."""
    if not abs(float(values.sum()) - total) <= SLACK * (1 + rounds):
        raise ValueError(f"saved {name} must sum to {total!r}, got {float(values.sum())!r}")


def check_reach(name: str, biases: npt.NDArray[np.float64], rounds: int) -> None:
    """Refuse biases that so many rounds, each of which moves one by at most 1, cannot reach."""
    if not float(np.abs(biases).sum()) <= rounds * (1 + SLACK):
        raise ValueError(f"saved {name} must be within reach of {rounds} rounds")


def part_of(state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split off what belongs to an inner kernel, saved under names with a prefix."""
    inner = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return {k: v for k, v in state.items() if not k.startswith(prefix)}, inner
