from calibrant._kernels.kernel import Kernel

class DyadicHedgeKernel(Kernel):
    def __init__(self, seed: int) -> None: ...
