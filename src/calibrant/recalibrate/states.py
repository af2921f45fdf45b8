"""The states of many kernels as one: each part of them a single array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

NUMBER = -1  # the length that stands for a bare number


def stack_states(prefix: str, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parts of all states, one after the other, and how long each was."""
    names = sorted(states[0]) if states else []
    stacked: dict[str, Any] = {prefix + "parts": names}
    for name in names:
        parts = [state[name] for state in states]
        lengths = [len(part) if isinstance(part, np.ndarray) else NUMBER for part in parts]
        stacked[prefix + name] = np.concatenate([np.atleast_1d(part) for part in parts])
        stacked[prefix + name + "_lengths"] = np.array(lengths, dtype=np.int64)
    return stacked


def unstack_states(prefix: str, state: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the states that `stack_states` made one of, or raise ValueError."""
    states: list[dict[str, Any]] = [{} for _ in range(count)]
    try:
        for name in state[prefix + "parts"]:
            values = parts_of(state[prefix + name], state[prefix + name + "_lengths"])
            for each, value in zip(states, values, strict=True):
                each[name] = value
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the saved {prefix}parts make no sense: {error}") from None
    return states


def parts_of(values: Any, lengths: Any) -> Iterator[Any]:
    """Cut an array into parts of these lengths."""
    start = 0
    for length in lengths.tolist():
        end = start + (1 if length == NUMBER else length)
        if not start <= end <= len(values):
            raise ValueError(f"a part of length {length} is not there")
        yield values[start].item() if length == NUMBER else values[start:end]
        start = end
    if start != len(values):
        raise ValueError(f"{len(values) - start} values belong to no part")
