from calibrant._kernels.kernel import Kernel

class SlidingWindowKernel(Kernel):
    def __init__(self, seed: int, window: int) -> None: ...

class ExponentialWindowKernel(Kernel):
    def __init__(self, seed: int, keep: float) -> None: ...
