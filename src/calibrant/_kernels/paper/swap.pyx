"""Swap: a learner for every point, and a stationary distribution of the points they aim at.

Symbols: s, a point of the grid; P_t(s), its probability in round t; G, the sum of P_t(s); a_s, what
its learner would predict; H(a), the distribution over the two grid points around a; Q_t, the matrix
with rows H(a_s), of which P_t is a stationary distribution; T, the rounds planned for.

Squared loss: online gradient descent, a_s += P_t(s)/max(G, 1) (y - a_s), and H keeps the mean
(Fishelson et al. 2025). Log loss: exponentially weighted online optimisation, which is
a_s = (n0 prior + sum P_t(s) y)/(n0 + G), and H with crossed variances (Luo, Senapati & Sharan 2025,
who have n0 = 2 and prior = 1/2). A forecaster built on this one may ask for such a mean under the
squared loss as well, where it is follow-the-regularised-leader.
"""

from libc.math cimport M_PI, fmax, fmin
from libc.stdlib cimport free

from calibrant._kernels.blocks cimport (
    FIRST, GROWTH, block_ends, intervals_for, is_block_length, rounds_before,
)
from calibrant._kernels.paper.closed_class cimport (
    State, chain_free, chain_reserve, chain_size, find_closed_class, find_stationary,
)
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.paper.partition cimport (
    Partition, partition_as_probabilities, partition_copy, partition_free, partition_reserve,
    partition_set, partition_uniform,
)

from calibrant._kernels.saved import check_names, check_sum, floats, integer, number


#: Nothing goes to the upper point with less than this. Next to 0 a number may be as small as 1e-323,
#: and its reciprocal is no number.
cdef double LEAST = 1e-30


