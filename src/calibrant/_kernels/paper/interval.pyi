from calibrant._checks import Floats
from calibrant._kernels.kernel import Kernel

class IntervalKernel(Kernel):
    def __init__(
        self,
        seed: int,
        edges: Floats | None,
        intervals: int,
        horizon: float,
        cap: float,
        correction: float,
        trust: float,
    ) -> None: ...
