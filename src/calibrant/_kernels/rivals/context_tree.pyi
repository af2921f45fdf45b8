from calibrant._kernels.kernel import Kernel

class ContextTreeKernel(Kernel):
    def __init__(self, seed: int, depth: int) -> None: ...
