"""How recalibrators are saved: many kernels as one state, and the pending predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant._groups import WHOLE, check_groups
from calibrant._kernels.rounds.round import StagedRound
from calibrant._kernels.saved import check_names, floats, part_of
from calibrant._kernels.scores.group_estimates import EstimateRound, save_estimates
from calibrant._kernels.scores.pending import PendingKernel
from calibrant._kernels.scores.pending_saving import load_pending, save_pending
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant._kernels.scores.score_rounds import ROUND, ScoreRound
from calibrant._kernels.scores.score_rounds import load_rounds as load_kernel_rounds
from calibrant._kernels.scores.score_rounds import save_rounds as kernel_rounds
from calibrant._kernels.scores.score_rule import load_waits, save_waits
from calibrant.monitor.side_by_side import SideBySide
from calibrant.rounds.saving import Integers, ids_of, integers

#: Refuses saved predictions that cannot have been made. It gets all that have as many rounds: the
#: numbers of their groups, the numbers of their rounds, of shape (predictions, rounds of each), and
#: what else is saved of these rounds, along one more axis.
Check = Callable[[Integers, Integers, Floats], None]

#: Gives what was saved of the groups' estimates, from the groups' numbers and what was saved.
EstimatesOf = Callable[[Integers, Integers], Sequence[EstimateRound | None]]

NUMBER = -1  # the length that stands for a bare number

#: How the names of the saved parts of a model of silence begin, and those of monitors.
PENDING, WATCH = "pending_", "watch_"


def prefixed(prefix: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return parts under names that begin so."""
    return {prefix + name: part for name, part in parts.items()}


