from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.rounds.round import Round

Integers = npt.NDArray[np.int64]

ROUND: int

class ScoreRound(Round):
    @property
    def probability(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def after(self) -> float: ...
    @property
    def dispersed(self) -> float: ...
    @property
    def experts(self) -> Floats: ...

def save_rounds(rounds: Sequence[ScoreRound]) -> tuple[Integers, Floats]: ...
def load_rounds(numbers: Integers, places: Floats) -> list[ScoreRound]: ...
def check_rounds(places: Floats, z: Floats) -> None: ...
