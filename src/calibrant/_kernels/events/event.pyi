from collections.abc import Sequence
from typing import SupportsFloat

import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.events.event_rounds import EventRound
from calibrant._kernels.events.event_stages import EventStages
from calibrant._kernels.kernel import State
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.rounds.rule import Rule
from calibrant._times import Time

class EventKernel(EventStages):
    _late: Learner
    def __init__(self, seed: int, periods: Sequence[int], ahead: int) -> None: ...
    @property
    def learned(self) -> int: ...
    def predict(
        self,
        *,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
    ) -> float: ...
    def update(  # type: ignore[override]
        self,
        outcome: SupportsFloat,
        *,
        id: Id | None = None,  # noqa: A002
    ) -> str | None: ...
    def run(self, outcomes: npt.ArrayLike, *, at: npt.ArrayLike | None = None) -> Floats: ...
    @property
    def _contexts(self) -> int: ...
    def _held_rounds(self) -> list[EventRound]: ...
    def _load_rounds(
        self, state: State, name: str, rounds: int, opened: int
    ) -> list[EventRound]: ...
    def _mean(self) -> float: ...
    def _weights(self) -> Floats: ...
    def _described(self) -> tuple[list[float], int, list[tuple[int, int]], float]: ...

class EventRule(Rule):
    def __init__(self, kernel: EventKernel) -> None: ...
