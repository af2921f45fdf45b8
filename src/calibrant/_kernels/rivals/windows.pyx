"""Means that forget: of the last outcomes, or of all with fading weights.

Both start from Laplace's rule of succession, as the running mean does: two imaginary outcomes, a 0
and a 1, are never forgotten.
"""

from libc.math cimport fabs
from libc.stdlib cimport calloc, free

from calibrant._kernels.functions cimport expm1, log
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import SLACK, check_names, floats, integer, number


cdef class SlidingWindowKernel(Kernel):
    """The last outcomes, in a ring."""

    cdef Py_ssize_t window
    cdef Py_ssize_t filled     # outcomes in the ring
    cdef Py_ssize_t at         # where the next one goes; in a full ring, the oldest is there
    cdef double total          # their sum
    cdef double *recent

    def __init__(self, seed, Py_ssize_t window):
        super().__init__(seed)
        cdef double *recent = <double *>calloc(window, sizeof(double))
        if recent == NULL:
            raise MemoryError
        free(self.recent)
        self.window, self.recent = window, recent

    def __dealloc__(self):
        free(self.recent)

    cdef int place(self) noexcept nogil:
        if self.recent == NULL:
            return -1
        self.size = 1
        self.points[0] = (self.total + 1.0) / (self.filled + 2.0)
        self.weights[0] = 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t i
        if self.filled == self.window:
            self.total -= self.recent[self.at]
        else:
            self.filled += 1
        self.recent[self.at] = y
        self.total += y
        self.at += 1
        if self.at == self.window:
            # Once a lap the sum is computed afresh, so that rounding errors cannot accumulate.
            self.at = 0
            self.total = 0.0
            for i in range(self.window):
                self.total += self.recent[i]
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + self.window * sizeof(double)

    def _get_state(self):
        return {"at": self.at, "total": self.total, "recent": array_of(self.recent, self.filled)}

    def _set_state(self, state, rounds):
        check_names(state, {"at", "total", "recent"})
        cdef Py_ssize_t filled = min(rounds, self.window), i
        recent = floats(state, "recent", size=filled, low=0.0, high=1.0)
        cdef const double[::1] values = recent
        cdef Py_ssize_t at = rounds % self.window
        integer(state, "at", low=at, high=at)
        cdef double total = number(state, "total", low=-1.0, high=self.window + 1.0)
        # A lap of additions and subtractions is off by far less than this.
        if not fabs(total - recent.sum()) <= 1e-9 * self.window:
            raise ValueError(f"saved total must be the sum of saved recent, got {total!r}")
        self.filled, self.at, self.total = filled, at, total
        for i in range(filled):
            self.recent[i] = values[i]


cdef class ExponentialWindowKernel(Kernel):
    """The sum and the number of all outcomes, each weighted by keep^age."""

    cdef double keep
    cdef double mass
    cdef double total

    def __init__(self, seed, double keep):
        super().__init__(seed)
        self.keep = keep

    cdef int place(self) noexcept nogil:
        self.size = 1
        self.points[0] = (self.total + 1.0) / (self.mass + 2.0)
        self.weights[0] = 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.total = self.keep * self.total + y
        self.mass = self.keep * self.mass + 1.0
        return 0

    def _get_state(self):
        return {"mass": self.mass, "total": self.total}

    def _set_state(self, state, rounds):
        check_names(state, {"mass", "total"})
        # Weights keep^age, of all ages.
        expected = -expm1(rounds * log(self.keep)) / (1.0 - self.keep)
        mass = number(
            state, "mass", low=expected * (1.0 - SLACK), high=expected * (1.0 + SLACK)
        )
        self.total = number(state, "total", low=0.0, high=mass)
        self.mass = mass
