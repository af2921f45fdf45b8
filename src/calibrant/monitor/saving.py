"""Reading a saved monitor back: nothing is taken over that its rounds cannot have left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id
from calibrant._kernels.saved import check_names, floats, integer, number
from calibrant._kernels.watch.monitor import (
    CELL,
    FEWEST_UNSEEN,
    FIRST_GROUP,
    FIRST_HELD_GROUP,
    HELD_SIZE,
    MOST_RECOVERY,
    MOST_UNSEEN,
    RANGE_COUNT,
    SKETCH_SIZE,
    SLOPE_COUNT,
    MonitorKernel,
)
from calibrant._records import structured_to_unstructured, unstructured_to_structured
from calibrant.monitor.clock import Clock, as_time
from calibrant.monitor.episodes import Episode
from calibrant.monitor.late import Expected

NUMBERS = (
    "R", "restarted", "named", "direction", "margin", "L", "unseen", "most_unseen", "in_block",
    "held_L", "held_n",
)  # fmt: skip
ARRAYS = ("cells", "edges", "ranges", "slopes", "sketch", "held")
#: How far R may be off the sum of its parts, as a share of the threshold: it rounds at its peak.
SLACK = 1e-6
#: A bet never wins more in a round.
MOST_GAIN = 1e5
CELL_SIZE = structured_to_unstructured(np.zeros(1, CELL)).shape[1]


class Past(NamedTuple):
    """What the rounds of a monitor left behind."""

    groups: list[Id]
    episodes: list[Episode]
    clock: Clock
    waiting: dict[Id, Expected]
    evidence: dict[str, Any]


def loaded_past(
    state: Mapping[str, Any], rounds: int, given: Mapping[str, Any], threshold: float
) -> Past:
    """Return what a monitor with these arguments saved, or raise ValueError."""
    parts = dict(state)
    groups = [check_id(name, "saved group") for name in parts.pop("groups")]
    if len(set(groups)) < len(groups) or len(groups) > given["max_groups"]:
        raise ValueError("saved groups must differ, and be at most max_groups")
    episodes = [loaded_episode(row, groups, rounds) for row in parts.pop("episodes")]
    clock = Clock.load(parts.pop("clock"), rounds)
    waiting = dict(loaded_expected(row) for row in parts.pop("waiting"))
    if len(waiting) > given["patience"]:
        raise ValueError("saved predictions that wait must be at most patience")
    evidence = checked_evidence(parts, rounds, len(groups), given["block"] or 1, threshold)
    if (evidence["named"] >= 0) != bool(episodes and episodes[-1].end is None):
        raise ValueError("the saved episodes do not fit the saved evidence")
    return Past(groups, episodes, clock, waiting, evidence)


def saved_evidence(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a kernel with its cells as numbers."""
    cells = structured_to_unstructured(state["cells"], dtype=np.float64)
    return {**state, "cells": cells.reshape(-1)}


def checked_evidence(
    state: Mapping[str, Any], rounds: int, groups: int, block: int, threshold: float
) -> dict[str, Any]:
    """Return the state of a kernel that `saved_evidence` made, or raise ValueError."""
    check_names(state, {*NUMBERS, *ARRAYS})
    size = FIRST_GROUP + groups
    restarted = integer(state, "restarted", low=0, high=rounds)
    named = integer(state, "named", low=-1, high=size - 1)
    direction = integer(state, "direction", low=0, high=1)
    cells = _cells(floats(state, "cells", size=size * CELL_SIZE), rounds - restarted)
    slopes = floats(state, "slopes", size=SLOPE_COUNT, low=0.0, high=1e30)
    R = number(state, "R", low=-SLACK * threshold, high=1e30)
    if abs(R - MonitorKernel._weighed(cells["M"].sum(axis=1, dtype=float), slopes)) > (
        SLACK * max(threshold, R)
    ):
        raise ValueError("saved R must be what the saved bets add up to")
    if (threshold <= R) != (named >= 0):
        raise ValueError("saved R must have reached the threshold in an episode, and only there")
    in_block = integer(state, "in_block", low=0, high=min(block - 1, rounds))
    return {
        "R": R, "restarted": restarted, "named": named, "direction": direction,
        "margin": number(state, "margin", low=0.0, high=1.0),
        "L": number(state, "L", low=0.0, high=0.0 if named < 0 else MOST_RECOVERY - 1e-9),
        "unseen": integer(state, "unseen", low=0, high=0 if named < 0 else rounds),
        "most_unseen": integer(
            state, "most_unseen", low=0 if named < 0 else FEWEST_UNSEEN,
            high=0 if named < 0 else max(MOST_UNSEEN * rounds, FEWEST_UNSEEN),
        ),
        "in_block": in_block,
        **_held(state, FIRST_HELD_GROUP + groups if block > 1 else 0, in_block),
        "cells": cells, "edges": _edges(state), "ranges": _ranges(state, rounds),
        "slopes": slopes, "sketch": _sketch(state, rounds),
    }  # fmt: skip


