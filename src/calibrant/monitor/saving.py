"""Loading a saved monitor: states that its rounds cannot have produced are refused."""

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
    FIRST_POT_OF_GROUP,
    LATE_RECOVERY,
    MOST_RECOVERY,
    MOST_UNSEEN,
    MOST_WHOLE,
    OF_GROUP,
    OPEN,
    POT,
    RANGE_COUNT,
    RANGE_SIZE,
    SKETCH_SIZE,
    SLOPE_COUNT,
    WAITING,
    MonitorKernel,
)
from calibrant._records import structured_to_unstructured, unstructured_to_structured
from calibrant.monitor.clock import Clock, as_time
from calibrant.monitor.episodes import Episode

NUMBERS = (
    "R", "restarted", "key", "counted", "fresh", "escrow", "began", "lane", "in_block",
    "releasing", "lone", "whole_key",
)  # fmt: skip
ARRAYS = (
    "cells", "edges", "ranges", "slopes", "sketch", "pots", "waiting", "of_group", "whole",
    "held_keys", "held_rounds", "held_outcomes", "open_counts", "open_sums", "groups_fresh",
)  # fmt: skip
#: How far R may be off the sum of its parts, as a share of the threshold: it rounds at its peak.
#: Thresholds are powers of ten, so that no whole number lies on the edge, from where rounding leads
#: across.
SLACK = 7e-7
#: No evidence is larger.
MOST = 1e30
#: The logit is shifted by at most 2 for recovery, and a key is a number of rounds.
MOST_MARGIN, MOST_KEY = 10.0, 2**62
#: They are counted as doubles, too.
MOST_ROUNDS = 2**53
#: The code of a stake that was all there was.
WHOLE = 255
OPEN_SIZE = OPEN.itemsize // 8
OPEN_COUNTS = sum(OPEN[name].kind == "i" for name in OPEN.names or ())
#: How many integers a row of an array has.
ROWS = {"waiting": 8, "open_counts": OPEN_COUNTS}
CELL_SIZE = structured_to_unstructured(np.zeros(1, CELL)).shape[1]
POT_SIZE = structured_to_unstructured(np.zeros(1, POT)).shape[1]
Integers = npt.NDArray[np.int64]


class Past(NamedTuple):
    """The saved state of a monitor's rounds."""

    groups: list[Id]
    episodes: list[Episode]
    clock: Clock
    ids: dict[Id, int]
    evidence: dict[str, Any]


def loaded_past(
    state: Mapping[str, Any], rounds: int, given: Mapping[str, Any], threshold: float
) -> Past:
    """Return what a monitor with these arguments saved, or raise ValueError."""
    if rounds > MOST_ROUNDS:
        raise ValueError(f"saved rounds must be at most {MOST_ROUNDS}")
    parts = dict(state)
    groups = [check_id(name, "saved group") for name in parts.pop("groups")]
    if len(set(groups)) < len(groups) or len(groups) > given["max_groups"]:
        raise ValueError("saved groups must differ, and be at most max_groups")
    episodes = [loaded_episode(row, groups, rounds) for row in parts.pop("episodes")]
    clock = Clock.load(parts.pop("clock"), rounds)
    ids = {check_id(name, "saved id"): key for name, key in parts.pop("ids")}
    evidence = checked_evidence(parts, rounds, len(groups), given, threshold)
    if any(type(key) is not int for key in ids.values()) or len(set(ids.values())) < len(ids):
        raise ValueError("saved ids must have keys that differ")
    named = [int(each) - FIRST_GROUP for each in evidence["opened"]["named"]]
    if [None if each < 0 else groups[each] for each in named] != [
        each.group for each in episodes if each.end is None
    ]:
        raise ValueError("the saved episodes do not fit the saved evidence")
    return Past(groups, episodes, clock, ids, evidence)


