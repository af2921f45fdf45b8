from calibrant._kernels.kernel import Kernel

class AbernethyBartlettHazanKernel(Kernel):
    def __init__(self, seed: int, m: int, rate: float) -> None: ...
