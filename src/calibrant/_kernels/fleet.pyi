import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet_rounds import FleetRound
from calibrant._kernels.fleet_state import PartState
from calibrant._kernels.key_evidence import KeyEvidence
from calibrant._kernels.waiting import Waiting

Integers = npt.NDArray[np.int64]

ANSWERS: list[str]

class PartKernel(PartState):
    def __init__(self, kind: str, seed: int, watched: KeyEvidence | None = None) -> None: ...
    def predict(
        self, slots: Integers, parents: Integers, scores: Floats, times: Floats, keep: bool
    ) -> tuple[Floats, list[FleetRound]]: ...
    def reserve(self, outcomes: int) -> None: ...
    def learn(self, rounds: list[FleetRound], outcomes: Floats) -> None: ...
    def run(
        self,
        slots: Integers,
        parents: Integers,
        scores: Floats,
        times: Floats,
        outcomes: Floats,
        predictions: Floats,
    ) -> None: ...
    def play(
        self,
        waiting: Waiting[FleetRound],
        slots: Integers,
        parents: Integers,
        scores: Floats,
        times: Floats,
        outcomes: Floats,
        names: list[Id | None],
        predictions: Floats,
        answers: npt.NDArray[np.uint8],
    ) -> None: ...
    def expected(
        self, slots: Integers, parents: Integers, scores: Floats, placed: bool
    ) -> Floats: ...
