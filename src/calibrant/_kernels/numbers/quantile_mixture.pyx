"""Shapes of residuals, as quantiles, and the mixture of all that use them.

An expert is a location, a scale and a shape: quantiles of error / scale, which follow outcomes by
Robbins-Monro steps with the density of their neighbours. 21 of them are mixed level by level, with
weights that each has at five knots: Bernstein online aggregation (Wintenberger, 2017) with
linearised losses and regrets that are centred at each knot.

An outcome that comes late is judged by what was said then: with today's shapes, experts would
profit from outcomes that they did not have. Rounds keep a reference to the shapes, not a copy: what
somebody holds is copied before it changes.
"""

from libc.math cimport exp, fabs, log
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from cpython.ref cimport PyObject

from statistics import NormalDist

import numpy as np

from calibrant._kernels.numbers.limits cimport greater, lesser
from calibrant._kernels.numbers.residuals cimport LOCATIONS, SCALES, Residuals

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *)

KNOT_LEVELS = (0.03, 0.2, 0.5, 0.8, 0.97)
cdef double SHARE = 1e-3
cdef double LEAST_SLOPE = 0.03
# The scale of each kind (0 fast, 1 mid, 2 slow, 3 learned), and the slowest rate of its shape.
cdef int[KINDS] SCALE_OF = [2, 2, 2, 1, 0, 3, 3]
cdef double[KINDS] SLOWEST = [2e-4, 3e-3, 1e-2, 2e-4, 2e-4, 2e-4, 5e-3]
cdef double[EXPERTS] PRIOR
cdef double[EXPERTS] SURPRISE     # -log of the prior
cdef int expert_
for expert_ in range(EXPERTS):
    PRIOR[expert_] = (4.0 if expert_ < KINDS else 1.0) / (6.0 * KINDS)
    SURPRISE[expert_] = -log(PRIOR[expert_])


cdef void sort(double *values, int size) noexcept nogil:
    """Sort a few numbers that are nearly in order."""
    cdef int i, j
    cdef double value
    for i in range(1, size):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


cdef void share_out(
    const double *prior, const double *eta, const Regret *regrets, int count, double *w
) noexcept nogil:
    """Weigh experts at one knot; arrays have a stride of KNOTS, but for the prior."""
    cdef double top = -1e300, total = 0.0
    cdef int i
    for i in range(count):
        top = greater(top, eta[i * KNOTS] * regrets[i * KNOTS].total)
    for i in range(count):
        w[i * KNOTS] = (
            prior[i] * eta[i * KNOTS] * exp(eta[i * KNOTS] * regrets[i * KNOTS].total - top)
        )
        total += w[i * KNOTS]
    for i in range(count):
        w[i * KNOTS] = (1.0 - SHARE) * w[i * KNOTS] / total + SHARE * prior[i]


cdef class Levels:
    """The levels of quantiles, and what is computed of them once."""

    def __cinit__(self, tau):
        cdef int k, low, high, g
        self.tau = np.array(tau, dtype=np.float64)
        self.tau.flags.writeable = False
        self.K = len(self.tau)
        self.level = <double *>malloc(self.K * sizeof(double))
        self.logit = <double *>malloc(self.K * sizeof(double))
        self.inverse = <double *>malloc(self.K * sizeof(double))
        self.hat = <double *>malloc(self.K * sizeof(double))
        self.knot = <int *>malloc(self.K * sizeof(int))
        if not (self.level and self.logit and self.inverse and self.hat and self.knot):
            raise MemoryError
        for g in range(KNOTS):
            self.hats[g] = 0.0
        for k in range(self.K):
            self.level[k] = self.tau[k]
            self.logit[k] = log(self.level[k] / (1.0 - self.level[k]))
        for k in range(self.K):
            low, high = max(0, k - 2), min(self.K - 1, k + 2)
            self.inverse[k] = (1.5 if k < 2 or k > self.K - 3 else 1.0) / (
                self.level[high] - self.level[low]
            )
            at = float(np.interp(self.tau[k], KNOT_LEVELS, range(KNOTS)))
            self.knot[k] = min(int(at), KNOTS - 2)
            self.hat[k] = 1.0 - (at - self.knot[k])
            self.hats[self.knot[k]] += self.hat[k]
            self.hats[self.knot[k] + 1] += 1.0 - self.hat[k]
        for g in range(KNOTS):
            self.first[g] = sum([self.knot[k] < g for k in range(self.K)])

    def __dealloc__(self):
        free(self.level)
        free(self.logit)
        free(self.inverse)
        free(self.hat)
        free(self.knot)


