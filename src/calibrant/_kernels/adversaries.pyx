"""Adversaries: they see the distribution of a forecaster's prediction, but not the draw."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, fabs, floor, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import describe
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.functions cimport cos, log, sin, tanh
from calibrant._kernels.kernel cimport Gap, as_outcome
from calibrant._kernels.tally cimport (
    cal1_term,
    cal2_term,
    tally_add,
    tally_enter,
    tally_find,
    tally_free,
    tally_start,
)

#: The number of weights of a learned opponent.
MOST_GENES = GENES

# Rounds played between two checks for Ctrl-C.
cdef Py_ssize_t CHUNK = 1 << 15

# An adversary and a forecaster with the same seed must not share their draws, which it would then know.
cdef uint64_t APART = 0x8E51A9C27D34F06B


# On a grid of round numbers many choices tie but for rounding, which must not decide them.
cdef double TIE = 1e-9

# March turns this close to 1 and rests this close to 0: further gaps gain too little for their rounds.
cdef double EDGE = 0.02


cdef inline double expected(Kernel k) noexcept nogil:
    """Return the mean of this round's distribution, which must be ready."""
    cdef double mean = 0.0
    cdef Py_ssize_t i
    for i in range(k.size):
        mean += k.weights[i] * k.points[i]
    return mean


cdef class Shown(Kernel):
    """A distribution that is given: that of a recalibrator, for one score."""

    cdef int show(self, points, weights) except -1:
        cdef const double[::1] z = np.ascontiguousarray(points, dtype=np.float64)
        cdef const double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        cdef Py_ssize_t i
        if z.shape[0] != w.shape[0] or z.shape[0] == 0:
            raise ValueError(f"points and weights must be as many, got {z.shape[0]} and {w.shape[0]}")
        if self.reserve(z.shape[0]) < 0:
            raise MemoryError
        self.size = z.shape[0]
        for i in range(self.size):
            self.points[i], self.weights[i] = z[i], w[i]
        return 0


cdef Kernel as_forecaster(object forecaster):
    if not isinstance(forecaster, Kernel):
        raise ValueError(f"forecaster must be one of calibrant's, got {describe(forecaster)}")
    return forecaster


cdef class AdversaryKernel:
    """What all adversaries share; not used by itself."""

    def __init__(self):
        raise TypeError("an adversary must be one of calibrant's: the loop it plays in is compiled")

    cdef double decide(self, Kernel k) noexcept nogil:
        return 0.0

    cdef int remember(self, double p, double y) noexcept nogil:
        return 0

    cdef int observe_round(self, double p, double y) noexcept nogil:
        """Remember this round and go to the next."""
        if self.remember(p, y) < 0:
            return -1
        self._rounds += 1
        return 0

    cdef int enter(self) except -1:
        """Refuse a second thread while `play` works without the GIL."""
        if self._running:
            raise RuntimeError(
                f"this {type(self).__name__} is in use by play() in another thread; "
                "give each thread its own adversary"
            )
        return 0

    @property
    def rounds(self):
        """Rounds observed so far."""
        return self._rounds

    def choose(self, forecaster):
        """Return this round's outcome against a forecaster; the same until `observe` is called."""
        cdef Kernel k = as_forecaster(forecaster)
        self.enter()
        k.enter()
        if k.ready() < 0:
            raise MemoryError
        return self.decide(k)

    def answer(self, points, weights):
        """Return this round's outcome against a distribution, as `choose` does."""
        cdef Shown shown = Shown(0)
        self.enter()
        shown.show(points, weights)
        return self.decide(shown)

    def observe(self, prediction, outcome):
        """Remember what was predicted and observed, and go to the next round."""
        self.enter()
        cdef double p, y = as_outcome(outcome)
        try:
            p = prediction
        except TypeError:
            raise ValueError(
                f"prediction must be a number in [0, 1], got {describe(prediction)}"
            ) from None
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"prediction must be in [0, 1], got {p!r}")
        if self.observe_round(p, y) < 0:
            raise MemoryError


