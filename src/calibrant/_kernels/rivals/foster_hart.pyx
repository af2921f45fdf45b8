"""Foster and Hart's forecaster on the uniform grid i/N.

Symbols: N, the number of gaps; S_i, the bias of point i, the sum of i/N - y over its visits.
"""

from libc.stdlib cimport calloc, free

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, check_reach, floats


cdef class FosterHartKernel(Kernel):
    """The biases of the N + 1 points."""

    cdef Py_ssize_t N
    cdef Py_ssize_t lo, hi     # the points of this round
    cdef double *S

    def __init__(self, seed, Py_ssize_t N):
        super().__init__(seed)
        cdef double *S = <double *>calloc(N + 1, sizeof(double))
        if S == NULL:
            raise MemoryError
        free(self.S)
        self.N, self.S = N, S

    def __dealloc__(self):
        free(self.S)

    cdef int place(self) noexcept nogil:
        # S_0 <= 0 <= S_N always, because 0 cannot over-predict nor 1 under-predict; bisection
        # keeps S_lo <= 0 <= S_hi and stops at the first point found without bias.
        cdef Py_ssize_t lo = 0, hi = self.N, middle
        if self.S == NULL:
            return -1
        if self.S[lo] == 0.0:
            hi = lo
        elif self.S[hi] == 0.0:
            lo = hi
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if self.S[middle] == 0.0:
                lo = hi = middle
            elif self.S[middle] > 0.0:
                hi = middle
            else:
                lo = middle
        self.lo, self.hi = lo, hi
        self.points[0] = <double>lo / self.N
        self.weights[0] = 1.0
        self.size = 1
        if lo < hi:
            self.points[1] = <double>hi / self.N
            self.weights[0] = self.S[hi] / (self.S[hi] - self.S[lo])
            self.weights[1] = 1.0 - self.weights[0]
            self.size = 2
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.S[self.hi if self.chosen else self.lo] += self.points[self.chosen] - y
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.N + 1) * sizeof(double)

    def _get_state(self):
        return {"S": array_of(self.S, self.N + 1)}

    def _set_state(self, state, rounds):
        check_names(state, {"S"})
        cdef const double[::1] S = floats(state, "S", size=self.N + 1, low=-rounds, high=rounds)
        cdef Py_ssize_t i
        check_reach("S", state["S"], rounds)
        if S[0] > 0.0 or S[self.N] < 0.0:
            raise ValueError("saved S must not be positive at 0 nor negative at 1")
        for i in range(self.N + 1):
            self.S[i] = S[i]
