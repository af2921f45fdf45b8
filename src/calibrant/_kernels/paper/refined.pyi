from calibrant._kernels.paper.restartable import Restartable

class RefinedKernel(Restartable):
    def __init__(
        self,
        seed: int,
        measure: int,
        deviation: float,
        horizon: float,
        delta: float,
        tuned: bool,
        drawn: bool = False,
    ) -> None: ...
    @property
    def epoch(self) -> int: ...
