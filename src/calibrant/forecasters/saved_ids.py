"""How ids are saved: those that wait, those that had their outcomes, and those that expired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Id, check_id, check_integer
from calibrant._kernels.saved import floats
from calibrant._kernels.waiting import Waiting

Integers = npt.NDArray[np.int64]

ID_PARTS = (
    "waiting_ids", "waiting_timed", "waiting_times", "finished_ids", "finished_outcomes",
    "expired_ids", "expired",
)  # fmt: skip


@dataclass(frozen=True)
class SavedIds:
    """Ids as they were saved, checked.

    Attributes
    ----------
    named : list of ids
        Those that wait, in the order of their predictions.
    finished : dict of id to outcome
        Those that had their outcomes.
    gone : list of ids
        Those that expired.
    times : dict of id to float
        When predictions that wait were made, where that is known.
    expired : int
        How many expired in all.
    """

    named: list[Id]
    finished: dict[Id, float]
    gone: list[Id]
    times: dict[Id, float]
    expired: int

    def give(self, waiting: Waiting[Any], predictions: Sequence[Any]) -> None:
        """Give the ids, and the predictions of those that wait, to a fresh `Waiting`."""
        named = dict(zip(self.named, predictions, strict=True))
        waiting.load(named, self.finished, self.gone, self.times)
        waiting.expired = self.expired


def save_ids(waiting: Waiting[Any]) -> dict[str, Any]:
    """Return all ids as lists and arrays by name."""
    ids, finished = list(waiting.named), waiting.finished
    timed = [row for row, id_ in enumerate(ids) if id_ in waiting.times]
    return {
        "waiting_ids": ids,
        "waiting_timed": np.array(timed, dtype=np.int64),
        "waiting_times": np.array([waiting.times[ids[row]] for row in timed], dtype=np.float64),
        "finished_ids": list(finished),
        "finished_outcomes": np.array(list(finished.values()), dtype=np.float64),
        "expired_ids": list(waiting.gone),
        "expired": waiting.expired,
    }


def load_ids(
    state: Mapping[str, Any], capacity: int, rounds: int, highest: float = 1.0
) -> SavedIds:
    """Return what `save_ids` saved, or raise ValueError.

    At most `capacity` ids wait, `rounds` predictions were made in all, and outcomes are at most
    `highest`.
    """
    named, finished = ids_of(state, "waiting_ids"), ids_of(state, "finished_ids")
    gone = ids_of(state, "expired_ids")
    most = max(len(named), len(finished), len(gone))
    if most > capacity or len({*named, *finished, *gone}) < len([*named, *finished, *gone]):
        raise ValueError("saved ids are too many, or one is waiting, finished or expired at once")
    if len(named) + len(finished) + len(gone) > rounds:
        raise ValueError(f"saved ids are more than {rounds} predictions")
    outcomes = floats(state, "finished_outcomes", size=len(finished), low=0.0)
    if (outcomes > highest).any():
        raise ValueError(f"saved finished_outcomes must be in [0, {highest}]")
    timed = integers(state, "waiting_timed", low=0)
    times = floats(state, "waiting_times", size=len(timed))
    if (np.diff(timed) <= 0).any() or (timed >= len(named)).any():
        raise ValueError("saved waiting_timed must be increasing rows of waiting_ids")
    return SavedIds(
        named,
        dict(zip(finished, outcomes.tolist(), strict=True)),
        gone,
        {named[row]: time for row, time in zip(timed, times.tolist(), strict=True)},
        check_integer("saved expired", state["expired"], len(gone), rounds),
    )


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
