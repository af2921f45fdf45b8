from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.rounds.rule import Rule
from calibrant._kernels.scores.pending import PendingKernel
from calibrant._kernels.scores.recalibrate import RecalibrateKernel

class ScoreRule(Rule):
    def __init__(
        self, whole: RecalibrateKernel, groups: Any = ..., silence: PendingKernel | None = ...
    ) -> None: ...
    whole: RecalibrateKernel
    groups: Any
    silence: PendingKernel | None
    def take_over(self, other: ScoreRule) -> None: ...

def save_waits(rounds: list[Any]) -> tuple[Floats, npt.NDArray[np.int64]]: ...
def load_waits(
    silence: PendingKernel, rounds: list[Any], places: Any, cells: Any, silent: float
) -> None: ...
def check_waits(awaited: list[Any], rounds: list[Any], announced: list[bool]) -> None: ...