cdef class Shapes:
    """The quantiles and the weights of all experts at one moment."""

    def __cinit__(self, int K):
        self.K = K
        self.q = <double *>malloc(EXPERTS * K * sizeof(double))
        self.w = <double *>malloc(EXPERTS * KNOTS * sizeof(double))
        if not (self.q and self.w):
            raise MemoryError

    def __dealloc__(self):
        free(self.q)
        free(self.w)

    cdef Shapes copied(self):
        cdef Shapes other = Shapes(self.K)
        other.n = self.n
        memcpy(other.q, self.q, EXPERTS * self.K * sizeof(double))
        memcpy(other.w, self.w, EXPERTS * KNOTS * sizeof(double))
        return other

    def save(self):
        """Return all its numbers, the quantiles first."""
        found = np.empty(EXPERTS * (self.K + KNOTS))
        cdef double[::1] to = found
        memcpy(&to[0], self.q, EXPERTS * self.K * sizeof(double))
        memcpy(&to[EXPERTS * self.K], self.w, EXPERTS * KNOTS * sizeof(double))
        return found

    @staticmethod
    def restored(int K, int64_t n, const double[::1] numbers):
        """Return what `save` saved, made when so many outcomes were known."""
        cdef Shapes shapes = Shapes(K)
        if numbers.shape[0] != EXPERTS * (K + KNOTS):
            raise ValueError(f"saved shapes must have {EXPERTS * (K + KNOTS)} numbers")
        rows = np.asarray(numbers[: EXPERTS * K]).reshape(EXPERTS, K)
        weights = np.asarray(numbers[EXPERTS * K :]).reshape(EXPERTS, KNOTS)
        if not (np.isfinite(rows).all() and np.abs(rows).max() < 1e100 and (np.diff(rows) >= 0).all()):
            raise ValueError("saved shapes must be finite quantiles that do not cross")
        if not (weights >= 0.0).all() or not (np.abs(weights.sum(axis=0) - 1.0) < 1e-9).all():
            raise ValueError("saved weights must sum to 1 at each knot")
        shapes.n = n
        memcpy(shapes.q, &numbers[0], EXPERTS * K * sizeof(double))
        memcpy(shapes.w, &numbers[EXPERTS * K], EXPERTS * KNOTS * sizeof(double))
        return shapes


