"""How recalibrators are saved: many kernels as one state, and the predictions that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant._groups import WHOLE
from calibrant._kernels.group_words import save_words
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant._kernels.recent import RECENT_PARTS
from calibrant._kernels.score_rounds import ROUND, load_rounds, save_rounds, with_past
from calibrant._kernels.saved import check_names, floats
from calibrant._kernels.waiting import Waiting
from calibrant.forecasters.saved_ids import Integers, integers, load_ids, save_ids
from calibrant.recalibrate.waiting import Pending

#: Refuses saved predictions that cannot have been made. It gets all that have as many rounds: the
#: numbers of their groups, the numbers of their rounds, of shape (predictions, rounds of each), and
#: what else is saved of these rounds, along one more axis.
Check = Callable[[Integers, Integers, Floats], None]

#: Gives saved predictions of several kernels the words that were saved of them.
WithWords = Callable[[list[Pending], Integers], list[Pending]]

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


def check_saved(state: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a state with other parts than one has now; calibrant 0.1 saved nothing of the past."""
    names = set(now)
    missing = {name for name in names - state.keys() if any(part in name for part in RECENT_PARTS)}
    check_names(state, names - missing)


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
    words = [each.word for each in parts if each.word is not None]
    said = {"waiting_words": save_words(words).view(np.int64)} if words else {}
    return said | {
        "waiting_keys": np.array([each.group for each in parts], dtype=np.int64),
        "waiting_sizes": np.array([len(each.rounds) for each in parts], dtype=np.int64),
        "waiting_numbers": numbers,
        "waiting_batches": batches,
        "waiting_places": places,
        **save_ids(waiting),
    }


def take_waiting(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `save_waiting` put there; calibrant 0.1 saved less."""
    late = {name: state.pop(name) for name in SAVED_BY_0_1}
    late["waiting_batches"] = state.pop("waiting_batches", late["waiting_numbers"])
    late["waiting_words"] = state.pop("waiting_words", np.empty(0, dtype=np.int64))
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
    with_words: WithWords,
    highest: float = 1.0,
) -> None:
    """Give a fresh `waiting` what `take_waiting` took, or raise ValueError and change nothing.

    `rounds` predictions were made in all, and outcomes are at most `highest`.
    """
    ids = load_ids(state, waiting.capacity, rounds, highest)
    groups = integers(state, "waiting_keys")
    if len(groups) - len(ids.named) not in (0, 1):
        raise ValueError("saved waiting_keys must be as many as waiting_ids, or one more")
    sizes = integers(state, "waiting_sizes", size=len(groups), low=1)
    total = sum(sizes.tolist())
    numbers = integers(state, "waiting_numbers", size=total, low=0)
    batches = integers(state, "waiting_batches", size=total, low=0)
    places = with_past(floats(state, "waiting_places"), total)
    if len(places) != ROUND * total:
        raise ValueError(f"saved waiting_places must have {ROUND * total} values")
    places = places.reshape(-1, ROUND)
    starts = np.cumsum(sizes) - sizes
    first = numbers[starts]
    if (np.diff(first[: len(ids.named)]) <= 0).any() or (first >= rounds).any():
        raise ValueError("saved waiting_numbers must be increasing numbers of past rounds")
    if (batches > numbers).any():
        raise ValueError("saved waiting_batches must not be later than waiting_numbers")
    for size in np.unique(sizes).tolist():
        at = starts[sizes == size, None] + np.arange(size)
        check(groups[sizes == size], numbers[at], places[at])
    loaded = load_rounds(numbers, batches, places)
    pending = [
        loaded[start] if group == WHOLE else Pending(group, tuple(loaded[start : start + size]))
        for group, start, size in zip(groups.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    ]
    grouped = [row for row, each in enumerate(pending) if isinstance(each, Pending)]
    said = with_words([pending[row] for row in grouped], integers(state, "waiting_words"))
    for row, each in zip(grouped, said, strict=True):
        pending[row] = each
    waiting.unnamed = pending.pop() if len(groups) > len(ids.named) else None
    ids.give(waiting, pending)
