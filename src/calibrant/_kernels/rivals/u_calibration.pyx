"""No regret for any threshold: one Hedge for each gap of the grid i/N.

Symbols: N, the number of gaps; Y, the sum of the outcomes; v_i = (i + 1/2)/N, the threshold of gap
i. Hedge predicts above v_i with the probability sigma(eta (Y - v_i t)) after t rounds. These fall
as v_i rises, so that they are the tails of one distribution on the grid.
"""

from libc.math cimport M_LN2, ceil, floor, sqrt

from calibrant._kernels.functions cimport exp
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.saved import check_names, number

# Thresholds further from a tie than this are decided: sigma(-40) is less than a rounding error.
cdef double DECIDED = 40.0


cdef class UCalibrationKernel(Kernel):
    """The sum of the outcomes so far."""

    cdef Py_ssize_t N
    cdef double Y

    def __init__(self, seed, Py_ssize_t N):
        super().__init__(seed)
        if self.reserve(N + 1) < 0:
            raise MemoryError
        self.N = N

    cdef int place(self) noexcept nogil:
        cdef double t = self._rounds, eta = 2.0 * sqrt(M_LN2 / (t + 1.0))
        cdef double above = 1.0, next_above, reach
        cdef Py_ssize_t N = self.N, first = 0, last = N, i
        if t > 0.0:
            reach = DECIDED * N / (eta * t)
            first = max(first, <Py_ssize_t>max(floor(N * self.Y / t - reach) - 1.0, 0.0))
            last = <Py_ssize_t>min(ceil(N * self.Y / t + reach) + 1.0, <double>N)
        self.size = 0
        for i in range(first, last + 1):
            next_above = 0.0
            if i < last:
                next_above = 1.0 / (1.0 + exp(-eta * (self.Y - (i + 0.5) / N * t)))
            if above > next_above:
                self.points[self.size] = <double>i / N
                self.weights[self.size] = above - next_above
                self.size += 1
            above = next_above
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.Y += y
        return 0

    def _get_state(self):
        return {"Y": self.Y}

    def _set_state(self, state, rounds):
        check_names(state, {"Y"})
        self.Y = number(state, "Y", low=0.0, high=rounds)
