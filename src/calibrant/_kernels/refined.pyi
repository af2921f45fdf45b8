from calibrant._kernels.kernel import Kernel

class RefinedKernel(Kernel):
    def __init__(
        self,
        seed: int,
        measure: int,
        deviation: float,
        horizon: float,
        delta: float,
        tuned: bool,
    ) -> None: ...
    @property
    def epoch(self) -> int: ...
    @property
    def error(self) -> float: ...
