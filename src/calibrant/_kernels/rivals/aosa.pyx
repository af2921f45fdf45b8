"""Almost-One-Step-Ahead on the uniform grid i/m.

Symbols: alpha_i, the shadow bias of point i, the sum of i/m - y over the rounds in which the
shadow, which knows the outcome, chose i.
"""

from libc.stdlib cimport calloc, free

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, check_reach, floats


cdef class AOSAKernel(Kernel):
    """The shadow biases of the m + 1 points."""

    cdef Py_ssize_t m
    cdef Py_ssize_t lo         # this round's pair is lo and lo + 1; lo is predicted
    cdef double *alpha

    def __init__(self, seed, Py_ssize_t m):
        super().__init__(seed)
        cdef double *alpha = <double *>calloc(m + 1, sizeof(double))
        if alpha == NULL:
            raise MemoryError
        free(self.alpha)
        self.m, self.alpha = m, alpha

    def __dealloc__(self):
        free(self.alpha)

    cdef int place(self) noexcept nogil:
        # alpha_0 <= 0 <= alpha_m always; bisection keeps alpha_lo <= 0 <= alpha_hi.
        cdef Py_ssize_t lo = 0, hi = self.m, middle
        if self.alpha == NULL:
            return -1
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if self.alpha[middle] > 0.0:
                hi = middle
            else:
                lo = middle
        self.lo = lo
        self.points[0] = <double>lo / self.m
        self.weights[0] = 1.0
        self.size = 1
        return 0

    cdef int learn(self, double y) noexcept nogil:
        # The shadow takes the end of the pair that is nearer to the outcome, the lower of two
        # equally near.
        cdef double lower = self.points[0], upper = <double>(self.lo + 1) / self.m
        if y - lower <= upper - y:
            self.alpha[self.lo] += lower - y
        else:
            self.alpha[self.lo + 1] += upper - y
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.m + 1) * sizeof(double)

    def _get_state(self):
        return {"alpha": array_of(self.alpha, self.m + 1)}

    def _set_state(self, state, rounds):
        check_names(state, {"alpha"})
        cdef const double[::1] alpha = floats(state, "alpha", size=self.m + 1, low=-rounds, high=rounds)
        cdef Py_ssize_t i
        check_reach("alpha", state["alpha"], rounds)
        if alpha[0] > 0.0 or alpha[self.m] < 0.0:
            raise ValueError("saved alpha must not be positive at 0 nor negative at 1")
        for i in range(self.m + 1):
            self.alpha[i] = alpha[i]