def saved_evidence(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a kernel with its cells, pots and pending rounds as plain numbers."""
    cells = structured_to_unstructured(state["cells"], dtype=np.float64)
    pots = structured_to_unstructured(state["pots"], dtype=np.float64)
    of_group = np.zeros((len(state["of_group"]), 2), dtype=np.int64)
    of_group[:, 0] = state["of_group"]["group"]
    of_group[:, 1:] = np.ascontiguousarray(state["of_group"]["stakes"]).view(np.int64)
    saved = {
        **state, "cells": cells.reshape(-1), "pots": pots.reshape(-1),
        "waiting": state["waiting"].view(np.int64), "of_group": of_group.reshape(-1),
    }  # fmt: skip
    opened = saved.pop("opened")
    saved["open_counts"] = opened.view(np.int64).reshape(-1, OPEN_SIZE)[:, :OPEN_COUNTS].reshape(-1)
    saved["open_sums"] = opened.view(np.float64).reshape(-1, OPEN_SIZE)[:, OPEN_COUNTS:].reshape(-1)
    return saved


def checked_evidence(
    state: Mapping[str, Any], rounds: int, groups: int, given: Mapping[str, Any], threshold: float
) -> dict[str, Any]:
    """Return the state of a kernel that `saved_evidence` made, or raise ValueError."""
    check_names(state, {*NUMBERS, *ARRAYS})
    size = FIRST_GROUP + groups
    restarted = integer(state, "restarted", low=0, high=rounds)
    key = integer(state, "key", low=-1, high=MOST_KEY // 2)  # there are more to come
    opened = _opened(state, size, rounds, key)
    cells = _cells(floats(state, "cells", size=size * CELL_SIZE), rounds - restarted)
    slopes = floats(state, "slopes", size=SLOPE_COUNT, low=0.0, high=MOST)
    pots = _pots(state, FIRST_POT_OF_GROUP + groups)
    R = number(state, "R", low=-SLACK * threshold, high=MOST)
    # In an episode, groups may have gone on.
    known = len(cells) if not len(opened) else FIRST_GROUP
    rest = R - _weighed(cells[:known], slopes, pots[: known + 1])
    if rest < -SLACK * max(threshold, R) or (rest > SLACK * threshold and not len(opened)):
        raise ValueError("saved R must be what the saved bets add up to")
    if (threshold <= R) != (len(opened) > 0):
        raise ValueError("saved R must have reached the threshold in an episode, and only there")
    waiting = _waiting(state, rounds, groups, key, given)
    fresh = _integers(state, "groups_fresh", groups)
    if (fresh < 0).any() or (fresh > key + 1).any():
        raise ValueError("saved stakes on groups must be void up to a key that was given")
    return {
        "R": R, "restarted": restarted, "opened": opened, "key": key, "groups_fresh": fresh,
        "counted": integer(state, "counted", low=0, high=key + 1),
        "fresh": integer(state, "fresh", low=0, high=key + 1),
        "escrow": number(state, "escrow", low=-1e-6 * threshold, high=MOST),
        "began": integer(state, "began", low=0, high=rounds - restarted),
        "lane": integer(state, "lane", low=0, high=1),
        **waiting, "cells": cells, "edges": _edges(state),
        "ranges": _ranges(state, rounds - len(waiting["waiting"])),
        "slopes": slopes, "sketch": _sketch(state, rounds), "pots": pots,
    }  # fmt: skip


def _opened(state: Mapping[str, Any], cells: int, rounds: int, key: int) -> npt.NDArray[np.void]:
    """Return the open episodes: none, one of a range, or some of groups."""
    counts = _integers(state, "open_counts").reshape(-1, OPEN_COUNTS)
    sums = floats(state, "open_sums", size=len(counts) * (OPEN_SIZE - OPEN_COUNTS))
    opened = np.zeros(len(counts), dtype=OPEN)
    opened.view(np.int64).reshape(-1, OPEN_SIZE)[:, :OPEN_COUNTS] = counts
    opened.view(np.float64).reshape(-1, OPEN_SIZE)[:, OPEN_COUNTS:] = sums.reshape(
        -1, OPEN_SIZE - OPEN_COUNTS
    )
    D = np.clip(opened["D"], 1.0, max(rounds, 1))  # whether it is within, is checked below
    most = {
        "named": (0, cells - 1), "direction": (0, 1), "fresh": (0, key + 1),
        "recovered": (0, rounds), "seen": (0, rounds), "asked": (0, rounds),
        "credit": (1, 2**32),
        "most_unseen": (FEWEST_UNSEEN, max(MOST_UNSEEN * (rounds + 1), FEWEST_UNSEEN)),
        "waiting": (0, rounds), "margin": (1 / MOST_MARGIN, MOST_MARGIN),
        "L": (0.0, _most_recovery(D)), "loss": (0.0, 1.0), "D": (1.0, max(rounds, 1)),
        "escrow": (-1.0, MOST), "W": (0.0, MOST),
    }  # fmt: skip
    for name, (low, high) in most.items():
        if not ((opened[name] >= low) & (opened[name] <= high)).all():
            raise ValueError(f"saved {name} of an open episode must be in [{low}, {high}]")
    named = opened["named"]
    if len(set(named.tolist())) < len(named) or (len(named) > 1 and named.min() < FIRST_GROUP):
        raise ValueError("saved open episodes must be one of a range, or of groups that differ")
    return opened


def _most_recovery(D: Floats) -> Floats:
    """Return the evidence that ends an episode; D, the pending rounds, may have fallen since."""
    return np.maximum(MOST_RECOVERY - 1e-9, 2.0 * LATE_RECOVERY * D)


def _weighed(cells: npt.NDArray[np.void], slopes: Floats, pots: npt.NDArray[np.void]) -> float:
    """Return the R that bets and pots add up to."""
    totals = cells["M"].sum(axis=1, dtype=float)
    if len(pots):
        cash = np.delete(pots["cash"].sum(axis=1), FIRST_GROUP)
        totals, slopes = totals + cash, slopes + pots["cash"][FIRST_GROUP, :SLOPE_COUNT]
    return MonitorKernel._weighed(totals, slopes)


def _pots(state: Mapping[str, Any], count: int) -> npt.NDArray[np.void]:
    """Return the pots, of which there are none while nothing is late."""
    values = floats(state, "pots", low=-1e-6, high=MOST)
    if len(values) not in (0, count * POT_SIZE):
        raise ValueError(f"saved pots must be none or {count}")
    rows = values.reshape(-1, POT_SIZE)
    if (rows[:, 17:] > MOST_KEY).any() or (rows[:, 17:] < 0).any() or (rows[:, 16] < 1).any():
        raise ValueError("saved pots must count the rounds that waited")
    pots = np.zeros(len(rows), dtype=POT)
    pots["cash"], pots["loss"] = rows[:, :8], rows[:, 8:16]
    pots["D"], pots["open"], pots["asked"] = rows[:, 16], rows[:, 17], rows[:, 18]
    if (pots["loss"] > 1).any():
        raise ValueError("saved losses must be at most all")
    return pots


def _waiting(
    state: Mapping[str, Any], rounds: int, groups: int, key: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the pending rounds, and the outcomes that are held."""
    waiting = _integers(state, "waiting").view(WAITING)
    of_group = np.zeros(len(waiting), dtype=OF_GROUP)
    kept = _integers(state, "of_group", 2 * len(waiting)).reshape(-1, 2)
    if (kept[:, 0] < -1).any() or (kept[:, 0] >= groups).any():
        raise ValueError("saved rounds that wait must be of groups that are there")
    of_group["group"] = kept[:, 0]
    of_group["stakes"] = np.ascontiguousarray(kept[:, 1:]).view(np.uint8).reshape(-1, 8)
    keys, whole_key = waiting["key"], integer(state, "whole_key", low=-1, high=max(key, 0))
    if len(keys) and (not 0 <= keys[0] <= keys[-1] <= key or (np.diff(keys) <= 0).any()):
        raise ValueError("saved rounds that wait must have keys that rise")
    p = waiting["p"]
    if not ((p >= 0.0) & (p <= 1.0)).all() or (waiting["t"] > rounds).any():
        raise ValueError("saved rounds that wait must have been predicted")
    if len(waiting) and not len(state["pots"]):
        raise ValueError("saved rounds that wait must have stakes")
    stakes = [waiting["stakes"], of_group["stakes"]]
    if any((each[keys != whole_key] == WHOLE).any() for each in stakes):
        raise ValueError("only one saved round may have staked all there was")
    lone = state["lone"]
    if lone and not (
        len(lone) == 3
        and [type(each) for each in lone] == [int, float, int]
        and lone[0] == key
        and 0 <= lone[1] <= 1
        and -1 <= lone[2] < groups
        and not len(state["pots"])
    ):
        raise ValueError("the saved round that waits alone must have been predicted")
    held = _integers(state, "held_keys")
    since = _integers(state, "held_rounds", len(held))
    if (held > key).any() or (since > rounds).any() or (since < 0).any():
        raise ValueError("saved outcomes that are held must be of rounds that were predicted")
    block = given["block"] or 1
    return {
        "waiting": waiting, "of_group": of_group, "lone": lone, "whole_key": whole_key,
        "whole": floats(
            state, "whole", size=MOST_WHOLE if whole_key >= 0 else 0, low=0.0, high=MOST
        ),
        "held_keys": held, "held_rounds": since,
        "held_outcomes": floats(state, "held_outcomes", size=len(held), low=0.0, high=1.0),
        "in_block": integer(state, "in_block", low=0, high=min(block - 1, len(held))),
        "releasing": integer(state, "releasing", low=0, high=len(held)),
    }  # fmt: skip


def _integers(state: Mapping[str, Any], name: str, size: int | None = None) -> Integers:
    values = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of integers")
    if (len(values) != size) if size is not None else len(values) % ROWS.get(name, 1):
        raise ValueError(f"saved {name} must have as many values as there are rounds")
    return np.ascontiguousarray(values)


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


def _edges(state: Mapping[str, Any]) -> Floats:
    edges = floats(state, "edges", size=RANGE_COUNT + 1, low=0.0, high=1.0)
    if edges[0] != 0.0 or edges[-1] != 1.0 or (np.diff(edges) < 0.0).any():
        raise ValueError("saved edges must rise from 0 to 1")
    return edges


def _ranges(state: Mapping[str, Any], rounds: int) -> Floats:
    ranges = floats(state, "ranges", size=RANGE_SIZE * RANGE_COUNT)
    rows = ranges.reshape(-1, RANGE_SIZE)
    n, most, blocks, slack = rows[:, 0], rows[:, 5], rows[:, 6], 1 + 1e-6
    if (n != np.floor(n)).any() or n.sum() > rounds:
        raise ValueError("saved ranges must count at most the saved rounds that do not wait")
    if (rows[:, :9] < 0).any() or (rows[:, 1:6] > n[:, None] * slack).any():
        raise ValueError("saved ranges must hold at most 1 a round")
    count, total, guess = rows[:, 7:9], rows[:, 9:11], rows[:, 11:]
    if (blocks > most * n * slack).any() or (count > most[:, None]).any():
        raise ValueError("saved blocks must be no larger than the largest")
    if (np.abs(total) > count * slack).any() or (np.abs(guess) > slack).any():
        raise ValueError("saved blocks must hold at most 1 a round")
    return ranges


def _sketch(state: Mapping[str, Any], rounds: int) -> npt.NDArray[np.int64]:
    sketch = state["sketch"]
    if not isinstance(sketch, np.ndarray) or sketch.dtype != np.int64 or len(sketch) != SKETCH_SIZE:
        raise ValueError(f"saved sketch must be {SKETCH_SIZE} integers")
    if (sketch < 0).any() or (sketch >= 2**31).any() or sketch.sum() > rounds:
        raise ValueError("saved sketch must count at most the saved rounds")
    return sketch


# -- episodes -------------------------------------------------------------------------------------


def saved_episode(episode: Episode) -> list[Any]:
    """Return an episode as JSON has it."""
    return list(vars(episode).values())


def loaded_episode(row: Any, groups: Sequence[Id], rounds: int) -> Episode:
    """Return what `saved_episode` made, or raise ValueError."""
    episode = Episode(*row)
    alarm, onset, end, recovered = episode.alarm, episode.onset, episode.end, episode.recovered
    if any(type(each) is not int for each in (alarm, onset, end or 0, recovered or 0)):
        raise ValueError("a saved episode must have rounds that are integers")
    if not 0 <= onset <= alarm <= (rounds if end is None else end) <= rounds or alarm == rounds:
        raise ValueError("a saved episode lies outside of the saved rounds")
    if (recovered is None) != (end is None) or not 0 <= (recovered or 0) <= (end or 0) + 1:
        raise ValueError("a saved episode must have recovered before it ended")
    if episode.group is not None and episode.group not in groups:
        raise ValueError("a saved episode is of an unknown group")
    shares = (episode.low, episode.high, episode.bias_low, episode.bias, episode.bias_high)
    if any(type(each) is not float for each in shares):
        raise ValueError("a saved episode must have a range and a bias that are numbers")
    low, high, *biases = shares
    if not (0 <= low <= high <= 1 and -1 <= biases[0] <= biases[1] <= biases[2] <= 1):
        raise ValueError("a saved episode has an impossible range or bias")
    for at in (episode.alarm_at, episode.onset_at, episode.end_at, episode.recovered_at):
        if at is not None:
            as_time(at, "saved time")
    return episode
