"""Foster's forecaster of 1999 on N bins.

Symbols: bin b lies between l_b = b/N and r_b = (b + 1)/N; n_b, its visits; s_b, the sum of their
outcomes; its excess s_b - n_b r_b and its deficit n_b l_b - s_b, of which at most one is positive.
"""

from libc.stdlib cimport calloc, free

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, counts, floats


cdef class Foster1999Kernel(Kernel):
    """The visits of the N bins and the outcomes that followed."""

    cdef Py_ssize_t N
    cdef Py_ssize_t lo, hi     # the bins of this round; the same when it is one
    cdef double *n
    cdef double *s

    def __init__(self, seed, Py_ssize_t N):
        super().__init__(seed)
        cdef double *n = <double *>calloc(2 * N, sizeof(double))
        if n == NULL:
            raise MemoryError
        free(self.n)
        self.N, self.n, self.s = N, n, n + N

    def __dealloc__(self):
        free(self.n)

    cdef double excess(self, Py_ssize_t b) noexcept nogil:
        return self.s[b] - self.n[b] * (<double>(b + 1) / self.N)

    cdef double deficit(self, Py_ssize_t b) noexcept nogil:
        return self.n[b] * (<double>b / self.N) - self.s[b]

    cdef int place(self) noexcept nogil:
        # The first bin has no deficit and the last no excess, so the bisection cannot leave the
        # bins: it ends at a bin with neither, or at neighbours with an excess and a deficit.
        cdef Py_ssize_t lo = -1, hi = self.N, middle
        cdef double e, d
        if self.n == NULL:
            return -1
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if self.excess(middle) > 0.0:
                lo = middle
            elif self.deficit(middle) > 0.0:
                hi = middle
            else:
                lo = hi = middle
        self.lo, self.hi = lo, hi
        self.points[0] = (lo + 0.5) / self.N
        self.weights[0] = 1.0
        self.size = 1
        if lo < hi:
            e, d = self.excess(lo), self.deficit(hi)
            self.points[1] = (hi + 0.5) / self.N
            self.weights[0] = d / (d + e)
            self.weights[1] = 1.0 - self.weights[0]
            self.size = 2
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t b = self.hi if self.chosen else self.lo
        self.n[b] += 1.0
        self.s[b] += y
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * self.N * sizeof(double)

    def _get_state(self):
        return {"n": array_of(self.n, self.N), "s": array_of(self.s, self.N)}

    def _set_state(self, state, rounds):
        check_names(state, {"n", "s"})
        cdef const double[::1] n = counts(state, "n", size=self.N, total=rounds)
        cdef const double[::1] s = floats(state, "s", size=self.N, low=0.0)
        cdef Py_ssize_t b
        for b in range(self.N):
            if s[b] > n[b]:
                raise ValueError(f"saved s must not exceed saved n, got {s[b]!r} at {b}")
        for b in range(self.N):
            self.n[b], self.s[b] = n[b], s[b]
