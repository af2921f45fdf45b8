import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.fleet.fleet_state import PartState
from calibrant._kernels.fleet.keys import KeyIndex
from calibrant._kernels.rounds.rule import Rule
from calibrant._kernels.watch.key_evidence import KeyEvidence

Integers = npt.NDArray[np.int64]

class ShardKernel(PartState):
    def __init__(self, kind: str, seed: int, watched: KeyEvidence | None = None) -> None: ...
    def predict(
        self, slots: Integers, parents: Integers, scores: Floats, times: Floats
    ) -> Floats: ...
    def reserve(self, outcomes: int) -> None: ...
    def run(
        self,
        slots: Integers,
        parents: Integers,
        scores: Floats,
        times: Floats,
        outcomes: Floats,
    ) -> Floats: ...
    def expected(
        self, slots: Integers, parents: Integers, scores: Floats, placed: bool
    ) -> Floats: ...

class FleetRows:
    def __init__(
        self, slots: Integers, parents: Integers, scores: Floats, times: Floats
    ) -> None: ...
    def __len__(self) -> int: ...

class FleetRule(Rule):
    def __init__(self, kernel: ShardKernel, index: KeyIndex) -> None: ...
    kernel: ShardKernel
    index: KeyIndex
