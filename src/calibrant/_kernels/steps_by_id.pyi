from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat

import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.scoring import ScoringKernel
from calibrant._kernels.waiting import Waiting

def predict_by_id(
    kernel: ScoringKernel, waiting: Waiting[Any], id_: Id, at: float | None, score: SupportsFloat
) -> float: ...
def predict_many_by_id(
    kernel: ScoringKernel,
    waiting: Waiting[Any],
    names: list[Id],
    times: Sequence[float] | None,
    scores: npt.ArrayLike,
) -> Floats: ...
def update_by_id(
    kernel: ScoringKernel,
    waiting: Waiting[Any],
    id_: Id,
    outcome: SupportsFloat,
    learn: Callable[[Any, float], None],
) -> None: ...
