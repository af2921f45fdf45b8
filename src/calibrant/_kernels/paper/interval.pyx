"""Interval, Algorithm `cal1_knownC`: experts that bet on intervals predicting too high or too low.

Symbols: J_i, interval i, with its prediction z_i = sup J_i; experts (i, +1) and (i, -1) with
weights w; Phi, w_{i,+} - w_{i,-} on J_i; u, the point the intervals are charged for; T, the rounds
planned for.

Phi is constant on an interval, so it changes sign at an edge. Both support points of P_t are put
there, the last point of one interval and the first of the next: the expected gain of the weighted
experts is then exactly 0, whatever the outcome. The paper's l are gains, and MsMwC is fed their
negatives.

A forecaster built on this one may move the prediction of the intervals beyond an anchor to inf J_i.
The two intervals that touch the anchor then share a prediction, which is in P_t once.
"""

from libc.math cimport INFINITY

import numpy as np

from calibrant._kernels.blocks cimport (
    FIRST, GROWTH, block_ends, intervals_for, is_block_length, rounds_before,
)
from calibrant._kernels.functions cimport log
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.paper.msmwc cimport (
    MsMwC, msmwc_begin, msmwc_free, msmwc_learn, msmwc_reserve, msmwc_restore,
)
from calibrant._kernels.paper.partition cimport (
    Partition, partition_copy, partition_free, partition_reserve, partition_set, partition_uniform,
)

from calibrant._kernels.saved import SLACK, check_names, floats, number

cdef double UNIFORM = 0.5     # the trust that prefers neither expert of an interval


cdef object check_slope(const MsMwC *s, state, double d, double T):
    """Refuse a slope that is not that of the saved weights.

    It is summed with the rates before the last outcome, which lowered none by more than 1 %.
    """
    w, V, slope = state["w"], state["V"], state["slope"]
    eta = np.minimum(s.cap, np.sqrt(log(d * T) / np.maximum(V, 1e-300)))
    low = (eta * w)[w > (1.0 + 1e-9) / (d * T)].sum()
    high = (eta * w).sum()
    if not low * (1.0 - SLACK) <= slope <= 1.01 * high:
        raise ValueError(f"saved slope must be in [{low}, {1.01 * high}], got {slope!r}")


