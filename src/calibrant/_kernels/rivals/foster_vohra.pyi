from calibrant._kernels.kernel import Kernel

class FosterVohraKernel(Kernel):
    def __init__(self, seed: int, N: int, rate: float) -> None: ...
