from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats

Integers = npt.NDArray[np.int64]

class Round:
    number: int
    batch: int
    is_shared: bool
    def join(self, whole: Round) -> None: ...
    at: float
    due: float
    outcome: float
    arrived: float
    smooth: float
    weight: float
    @property
    def raw(self) -> float: ...
    @property
    def prediction(self) -> float: ...
    @property
    def expected(self) -> float: ...

class PyRound(Round):
    def __init__(self, token: Any, raw: float, prediction: float, expected: float) -> None: ...
    token: Any

class StagedRound(Round):
    def __init__(self, group: int, rounds: tuple[Any, ...], estimate: Any = ...) -> None: ...
    group: int
    rounds: tuple[Any, ...]
    estimate: Any

def batches_of(rounds: list[Any]) -> list[npt.NDArray[np.intp]]: ...
def round_columns(rounds: list[Any]) -> Any: ...
def numbers_of(rounds: list[Any]) -> tuple[Integers, Floats, Floats]: ...
def rounds_as_arrays(rounds: list[Any]) -> tuple[Integers, Floats]: ...
def rounds_from_arrays(rounds: list[Any], integers: Integers, numbers: Floats) -> None: ...
