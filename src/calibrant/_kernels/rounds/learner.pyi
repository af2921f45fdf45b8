from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.book import Book
from calibrant._kernels.rounds.rule import Rule
from calibrant._times import Time

NONE_WAITS: str
T = TypeVar("T")

class Learner:
    def __init__(self, rule: Rule, policy: Any, watcher: Any = ...) -> None: ...
    _book: Book
    _rule: Any
    _given: dict[str, Any]
    @property
    def rounds(self) -> int: ...
    @property
    def learned(self) -> int: ...
    @property
    def pending(self) -> int: ...
    @property
    def expired(self) -> int: ...
    def _predict(self, row: Any, *given: Any) -> Any: ...
    def _open_one(self, row: Any, *given: Any) -> Any: ...
    def _predict_many(
        self, rows: Any, ids: Any = ..., by: Any = ..., at: Any = ..., due: Any = ...
    ) -> Any: ...
    def _open(
        self, rows: Any, ids: Any = ..., by: Any = ..., at: Any = ..., due: Any = ...
    ) -> list[Any]: ...
    def _play(
        self,
        rows: Any,
        outcomes: Floats,
        by: Any = ...,
        *,
        at: Any = ...,
        due: Any = ...,
        opened: list[Any] | None = ...,
        weights: Any = ...,
    ) -> Floats: ...
    def _play_table(
        self,
        rows: Any,
        outcomes: Floats,
        by: Any = ...,
        *,
        at: Floats | None = ...,
        known: Floats | None = ...,
        due: Floats | None = ...,
        ids: Any = ...,
        is_dated: bool = ...,
        smooth: bool = ...,
        opened: list[Any] | None = ...,
        weights: Any = ...,
    ) -> tuple[Floats, Floats, Floats, Floats | None]: ...
    def _all_or_nothing(self, body: Callable[[], T]) -> T: ...
    @property
    def _is_weighed(self) -> bool: ...
    def update(
        self,
        outcome: Any,
        *,
        id: Id | None = ...,  # noqa: A002
        at: Time | None = ...,
        weight: float | None = ...,
    ) -> str | None: ...
    def update_many(
        self,
        outcomes: Any,
        *,
        ids: Sequence[Id] | npt.NDArray[Any],
        at: Any = ...,
        weights: npt.ArrayLike | None = ...,
    ) -> npt.NDArray[np.str_]: ...
    def advance(self, now: Time) -> int: ...
    def expire(self, *, older_than: int | None = ..., before: Time | None = ...) -> list[Id]: ...
    def forget_ids(self) -> int: ...

def listed_ids(ids: object) -> list[Id]: ...
