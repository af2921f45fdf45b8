from collections.abc import Callable
from typing import Any, SupportsFloat

from calibrant._checks import Id
from calibrant._kernels.scoring import ScoringKernel
from calibrant._kernels.waiting import Waiting

def predict_by_id(
    kernel: ScoringKernel, waiting: Waiting[Any], id_: Id, at: float | None, score: SupportsFloat
) -> float: ...
def update_by_id(
    kernel: ScoringKernel,
    waiting: Waiting[Any],
    id_: Id,
    outcome: SupportsFloat,
    learn: Callable[[Any, float], None],
) -> None: ...