cdef class IntervalKernel(Kernel):
    """The experts of one Interval and its partition.

    `edges` is a partition of [0, 1]; None stands for a number of equal `intervals`, and 0 for one
    that suits the horizon. Horizon 0 lets it grow with the rounds; `trust` then says how much each
    block starts from the mean of the last.
    """

    def __init__(
        self, seed, edges, Py_ssize_t intervals, double horizon,
        double cap, double correction, double trust,
    ):
        super().__init__(seed)
        cdef const double[::1] given
        self.experts.cap, self.experts.correction, self.trust = cap, correction, trust
        self.fixed, self.given = intervals, edges is not None
        self.anchor = INFINITY
        self.block.last = horizon > 0.0
        if self.given:
            given = edges
            if partition_set(&self.spare, &given[0], given.shape[0] - 1) < 0:
                raise MemoryError
        if self.open_block(horizon if horizon > 0.0 else FIRST, lean_towards(0.5, UNIFORM)) < 0:
            raise MemoryError

    def __dealloc__(self):
        msmwc_free(&self.experts)
        partition_free(&self.partition)
        partition_free(&self.spare)

    cdef int open_block(self, double T, Lean lean) noexcept nogil:
        """Start anew on this forecaster's own partition for T rounds."""
        cdef Py_ssize_t intervals = self.fixed if self.fixed else intervals_for(T)
        if not self.given and partition_uniform(&self.spare, intervals, 0.0, 1.0) < 0:
            return -1
        return self.begin(&self.spare, T, lean)

    cdef int begin(self, const Partition *partition, double T, Lean lean) noexcept nogil:
        cdef const double *edges = partition.edges
        cdef Py_ssize_t i
        cdef double plus, trust
        if partition_reserve(&self.partition, partition.intervals + 1.0) < 0:
            return -1
        if msmwc_reserve(&self.experts, 2 * partition.intervals) < 0:
            return -1
        partition_copy(&self.partition, partition)
        for i in range(partition.intervals):
            plus = UNIFORM
            trust = lean.inner if lean.a <= edges[i] and edges[i + 1] <= lean.b else lean.outer
            if edges[i + 1] <= lean.y_hat:
                plus = 1.0 - trust
            elif edges[i] >= lean.y_hat:
                plus = trust
            self.experts.trial[2 * i] = plus
            self.experts.trial[2 * i + 1] = 1.0 - plus
        msmwc_begin(&self.experts, 2 * partition.intervals, T)
        self.block.T, self.block.seen, self.total = T, 0, 0.0
        return 0

    cdef double phi(self, Py_ssize_t i) noexcept nogil:
        return self.experts.w[2 * i] - self.experts.w[2 * i + 1]

    cdef Py_ssize_t edge_of(self, Py_ssize_t i) noexcept nogil:
        """Return which edge interval i predicts."""
        return i if self.partition.edges[i] >= self.anchor else i + 1

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t lo = 0, hi = self.partition.intervals - 1, middle
        cdef double below, above
        self.size = 1
        self.weights[0] = self.share[0] = 1.0
        if self.phi(lo) > 0.0:
            hi = lo
            self.u = self.partition.edges[0]
        elif self.phi(hi) <= 0.0:
            lo = hi
            self.u = self.partition.edges[hi + 1]
        else:
            while hi - lo > 1:
                middle = (lo + hi) // 2
                if self.phi(middle) > 0.0:
                    hi = middle
                else:
                    lo = middle
            below, above = -self.phi(lo), self.phi(hi)
            self.u = self.partition.edges[hi]
            self.share[0] = above / (below + above)
            self.share[1] = below / (below + above)
            self.edge[1] = self.edge_of(hi)
            if self.edge[1] != self.edge_of(lo):
                self.size = 2
                self.points[1] = self.partition.edges[self.edge[1]]
                self.weights[0], self.weights[1] = self.share[0], self.share[1]
        self.edge[0] = self.edge_of(lo)
        self.points[0] = self.partition.edges[self.edge[0]]
        self.lo, self.hi = lo, hi
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t experts[4]
        cdef double losses[4]
        cdef Py_ssize_t k, i, count = 1 if self.lo == self.hi else 2
        # The next block starts afresh: its weights need not learn this outcome.
        if block_ends(&self.block):
            return self.open_block(
                GROWTH * self.block.T,
                lean_towards((self.total + y) / (self.block.seen + 1), self.trust),
            )
        for k in range(count):
            i = self.hi if k else self.lo
            experts[2 * k], experts[2 * k + 1] = 2 * i, 2 * i + 1
            losses[2 * k] = -self.share[k] * (self.u - y)
            losses[2 * k + 1] = -losses[2 * k]
        msmwc_learn(&self.experts, 2 * count, experts, losses)
        self.block.seen += 1
        self.total += y
        return 0

    def __sizeof__(self):
        cdef Py_ssize_t numbers = 4 * self.experts.room + self.partition.room + self.spare.room
        return object.__sizeof__(self) + numbers * sizeof(double)

    def _get_state(self):
        return {
            "T": self.block.T,
            "seen": self.block.seen,
            "total": self.total,
            "slope": self.experts.slope,
            "w": array_of(self.experts.w, self.experts.d),
            "V": array_of(self.experts.V, self.experts.d),
        }

    def _set_state(self, state, rounds):
        check_names(state, {"T", "seen", "total", "slope", "w", "V"})
        cdef double T = number(state, "T", low=1.0, high=2.0**62)
        if not is_block_length(&self.block, T):
            raise ValueError(f"saved T must be the length of a block, got {T}")
        cdef double seen = rounds - rounds_before(&self.block, T)
        if not self.block.last and not 0.0 <= seen < T:
            raise ValueError(f"saved T must be that of the block of round {rounds}, got {T}")
        number(state, "seen", low=seen, high=seen)
        cdef double total = number(state, "total", low=0.0, high=seen)
        cdef double slope = number(state, "slope", low=0.0, high=self.experts.cap * (1.0 + 1e-9))
        cdef Py_ssize_t intervals = self.fixed if self.fixed else intervals_for(T)
        if self.given:
            intervals = self.partition.intervals
        cdef double floor = (1.0 - 1e-9) / (2.0 * intervals * T)
        cdef const double[::1] w = floats(state, "w", size=2 * intervals, low=floor, high=1.0)
        cdef const double[::1] V = floats(state, "V", size=2 * intervals, low=0.0, high=seen)
        if abs(sum(state["w"]) - 1.0) > 1e-9:
            raise ValueError("saved w must sum to 1")
        check_slope(&self.experts, state, 2 * intervals, T)
        if self.open_block(T, lean_towards(0.5, UNIFORM)) < 0:
            raise MemoryError
        self.block.seen, self.total = <long long>seen, total
        msmwc_restore(&self.experts, &w[0], &V[0], slope)
