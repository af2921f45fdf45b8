from calibrant._kernels.paper.restartable import Restartable

class UniformKernel(Restartable):
    def __init__(
        self,
        seed: int,
        deviation: float,
        horizon: float,
        delta: float,
        cap: float,
        correction: float,
    ) -> None: ...
