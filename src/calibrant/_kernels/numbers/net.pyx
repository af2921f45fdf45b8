"""The safe stage: levels that follow their own bias, and a net below them.

The bias of a level is the discounted sum of 1{outcome < quantile} - level; a tie counts for nothing.
It is kept over horizons a factor of eight apart, and as a plain sum.

*Soft*: where a bias exceeds what chance explains, the quantile is read from the mixture at another
level: linear in the logit inside, an exponential tail beyond, twice the largest residual at the end.
Levels are pooled so that they do not cross.

*Net*: a bias beyond the wall, 10 standard deviations, is stopped. With levels too low on one side
and none too high, every quantile from the first of them on is +inf; with the mirror image, -inf;
with both, the outcome's place is chosen by a schedule, and the round is marked: it does not count in
the biases that choose the case. This makes `docs/numbers-proof.md`, Theorem 1, true for every
mixture, opponent and lateness.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.numbers.limits cimport greater, lesser
from calibrant._kernels.numbers.quantile_mixture cimport Lateness, Levels

#: Memories of the soft stage; a longer one is added when the stream outgrows the last.
HORIZONS = (64.0, 512.0, 4096.0, 32768.0)
WALL, WALL_LATE = 10.0, 12.0
cdef double GROWTH = 8.0
cdef double ZONE = 2.5            # standard deviations that chance explains
cdef double GAIN = 0.7            # logits a standard deviation beyond them
cdef double GAIN_LATE = 0.3
cdef double LIMIT = 13.8          # |logit| from which on a quantile is as far out as may be


cdef double read_at(
    const double *q, const double *logit, int K, double a, double far
) noexcept nogil:
    """Return the quantile at a logit, of those q at some: straight beyond them, none past far."""
    cdef int low, high, middle
    if a <= -LIMIT:
        return -far
    if a >= LIMIT:
        return far
    if a <= logit[0]:
        high = min(4, K - 1)
        return greater(
            -far, q[0] - (q[high] - q[0]) / (logit[high] - logit[0]) * (logit[0] - a)
        )
    if a >= logit[K - 1]:
        low = max(K - 5, 0)
        return lesser(
            far,
            q[K - 1] + (q[K - 1] - q[low]) / (logit[K - 1] - logit[low]) * (a - logit[K - 1]),
        )
    low, high = 0, K - 1
    while high - low > 1:
        middle = (low + high) // 2
        if logit[middle] <= a:
            low = middle
        else:
            high = middle
    return q[low] + (a - logit[low]) / (logit[high] - logit[low]) * (q[high] - q[low])


cdef class Net:
    """The biases of levels, and what they do to the quantiles of a mixture.

    `wall` has the standard deviations at which a bias is stopped while no outcome ever waited
    beside another, and from then on.
    """

    def __cinit__(self, Levels levels not None, horizons=HORIZONS, wall=(WALL, WALL_LATE), grow=True):
        cdef int h, k
        self.levels, self.K, self.horizons = levels, levels.K, len(horizons)
        self.at_once, self.late = wall
        self.may_grow = grow
        for h in range(self.horizons):
            self.memory[h] = horizons[h]
        self.bias = <double *>calloc((MOST_HORIZONS + 1) * self.K, sizeof(double))
        self.run = <double *>calloc(self.K, sizeof(double))
        self.wider = <double *>malloc(self.K * sizeof(double))
        self.moved = <double *>malloc(self.K * sizeof(double))
        self.pooled = <double *>malloc(self.K * sizeof(double))
        self.pool = <int *>malloc(self.K * sizeof(int))
        if not (self.bias and self.run and self.wider and self.moved and self.pooled and self.pool):
            raise MemoryError
        hundredths = levels.tau * 100.0
        self.is_percent = bool((np.abs(hundredths - np.round(hundredths)) < 1e-9).all())
        for k in range(self.K):
            self.wider[k] = 1.0

    def __dealloc__(self):
        free(self.bias)
        free(self.run)
        free(self.wider)
        free(self.moved)
        free(self.pooled)
        free(self.pool)
        free(self.returned)

    # -- the schedule of marked rounds ----------------------------------------------------------

    cdef double u(self, int64_t turn) noexcept nogil:
        """Return where the outcome of a marked round is put, among the levels.

        Multiples of 61 / 100 where levels are multiples of 1/100: the sum of a period is 0. Van der
        Corput's sequence otherwise.
        """
        cdef double value = 0.0, digit = 0.5
        if self.is_percent:
            return (61 * turn % 100 + 0.5) / 100.0
        turn += 1
        while turn:
            if turn & 1:
                value += digit
            digit *= 0.5
            turn >>= 1
        return value

    cdef int64_t take_turn(self) noexcept nogil:
        if self.returns:
            self.returns -= 1
            return self.returned[self.returns]
        self.turn += 1
        return self.turn - 1

    cdef int give_back(self, int64_t turn) except -1:
        """Let the next marked round have the turn of one that was given up.

        Otherwise an opponent could choose the schedule by never answering certain marked rounds.
        """
        cdef void *grown
        if self.returns == self.room:
            grown = realloc(self.returned, (2 * self.room + 16) * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError
            self.returned, self.room = <int64_t *>grown, 2 * self.room + 16
        self.returned[self.returns] = turn
        self.returns += 1
        return 0

    # -- a round --------------------------------------------------------------------------------

    cdef int walls(self, int64_t n, int first, int *low, int *high) noexcept nogil:
        """Find the first level that is too low by the wall, and the last that is too high.

        Horizons before the first need no look.
        """
        cdef int h, k, K = self.K
        cdef double m, wall
        cdef const double *bias
        cdef const double *v = self.levels.variance
        cdef int64_t is_beyond = 0
        low[0], high[0] = K, -1
        wall = self.at_once if self.most == 0.0 else self.late
        wall *= wall * (self.most + 1.0)  # all is squared
        for h in range(first, self.horizons + 1):
            m = n + 1.0 if h == self.horizons else lesser(self.memory[h], n + 1.0)
            bias = self.bias + h * K
            for k in range(K):
                is_beyond |= bias[k] * bias[k] > wall * (v[k] * m / 2.0 + 0.5)
        if not is_beyond:
            return 0
        for h in range(first, self.horizons + 1):
            m = n + 1.0 if h == self.horizons else lesser(self.memory[h], n + 1.0)
            bias = self.bias + h * K
            for k in range(K):
                if bias[k] * bias[k] > wall * (v[k] * m / 2.0 + 0.5):
                    if bias[k] > 0.0:
                        high[0] = max(high[0], k)
                    else:
                        low[0] = min(low[0], k)
        return 0

    cdef bint is_biased(self, int64_t n) noexcept nogil:
        """Whether any bias is more than chance explains."""
        cdef int h, k, K = self.K
        cdef double m
        cdef const double *bias
        cdef const double *wider = self.wider
        cdef const double *v = self.levels.variance
        cdef int64_t is_beyond = 0
        for h in range(self.horizons):
            m, bias = lesser(self.memory[h], n + 1.0), self.bias + h * K
            for k in range(K):
                is_beyond |= bias[k] * bias[k] > ZONE * ZONE * (v[k] * m / 2.0 * wider[k] + 0.5)
        return is_beyond != 0

    cdef int64_t place(
        self, const double *mixed, double far, int64_t n, double late, double *predicted
    ) noexcept nogil:
        """Say quantiles, from those of the mixture, when so many outcomes n are known.

        Returns the turn of a marked round, and -1 of every other.
        """
        cdef int h, k, i, blocks = 0, K = self.K
        cdef double m, z, sigma, shift, v, gain
        cdef double *moved = self.moved
        if not self.is_biased(n):
            memcpy(predicted, mixed, K * sizeof(double))
            # Then none is beyond the wall, but perhaps in the plain sum.
            return self.caught(
                n, self.horizons if self.at_once >= ZONE <= self.late else 0, predicted
            )
        for k in range(K):
            shift, v = 0.0, self.levels.variance[k]
            for h in range(self.horizons):
                m = lesser(self.memory[h], n + 1.0)
                z = self.bias[h * K + k]
                sigma = v * m / 2.0 * self.wider[k] + 0.5
                if z * z > ZONE * ZONE * sigma:
                    z /= sqrt(sigma)
                    gain = lesser(GAIN, GAIN_LATE * sqrt(2.0 * m) / (late + 1.0))
                    shift += gain * (z - ZONE if z > 0.0 else z + ZONE)
            moved[k] = self.levels.logit[k] - shift
        # Pool adjacent violators.
        for k in range(K):
            self.pooled[blocks], self.pool[blocks] = moved[k], 1
            blocks += 1
            while blocks > 1 and self.pooled[blocks - 2] > self.pooled[blocks - 1]:
                i = self.pool[blocks - 2] + self.pool[blocks - 1]
                self.pooled[blocks - 2] = (
                    self.pooled[blocks - 2] * self.pool[blocks - 2]
                    + self.pooled[blocks - 1] * self.pool[blocks - 1]
                ) / i
                self.pool[blocks - 2] = i
                blocks -= 1
        k = 0
        for i in range(blocks):
            for h in range(self.pool[i]):
                moved[k] = self.pooled[i]
                k += 1
        for k in range(K):
            predicted[k] = (
                mixed[k] if moved[k] == self.levels.logit[k]
                else read_at(mixed, self.levels.logit, K, moved[k], far)
            )
            if k > 0 and predicted[k] < predicted[k - 1]:
                predicted[k] = predicted[k - 1]
        return self.caught(n, 0, predicted)

    cdef int64_t caught(self, int64_t n, int first, double *predicted) noexcept nogil:
        """Let the net have its say; return the turn of a marked round, and -1 of every other."""
        cdef int k, low, high, K = self.K
        cdef int64_t turn = -1
        cdef double u
        self.walls(n, first, &low, &high)
        if low < K and high >= 0:
            turn = self.take_turn()
            u = self.u(turn)
            for k in range(K):
                predicted[k] = INFINITY if self.levels.level[k] > u else -INFINITY
        elif low < K:
            for k in range(low, K):
                predicted[k] = INFINITY
        else:
            for k in range(high + 1):
                predicted[k] = -INFINITY
        return turn

    cdef void learn(
        self, const double *below, bint is_marked, int64_t n, const Lateness *late
    ) noexcept nogil:
        """Add 1{outcome < quantile} - level of a round to the biases; n outcomes are known now."""
        cdef int h, k, K = self.K
        cdef double v, keep, D = late.rounds + 1.0, counts = 0.0 if is_marked else 1.0
        cdef double *bias = self.bias
        self.most = greater(self.most, late.rounds)
        for h in range(self.horizons + 1):
            keep = 1.0 if h == self.horizons else 1.0 - 1.0 / self.memory[h]
            for k in range(K):
                bias[k] = keep * bias[k] + counts * below[k]
            bias += K
        if late.is_late:
            for k in range(K):
                v = self.levels.variance[k]
                self.run[k] += counts * below[k] - self.run[k] / D
                if n > D:
                    self.wider[k] += greater(1.0 / (20.0 * D), 1.0 / n) * (
                        lesser(D, greater(1.0, self.run[k] * self.run[k] / (late.spread * v)))
                        - self.wider[k]
                    )
        h = self.horizons
        if self.may_grow and h < MOST_HORIZONS and n > self.memory[h - 1]:
            # A new horizon begins as the last one; the plain sum moves one row on.
            memcpy(self.bias + (h + 1) * K, self.bias + h * K, K * sizeof(double))
            memcpy(self.bias + h * K, self.bias + (h - 1) * K, K * sizeof(double))
            self.memory[h] = GROWTH * self.memory[h - 1]
            self.horizons += 1

    # -- reading and saving ---------------------------------------------------------------------

    def biases(self):
        """Return S' of each horizon, and of the plain sum, a row each."""
        found = np.empty((self.horizons + 1, self.K))
        cdef double[:, ::1] to = found
        memcpy(&to[0, 0], self.bias, (self.horizons + 1) * self.K * sizeof(double))
        return found

    def is_caught(self, int64_t n):
        """Return whether some bias is beyond the wall."""
        cdef int low, high
        self.walls(n, 0, &low, &high)
        return low < self.K or high >= 0

    def say(self, const double[::1] mixed, double far, int64_t n, double late=0.0):
        """Return the quantiles predicted, and the turn of a marked round or -1."""
        predicted = np.empty(self.K)
        cdef double[::1] to = predicted
        turn = self.place(&mixed[0], far, n, late, &to[0])
        return predicted, turn

    def count(self, const double[::1] below, bint is_marked, int64_t n, double late=0.0):
        """Learn a round, as `learn` does."""
        cdef Lateness lateness
        lateness.rounds, lateness.is_late = late, late > 0.0 or self.most > 0.0
        lateness.spread = 1.0 / (2.0 / (late + 1.0) - 1.0 / ((late + 1.0) * (late + 1.0)))
        self.learn(&below[0], is_marked, n, &lateness)

    def save(self):
        """Return the state, as arrays by name."""
        numbers = np.empty(2 * self.K)
        turns = np.empty(self.returns, dtype=np.int64)
        cdef double[::1] to = numbers
        cdef int64_t[::1] back = turns
        memcpy(&to[0], self.run, self.K * sizeof(double))
        memcpy(&to[self.K], self.wider, self.K * sizeof(double))
        if self.returns:
            memcpy(&back[0], self.returned, self.returns * sizeof(int64_t))
        return {
            "biases": self.biases().ravel(), "runs": numbers, "most": self.most, "turn": self.turn,
            "turns": turns,
        }

    def load(self, biases, const double[::1] runs, double most, int64_t turn, turns, int64_t n):
        """Take over what `save` returned after n outcomes."""
        cdef int h, horizons = len(HORIZONS)
        cdef const double[::1] rows = biases
        cdef Py_ssize_t i
        while horizons < MOST_HORIZONS and n > self.memory[horizons - 1]:
            self.memory[horizons] = GROWTH * self.memory[horizons - 1]
            horizons += 1
        if rows.shape[0] != (horizons + 1) * self.K or runs.shape[0] != 2 * self.K:
            raise ValueError(f"saved biases must be of {horizons} horizons and a plain sum")
        # A step is below 1, so that is how far n of them lead.
        if not (np.abs(biases) <= n).all() or not (np.abs(runs[: self.K]) <= n).all():
            raise ValueError(f"saved biases must be within reach of {n} outcomes")
        if not (np.asarray(runs[self.K :]) >= 1.0).all() or not (np.asarray(runs[self.K :]) < 1e9).all():
            raise ValueError("saved spreads must be at least those of chance")
        if not ((turns >= 0) & (turns < turn)).all() or len(np.unique(turns)) < len(turns):
            raise ValueError("saved turns must be some that were taken, each once")
        self.horizons = horizons
        memcpy(self.bias, &rows[0], rows.shape[0] * sizeof(double))
        memcpy(self.run, &runs[0], self.K * sizeof(double))
        memcpy(self.wider, &runs[self.K], self.K * sizeof(double))
        self.most, self.turn = most, turn
        for i in range(len(turns)):
            self.give_back(turns[i])
