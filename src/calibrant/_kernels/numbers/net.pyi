from collections.abc import Sequence
from typing import Any

from calibrant._checks import Floats
from calibrant._kernels.numbers.quantile_mixture import Levels

HORIZONS: tuple[float, ...]
WALL: float
WALL_LATE: float

class Net:
    def __init__(
        self,
        levels: Levels,
        horizons: Sequence[float] = ...,
        wall: tuple[float, float] = ...,
        grow: bool = ...,
    ) -> None: ...
    horizons: int
    most: float
    def is_caught(self, n: int) -> bool: ...
    def biases(self) -> Floats: ...
    def say(self, mixed: Floats, far: float, n: int, late: float = ...) -> tuple[Floats, int]: ...
    def count(self, below: Any, is_marked: bool, n: int, late: float = ...) -> None: ...
