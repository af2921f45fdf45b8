from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.rounds.round import Round
from calibrant._kernels.rounds.rule import Rule

class DecisionRound(Round): ...

class DecisionRule(Rule):
    seed: int
    explore: float
    acted: int
    explored: int
    judged: int
    hits: float
    spread: float
    def decide_many(
        self,
        p: Floats,
        beside: Floats | None,
        acts: npt.NDArray[np.uint8],
        propensity: Floats,
    ) -> None: ...
    def propensities(self, rounds: list[Any]) -> Floats: ...
    def since_labelled(self) -> list[int]: ...
    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: dict[str, Any], rounds: int) -> None: ...
    def take_over(self, other: DecisionRule) -> None: ...

def save_decisions(rounds: list[Any]) -> dict[str, Any]: ...
def load_decisions(state: dict[str, Any], numbers: Any, explore: float) -> list[Any]: ...
