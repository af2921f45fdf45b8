"""Refined, Algorithms `framework_non_uniform` and `framework_non_uniform_PKLCal`.

Symbols: m, the epoch, which lasts s_m = 2^m rounds; y_hat, the mean outcome before it, around which
its intervals are cut; C, the deviation; T, the horizon; delta, the probability of failure. Epoch 1
predicts 1/2; every other one starts a base forecaster from scratch on its own intervals.

Interval and Swap run the rounds of an epoch unchanged; this kernel lays out their partition, draws,
and keeps the error of the epoch.
"""

from libc.math cimport fabs, fmax, fmin, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.functions cimport sin
from calibrant._kernels.paper.cuts cimport Cut, L1, L2, PSEUDO_KL, paper_cut, tuned_cut
from calibrant._kernels.paper.interval cimport IntervalKernel, Lean, lean_towards
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.paper.partition cimport (
    Partition, partition_as_probabilities, partition_refined,
)
from calibrant._kernels.paper.restartable cimport Restartable
from calibrant._kernels.paper.swap cimport SwapKernel
from calibrant._kernels.tally cimport cal1_term, cal2_term, kl_term

from calibrant._kernels.saved import (
    SLACK, check_names, check_sum, floats, integer, number, part_of,
)

# How an epoch of tuned Interval starts its experts: how much intervals in the inner region and in
# the bands trust y_hat. With a deviation, the truth may be anywhere in the region.
cdef Lean STEADY = Lean(0.0, 0.0, 0.0, 0.97, 0.9)
cdef Lean MOVED = Lean(0.0, 0.0, 0.0, 0.5, 0.7)

cdef double MOST_ERROR = 64.0 # a round adds less to any measure: -log(p) for p > 2^-64
cdef int LAST_EPOCH = 48      # beyond it, 1 - 1/(T + 1) would be too close to 1 for floats


