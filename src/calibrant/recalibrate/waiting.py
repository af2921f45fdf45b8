"""Predictions that wait for their outcomes, by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._checks import Floats, describe
from calibrant._kernels.recalibrate import ROUND, check_rounds
from calibrant._kernels.saved import floats

Id = str | int
#: Number of the round, score as a probability, the mixture's word on it, the prediction, and what
#: each expert said, as raw numbers.
Round = tuple[int, float, float, float, bytes]


def check_id(value: object, name: str = "id") -> Id:
    """Return an id, a string or an integer."""
    if type(value) is int or type(value) is str:
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{name} must be a string or an integer, got {describe(value)}")
    return value


class Waiting:
    """The rounds whose outcomes are still to come, and the last ones that came.

    Both are kept in order of time, and neither holds more than `capacity`. A finished id is
    remembered with its outcome, so that one told twice is not counted twice.
    """

    __slots__ = ("capacity", "finished", "rounds")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rounds: dict[Id, Round] = {}
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

    def is_repeat(self, id_: Id, outcome: float) -> bool:
        """Return whether this outcome was learned before; refuse another for the same id."""
        if id_ in self.rounds:
            return False
        if id_ not in self.finished:
            raise ValueError(
                f"id {id_!r} is unknown: never predicted, expired, or finished more than "
                f"{self.capacity} outcomes ago"
            )
        if self.finished[id_] != outcome:
            raise ValueError(
                f"id {id_!r} had the outcome {self.finished[id_]!r}, and now gets {outcome!r}"
            )
        return True

    def finish(self, id_: Id, outcome: float) -> None:
        """Move a round from waiting to finished."""
        del self.rounds[id_]
        self.finished[id_] = outcome
        if len(self.finished) > self.capacity:
            self.finished.popitem(last=False)

    def expire(self, before: int) -> list[Id]:
        """Give up the rounds with a number below `before`; return their ids."""
        expired = []
        for id_, begun in self.rounds.items():
            if begun[0] >= before:
                break
            expired.append(id_)
        for id_ in expired:
            del self.rounds[id_]
        return expired

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        begun = list(self.rounds.values())
        return {
            "waiting_ids": list(self.rounds),
            "waiting_numbers": np.array([number for number, *_ in begun], dtype=np.int64),
            "waiting_places": np.array([x for r in begun for x in numbers_of(r)], dtype=np.float64),
            "finished_ids": list(self.finished),
            "finished_outcomes": np.array(list(self.finished.values()), dtype=np.float64),
        }

    def set_state(self, state: Mapping[str, Any], rounds: int, z: Floats) -> None:
        """Take over a state of `get_state`, or raise ValueError and change nothing."""
        waiting, finished = ids_of(state, "waiting_ids"), ids_of(state, "finished_ids")
        numbers = state["waiting_numbers"]
        places = floats(state, "waiting_places", size=ROUND * len(waiting))
        outcomes = floats(state, "finished_outcomes", size=len(finished), low=0.0)
        if max(len(waiting), len(finished)) > self.capacity or set(waiting) & set(finished):
            raise ValueError("saved ids are too many, or both waiting and finished")
        if (
            not isinstance(numbers, np.ndarray)
            or numbers.dtype != np.int64
            or len(numbers) != len(waiting)
            or (np.diff(numbers) <= 0).any()
            or ((numbers < 0) | (numbers >= rounds)).any()
        ):
            raise ValueError("saved waiting_numbers must be increasing numbers of past rounds")
        check_rounds(places, z)
        if (outcomes > 1.0).any():
            raise ValueError("saved finished_outcomes must be in [0, 1]")
        self.rounds = {
            id_: (number, *row[:3].tolist(), row[3:].tobytes())
            for id_, number, row in zip(
                waiting, numbers.tolist(), places.reshape(-1, ROUND), strict=True
            )
        }
        self.finished = OrderedDict(zip(finished, outcomes.tolist(), strict=True))


def numbers_of(begun: Round) -> list[float]:
    """Return a round as the numbers it is saved as."""
    return [*begun[1:4], *np.frombuffer(begun[4]).tolist()]


def ids_of(state: Mapping[str, Any], name: str) -> list[Id]:
    """Return a saved list of distinct ids."""
    ids = state[name]
    if not isinstance(ids, list):
        raise ValueError(f"saved {name} must be a list")
    checked = [check_id(id_, f"each of the saved {name}") for id_ in ids]
    if len(set(checked)) != len(checked):
        raise ValueError(f"saved {name} must be distinct")
    return checked
