"""Defensive forecasting, K29 and K29*, on the uniform grid j/N.

Symbols: K_d, the Gaussian kernel of two points d gaps apart; S_j, the sum of K (y_i - p_i) over
all rounds, K being the kernel of j/N and p_i. Every p_i is a grid point, so a round adds one
multiple of the kernel to S and nothing else has to be remembered.
"""

from libc.math cimport fabs
from libc.stdlib cimport calloc, free

from calibrant._kernels.functions cimport exp
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, floats


cdef class K29Kernel(Kernel):
    """The sums S at the N + 1 points."""

    cdef Py_ssize_t N
    cdef bint star             # K29*, with the term that the next residual adds?
    cdef Py_ssize_t at         # the point of this round
    cdef double *S
    cdef double *K

    def __init__(self, seed, Py_ssize_t N, double width, bint star):
        super().__init__(seed)
        cdef double *S = <double *>calloc(2 * (N + 1), sizeof(double))
        cdef double x
        cdef Py_ssize_t d
        if S == NULL:
            raise MemoryError
        free(self.S)
        self.N, self.star, self.S, self.K = N, star, S, S + N + 1
        for d in range(N + 1):
            x = <double>d / N / width
            self.K[d] = exp(-x * x / 2.0)

    def __dealloc__(self):
        free(self.S)

    cdef double value(self, Py_ssize_t j) noexcept nogil:
        """Return what has to vanish at the prediction: S, for K29* with K(p, p) (1 - 2p)/2."""
        return self.S[j] + (0.5 - <double>j / self.N if self.star else 0.0)

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t lo = 0, hi = self.N, middle
        cdef double first, last, v
        if self.S == NULL:
            return -1
        first, last = self.value(lo), self.value(hi)
        if first > 0.0 and last > 0.0:
            lo = hi
        elif first < 0.0 and last < 0.0:
            hi = lo
        while hi - lo > 1:
            middle = (lo + hi) // 2
            v = self.value(middle)
            if v == 0.0:
                lo = hi = middle
            elif (v > 0.0) == (first > 0.0 or last < 0.0):
                lo = middle
            else:
                hi = middle
        # The root lies between two points, and nearer to the one with the smaller value.
        self.at = lo if fabs(self.value(lo)) <= fabs(self.value(hi)) else hi
        self.points[0] = <double>self.at / self.N
        self.weights[0] = 1.0
        self.size = 1
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef double residual = y - self.points[0]
        cdef Py_ssize_t j, at = self.at
        for j in range(at):
            self.S[j] += self.K[at - j] * residual
        for j in range(at, self.N + 1):
            self.S[j] += self.K[j - at] * residual
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * (self.N + 1) * sizeof(double)

    def _get_state(self):
        return {"S": array_of(self.S, self.N + 1)}

    def _set_state(self, state, rounds):
        check_names(state, {"S"})
        cdef const double[::1] S = floats(state, "S", size=self.N + 1, low=-rounds, high=rounds)
        cdef Py_ssize_t j
        for j in range(self.N + 1):
            self.S[j] = S[j]