cdef class RefinedKernel(Restartable):
    """The epochs of one Refined; horizon 0 stands for none.

    The error of a pseudo measure is counted over P_t, or, if it is to be `drawn`, over predictions.
    """

    def __init__(
        self, seed, int measure, double deviation, double horizon, double delta, bint tuned,
        bint drawn=False,
    ):
        super().__init__(seed)
        self.measure, self.T, self.delta, self.tuned = measure, horizon, delta, tuned
        self.drawn = drawn or measure == L1 or measure == L2
        # The partitions given here are stand-ins until epoch 2 lays out its own.
        if measure == L1 or measure == L2:
            self.interval = IntervalKernel(
                0, np.array([0.0, 1.0]), 0, 1.0,
                1.0 / 16.0 if tuned else 1.0 / 64.0, 1.0 if tuned else 32.0, 0.5,
            )
            self.base = self.interval
        else:
            self.swap = SwapKernel(0, measure == PSEUDO_KL, np.array([0.25, 0.75]), 0, 1.0)
            self.base = self.swap
        if self.reserve_points(2) < 0:
            raise MemoryError
        self.begin(deviation)

    def __dealloc__(self):
        free(self.mass)
        free(self.ones)
        free(self.term)

    # -- epochs ---------------------------------------------------------------------------------

    cdef void begin(self, double C) noexcept nogil:
        self.C = C
        self.m, self.seen, self.y_hat = 1, 0, 0.5
        self.total = self.epoch_total = self.closed = self.open = 0.0
        self.mass[0] = self.ones[0] = self.term[0] = 0.0

    cdef int open_epoch(self, int m, double y_hat) noexcept nogil:
        """Lay out epoch m around y_hat and start the base forecaster; -1 without memory."""
        cdef double s = ldexp(1.0, m), T = self.T if self.T > 0.0 else 2.0 * s
        cdef Cut cut
        cdef Py_ssize_t i
        if self.tuned:
            cut = tuned_cut(self.measure, self.C, s, y_hat)
        else:
            cut = paper_cut(self.measure, self.C, T, self.delta, s, y_hat)
        if (self.open_interval(&cut) if self.swap is None else self.open_swap(&cut, s)) < 0:
            return -1
        self.m, self.seen, self.y_hat, self.epoch_total = m, 0, y_hat, 0.0
        for i in range(self.points_in_epoch()):
            self.mass[i] = self.ones[i] = self.term[i] = 0.0
        return 0

    cdef int lay_out(self, Partition *partition, const Cut *cut) noexcept nogil:
        """Cut the intervals of an epoch, with room to count what each of its points predicts."""
        if partition_refined(
            partition, cut.x, cut.r, cut.left, cut.right, cut.per_band, self.tuned,
            cut.low, cut.high,
        ) < 0:
            return -1
        return self.reserve_points(partition.intervals + 1)

    cdef int open_interval(self, const Cut *cut) noexcept nogil:
        cdef Lean lean = lean_towards(0.5, 0.5)
        if self.lay_out(&self.interval.spare, cut) < 0:
            return -1
        if self.tuned:
            lean = MOVED if self.C > 0.0 else STEADY
            lean.y_hat, lean.a, lean.b = cut.x, cut.a, cut.b
        if self.interval.open_block(cut.T, lean) < 0:
            return -1
        if self.tuned:
            self.interval.anchor = cut.x
        return 0

    cdef int open_swap(self, const Cut *cut, double s) noexcept nogil:
        cdef double x = cut.x, n0 = self.swap.n0
        if self.lay_out(&self.swap.spare, cut) < 0:
            return -1
        if self.measure == PSEUDO_KL:
            partition_as_probabilities(&self.swap.spare)
            x = sin(x / 2.0) * sin(x / 2.0)
        if self.tuned:
            # Where the truth stands still, its mean over s - 2 rounds counts for a quarter of them.
            self.swap.n0 = 2.0 if self.C > 0.0 else fmax(2.0, (s - 2.0) / 4.0)
        if self.swap.open_block(cut.T, x if self.tuned else 0.5) < 0:
            self.swap.n0 = n0
            return -1
        return 0

    # -- the error ------------------------------------------------------------------------------

    cdef int reserve_points(self, Py_ssize_t points) noexcept nogil:
        cdef double **columns[3]
        if points <= self.room:
            return 0
        columns[:] = [&self.mass, &self.ones, &self.term]
        if resize(columns, 3, points) < 0:
            return -1
        self.room = points
        return 0

    cdef Py_ssize_t points_in_epoch(self) noexcept nogil:
        if self.m == 1:
            return 1
        if self.swap is None:
            return self.interval.partition.intervals + 1
        return self.swap.grid.intervals + 1

    cdef Py_ssize_t place_of(self, Py_ssize_t k) noexcept nogil:
        """Return which point of the epoch the k-th of the support is."""
        if self.m == 1:
            return 0
        return self.interval.edge[k] if self.swap is None else self.swap.chain.members[k]

    cdef double point(self, Py_ssize_t i) noexcept nogil:
        """Return the i-th point of the epoch."""
        if self.m == 1:
            return 0.5
        return (self.interval.partition if self.swap is None else self.swap.grid).edges[i]

    cdef double term_of(self, double p, double n, double ones) noexcept nogil:
        """Return what a point adds to the error."""
        if n == 0.0:
            return 0.0
        if self.measure == L1:
            return cal1_term(p, n, ones)
        if self.measure == PSEUDO_KL:
            # Rounding must not leave more ones than rounds.
            return kl_term(p, n, fmin(ones, n))
        return cal2_term(p, n, ones)

    cdef double gain_at(self, Py_ssize_t k, double mass, double y, bint keep) noexcept nogil:
        """Return what an outcome adds to the error at the k-th point of the support."""
        cdef Py_ssize_t i = self.place_of(k)
        cdef double p = self.points[k], n = self.mass[i] + mass, ones = self.ones[i] + mass * y
        cdef double term = self.term_of(p, n, ones), gain = term - self.term[i]
        if keep:
            self.mass[i], self.ones[i], self.term[i] = n, ones, term
        return gain

    cdef double gain_of(self, double y, bint keep) noexcept nogil:
        """Return what the round's outcome adds to the error, and count it if it is to be kept."""
        cdef double gain = 0.0
        cdef Py_ssize_t k
        if self.drawn:
            return self.gain_at(self.chosen, 1.0, y, keep)
        for k in range(self.size):
            if self.weights[k] > 0.0:
                gain += self.gain_at(k, self.weights[k], y, keep)
        return gain

    cdef double error_so_far(self) noexcept nogil:
        return fmax(self.closed + self.open, 0.0)

    # -- the round ------------------------------------------------------------------------------

    cdef int place(self) noexcept nogil:
        if self.m == 1:
            self.size, self.points[0], self.weights[0] = 1, 0.5, 1.0
            return 0
        if self.base.place() < 0 or self.reserve(self.base.size) < 0:
            return -1
        self.size = self.base.size
        memcpy(self.points, self.base.points, self.size * sizeof(double))
        memcpy(self.weights, self.base.weights, self.size * sizeof(double))
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef double s = ldexp(1.0, self.m), error, mean
        if self.seen + 1 >= s and self.m < LAST_EPOCH:
            # The next epoch starts afresh: the base forecaster need not learn this outcome.
            error = self.closed + self.open + self.gain_of(y, False)
            mean = (self.epoch_total + y) / s
            if self.tuned:
                mean = (self.total + y) / (2.0 * s - 2.0)
            if self.open_epoch(self.m + 1, fmin(mean, 1.0)) < 0:
                return -1
            self.closed, self.open = error, 0.0
            self.total += y
            return 0
        if self.m > 1:
            self.base.chosen = self.chosen
            if self.base.learn(y) < 0:
                return -1
        self.open += self.gain_of(y, True)
        self.seen += 1
        self.total += y
        self.epoch_total += y
        return 0

    # -- for Python -----------------------------------------------------------------------------

    @property
    def epoch(self):
        """The current epoch, counted from 1; epoch m lasts 2^m rounds."""
        self.enter()
        return self.m

    def __sizeof__(self):
        cdef Py_ssize_t own = 3 * self.room * sizeof(double)
        return object.__sizeof__(self) + own + self.base.__sizeof__()

    def _get_state(self):
        cdef Py_ssize_t points = self.points_in_epoch()
        state = {
            "m": self.m,
            "seen": self.seen,
            "y_hat": self.y_hat,
            "total": self.total,
            "epoch_total": self.epoch_total,
            "closed": self.closed,
            "open": self.open,
            "mass": array_of(self.mass, points),
            "ones": array_of(self.ones, points),
            "term": array_of(self.term, points),
        }
        if self.m > 1:
            state |= {f"base.{name}": value for name, value in self.base._get_state().items()}
        return state

    cdef int64_t played(self) noexcept nogil:
        return (<int64_t>1 << self.m) - 2 + <int64_t>self.seen  # 2^m - 2 in the epochs before m

    def _take_over(self, state, rounds):
        state, base = part_of(state, "base.")
        names = {"m", "seen", "y_hat", "total", "epoch_total", "closed", "open"}
        names |= {"mass", "ones", "term"}
        check_names(state, names)
        cdef int m = min((rounds + 2).bit_length() - 1, LAST_EPOCH)
        cdef int64_t seen = rounds + 2 - (<int64_t>1 << m)
        integer(state, "m", low=m, high=m)
        integer(state, "seen", low=seen, high=seen)
        cdef double y_hat = number(state, "y_hat", low=0.0, high=1.0)
        cdef double total = number(state, "total", low=0.0, high=rounds)
        cdef double epoch_total = number(state, "epoch_total", low=0.0, high=seen)
        cdef double closed = number(state, "closed", low=-1e-6, high=MOST_ERROR * rounds)
        cdef double running = number(state, "open", low=-1e-6, high=MOST_ERROR * (seen + 1))
        if m > 1 and not (
            fabs(number(base, "total", low=0.0, high=seen) - epoch_total) <= 1e-6
            and -SLACK * rounds <= total - epoch_total <= (rounds - seen) * (1.0 + SLACK)
            and (not self.tuned or fabs(y_hat * (rounds - seen) - total + epoch_total)
                 <= SLACK * rounds)
        ):
            raise ValueError("saved total, epoch_total and y_hat must be of the same outcomes")
        if m == 1:
            check_names(base, set())
            self.begin(self.C)
        else:
            if self.open_epoch(m, y_hat) < 0:
                raise MemoryError
            self.base._set_state(base, seen)
        cdef Py_ssize_t points = self.points_in_epoch(), i
        cdef const double[::1] mass = floats(state, "mass", size=points, low=0.0)
        cdef const double[::1] ones = floats(state, "ones", size=points, low=0.0)
        cdef const double[::1] term = floats(state, "term", size=points, low=0.0)
        check_sum("mass", state["mass"], seen, seen)
        check_sum("ones", state["ones"], epoch_total, seen)
        check_sum("term", state["term"], running, MOST_ERROR * seen)
        for i in range(points):
            if ones[i] > mass[i] * (1.0 + 1e-9):
                raise ValueError(f"saved ones are more than the rounds at point {i}: {ones[i]}")
            if not fabs(term[i] - self.term_of(self.point(i), mass[i], ones[i])) <= 1e-6:
                raise ValueError(f"saved term is not that of saved mass and ones at point {i}")
            self.mass[i], self.ones[i], self.term[i] = mass[i], ones[i], term[i]
        self.seen, self.total, self.epoch_total = seen, total, epoch_total
        self.closed, self.open = closed, running
