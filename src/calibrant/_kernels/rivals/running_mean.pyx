"""The running mean, by Laplace's rule of succession."""

from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.saved import check_names, number


cdef class RunningMeanKernel(Kernel):
    """The sum of all outcomes so far."""

    cdef double total

    def __init__(self, seed):
        super().__init__(seed)

    cdef int place(self) noexcept nogil:
        self.size = 1
        self.points[0] = (self.total + 1.0) / (self._rounds + 2.0)
        self.weights[0] = 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.total += y
        return 0

    def _get_state(self):
        return {"total": self.total}

    def _set_state(self, state, rounds):
        check_names(state, {"total"})
        self.total = number(state, "total", low=0.0, high=rounds)
