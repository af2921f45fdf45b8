from calibrant._kernels.kernel import Kernel

class FosterHartKernel(Kernel):
    def __init__(self, seed: int, N: int) -> None: ...
