# cython: boundscheck=False, wraparound=False, cdivision=True
"""Interval, Algorithm `cal1_knownC`: experts that accuse each cell of predicting too high or low.

Symbols: J_i, cell i, with its prediction z_i = sup J_i; experts (i, +1) and (i, -1) with weights w;
Phi, w_{i,+} - w_{i,-} on J_i; u, the point the cells are charged for; T, the rounds planned for.

Phi is constant on a cell, so it changes sign at an edge. Both support points of P_t are put there,
the last point of one cell and the first of the next: the expected gain of the weighted experts is
then exactly 0, whatever the outcome. The paper's l are gains, and MsMwC is fed their negatives.
"""

from libc.math cimport cbrt, ceil, fabs, fmax
from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.msmwc cimport msmwc_begin, msmwc_free, msmwc_learn, msmwc_restore
from calibrant._kernels.partition cimport (
    Partition, partition_copy, partition_free, partition_reserve, partition_set, partition_uniform,
)

from calibrant._kernels.saved import check_names, floats, number

cdef double FIRST_BLOCK = 64.0    # rounds of the first block when the horizon is unknown


cdef void informed_start(
    const Partition *partition, double y_hat, double trust, double *start
) noexcept nogil:
    """Fill in first weights that say where y_hat lies, 2 x cells of them.

    Cells below it get a share `trust` on the expert that pushes right, cells above it on the other,
    and the cell around it is left open.
    """
    cdef Py_ssize_t i
    cdef double plus
    for i in range(partition.cells):
        plus = 0.5
        if partition.edges[i + 1] <= y_hat:
            plus = 1.0 - trust
        elif partition.edges[i] >= y_hat:
            plus = trust
        start[2 * i] = plus
        start[2 * i + 1] = 1.0 - plus


cdef class IntervalKernel(Kernel):
    """The experts of one Interval and the partition they judge.

    `edges` is a partition of [0, 1], or None for `cells` equal cells, or for a number of them that
    suits the horizon when that is 0; horizon 0 doubles it as the rounds go by.
    """

    def __init__(self, seed, edges, Py_ssize_t cells, double horizon, double cap, double correction):
        super().__init__(seed)
        self.experts.cap, self.experts.correction = cap, correction
        self.fixed, self.given = cells, edges is not None
        self.doubling = horizon == 0.0
        cdef const double[::1] given
        if self.given:
            given = edges
            if partition_set(&self.cells, &given[0], given.shape[0] - 1) < 0:
                raise MemoryError
        if self.open_block(FIRST_BLOCK if self.doubling else horizon) < 0:
            raise MemoryError

    def __dealloc__(self):
        msmwc_free(&self.experts)
        partition_free(&self.cells)
        partition_free(&self.spare)

    cdef int open_block(self, double T) noexcept nogil:
        """Start anew, tuned for T rounds."""
        if self.given:
            return self.begin(&self.cells, T, NULL)
        if partition_uniform(&self.spare, self.cells_for(T), 0.0, 1.0) < 0:
            return -1
        return self.begin(&self.spare, T, NULL)

    cdef Py_ssize_t cells_for(self, double T) noexcept nogil:
        return self.fixed if self.fixed else <Py_ssize_t>ceil(cbrt(T))

    cdef int begin(self, const Partition *partition, double T, const double *start) noexcept nogil:
        if partition_reserve(&self.cells, partition.cells + 1.0) < 0:
            return -1
        if msmwc_begin(&self.experts, 2 * partition.cells, T, start) < 0:
            return -1
        partition_copy(&self.cells, partition)
        self.T, self.seen = T, 0
        return 0

    cdef double phi(self, Py_ssize_t i) noexcept nogil:
        return self.experts.w[2 * i] - self.experts.w[2 * i + 1]

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t lo = 0, hi = self.cells.cells - 1, middle
        cdef double below, above
        self.size = 1
        self.weights[0] = 1.0
        if self.phi(lo) > 0.0:
            hi = lo
            self.u = self.cells.edges[0]
        elif self.phi(hi) <= 0.0:
            lo = hi
            self.u = self.cells.edges[self.cells.cells]
        else:
            while hi - lo > 1:
                middle = (lo + hi) // 2
                if self.phi(middle) > 0.0:
                    hi = middle
                else:
                    lo = middle
            self.u = self.cells.edges[hi]
            below, above = fabs(self.phi(lo)), self.phi(hi)
            self.size = 2
            self.points[1] = self.cells.edges[hi + 1]
            self.weights[0] = above / (below + above)
            self.weights[1] = below / (below + above)
        self.points[0] = self.cells.edges[lo + 1]
        self.lo, self.hi = lo, hi
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t experts[4]
        cdef double losses[4]
        cdef Py_ssize_t k, cell
        # A block's last outcome would only move weights that the next block throws away.
        if self.doubling and self.seen + 1 >= self.T:
            return self.open_block(2.0 * self.T)
        for k in range(self.size):
            cell = self.hi if k else self.lo
            experts[2 * k], experts[2 * k + 1] = 2 * cell, 2 * cell + 1
            losses[2 * k] = -self.weights[k] * (self.u - y)
            losses[2 * k + 1] = -losses[2 * k]
        msmwc_learn(&self.experts, 2 * self.size, experts, losses)
        self.seen += 1
        return 0
