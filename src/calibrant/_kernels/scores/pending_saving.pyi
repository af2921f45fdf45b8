from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.scores.pending import Awaited, PendingKernel

def save_pending(kernel: PendingKernel) -> dict[str, Any]: ...
def load_pending(
    kernel: PendingKernel, state: Mapping[str, Any], now: float, rounds: int
) -> None: ...
def save_awaited(awaited: Sequence[Awaited]) -> tuple[Floats, npt.NDArray[np.int64]]: ...
def load_awaited(
    kernel: PendingKernel, places: Floats, cells: npt.NDArray[np.int64]
) -> list[Awaited]: ...
