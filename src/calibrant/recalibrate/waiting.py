"""Predictions that wait for their outcomes, by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id
from calibrant._kernels.recalibrate import ROUND
from calibrant._kernels.saved import floats

Integers = npt.NDArray[np.int64]
#: Number of the round, score as a probability, the mixture's word on it, the prediction, and what
#: each expert said, as raw numbers.
Round = tuple[int, float, float, float, bytes]


class Played(NamedTuple):
    """What is remembered of a prediction until its outcome comes.

    `key` says where it was made, in words of the one who made it (say, the number of a group), and
    `rounds` is what each kernel needs to learn from it. The first of them counts all predictions.
    """

    key: int
    rounds: tuple[Round, ...]

    @property
    def number(self) -> int:
        """How many predictions there were before."""
        return self.rounds[0][0]


class Waiting:
    """The rounds whose outcomes are still to come, and the last ones that came.

    Both are kept in order of time, and neither holds more than `capacity`. A finished id is
    remembered with its outcome, so that one told twice is not counted twice. Beside them, one
    prediction without an id may wait, until the next such one replaces it.
    """

    __slots__ = ("capacity", "finished", "rounds", "unnamed")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rounds: dict[Id, Played] = {}
        self.unnamed: Played | None = None
        self.finished: OrderedDict[Id, float] = OrderedDict()

    def check_new(self, id_: Id) -> None:
        """Refuse an id that is taken, or one too many."""
        if id_ in self.rounds:
            raise ValueError(f"id {id_!r} was predicted already and waits for its outcome")
        if id_ in self.finished:
            raise ValueError(f"id {id_!r} was predicted already and had its outcome")
        if len(self.rounds) >= self.capacity:
            raise ValueError(
                f"{self.capacity} predictions wait for their outcomes, as many as "
                f"capacity={self.capacity} allows; expire(older_than=...) gives up old ones"
            )

    def is_repeat(self, id_: Id, outcome: float, names: Sequence[Id] | None = None) -> bool:
        """Return whether this outcome was learned before; refuse another for the same id.

        If outcomes stand for labels, `names` gives these.
        """
        if id_ in self.rounds:
            return False
        if id_ not in self.finished:
            raise ValueError(
                f"id {id_!r} is unknown: never predicted, expired, or finished more than "
                f"{self.capacity} outcomes ago"
            )
        before = self.finished[id_]
        if before != outcome:
            first, second = (names[int(y)] if names else y for y in (before, outcome))
            raise ValueError(f"id {id_!r} had the outcome {first!r}, and now gets {second!r}")
        return True

    def __len__(self) -> int:
        return len(self.rounds) + (self.unnamed is not None)

    def finish(self, id_: Id, outcome: float) -> None:
        """Move a round from waiting to finished."""
        del self.rounds[id_]
        self.finished[id_] = outcome
        if len(self.finished) > self.capacity:
            self.finished.popitem(last=False)

    def expire(self, before: int) -> list[Id]:
        """Give up the rounds with a number below `before`; return their ids."""
        expired = []
        for id_, played in self.rounds.items():
            if played.number >= before:
                break
            expired.append(id_)
        for id_ in expired:
            del self.rounds[id_]
        return expired

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name; one without an id stands last."""
        played = [*self.rounds.values(), *([self.unnamed] if self.unnamed else [])]
        rounds = [begun for each in played for begun in each.rounds]
        return {
            "waiting_ids": list(self.rounds),
            "waiting_keys": np.array([each.key for each in played], dtype=np.int64),
            "waiting_sizes": np.array([len(each.rounds) for each in played], dtype=np.int64),
            "waiting_numbers": np.array([begun[0] for begun in rounds], dtype=np.int64),
            "waiting_places": numbers_of(rounds),
            "finished_ids": list(self.finished),
            "finished_outcomes": np.array(list(self.finished.values()), dtype=np.float64),
        }

    def set_state(
        self,
        state: Mapping[str, Any],
        rounds: int,
        check_played: Callable[[int, Integers, Floats], None],
        highest: float = 1.0,
    ) -> None:
        """Take over a state of `get_state`, or raise ValueError and change nothing.

        `check_played(key, numbers, places)` refuses predictions that cannot have been made. It gets
        all with this key: the numbers of their rounds, of shape (predictions, rounds of each), and
        what else is saved of these, along one more axis. Outcomes are at most `highest`.
        """
        waiting, finished = ids_of(state, "waiting_ids"), ids_of(state, "finished_ids")
        if max(len(waiting), len(finished)) > self.capacity or set(waiting) & set(finished):
            raise ValueError("saved ids are too many, or both waiting and finished")
        keys = integers(state, "waiting_keys")
        if len(keys) - len(waiting) not in (0, 1):
            raise ValueError("saved waiting_keys must be as many as waiting_ids, or one more")
        sizes = integers(state, "waiting_sizes", size=len(keys), low=1)
        total = sum(sizes.tolist())
        numbers = integers(state, "waiting_numbers", size=total, low=0)
        places = floats(state, "waiting_places", size=ROUND * total).reshape(-1, ROUND)
        outcomes = floats(state, "finished_outcomes", size=len(finished), low=0.0)
        if (outcomes > highest).any():
            raise ValueError(f"saved finished_outcomes must be in [0, {highest}]")
        starts = np.cumsum(sizes) - sizes
        first = numbers[starts]
        if (np.diff(first[: len(waiting)]) <= 0).any() or (first >= rounds).any():
            raise ValueError("saved waiting_numbers must be increasing numbers of past rounds")
        for key in np.unique(keys).tolist():
            at = stretches(starts[keys == key], sizes[keys == key])
            check_played(key, numbers[at], places[at])
        begun = [round_of(*each) for each in zip(numbers.tolist(), places, strict=True)]
        played = [
            Played(key, tuple(begun[start : start + size]))
            for key, start, size in zip(keys.tolist(), starts.tolist(), sizes.tolist(), strict=True)
        ]
        self.unnamed = played.pop() if len(keys) > len(waiting) else None
        self.rounds = dict(zip(waiting, played, strict=True))
        self.finished = OrderedDict(zip(finished, outcomes.tolist(), strict=True))


def numbers_of(rounds: Sequence[Round]) -> Floats:
    """Return rounds as the numbers they are saved as, one after the other."""
    rows = np.empty((len(rounds), ROUND))
    if rounds:
        rows[:, :3] = [begun[1:4] for begun in rounds]
        rows[:, 3:] = np.frombuffer(b"".join(begun[4] for begun in rounds)).reshape(len(rounds), -1)
    return rows.reshape(-1)


def round_of(number: int, row: Floats) -> Round:
    """Return a round from the numbers it was saved as."""
    s, m, z = row[:3].tolist()
    return number, s, m, z, row[3:].tobytes()


def stretches(starts: Integers, sizes: Integers) -> Integers:
    """Return the positions in stretches that must all have the same size, one a row."""
    if (sizes != sizes[0]).any():
        raise ValueError("saved waiting_sizes must be equal where waiting_keys are")
    at: Integers = starts[:, None] + np.arange(sizes[0])
    return at


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
