from calibrant._checks import Floats
from calibrant._kernels.kernel import Kernel
from calibrant._kernels.paper.restartable import Restartable

class RestartingKernel(Kernel):
    def __init__(
        self,
        seed: int,
        base: Restartable,
        name: str,
        l1: bool,
        horizon: float,
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
