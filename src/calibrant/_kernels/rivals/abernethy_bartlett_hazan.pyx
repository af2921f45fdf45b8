"""Abernethy, Bartlett and Hazan's forecaster on the uniform grid k/m.

Symbols: theta in [-1, 1]^(m+1), the direction in which gradient ascent sees the residuals grow;
w, this round's distribution; eta, the rate.
"""

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, floats


cdef class AbernethyBartlettHazanKernel(Kernel):
    """The direction theta over the m + 1 points."""

    cdef Py_ssize_t m
    cdef double rate           # eta, or 0 for one that falls with the rounds
    cdef Py_ssize_t lo         # the first point of this round
    cdef double *theta

    def __init__(self, seed, Py_ssize_t m, double rate):
        super().__init__(seed)
        cdef double *theta = <double *>calloc(m + 1, sizeof(double))
        if theta == NULL:
            raise MemoryError
        free(self.theta)
        self.m, self.rate, self.theta = m, rate, theta

    def __dealloc__(self):
        free(self.theta)

    cdef int place(self) noexcept nogil:
        # theta_0 >= 0 >= theta_m, because no outcome lies below 0 or above 1: the bisection ends
        # at a point with theta = 0, or at neighbours with theta_lo > 0 > theta_hi.
        cdef Py_ssize_t lo = -1, hi = self.m + 1, middle
        if self.theta == NULL:
            return -1
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if self.theta[middle] > 0.0:
                lo = middle
            elif self.theta[middle] < 0.0:
                hi = middle
            else:
                lo = hi = middle
        self.lo = lo
        self.points[0] = <double>lo / self.m
        self.weights[0] = 1.0
        self.size = 1
        if lo < hi:
            self.points[1] = <double>hi / self.m
            self.weights[0] = self.theta[hi] / (self.theta[hi] - self.theta[lo])
            self.weights[1] = 1.0 - self.weights[0]
            self.size = 2
        return 0

    cdef int learn(self, double y) noexcept nogil:
        # As in the paper, it learns from the distribution, not from the draw.
        cdef double eta = self.rate, raised
        cdef Py_ssize_t i
        if eta == 0.0:
            eta = sqrt((self.m + 1.0) / (self._rounds + 1.0))
        for i in range(self.size):
            raised = self.theta[self.lo + i] + eta * self.weights[i] * (y - self.points[i])
            self.theta[self.lo + i] = min(max(raised, -1.0), 1.0)
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.m + 1) * sizeof(double)

    def _get_state(self):
        return {"theta": array_of(self.theta, self.m + 1)}

    def _set_state(self, state, rounds):
        check_names(state, {"theta"})
        cdef const double[::1] theta = floats(state, "theta", size=self.m + 1, low=-1.0, high=1.0)
        cdef Py_ssize_t k
        if theta[0] < 0.0 or theta[self.m] > 0.0:
            raise ValueError("saved theta must not be negative at 0 nor positive at 1")
        for k in range(self.m + 1):
            self.theta[k] = theta[k]