def _cells(values: Floats, rounds: int) -> npt.NDArray[np.void]:
    rows = values.reshape(-1, CELL_SIZE)
    if (np.abs(rows) > 2.0**100).any():
        raise ValueError("saved cells must be within reach")
    with np.errstate(invalid="ignore"):
        cells = unstructured_to_structured(rows, dtype=CELL)
    if (structured_to_unstructured(cells, dtype=np.float64) != rows).any():
        raise ValueError("saved cells must be numbers of single precision, and counts")
    if (cells["M"] < 0).any() or (cells["W"] < 0).any():
        raise ValueError("saved bets must not be negative")
    if (cells["n"] > rounds).any() or (cells["start"] > rounds).any():
        raise ValueError("saved cells must count at most the rounds since the restart")
    if (np.abs(cells["S"]) > cells["n"] * 1.001 + 1e-6).any():
        raise ValueError("saved sums must be at most 1 a round")
    return cells


def _held(state: Mapping[str, Any], cells: int, in_block: int) -> dict[str, Any]:
    """Return the bets of a block that is not complete."""
    parts: dict[str, Any] = {
        "held": floats(state, "held", size=cells * HELD_SIZE),
        "held_L": number(state, "held_L", low=-in_block, high=in_block / 1e-9),
        "held_n": number(state, "held_n", low=0, high=in_block),
    }
    gain, n = np.split(parts["held"].reshape(-1, HELD_SIZE), [HELD_SIZE - 1], axis=1)
    if (n < 0).any() or (n > in_block).any() or (n != np.floor(n)).any():
        raise ValueError("saved held rounds must be those of the block")
    if (gain < -n * 1.001).any() or (gain > MOST_GAIN * n).any():
        raise ValueError("saved held bets must be within reach of the block")
    if parts["held_L"] < -parts["held_n"] * 1.001:
        raise ValueError("saved held_L must be at least -1 a round")
    return parts


def _edges(state: Mapping[str, Any]) -> Floats:
    edges = floats(state, "edges", size=RANGE_COUNT + 1, low=0.0, high=1.0)
    if edges[0] != 0.0 or edges[-1] != 1.0 or (np.diff(edges) < 0.0).any():
        raise ValueError("saved edges must rise from 0 to 1")
    return edges


def _ranges(state: Mapping[str, Any], rounds: int) -> Floats:
    ranges = floats(state, "ranges", size=4 * RANGE_COUNT, low=0.0)
    n = ranges[::4]
    if (n != np.floor(n)).any() or n.sum() > rounds:
        raise ValueError("saved ranges must count at most the saved rounds")
    if (ranges.reshape(-1, 4)[:, 1:] > n[:, None] * (1 + 1e-6)).any():
        raise ValueError("saved ranges must hold at most 1 a round")
    return ranges


def _sketch(state: Mapping[str, Any], rounds: int) -> npt.NDArray[np.int64]:
    sketch = state["sketch"]
    if not isinstance(sketch, np.ndarray) or sketch.dtype != np.int64 or len(sketch) != SKETCH_SIZE:
        raise ValueError(f"saved sketch must be {SKETCH_SIZE} integers")
    if (sketch < 0).any() or (sketch >= 2**31).any() or sketch.sum() > rounds:
        raise ValueError("saved sketch must count at most the saved rounds")
    return sketch


# -- episodes and what waits -----------------------------------------------------------------------


def saved_episode(episode: Episode) -> list[Any]:
    """Return an episode as JSON has it."""
    return list(vars(episode).values())


def loaded_episode(row: Any, groups: Sequence[Id], rounds: int) -> Episode:
    """Return what `saved_episode` made, or raise ValueError."""
    episode = Episode(*row)
    alarm, onset, end = episode.alarm, episode.onset, episode.end
    if any(type(each) is not int for each in (alarm, onset, 0 if end is None else end)):
        raise ValueError("a saved episode must have rounds that are integers")
    if not 0 <= onset <= alarm <= (rounds if end is None else end) <= rounds or alarm == rounds:
        raise ValueError("a saved episode lies outside of the saved rounds")
    if episode.group is not None and episode.group not in groups:
        raise ValueError("a saved episode is of an unknown group")
    shares = (episode.low, episode.high, episode.bias_low, episode.bias, episode.bias_high)
    if any(type(each) is not float for each in shares):
        raise ValueError("a saved episode must have a range and a bias that are numbers")
    low, high, *biases = shares
    if not (0 <= low <= high <= 1 and -1 <= biases[0] <= biases[1] <= biases[2] <= 1):
        raise ValueError("a saved episode has an impossible range or bias")
    for at in (episode.alarm_at, episode.onset_at, episode.end_at):
        if at is not None:
            as_time(at, "saved time")
    return episode


def loaded_expected(row: Any) -> tuple[Id, Expected]:
    """Return a saved prediction that waits, or raise ValueError."""
    name, *fields = row
    expected = Expected(*fields)
    numbers = [expected.prediction] + [expected.outcome] * (expected.outcome is not None)
    if any(type(each) is not float or not 0 <= each <= 1 for each in numbers):
        raise ValueError("a saved prediction that waits must be in [0, 1], and so its outcome")
    if type(expected.settled) is not bool or (
        expected.outcome is not None and not expected.settled
    ):
        raise ValueError("a saved prediction that waits must be settled by its outcome")
    if expected.by is not None:
        check_id(expected.by, "saved group")
    if expected.at is not None:
        as_time(expected.at, "saved time")
    return check_id(name, "saved id"), expected
