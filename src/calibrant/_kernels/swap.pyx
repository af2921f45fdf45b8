# cython: boundscheck=False, wraparound=False, cdivision=True
"""Swap: a learner for every point, and the points mixed so that each is where it belongs.

Symbols: s, a point of the grid; P_t(s), its probability in round t; G, the sum of P_t(s); a_s, what
its learner would predict; H(a), the distribution over the two grid points around a; Q_t, the matrix
with rows H(a_s), of which P_t is a stationary distribution; T, the rounds planned for.

Squared loss: online gradient descent, a_s += P_t(s)/max(G, 1) (y - a_s), and H keeps the mean
(Fishelson et al. 2025). Log loss: exponentially weighted online optimisation, which is
a_s = (1 + sum P_t(s) y)/(2 + G), and H with crossed variances (Luo, Senapati & Sharan 2025).
"""

from libc.math cimport M_PI, cbrt, ceil, fmax, fmin, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from calibrant._kernels.closed_class cimport (
    chain_free, chain_reserve, find_closed_class, find_stationary,
)
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.partition cimport (
    Partition, partition_as_probabilities, partition_copy, partition_free, partition_reserve,
    partition_set, partition_uniform,
)

from calibrant._kernels.saved import check_names, floats, number

cdef double FIRST_BLOCK = 64.0    # rounds of the first block when the horizon is unknown


cdef class SwapKernel(Kernel):
    """The learners of one Swap.

    `edges` are its points, or None for those of `cells` cells, or of a number of them that suits
    the horizon when that is 0; horizon 0 doubles it as the rounds go by, if it decides anything.
    """

    def __init__(self, seed, bint log_loss, edges, Py_ssize_t cells, double horizon):
        super().__init__(seed)
        self.log_loss = log_loss
        self.fixed, self.given = cells, edges is not None
        self.doubling = horizon == 0.0 and not self.given and cells == 0
        cdef const double[::1] given
        if self.given:
            given = edges
            if partition_set(&self.spare, &given[0], given.shape[0] - 1) < 0:
                raise MemoryError
        if self.open_block(horizon if horizon > 0.0 else FIRST_BLOCK) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.G)
        free(self.A)
        chain_free(&self.chain)
        partition_free(&self.grid)
        partition_free(&self.spare)

    cdef Py_ssize_t cells_for(self, double T) noexcept nogil:
        if self.fixed:
            return self.fixed
        return max(2, <Py_ssize_t>ceil(cbrt(T / log(fmax(T, 3.0)))))

    cdef int build(self, Partition *p, double T) noexcept nogil:
        """Lay out the stand-alone grid: equal steps, in angles for the log loss."""
        cdef Py_ssize_t K = self.cells_for(T)
        if not self.log_loss:
            return partition_uniform(p, K, 0.0, 1.0)
        if partition_uniform(p, K, 0.0, M_PI) < 0:
            return -1
        # Half a step away from 0 and 1, which the log loss must not predict.
        p.edges[0] = M_PI / (2.0 * K)
        p.edges[K] = M_PI - M_PI / (2.0 * K)
        partition_as_probabilities(p)
        return 0

    cdef int open_block(self, double T) noexcept nogil:
        """Start anew, tuned for T rounds."""
        if not self.given and self.build(&self.spare, T) < 0:
            return -1
        if self.begin(&self.spare, 0.5) < 0:
            return -1
        self.T = T
        return 0

    cdef int reserve_points(self, Py_ssize_t points) noexcept nogil:
        cdef void *grown
        if points <= self.room:
            return 0
        grown = realloc(self.G, points * sizeof(double))
        if grown == NULL:
            return -1
        self.G = <double *>grown
        grown = realloc(self.A, points * sizeof(double))
        if grown == NULL:
            return -1
        self.A = <double *>grown
        self.room = points
        return 0

    cdef int begin(self, const Partition *partition, double y_hat) noexcept nogil:
        cdef Py_ssize_t points = partition.cells + 1, s
        # The chain's room comes last: it is emptied when it grows.
        if self.reserve_points(points) < 0 or partition_reserve(&self.grid, points) < 0:
            return -1
        if chain_reserve(&self.chain, points) < 0:
            return -1
        partition_copy(&self.grid, partition)
        self.chain.states = points
        self.last = 0
        for s in range(points):
            self.G[s] = 0.0
            self.A[s] = 0.0 if self.log_loss else y_hat
            self.set_row(s)
            if self.grid.edges[s] <= y_hat:
                self.last = s
        self.seen = 0
        return 0

    cdef void set_row(self, Py_ssize_t s) noexcept nogil:
        """Round a_s to the two points around it: H(a_s)."""
        cdef const double *z = self.grid.edges
        cdef Py_ssize_t K = self.grid.cells, lo = self.chain.state[s].cell, hi, middle
        cdef double a = self.A[s], d, b, lower, upper
        if self.log_loss:
            a = (1.0 + a) / (2.0 + self.G[s])
        a = fmin(fmax(a, z[0]), z[K])
        # Most often a_s has stayed in its cell.
        if lo >= K or not (z[lo] <= a and (a < z[lo + 1] or lo == K - 1)):
            lo, hi = 0, K
            while hi - lo > 1:
                middle = (lo + hi) // 2
                if z[middle] <= a:
                    lo = middle
                else:
                    hi = middle
        d, b = z[lo], z[lo + 1]
        lower, upper = b - a, a - d
        if self.log_loss:
            lower /= b * (1.0 - b)
            upper /= d * (1.0 - d)
        self.chain.state[s].cell = lo
        self.chain.state[s].lower = lower / (lower + upper)
        self.chain.state[s].upper = upper / (lower + upper)

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t i
        find_closed_class(&self.chain, self.last)
        if self.reserve(self.chain.size) < 0:
            return -1
        if find_stationary(&self.chain, self.weights) < 0:
            return -1
        self.size = self.chain.size
        for i in range(self.size):
            self.points[i] = self.grid.edges[self.chain.members[i]]
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t i, s
        cdef double g
        # A block's last outcome would only move learners that the next block throws away.
        if self.doubling and self.seen + 1 >= self.T:
            return self.open_block(2.0 * self.T)
        for i in range(self.size):
            s, g = self.chain.members[i], self.weights[i]
            self.G[s] += g
            if self.log_loss:
                self.A[s] += g * y
            else:
                self.A[s] += g / fmax(self.G[s], 1.0) * (y - self.A[s])
            self.set_row(s)
        self.last = self.chain.members[self.chosen]
        self.seen += 1
        return 0