def taken(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the parts out of a state whose names begin so, without the prefix."""
    names = [name for name in state if name.startswith(prefix)]
    return {name.removeprefix(prefix): state.pop(name) for name in names}


def save_silence(silence: PendingKernel | None, rounds: list[Any]) -> dict[str, Any]:
    """Return the parts of the model of silence, if there is one, and what it keeps of rounds."""
    if silence is None:
        return {}
    places, cells = save_waits(rounds)
    return prefixed(PENDING, save_pending(silence) | {"awaited": places, "awaited_cells": cells})


def load_silence(
    kernel: PendingKernel | None,
    saved: dict[str, Any],
    waiting: list[Any],
    now: float,
    rounds: int,
    silence: float,
) -> None:
    """Restore what `save_silence` saved, without the prefix; `silence` is the silent outcome."""
    if kernel is None:
        check_names(saved, set())
        return
    places, cells = saved.pop("awaited"), saved.pop("awaited_cells")
    load_pending(kernel, saved, now, rounds)
    load_waits(kernel, waiting, places, cells, silence)


def load_monitors(monitors: SideBySide | None, saved: dict[str, Any], rounds: int) -> None:
    """Restore what monitors saved, where there are any; they saw at most so many rounds."""
    if monitors is None:
        check_names(saved, set())
        return
    check_names(saved, set(monitors.save()))
    monitors.load(saved)
    monitors.check_rounds(rounds)


def save_groups(rule: Any, rounds: list[Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a rule with a kernel for the whole, saved already, and for each group."""
    names = {name: at for at, name in enumerate(rule.groups)}
    own = [rule.group_of(each) for each in rounds]
    state = prefixed("whole_", whole) | {
        "group_names": list(names),
        "waiting_groups": np.array(
            [WHOLE if name is None else names[name] for name in own], dtype=np.int64
        ),
    }
    for name, at in names.items():
        state |= prefixed(f"group{at}_", rule.groups[name].save(rounds))
    return state


def load_groups(
    rule: Any, state: dict[str, Any], rounds: int, rows: str, **inside: bool
) -> list[Any]:
    """Restore what `save_groups` saved, which is all of the state; return the pending rounds.

    `rows` is what the rule calls its rows, and `inside` tells a kernel that it is a group's.
    """
    names, groups = ids_of(state, "group_names"), integers(state, "waiting_groups", low=WHOLE)
    del state["group_names"], state["waiting_groups"]
    check_groups(names, len(names), rows, rule.groups, rule.max_groups)
    state, whole = part_of(state, "whole_")
    waiting = rule.whole.load(whole)
    of_groups = []
    for at, name in enumerate(names):
        state, saved = part_of(state, f"group{at}_")
        of_groups.append(iter(rule.new_group(name).load(saved, **inside)))
    check_names(state, set())
    if rule.rounds != rounds or len(waiting) != len(groups) or (groups >= len(names)).any():
        raise ValueError("the saved rounds are not those of the saved groups")
    try:
        waiting = [
            each if group == WHOLE else rule.in_group(next(of_groups[group]), each)
            for each, group in zip(waiting, groups.tolist(), strict=True)
        ]
    except StopIteration:
        raise ValueError("a saved round is missing in its group") from None
    if any(next(each, None) is not None for each in of_groups):
        raise ValueError("a saved round of a group is missing in the whole")
    return waiting


def save_kernels(prefix: str, kernels: Sequence[RecalibrateKernel]) -> dict[str, Any]:
    """Return the parts of all kernels, one after the other, and how long each was."""
    states = [kernel._get_state() | {"rounds": kernel.rounds} for kernel in kernels]
    names = sorted(states[0]) if states else []
    saved: dict[str, Any] = {prefix + "parts": names}
    for name in names:
        parts = [state[name] for state in states]
        lengths = [len(part) if isinstance(part, np.ndarray) else NUMBER for part in parts]
        saved[prefix + name] = np.concatenate([np.atleast_1d(part) for part in parts])
        saved[prefix + name + "_lengths"] = np.array(lengths, dtype=np.int64)
    return saved


def load_kernels(
    prefix: str, state: Mapping[str, Any], kernels: Sequence[RecalibrateKernel]
) -> None:
    """Give fresh kernels the parts that `save_kernels` saved, or raise ValueError."""
    states: list[dict[str, Any]] = [{} for _ in kernels]
    try:
        for name in state[prefix + "parts"]:
            values = parts_of(state[prefix + name], state[prefix + name + "_lengths"])
            for each, value in zip(states, values, strict=True):
                each[name] = value
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the saved {prefix}parts make no sense: {error}") from None
    for kernel, each in zip(kernels, states, strict=True):
        kernel._set_state(each)


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


def save_rounds(rounds: Sequence[ScoreRound | StagedRound]) -> dict[str, Any]:
    """Return what the rule keeps of pending rounds, as arrays by name."""
    parts = [each if isinstance(each, StagedRound) else None for each in rounds]
    stages: list[Sequence[Any]] = [
        part.rounds if isinstance(part, StagedRound) else [part] for part in rounds
    ]
    numbers, places = kernel_rounds([each for group in stages for each in group])
    estimates = [part.estimate for part in parts if part is not None and part.estimate is not None]
    predicted = {"waiting_estimates": save_estimates(estimates).view(np.int64)} if estimates else {}
    groups = [WHOLE if part is None else part.group for part in parts]
    return predicted | {
        "waiting_keys": np.array(groups, dtype=np.int64),
        "waiting_sizes": np.array([len(each) for each in stages], dtype=np.int64),
        "waiting_counts": numbers,
        "waiting_places": places,
    }


def take_rounds(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `save_rounds` put there."""
    saved = {name: state.pop(f"waiting_{name}") for name in ("keys", "sizes", "counts", "places")}
    return saved | {"estimates": state.pop("waiting_estimates", np.empty(0, dtype=np.int64))}


def load_rounds(
    state: Mapping[str, Any], check: Check, estimates_of: EstimatesOf
) -> list[ScoreRound | StagedRound]:
    """Return the rounds that `save_rounds` saved, or raise ValueError."""
    groups = integers(state, "keys")
    sizes = integers(state, "sizes", size=len(groups), low=1)
    total = sum(sizes.tolist())
    numbers = integers(state, "counts", size=total, low=0)
    places = floats(state, "places", size=ROUND * total).reshape(-1, ROUND)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes).tolist():
        at = starts[sizes == size, None] + np.arange(size)
        check(groups[sizes == size], numbers[at], places[at])
    loaded = load_kernel_rounds(numbers, places)
    grouped = np.flatnonzero(groups != WHOLE).tolist()
    estimates = iter(estimates_of(groups[grouped], integers(state, "estimates")))
    return [
        loaded[start]
        if group == WHOLE
        else StagedRound(group, tuple(loaded[start : start + size]), next(estimates))
        for group, start, size in zip(groups.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    ]
