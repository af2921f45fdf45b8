from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats

LEAN: np.dtype[np.void]

class LeanKernel:
    def __init__(self, count: int, threshold: float, tolerance: float) -> None: ...
    @property
    def rounds(self) -> int: ...
    def _run(
        self, key: npt.NDArray[np.int64], p: Floats, y: Floats, start: int
    ) -> tuple[int, int]: ...
    def _get_state(self) -> npt.NDArray[np.void]: ...
    def _set_state(self, keys: npt.NDArray[Any], rounds: int) -> None: ...
