from calibrant._kernels.kernel import Kernel

class UCalibrationKernel(Kernel):
    def __init__(self, seed: int, N: int) -> None: ...
