from collections.abc import Sequence

from calibrant._kernels.kernel import Kernel

class EventStages(Kernel):
    def __init__(self, seed: int, periods: Sequence[int], ahead: int) -> None: ...
