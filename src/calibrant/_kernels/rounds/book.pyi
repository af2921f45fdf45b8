from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence, Sized
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.round import Round
from calibrant._kernels.rounds.rule import Rule
from calibrant._kernels.rounds.settled import Settled

ANSWERS: npt.NDArray[np.str_]

class Book:
    def __init__(self, rule: Rule, policy: Any) -> None: ...
    rule: Rule
    policy: Any
    watcher: Any
    lock: RLock
    capacity: int
    remember: int
    patience: float
    refuse: bool
    has_deadlines: bool
    silence: float
    known: dict[Any, Any]
    gone: OrderedDict[Id, None]
    unnamed: Round | None
    expired: int
    now: float
    is_timed: bool | None
    arrivals: Sized
    late: Counter[str]
    settled: Any
    def __len__(self) -> int: ...
    def waiting(self) -> list[tuple[Any, Any]]: ...
    @property
    def ids(self) -> list[Id]: ...
    @property
    def finished(self) -> dict[Id, float]: ...
    def round_of(self, name: Id) -> Any: ...
    def next_due(self) -> float: ...
    def check_new_ids(self, names: list[Id]) -> None: ...
    def open(
        self, rows: Any, names: list[Id] | None, by: Any, made: Floats | None, dues: Floats | None
    ) -> list[Any]: ...
    def observe_one(self, name: Id, outcome: float, at: float, most: int) -> int: ...
    def observe(
        self, names: list[Any], outcomes: Floats, at: Any = ..., only_news: bool = ...
    ) -> npt.NDArray[np.uint8]: ...
    def play(
        self,
        columns: Any,
        by: Any,
        names: list[Any] | None,
        outcomes: Floats,
        made: Floats | None,
        known: Floats | None,
        dues: Floats | None,
        observes: npt.NDArray[np.uint8] | None,
        told: Floats,
        answers: npt.NDArray[np.uint8],
        opened: list[Any] | None = ...,
    ) -> Floats: ...
    def take_over(self, other: Book) -> None: ...
    def let_pass(self, now: float) -> None: ...
    def advance(self, now: float) -> int: ...
    def collect(self, smooth: bool = ...) -> None: ...
    def stop_collecting(self) -> None: ...
    def take_settled(self) -> Settled: ...
    def expire(self, number: int | None = ..., before: float | None = ...) -> list[Id]: ...
    def forget(self) -> int: ...
    def clear(self) -> None: ...
    def load(
        self,
        keys: list[Id | None],
        rounds: list[Any],
        finished: Mapping[Id, float],
        gone: Sequence[Id],
    ) -> None: ...
    def load_arrivals(
        self, keys: list[Any], times: Sequence[float], outcomes: Sequence[float]
    ) -> None: ...
    def coming(self) -> list[tuple[Any, float, float]]: ...

def checked_ids(ids: list[Any]) -> list[Id]: ...
