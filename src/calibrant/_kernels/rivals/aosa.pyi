from calibrant._kernels.kernel import Kernel

class AOSAKernel(Kernel):
    def __init__(self, seed: int, m: int) -> None: ...
