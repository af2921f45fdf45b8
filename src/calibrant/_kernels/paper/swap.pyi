from calibrant._checks import Floats
from calibrant._kernels.kernel import Kernel

class SwapKernel(Kernel):
    def __init__(
        self, seed: int, log_loss: bool, edges: Floats | None, intervals: int, horizon: float
    ) -> None: ...
