"""How recalibrators are saved: many kernels as one state, and the predictions that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id, check_integer
from calibrant._groups import WHOLE
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant._kernels.rounds import ROUND, load_rounds, save_rounds
from calibrant._kernels.saved import floats
from calibrant._kernels.waiting import Waiting
from calibrant.recalibrate.waiting import Pending

Integers = npt.NDArray[np.int64]
#: Refuses saved predictions that cannot have been made. It gets all of one group: its number, the
#: numbers of their rounds, of shape (predictions, rounds of each), and what else is saved of these
#: rounds, along one more axis.
Check = Callable[[int, Integers, Floats], None]

NUMBER = -1  # the length that stands for a bare number

SAVED_BY_0_1 = (
    "waiting_ids", "waiting_keys", "waiting_sizes", "waiting_numbers", "waiting_places",
    "finished_ids", "finished_outcomes",
)  # fmt: skip


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


def save_waiting(waiting: Waiting[Any]) -> dict[str, Any]:
    """Return everything as lists and arrays by name; a prediction without an id stands last."""
    pending = [*waiting.named.values(), *([waiting.unnamed] if waiting.unnamed else [])]
    parts = [each if isinstance(each, Pending) else Pending(WHOLE, (each,)) for each in pending]
    numbers, batches, places = save_rounds([round_ for each in parts for round_ in each.rounds])
    timed = [row for row, id_ in enumerate(waiting.named) if id_ in waiting.times]
    ids = list(waiting.named)
    return {
        "waiting_ids": ids,
        "waiting_keys": np.array([each.group for each in parts], dtype=np.int64),
        "waiting_sizes": np.array([len(each.rounds) for each in parts], dtype=np.int64),
        "waiting_numbers": numbers,
        "waiting_batches": batches,
        "waiting_places": places,
        "waiting_timed": np.array(timed, dtype=np.int64),
        "waiting_times": np.array([waiting.times[ids[row]] for row in timed], dtype=np.float64),
        "finished_ids": list(waiting.finished),
        "finished_outcomes": np.array(list(waiting.finished.values()), dtype=np.float64),
        "expired_ids": list(waiting.gone),
        "expired": waiting.expired,
    }


def take_waiting(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `save_waiting` put there; calibrant 0.1 saved less."""
    late = {name: state.pop(name) for name in SAVED_BY_0_1}
    late["waiting_batches"] = state.pop("waiting_batches", late["waiting_numbers"])
    late["waiting_timed"] = state.pop("waiting_timed", np.empty(0, dtype=np.int64))
    late["waiting_times"] = state.pop("waiting_times", np.empty(0))
    late["expired_ids"] = state.pop("expired_ids", [])
    late["expired"] = state.pop("expired", 0)
    return late


def load_waiting(
    waiting: Waiting[Any],
    state: Mapping[str, Any],
    rounds: int,
    check: Check,
    highest: float = 1.0,
) -> None:
    """Give a fresh `waiting` what `take_waiting` took, or raise ValueError and change nothing.

    `rounds` predictions were made in all, and outcomes are at most `highest`.
    """
    named, finished = ids_of(state, "waiting_ids"), ids_of(state, "finished_ids")
    gone = ids_of(state, "expired_ids")
    most = max(len(named), len(finished), len(gone))
    if most > waiting.capacity or len({*named, *finished, *gone}) < len([*named, *finished, *gone]):
        raise ValueError("saved ids are too many, or one is waiting, finished or expired at once")
    if len(named) + len(finished) + len(gone) > rounds:
        raise ValueError(f"saved ids are more than {rounds} predictions")
    groups = integers(state, "waiting_keys")
    if len(groups) - len(named) not in (0, 1):
        raise ValueError("saved waiting_keys must be as many as waiting_ids, or one more")
    sizes = integers(state, "waiting_sizes", size=len(groups), low=1)
    total = sum(sizes.tolist())
    numbers = integers(state, "waiting_numbers", size=total, low=0)
    batches = integers(state, "waiting_batches", size=total, low=0)
    places = floats(state, "waiting_places", size=ROUND * total).reshape(-1, ROUND)
    outcomes = floats(state, "finished_outcomes", size=len(finished), low=0.0)
    if (outcomes > highest).any():
        raise ValueError(f"saved finished_outcomes must be in [0, {highest}]")
    starts = np.cumsum(sizes) - sizes
    first = numbers[starts]
    if (np.diff(first[: len(named)]) <= 0).any() or (first >= rounds).any():
        raise ValueError("saved waiting_numbers must be increasing numbers of past rounds")
    if (batches > numbers).any():
        raise ValueError("saved waiting_batches must not be later than waiting_numbers")
    for group in np.unique(groups).tolist():
        size, *others = np.unique(sizes[groups == group]).tolist()
        if others:
            raise ValueError("saved waiting_sizes must be equal where waiting_keys are")
        at = starts[groups == group, None] + np.arange(size)
        check(group, numbers[at], places[at])
    timed = integers(state, "waiting_timed", low=0)
    times = floats(state, "waiting_times", size=len(timed))
    if (np.diff(timed) <= 0).any() or (timed >= len(named)).any():
        raise ValueError("saved waiting_timed must be increasing rows of waiting_ids")
    expired = check_integer("saved expired", state["expired"], len(gone), rounds)
    loaded = load_rounds(numbers, batches, places)
    pending = [
        loaded[start] if group == WHOLE else Pending(group, tuple(loaded[start : start + size]))
        for group, start, size in zip(groups.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    ]
    waiting.unnamed = pending.pop() if len(groups) > len(named) else None
    waiting.load(
        dict(zip(named, pending, strict=True)),
        dict(zip(finished, outcomes.tolist(), strict=True)),
        gone,
        {named[row]: time for row, time in zip(timed, times.tolist(), strict=True)},
    )
    waiting.expired = expired


def integers(
    state: Mapping[str, Any], name: str, *, size: int | None = None, low: int | None = None
) -> Integers:
    """Return a saved array of integers, none below `low`."""
    values: Integers = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of int64")
    if size is not None and len(values) != size:
        raise ValueError(f"saved {name} must have {size} values, got {len(values)}")
    if low is not None and (values < low).any():
        raise ValueError(f"saved {name} must be at least {low}")
    return values


def ids_of(state: Mapping[str, Any], name: str) -> list[Id]:
    """Return a saved list of distinct ids."""
    ids = state[name]
    if not isinstance(ids, list):
        raise ValueError(f"saved {name} must be a list")
    checked = [check_id(id_, f"each of the saved {name}") for id_ in ids]
    if len(set(checked)) != len(checked):
        raise ValueError(f"saved {name} must be distinct")
    return checked
