from calibrant._kernels.kernel import Kernel

class MarkovTableKernel(Kernel):
    def __init__(self, seed: int, order: int) -> None: ...

class SeasonalTableKernel(Kernel):
    def __init__(self, seed: int, period: int) -> None: ...
