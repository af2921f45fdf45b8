"""Mean outcomes by row of a table: subclasses define the row of a round.

Each row starts from Laplace's rule of succession, as the running mean does.
"""

from libc.stdlib cimport calloc, free

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, counts, floats, integer


cdef class OutcomeTableKernel(Kernel):
    """The table; the row of a round is written by each subclass."""

    cdef Py_ssize_t rows
    cdef double *total            # sum of the outcomes of a row's rounds
    cdef double *count            # how many there were
    cdef Py_ssize_t row           # of this round

    def __init__(self, seed, Py_ssize_t rows):
        super().__init__(seed)
        cdef double *total = <double *>calloc(2 * rows, sizeof(double))
        if total == NULL:
            raise MemoryError
        free(self.total)
        self.rows, self.total, self.count = rows, total, total + rows

    def __dealloc__(self):
        free(self.total)

    cdef void go_on(self, double y) noexcept nogil:
        """Go to the row of the next round."""
        pass

    cdef int place(self) noexcept nogil:
        if self.total == NULL:
            return -1
        self.size = 1
        self.points[0] = (self.total[self.row] + 1.0) / (self.count[self.row] + 2.0)
        self.weights[0] = 1.0
        return 0

    cdef int learn(self, double y) noexcept nogil:
        self.total[self.row] += y
        self.count[self.row] += 1.0
        self.go_on(y)
        return 0

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * self.rows * sizeof(double)

    def _get_state(self):
        return {
            "row": self.row,
            "total": array_of(self.total, self.rows),
            "count": array_of(self.count, self.rows),
        }

    def _set_state(self, state, rounds):
        check_names(state, {"row", "total", "count"})
        count = counts(state, "count", size=self.rows, total=rounds)
        total = floats(state, "total", size=self.rows, low=0.0, high=rounds)
        if (total > count).any():
            raise ValueError("saved total must be at most saved count in each row")
        cdef Py_ssize_t row = integer(state, "row", low=0, high=self.rows - 1)
        cdef const double[::1] totals = total, numbers = count
        cdef Py_ssize_t i
        self.row = row
        for i in range(self.rows):
            self.total[i], self.count[i] = totals[i], numbers[i]


cdef class MarkovTableKernel(OutcomeTableKernel):
    """A row for each past of `order` outcomes; an outcome above 1/2 counts as a 1."""

    def __init__(self, seed, int order):
        super().__init__(seed, <Py_ssize_t>1 << order)

    cdef void go_on(self, double y) noexcept nogil:
        self.row = (2 * self.row + (y > 0.5)) & (self.rows - 1)


cdef class SeasonalTableKernel(OutcomeTableKernel):
    """A row for each phase of the period."""

    def __init__(self, seed, Py_ssize_t period):
        super().__init__(seed, period)

    cdef void go_on(self, double y) noexcept nogil:
        self.row = self.row + 1 if self.row + 1 < self.rows else 0
