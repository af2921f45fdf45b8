from calibrant._kernels.kernel import Kernel

class Foster1999Kernel(Kernel):
    def __init__(self, seed: int, N: int) -> None: ...