cdef class GreedyKernel(AdversaryKernel):
    """Raise the expected calibration error as much as one outcome can."""

    def __cinit__(self, *args, **kwargs):
        if tally_start(&self._tally) < 0:
            raise MemoryError

    def __init__(self, bint squared):
        self._squared = squared

    def __dealloc__(self):
        tally_free(&self._tally)

    cdef double decide(self, Kernel k) noexcept nogil:
        return 1.0 if self.preference(k, 0, k.size) >= -TIE else 0.0

    cdef double preference(self, Kernel k, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        """Return by how much more an outcome of 1 is expected to raise the error than 0.

        Of the points with mass, those from the first to before the end count.
        """
        # The error is a sum of terms over distinct predictions. A round changes the term of the
        # one that was drawn, and the terms as they stand are the same for both outcomes: only
        # the new terms, weighted by P_t, are to be compared.
        cdef double with_one = 0.0, with_zero = 0.0, n, s
        cdef Py_ssize_t i, at
        for i in range(first, end):
            at = tally_find(&self._tally, k.points[i])
            n, s = 1.0, 0.0
            if at >= 0:
                n += self._tally.n[at]
                s = self._tally.s[at]
            if self._squared:
                with_one += k.weights[i] * cal2_term(k.points[i], n, s + 1.0)
                with_zero += k.weights[i] * cal2_term(k.points[i], n, s)
            else:
                with_one += k.weights[i] * cal1_term(k.points[i], n, s + 1.0)
                with_zero += k.weights[i] * cal1_term(k.points[i], n, s)
        return with_one - with_zero

    cdef int remember(self, double p, double y) noexcept nogil:
        cdef Py_ssize_t at = tally_enter(&self._tally, p)
        if at < 0:
            return -1
        tally_add(&self._tally, at, 1.0, y)
        return 0


cdef class DragKernel(GreedyKernel):
    """Drag the forecast along a slow sine, and be greedy for Cal2 where it follows."""

    def __init__(self, double horizon, double sweeps, double width, double reach, bint fresher):
        super().__init__(True)
        self._horizon, self._sweeps, self._width, self._reach = horizon, sweeps, width, reach
        self._fresher = fresher

    cdef double aim_of(self) noexcept nogil:
        return 0.5 + self._reach * sin(2.0 * M_PI * self._sweeps * self._rounds / self._horizon)

    def aim(self):
        """Return where the forecast is to be in this round."""
        return self.aim_of()

    cdef double decide(self, Kernel k) noexcept nogil:
        cdef double off = expected(k) - self.aim_of()
        cdef Py_ssize_t i
        if fabs(off) > self._width:
            return 1.0 if off < 0.0 else 0.0
        if not self._fresher:
            return GreedyKernel.decide(self, k)
        i = self.freshest(k)
        return 1.0 if self.preference(k, i, i + 1) >= -TIE else 0.0

    cdef Py_ssize_t freshest(self, Kernel k) noexcept nogil:
        """Return which of the points with mass has the fewest visits, the first if several have."""
        cdef double n, fewest = INFINITY
        cdef Py_ssize_t i, at, found = 0
        for i in range(k.size):
            at = tally_find(&self._tally, k.points[i])
            n = self._tally.n[at] if at >= 0 else 0.0
            if n < fewest:
                found, fewest = i, n
        return found


cdef class LearnedKernel(GreedyKernel):
    """A small recurrent network that was evolved to raise Cal2."""

    def __init__(self, double horizon, genes):
        super().__init__(True)
        cdef Py_ssize_t i
        self._horizon = horizon
        for i in range(GENES):
            self._genes[i] = genes[i]

    cdef double aim_of(self) noexcept nogil:
        # The last genes: what the state says of the score to ask for.
        cdef const double *gene = &self._genes[GENES - NEURONS - 1]
        cdef double total = gene[NEURONS]
        cdef Py_ssize_t i
        for i in range(NEURONS):
            total += gene[i] * self._state[i]
        return 0.5 + 0.49 * tanh(total)

    def aim(self):
        """Return the score that it asks for in this round, where it may."""
        return self.aim_of()

    cdef void sense(self, Kernel k, double *x) noexcept nogil:
        """Look at a round: where the mass is, what the points have seen, and the time."""
        cdef Py_ssize_t ends[2], i, at
        cdef double n, s, z, t = self._rounds / self._horizon
        ends[0], ends[1] = 0, k.size - 1
        x[0] = 2.0 * expected(k) - 1.0
        x[1] = k.weights[0] if k.size > 1 else 1.0
        x[2] = 10.0 * (k.points[k.size - 1] - k.points[0])
        for i in range(2):
            z, n, s = k.points[ends[i]], 0.0, 0.0
            at = tally_find(&self._tally, z)
            if at >= 0:
                n, s = self._tally.n[at], self._tally.s[at]
            x[3 + i] = (n * z - s) / sqrt(n + 1.0)
            x[5 + i] = 0.1 * log(n + 1.0)
        x[7] = tanh(10.0 * self.preference(k, 0, k.size))
        x[8], x[9] = sin(2.0 * M_PI * t), cos(2.0 * M_PI * t)
        x[10] = self._last
        x[11] = self.aim_of()

    cdef double decide(self, Kernel k) noexcept nogil:
        cdef double[SENSES] x
        cdef const double *gene = self._genes
        cdef double total
        cdef Py_ssize_t i, j
        self.sense(k, x)
        for i in range(NEURONS):
            total = gene[SENSES + NEURONS]
            for j in range(SENSES):
                total += gene[j] * x[j]
            for j in range(NEURONS):
                total += gene[SENSES + j] * self._state[j]
            self._next_state[i] = tanh(total)
            gene += SENSES + NEURONS + 1
        total = gene[SENSES + NEURONS]
        for j in range(SENSES):
            total += gene[j] * x[j]
        for j in range(NEURONS):
            total += gene[SENSES + j] * self._next_state[j]
        return 1.0 if total > 0.0 else 0.0

    cdef int remember(self, double p, double y) noexcept nogil:
        if GreedyKernel.remember(self, p, y) < 0:
            return -1
        memcpy(self._state, self._next_state, sizeof(self._state))
        self._last = y
        return 0


cdef class ContrarianKernel(AdversaryKernel):
    """Answer low with 1 and high with 0."""

    def __init__(self):
        pass

    cdef double decide(self, Kernel k) noexcept nogil:
        return 1.0 if expected(k) < 0.5 else 0.0


cdef class ChaserKernel(AdversaryKernel):
    """Run from the forecast with a mean that drifts."""

    def __init__(self, double step, double start, uint64_t seed):
        self._key = scramble(scramble(seed) ^ APART)
        self._step = step
        self._target = self._next_target = start
        self._heading = self._next_heading = 1.0
        self._chased = self._next_chased = True

    cdef double decide(self, Kernel k) noexcept nogil:
        cdef double e = expected(k), q = self._target, heading = self._heading
        # Overtaken: the forecast was behind and is ahead.
        if self._chased and (e - q) * heading > 0.0:
            heading = -heading
        q += self._step * heading
        # At an end it turns, and may run through the forecast to the other end.
        if q > 1.0:
            q, heading = 2.0 - q, -1.0
        elif q < 0.0:
            q, heading = -q, 1.0
        self._next_target, self._next_heading = q, heading
        self._next_chased = (e - q) * heading <= 0.0
        return 1.0 if uniform(self._key, <uint64_t>self._rounds) < q else 0.0

    cdef int remember(self, double p, double y) noexcept nogil:
        self._target, self._heading = self._next_target, self._next_heading
        self._chased = self._next_chased
        return 0

    @property
    def target(self):
        """The mean of the last outcome chosen."""
        return self._next_target


cdef class SignPreservationKernel(AdversaryKernel):
    """Play the sign preservation game: leave biases where later rounds cannot repay them."""

    def __init__(self, int depth, int64_t length, uint64_t seed):
        cdef int level
        cdef int64_t cells = 1
        cdef double *bias
        for level in range(depth):
            self._offset[level] = 1  # the middle comes first
            cells *= 3
        bias = <double *>calloc(cells, sizeof(double))
        if bias == NULL:
            raise MemoryError
        free(self._bias)
        self._key = scramble(scramble(seed) ^ APART)
        self._depth, self._cells, self._length, self._bias = depth, cells, length, bias
        self._epoch = self._played = 0
        self._cell = cells // 2

    def __dealloc__(self):
        free(self._bias)

    cdef int64_t cell_of(self, double p) noexcept nogil:
        """Return the cell of a prediction; -1 or the number of cells outside of them."""
        cdef double at = floor((2.0 * p - 0.5) * self._cells)
        return <int64_t>min(max(at, -1.0), <double>self._cells)

    cdef double decide(self, Kernel k) noexcept nogil:
        if not 0 <= self._cell < self._cells:
            return 0.0 if self._cell < 0 else 1.0
        cdef double mean = 0.25 + (self._cell + 0.5) / (2.0 * self._cells)
        return 1.0 if uniform(self._key, <uint64_t>self._rounds) < mean else 0.0

    cdef bint upwards(self, int64_t first, int64_t size) noexcept nogil:
        """Return whether cells are biased upwards: drawing from a mean above repays none of it."""
        cdef double total = 0.0
        cdef int64_t i
        for i in range(first, first + size):
            total += self._bias[i]
        return total >= 0.0

    cdef void point(self) noexcept nogil:
        """Go to the cell of the next epoch."""
        cdef int level = 0, other
        cdef int64_t size = self._cells, first = 0
        self._epoch += 1
        self._played = 0
        if self._epoch == 1 << self._depth:
            self._cell = self._cells if self.upwards(0, self._cells) else -1
            return
        # The bits of the epoch say which blocks it is in: 0 for the middle, 1 for a side. The
        # lowest 1 has just become one: that block's middle is done, and its side is chosen.
        while not (self._epoch >> level) & 1:
            level += 1
        for other in range(self._depth - 1, level, -1):
            size //= 3
            first += self._offset[other] * size
        size //= 3
        self._offset[level] = 2 if self.upwards(first + size, size) else 0
        first += self._offset[level] * size
        for other in range(level - 1, -1, -1):
            self._offset[other] = 1
        self._cell = first + size // 2

    cdef int remember(self, double p, double y) noexcept nogil:
        cdef int64_t cell = self.cell_of(p)
        if 0 <= cell < self._cells:
            self._bias[cell] += y - p
        if 0 <= self._cell < self._cells:
            self._played += 1
            if self._played == self._length or fabs(self._bias[self._cell]) >= 0.5 * sqrt(
                <double>self._length
            ):
                self.point()
        return 0


cdef class MarchKernel(AdversaryKernel):
    """March leftwards over the grid, and hand bias from points visited often to fresh ones."""

    def __init__(self, int level, double ratio, double push, double lead):
        self._target = M_PI / 2.0**level
        self._ratio, self._push, self._lead = ratio, push, lead

    cdef double decide(self, Kernel k) noexcept nogil:
        cdef Gap gap
        cdef bint coarse, fine
        cdef double lead
        self._next_turned = self._turned
        if not k.look(&gap):
            return 1.0 if expected(k) < 0.5 else 0.0
        if gap.bet:
            return 1.0 if gap.bet < 0 else 0.0  # every bet loses
        # Widths are powers of two apart: coarser than the target, finer, or the same.
        coarse, fine = gap.w > 1.5 * self._target, gap.w < 0.75 * self._target
        if gap.first:
            # The left end: rest there, but stay in a coarse gap until it is cut.
            return 1.0 if coarse and gap.z_hi > EDGE and gap.R_hi > 1.0 else 0.0
        if not self._turned and gap.z_hi < 1.0 - EDGE and coarse:
            return 1.0
        if not self._turned and gap.last and gap.z_lo < 1.0 - EDGE:
            return 1.0 if not coarse or gap.R_lo > -1.0 else 0.0
        self._next_turned = True
        if gap.last or fine:
            return 0.0  # lift: the lower end hands its bias to the fresh point above it
        lead = self._push * gap.R_hi / (1.0 - gap.z_hi) + self._lead / sqrt(gap.w)
        if not coarse and gap.left < lead:
            return 1.0 if gap.R_hi > 1.0 else 0.0  # push the upper end's bias to the lower one
        return 1.0 if gap.a_lo < self._ratio * gap.a_hi else 0.0  # hold

    cdef int remember(self, double p, double y) noexcept nogil:
        self._turned = self._next_turned
        return 0


def play(forecaster, adversary, Py_ssize_t rounds):
    """Play so many rounds and return the predictions and the outcomes."""
    cdef Kernel k = as_forecaster(forecaster)
    if not isinstance(adversary, AdversaryKernel):
        raise ValueError(f"adversary must be one of calibrant's, got {describe(adversary)}")
    cdef AdversaryKernel a = adversary
    k.enter()
    a.enter()
    predictions, outcomes = np.empty(rounds), np.empty(rounds)
    cdef double[::1] p = predictions, y = outcomes
    cdef Py_ssize_t t = 0, stop
    cdef int failed = 0
    k._running = a._running = True
    try:
        while t < rounds and failed == 0:
            PyErr_CheckSignals()
            stop = min(rounds, t + CHUNK)
            with nogil:
                while t < stop:
                    failed = k.ready()
                    if failed == 0:
                        y[t] = a.decide(k)
                        p[t] = k.points[k.chosen]
                        failed = a.observe_round(p[t], y[t])
                    if failed == 0:
                        failed = k.advance(y[t])
                    if failed < 0:
                        break
                    t += 1
    finally:
        k._running = a._running = False
    if failed < 0:
        raise MemoryError(f"no memory left in round {t}")
    return predictions, outcomes
