from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet_level import Level
from calibrant._kernels.fleet_rounds import FleetRound
from calibrant._kernels.key_evidence import KeyEvidence
from calibrant._kernels.waiting import Waiting

Integers = npt.NDArray[np.int64]

ANSWERS: list[str]

class Copy: ...

class PartKernel:
    def __init__(self, kind: str, seed: int, watched: KeyEvidence | None = None) -> None: ...
    @property
    def watched(self) -> KeyEvidence | None: ...
    @property
    def root(self) -> Level: ...
    @property
    def keys(self) -> Level: ...
    @property
    def parents(self) -> Level: ...
    def levels(self) -> dict[str, Level]: ...
    @property
    def rounds(self) -> int: ...
    @property
    def learned(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
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
    def copy(self) -> Copy: ...
    def go_back(self, before: Copy) -> None: ...
    def arrays(self) -> dict[str, npt.NDArray[Any]]: ...
    def load(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None: ...