cdef class QuantileMixture:
    """21 experts and their weights."""

    def __cinit__(self, Levels levels not None):
        cdef int i, k, g
        self.levels, self.K = levels, levels.K
        self.live = Shapes(self.K)
        self.live.n, self.said_of = 0, -1
        self.regrets = <Regret *>calloc(EXPERTS * KNOTS, sizeof(Regret))
        self.words = <double *>malloc(EXPERTS * self.K * sizeof(double))
        self.mixed = <double *>malloc(self.K * sizeof(double))
        self.room = <double *>malloc((2 * self.K + 2 * EXPERTS * KNOTS) * sizeof(double))
        if not (self.regrets and self.words and self.mixed and self.room):
            raise MemoryError
        normal = NormalDist()
        for k in range(self.K):
            # A standard normal distribution, scaled to mean absolute value 1.
            self.live.q[k] = normal.inv_cdf(levels.level[k]) * 1.2533
        for i in range(1, EXPERTS):
            memcpy(self.live.q + i * self.K, self.live.q, self.K * sizeof(double))
        for i in range(EXPERTS):
            for g in range(KNOTS):
                self.live.w[i * KNOTS + g] = PRIOR[i]
                self.regrets[i * KNOTS + g].square = self.regrets[i * KNOTS + g].runs = 1e-6
                self.regrets[i * KNOTS + g].largest = 1e-3

    def __dealloc__(self):
        free(self.regrets)
        free(self.words)
        free(self.mixed)
        free(self.room)

    cdef void say(
        self, Shapes shapes, Residuals residuals, const double *t, double far, int64_t place
    ) noexcept nogil:
        """Let each expert say its quantiles of the residual, none beyond far, and mix them."""
        cdef int i, k, g, K = self.K
        cdef const double *q
        cdef const double *w
        cdef const double *hat = self.levels.hat
        cdef const int *first = self.levels.first
        cdef double *word
        cdef double *mixed = self.mixed
        cdef double mu, s
        self.said_of = place if shapes is self.live else -1
        for k in range(K):
            mixed[k] = 0.0
        for i in range(EXPERTS):
            mu = t[residuals.at_mu + i // KINDS]
            s = t[residuals.at_s + i // KINDS * SCALES + SCALE_OF[i % KINDS]]
            q, word, w = shapes.q + i * K, self.words + i * K, shapes.w + i * KNOTS
            for k in range(K):
                word[k] = lesser(greater(mu + s * q[k], -far), far)
            for g in range(KNOTS - 1):
                for k in range(first[g], first[g + 1]):
                    mixed[k] += (hat[k] * w[g] + (1.0 - hat[k]) * w[g + 1]) * word[k]

    cdef int own_live(self, Py_ssize_t holders) except -1:
        """See to it that no more than these hold the live shapes, before they change."""
        if Py_REFCNT(<PyObject *>self.live) > holders:
            self.live = self.live.copied()
        return 0

    cdef void weigh(
        self, Shapes said, Residuals residuals, const double *t, double far, int64_t place,
        double r, const Lateness *late,
    ) noexcept nogil:
        """Learn how good the experts were that said this, of a residual r."""
        cdef int i, k, g, K = self.K
        cdef double *mixed = self.mixed
        cdef double *lower = self.room
        cdef double *upper = self.room + K
        cdef double *loss = self.room + 2 * K
        cdef double *eta = loss + EXPERTS * KNOTS
        cdef double[KNOTS] centre
        cdef const double *hat = self.levels.hat
        cdef const int *first = self.levels.first
        cdef const double *one
        cdef const double *two
        cdef const double *three
        cdef double a, b, c, d, e, f, slope, mid = t[residuals.at_s + 1]
        if self.said_of != place or said is not self.live:
            self.say(said, residuals, t, far, place)
        for k in range(K):
            slope = ((1.0 if r <= mixed[k] else 0.0) - self.levels.level[k]) / mid
            lower[k], upper[k] = -hat[k] * slope, -(1.0 - hat[k]) * slope
        for g in range(KNOTS):
            centre[g] = 0.0
        for i in range(EXPERTS * KNOTS):
            loss[i] = 0.0
        # Three experts at a time keep the processor busy while sums wait for their terms.
        for i in range(0, EXPERTS, 3):
            one, two, three = self.words + i * K, self.words + (i + 1) * K, self.words + (i + 2) * K
            for g in range(KNOTS - 1):
                a = b = c = d = e = f = 0.0
                for k in range(first[g], first[g + 1]):
                    a += lower[k] * (one[k] - mixed[k])
                    b += upper[k] * (one[k] - mixed[k])
                    c += lower[k] * (two[k] - mixed[k])
                    d += upper[k] * (two[k] - mixed[k])
                    e += lower[k] * (three[k] - mixed[k])
                    f += upper[k] * (three[k] - mixed[k])
                loss[i * KNOTS + g] += a
                loss[i * KNOTS + g + 1] += b
                loss[(i + 1) * KNOTS + g] += c
                loss[(i + 1) * KNOTS + g + 1] += d
                loss[(i + 2) * KNOTS + g] += e
                loss[(i + 2) * KNOTS + g + 1] += f
        for i in range(EXPERTS):
            for g in range(KNOTS):
                centre[g] += said.w[i * KNOTS + g] * loss[i * KNOTS + g]
        for i in range(EXPERTS):
            for g in range(KNOTS):
                eta[i * KNOTS + g] = regret_step(
                    &self.regrets[i * KNOTS + g],
                    (loss[i * KNOTS + g] - centre[g]) / self.levels.hats[g], SURPRISE[i], late,
                )
        for g in range(KNOTS):
            share_out(PRIOR, eta + g, self.regrets + g, EXPERTS, self.live.w + g)

    cdef void shape(
        self, Residuals residuals, const double *t, double r, int64_t n
    ) noexcept nogil:
        """Move every quantile a step towards a residual, the n-th."""
        cdef int i, k, K = self.K
        cdef double *q
        cdef double *moved = self.room
        cdef const double *inverse = self.levels.inverse
        cdef const double *level = self.levels.level
        cdef double z, step, least
        cdef bint is_sorted
        for i in range(EXPERTS):
            q = self.live.q + i * K
            z = r - t[residuals.at_mu + i // KINDS]
            z /= t[residuals.at_s + i // KINDS * SCALES + SCALE_OF[i % KINDS]]
            step = greater(1.0 / (n + 20.0), SLOWEST[i % KINDS])
            # What lies far beyond the grid moves it even where it has collapsed on a constant.
            least = 1.0 if fabs(z) > 3.0 * greater(fabs(q[0]), fabs(q[K - 1])) else LEAST_SLOPE
            for k in range(2, K - 2):
                moved[k] = inverse[k] * (q[k + 2] - q[k - 2])
            for k in range(min(2, K)):
                moved[k] = inverse[k] * (q[min(K - 1, k + 2)] - q[0])
            for k in range(max(2, K - 2), K):
                moved[k] = inverse[k] * (q[K - 1] - q[k - 2])
            is_sorted = True
            for k in range(K):
                moved[k] = q[k] + step * greater(moved[k], least) * (
                    level[k] - (1.0 if z <= q[k] else 0.0)
                )
            for k in range(1, K):
                is_sorted = is_sorted & (moved[k] >= moved[k - 1])
            if not is_sorted:
                for k in range(1, K):
                    moved[k] = greater(moved[k], moved[k - 1])
            memcpy(q, moved, K * sizeof(double))

    # -- saving ---------------------------------------------------------------------------------

    def save(self):
        """Return the regrets; shapes are saved with those that rounds keep."""
        found = np.empty(EXPERTS * KNOTS * sizeof(Regret) // sizeof(double))
        cdef double[::1] to = found
        memcpy(&to[0], self.regrets, EXPERTS * KNOTS * sizeof(Regret))
        return found

    def load(self, const double[::1] regrets, Shapes live not None):
        """Take over what `save` returned, and the shapes as they are."""
        rows = np.asarray(regrets)
        if len(rows) != EXPERTS * KNOTS * 5 or live.K != self.K:
            raise ValueError("saved regrets must be of 21 experts at 5 knots")
        check_regrets(rows)
        self.live, self.said_of = live, -1
        memcpy(self.regrets, &regrets[0], EXPERTS * KNOTS * sizeof(Regret))

    def weights(self):
        """Return the weight of each expert at each knot."""
        return self.live.save()[EXPERTS * self.K :].reshape(EXPERTS, KNOTS)


def check_regrets(rows):
    """Refuse regrets that no rounds lead to."""
    if not np.isfinite(rows).all() or not (np.abs(rows) < 1e9).all():
        raise ValueError("saved regrets must be finite")
    if not (rows.reshape(-1, 5)[:, [1, 2, 4]] > 0.0).all():
        raise ValueError("saved sizes of regrets must be positive")
