from calibrant._kernels.kernel import Kernel

class EpochKernel(Kernel):
    def __init__(self, seed: int, kl: bool, delta: float) -> None: ...
