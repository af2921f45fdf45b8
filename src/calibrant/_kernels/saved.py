"""Reading a saved state back: checks that a kernel makes before it takes over any number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def check_names(state: Mapping[str, Any], names: set[str]) -> None:
    """Refuse a state with a missing or an unknown part."""
    if set(state) != names:
        raise ValueError(f"saved state must hold {sorted(names)}, got {sorted(state)}")


def floats(
    state: Mapping[str, Any], name: str, *, size: int | None = None, low: float = -np.inf
) -> npt.NDArray[np.float64]:
    """Return a saved array of finite numbers, none below `low`."""
    values = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of float64")
    if size is not None and len(values) != size:
        raise ValueError(f"saved {name} must have {size} values, got {len(values)}")
    if not np.isfinite(values).all() or (values < low).any():
        raise ValueError(f"saved {name} must be finite and at least {low}")
    return np.ascontiguousarray(values)


def number(
    state: Mapping[str, Any], name: str, *, low: float = -np.inf, high: float = np.inf
) -> float:
    """Return a saved number inside [low, high]."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"saved {name} must be a number in [{low}, {high}], got {value!r}")
    return value


def part_of(state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split off what belongs to an inner kernel, saved under names with a prefix."""
    inner = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return {k: v for k, v in state.items() if not k.startswith(prefix)}, inner
