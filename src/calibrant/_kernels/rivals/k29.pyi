from calibrant._kernels.kernel import Kernel

class K29Kernel(Kernel):
    def __init__(self, seed: int, N: int, width: float, star: bool) -> None: ...