cdef class SwapKernel(Kernel):
    """The learners of one Swap.

    `edges` are its points; None stands for those of equal `intervals`, and 0 for a number
    that suits the horizon, which is all that the horizon decides. Horizon 0 lets it grow with the
    rounds.
    """

    def __init__(self, seed, bint log_loss, edges, Py_ssize_t intervals, double horizon):
        super().__init__(seed)
        cdef const double[::1] given
        self.log_loss = log_loss
        self.n0 = 2.0 if log_loss else 0.0
        self.fixed, self.given = intervals, edges is not None
        self.block.last = horizon > 0.0 or self.given or intervals > 0
        if self.given:
            given = edges
            if partition_set(&self.spare, &given[0], given.shape[0] - 1) < 0:
                raise MemoryError
        if self.open_block(horizon if horizon > 0.0 else FIRST, 0.5) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.G)
        free(self.A)
        chain_free(&self.chain)
        partition_free(&self.grid)
        partition_free(&self.spare)

    cdef int lay_grid(self, Py_ssize_t K) noexcept nogil:
        """Lay out the next block's points: equal steps, in angles for the log loss."""
        cdef Partition *p = &self.spare
        if not self.log_loss:
            return partition_uniform(p, K, 0.0, 1.0)
        if partition_uniform(p, K, 0.0, M_PI) < 0:
            return -1
        # Half a step away from 0 and 1, which must not be predicted under the log loss.
        p.edges[0] = M_PI / (2.0 * K)
        p.edges[K] = M_PI - M_PI / (2.0 * K)
        partition_as_probabilities(p)
        return 0

    cdef int open_block(self, double T, double prior) noexcept nogil:
        """Start anew on this forecaster's own points for T rounds."""
        if not self.given and self.lay_grid(self.fixed if self.fixed else intervals_for(T)) < 0:
            return -1
        if self.begin(&self.spare, prior) < 0:
            return -1
        self.block.T = T
        return 0

    cdef int reserve_points(self, Py_ssize_t points) noexcept nogil:
        cdef double **columns[2]
        if points <= self.room:
            return 0
        columns[:] = [&self.G, &self.A]
        if resize(columns, 2, points) < 0:
            return -1
        self.room = points
        return 0

    cdef int begin(self, const Partition *partition, double prior) noexcept nogil:
        cdef Py_ssize_t points = partition.intervals + 1, s
        if self.reserve_points(points) < 0 or partition_reserve(&self.grid, points) < 0:
            return -1
        # Last, because the chain forgets its rows when it grows.
        if chain_reserve(&self.chain, points) < 0:
            return -1
        partition_copy(&self.grid, partition)
        self.prior = fmin(fmax(prior, partition.edges[0]), partition.edges[points - 1])
        self.last = 0
        for s in range(points):
            self.G[s] = 0.0
            self.A[s] = 0.0 if self.n0 > 0.0 else self.prior
            self.set_row(s)
            if self.grid.edges[s] <= self.prior:
                self.last = s
        self.block.seen, self.total = 0, 0.0
        return 0

    cdef double action(self, Py_ssize_t s) noexcept nogil:
        """Return a_s, what the learner of point s would predict."""
        if self.n0 > 0.0:
            # Not (n0 prior)/n0, which may round to a number other than the prior.
            if self.G[s] == 0.0:
                return self.prior
            return (self.n0 * self.prior + self.A[s]) / (self.n0 + self.G[s])
        return self.A[s]

    cdef void set_row(self, Py_ssize_t s) noexcept nogil:
        """Round a_s to the two points around it: H(a_s)."""
        cdef const double *z = self.grid.edges
        cdef State *row = &self.chain.state[s]
        cdef Py_ssize_t K = self.grid.intervals, lo = row.at, hi, middle
        cdef double a = fmin(fmax(self.action(s), z[0]), z[K]), d, b, lower, upper
        # Most often a_s has stayed in its interval.
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
        row.at = lo
        row.lower = lower / (lower + upper)
        row.upper = upper / (lower + upper)
        if row.upper < LEAST:
            row.lower, row.upper = 1.0, 0.0

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
        # The next block starts afresh: its learners need not learn this outcome.
        if block_ends(&self.block):
            return self.open_block(
                GROWTH * self.block.T, (self.total + y) / (self.block.seen + 1)
            )
        for i in range(self.size):
            s, g = self.chain.members[i], self.weights[i]
            self.G[s] += g
            if self.n0 > 0.0:
                self.A[s] += g * y
            else:
                self.A[s] += g / fmax(self.G[s], 1.0) * (y - self.A[s])
            self.set_row(s)
        self.last = self.chain.members[self.chosen]
        self.block.seen += 1
        self.total += y
        return 0

    def __sizeof__(self):
        cdef Py_ssize_t numbers = 2 * self.room + self.grid.room + self.spare.room
        return object.__sizeof__(self) + numbers * sizeof(double) + chain_size(&self.chain)

    def _get_state(self):
        return {
            "T": self.block.T,
            "seen": self.block.seen,
            "total": self.total,
            "prior": self.prior,
            "last": self.last,
            "G": array_of(self.G, self.grid.intervals + 1),
            "A": array_of(self.A, self.grid.intervals + 1),
        }

    def _set_state(self, state, rounds):
        check_names(state, {"T", "seen", "total", "prior", "last", "G", "A"})
        cdef double T = number(state, "T", low=1.0, high=2.0**62)
        if not is_block_length(&self.block, T):
            raise ValueError(f"saved T must be the length of a block, got {T}")
        cdef double seen = rounds - rounds_before(&self.block, T)
        if not self.block.last and not 0.0 <= seen < T:
            raise ValueError(f"saved T must be that of the block of round {rounds}, got {T}")
        number(state, "seen", low=seen, high=seen)
        cdef double total = number(state, "total", low=0.0, high=seen)
        cdef double prior = number(state, "prior", low=0.0, high=1.0)
        cdef Py_ssize_t points = self.grid.intervals + 1, s
        if not self.block.last:
            points = intervals_for(T) + 1
        cdef Py_ssize_t last = integer(state, "last", low=0, high=points - 1)
        cdef const double[::1] G = floats(state, "G", size=points, low=0.0)
        cdef const double[::1] A = floats(state, "A", size=points, low=0.0)
        check_sum("G", state["G"], seen, rounds)
        for s in range(points):
            if A[s] > (G[s] * (1.0 + 1e-9) if self.n0 > 0.0 else 1.0):
                raise ValueError(f"saved A is more than outcomes allow at point {s}: {A[s]}")
        if self.open_block(T, prior) < 0:
            raise MemoryError
        self.last, self.block.seen, self.total = last, <long long>seen, total
        for s in range(points):
            self.G[s], self.A[s] = G[s], A[s]
            self.set_row(s)
