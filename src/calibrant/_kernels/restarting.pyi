from calibrant._checks import Floats
from calibrant._kernels.kernel import Kernel

class RestartingKernel(Kernel):
    def __init__(
        self,
        seed: int,
        measure: int,
        horizon: float,
        delta: float,
        tuned: bool,
        coefficients: tuple[float, float, float, float],
    ) -> None: ...
    @property
    def epoch(self) -> int: ...
    @property
    def error(self) -> float: ...
    @property
    def forgotten(self) -> int: ...
    def _rows(self) -> Floats: ...
    def _row(self) -> Floats: ...
