"""Shapes of residuals, as quantiles, and the mixture of all that use them.

An expert is a location, a scale and a shape: quantiles of error / scale, which follow outcomes by
Robbins-Monro steps with the density of their neighbours. 21 of them are mixed level by level, with
weights that each has at five knots: Bernstein online aggregation (Wintenberger, 2017) with
linearised losses and regrets that are centred at each knot.

A late outcome is compared with what was predicted then: with the current shapes, experts would
profit from outcomes that they did not have. Rounds keep a reference to the shapes, not a copy: shapes
that are still referenced are copied before they change.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from cpython.ref cimport PyObject

from statistics import NormalDist

import numpy as np

from calibrant._kernels.functions cimport log
from calibrant._kernels.numbers.limits cimport greater, lesser
from calibrant._kernels.numbers.residuals cimport SCALES, Residuals

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *)

KNOT_LEVELS = (0.03, 0.2, 0.5, 0.8, 0.97)
cdef double LEAST_SLOPE = 0.03
cdef double SMALLEST = 5e-324      # above 0
# The scale of each kind (0 fast, 1 mid, 2 slow, 3 learned), and the slowest rate of its shape.
cdef int[KINDS] SCALE_OF = [2, 2, 2, 1, 0, 3, 3]
cdef double[KINDS] SLOWEST = [2e-4, 3e-3, 1e-2, 2e-4, 2e-4, 2e-4, 5e-3]
cdef double[LANES] PRIOR
cdef double[LANES] SURPRISE       # -log of the prior
cdef int expert_
for expert_ in range(EXPERTS):
    PRIOR[expert_] = (4.0 if expert_ < KINDS else 1.0) / (6.0 * KINDS)
    SURPRISE[expert_] = -log(PRIOR[expert_])
PRIOR[EXPERTS], SURPRISE[EXPERTS] = 0.0, 1.0


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


cdef inline double sum_of(double *x) noexcept nogil:
    """Return the sum over all lanes, which are used up: by halves, as the processor adds them."""
    cdef int i
    for i in range(11):
        x[i] += x[i + 11]
    for i in range(5):
        x[i] += x[i + 6]
    return (x[0] + x[3]) + (x[1] + x[4]) + (x[2] + x[5])


cdef class Levels:
    """The levels of quantiles, and what is computed of them once."""

    def __cinit__(self, tau):
        cdef int k, low, high, g
        self.tau = np.array(tau, dtype=np.float64)
        self.tau.flags.writeable = False
        self.K = len(self.tau)
        self.level = <double *>malloc(self.K * sizeof(double))
        self.logit = <double *>malloc(self.K * sizeof(double))
        self.variance = <double *>malloc(self.K * sizeof(double))
        self.inverse = <double *>malloc(self.K * sizeof(double))
        self.hat = <double *>malloc(self.K * sizeof(double))
        self.knot = <int *>malloc(self.K * sizeof(int))
        if not (
            self.level and self.logit and self.variance and self.inverse and self.hat and self.knot
        ):
            raise MemoryError
        for g in range(KNOTS):
            self.hats[g] = 0.0
        for k in range(self.K):
            self.level[k] = self.tau[k]
            self.logit[k] = log(self.level[k] / (1.0 - self.level[k]))
            self.variance[k] = self.level[k] * (1.0 - self.level[k])
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

    def __dealloc__(self):
        free(self.level)
        free(self.logit)
        free(self.variance)
        free(self.inverse)
        free(self.hat)
        free(self.knot)


cdef class Shapes:
    """The quantiles and the weights of all experts at one moment."""

    def __cinit__(self, int K):
        self.K = K
        self.q = <double *>calloc(LANES * K, sizeof(double))
        self.w = <double *>calloc(LANES * KNOTS, sizeof(double))
        if not (self.q and self.w):
            raise MemoryError

    def __dealloc__(self):
        free(self.q)
        free(self.w)

    cdef Shapes copied(self):
        cdef Shapes other = Shapes(self.K)
        other.n = self.n
        memcpy(other.q, self.q, LANES * self.K * sizeof(double))
        memcpy(other.w, self.w, LANES * KNOTS * sizeof(double))
        return other

    def save(self):
        """Return all its numbers, a row of quantiles an expert, then a row of weights each."""
        rows, weights = lanes_of(self.q, self.K), lanes_of(self.w, KNOTS)
        return np.concatenate([rows.T.ravel(), weights.T.ravel()])

    @staticmethod
    def restored(int K, int64_t n, const double[::1] numbers):
        """Return what `save` saved, made when so many outcomes were known."""
        cdef Shapes shapes = Shapes(K)
        cdef int i, k, g
        if numbers.shape[0] != EXPERTS * (K + KNOTS):
            raise ValueError(f"saved shapes must have {EXPERTS * (K + KNOTS)} numbers")
        rows = np.asarray(numbers[: EXPERTS * K]).reshape(EXPERTS, K)
        weights = np.asarray(numbers[EXPERTS * K :]).reshape(EXPERTS, KNOTS)
        if not (np.isfinite(rows).all() and np.abs(rows).max() < 1e100 and (np.diff(rows) >= 0).all()):
            raise ValueError("saved shapes must be finite quantiles that do not cross")
        if not (weights >= 0.0).all() or not (np.abs(weights.sum(axis=0) - 1.0) < 1e-9).all():
            raise ValueError("saved weights must sum to 1 at each knot")
        shapes.n = n
        for i in range(EXPERTS):
            for k in range(K):
                shapes.q[k * LANES + i] = numbers[i * K + k]
            for g in range(KNOTS):
                shapes.w[g * LANES + i] = numbers[EXPERTS * K + i * KNOTS + g]
        return shapes


cdef object lanes_of(const double *values, int rows):
    """Return rows of lanes as an array, without the lane that is no expert."""
    found = np.empty((rows, LANES))
    cdef double[:, ::1] to = found
    memcpy(&to[0, 0], values, rows * LANES * sizeof(double))
    return found[:, :EXPERTS]


cdef void placed(
    Residuals residuals, const double *t, double *mu, double *s
) noexcept nogil:
    """Fill in the location and the scale of each expert."""
    cdef int i
    for i in range(EXPERTS):
        mu[i] = t[residuals.at_mu + i // KINDS]
        s[i] = t[residuals.at_s + i // KINDS * SCALES + SCALE_OF[i % KINDS]]
    mu[EXPERTS] = s[EXPERTS] = 0.0


cdef class QuantileMixture:
    """21 experts and their weights."""

    def __cinit__(self, Levels levels not None):
        cdef int i, k, g
        self.levels, self.K = levels, levels.K
        self.live = Shapes(self.K)
        self.live.n, self.predicted_of = 0, -1
        self.regrets = <double *>calloc(KNOTS * REGRETS * LANES, sizeof(double))
        self.estimates = <double *>malloc(LANES * self.K * sizeof(double))
        self.mixed = <double *>malloc(self.K * sizeof(double))
        self.spare = <double *>malloc(LANES * self.K * sizeof(double))
        if not (self.regrets and self.estimates and self.mixed and self.spare):
            raise MemoryError
        normal = NormalDist()
        for k in range(self.K):
            # A standard normal distribution, scaled to mean absolute value 1.
            self.live.q[k * LANES] = normal.inv_cdf(levels.level[k]) * 1.2533
            for i in range(1, EXPERTS):
                self.live.q[k * LANES + i] = self.live.q[k * LANES]
        for g in range(KNOTS):
            for i in range(LANES):
                self.live.w[g * LANES + i] = PRIOR[i]
                self.regrets[(g * REGRETS + SQUARE) * LANES + i] = 1e-6
                self.regrets[(g * REGRETS + RUNS) * LANES + i] = 1e-6
                self.regrets[(g * REGRETS + LARGEST) * LANES + i] = 1e-3

    def __dealloc__(self):
        free(self.regrets)
        free(self.estimates)
        free(self.mixed)
        free(self.spare)

    cdef void say(
        self, Shapes shapes, Residuals residuals, const double *t, double far, int64_t place
    ) noexcept nogil:
        """Let each expert say its quantiles of the residual, none beyond far, and mix them."""
        cdef int i, k, K = self.K
        cdef double[LANES] mu, s, product
        cdef const double *q = shapes.q
        cdef const double *low
        cdef const double *high
        cdef double *estimate = self.estimates
        cdef double hat, other
        cdef int64_t is_far = 0
        self.predicted_of = place if shapes is self.live else -1
        placed(residuals, t, mu, s)
        for k in range(K):
            for i in range(LANES):
                estimate[i] = mu[i] + s[i] * q[i]
            q, estimate = q + LANES, estimate + LANES
        estimate = self.estimates
        for i in range(LANES):  # the outermost say whether any is beyond
            is_far |= (estimate[i] < -far) | (estimate[(K - 1) * LANES + i] > far)
        if is_far:
            for i in range(K * LANES):
                estimate[i] = lesser(greater(estimate[i], -far), far)
        for k in range(K):
            hat, other = self.levels.hat[k], 1.0 - self.levels.hat[k]
            low = shapes.w + self.levels.knot[k] * LANES
            high = low + LANES
            for i in range(LANES):
                product[i] = (hat * low[i] + other * high[i]) * estimate[i]
            self.mixed[k] = sum_of(product)
            estimate += LANES

    cdef int own_live(self, Py_ssize_t holders) except -1:
        """See to it that no more than these hold the live shapes, before they change."""
        if Py_REFCNT(<PyObject *>self.live) > holders:
            self.live = self.live.copied()
        return 0

    cdef void weigh(
        self, Shapes predicted, Residuals residuals, const double *t, double far, int64_t place,
        double r, double weight, const Lateness *late,
    ) noexcept nogil:
        """Learn how good the experts were that predicted this, of a residual r of this weight."""
        cdef int i, k, g, K = self.K
        cdef double[KNOTS * LANES] loss
        cdef double[LANES] eta, product
        cdef double *one
        cdef double *two
        cdef const double *estimate
        cdef double lower, upper, centre, mid = t[residuals.at_s + 1]
        if self.predicted_of != place or predicted is not self.live:
            self.say(predicted, residuals, t, far, place)
        for i in range(KNOTS * LANES):
            loss[i] = 0.0
        # What the mixture lost by itself is the same for all, and goes when they are centred.
        estimate = self.estimates
        for k in range(K):
            lower = weight * (self.levels.level[k] - (1.0 if r <= self.mixed[k] else 0.0)) / mid
            upper = (1.0 - self.levels.hat[k]) * lower
            lower *= self.levels.hat[k]
            one = loss + self.levels.knot[k] * LANES
            two = one + LANES
            for i in range(LANES):
                one[i] += lower * estimate[i]
                two[i] += upper * estimate[i]
            estimate += LANES
        for g in range(KNOTS):
            one = loss + g * LANES
            for i in range(LANES):
                product[i] = predicted.w[g * LANES + i] * one[i]
            centre = sum_of(product)
            for i in range(LANES):
                one[i] = (one[i] - centre) / self.levels.hats[g]
            two = self.regrets + g * REGRETS * LANES
            regret_steps(two, LANES, one, SURPRISE, late, eta)
            share_out(PRIOR, eta, two + TOTAL * LANES, LANES, self.live.w + g * LANES)

    cdef void shape(
        self, Residuals residuals, const double *t, double r, double weight, int64_t n
    ) noexcept nogil:
        """Move every quantile a step towards a residual, the n-th."""
        cdef int i, k, K = self.K
        cdef double[LANES] z, s, step, least
        cdef const double *q = self.live.q
        cdef const double *up
        cdef const double *down
        cdef double *moved = self.spare
        cdef double inverse, level
        placed(residuals, t, z, s)
        for i in range(EXPERTS):
            z[i] = (r - z[i]) / s[i]
            step[i] = weight * greater(1.0 / (n + 20.0), SLOWEST[i % KINDS])
            # What lies far beyond the grid moves it even where it has collapsed on a constant.
            least[i] = LEAST_SLOPE
            if fabs(z[i]) > 3.0 * greater(fabs(q[i]), fabs(q[(K - 1) * LANES + i])):
                least[i] = 1.0
        z[EXPERTS] = step[EXPERTS] = least[EXPERTS] = 0.0
        for k in range(K):
            inverse, level = self.levels.inverse[k], self.levels.level[k]
            up = self.live.q + min(K - 1, k + 2) * LANES
            down = self.live.q + max(0, k - 2) * LANES
            for i in range(LANES):
                moved[i] = q[i] + step[i] * greater(inverse * (up[i] - down[i]), least[i]) * (
                    level - (1.0 if z[i] <= q[i] else 0.0)
                )
            if k > 0:  # they must not cross
                for i in range(LANES):
                    moved[i] = greater(moved[i], moved[i - LANES])
            q, moved = q + LANES, moved + LANES
        self.live.q, self.spare = self.spare, self.live.q

    # -- saving ---------------------------------------------------------------------------------

    def save(self):
        """Return the regrets; shapes are saved with those that rounds keep."""
        rows = lanes_of(self.regrets, KNOTS * REGRETS).reshape(KNOTS, REGRETS, EXPERTS)
        return rows.transpose(2, 0, 1).ravel()

    def load(self, const double[::1] regrets, Shapes live not None):
        """Take over what `save` returned, and the shapes as they are."""
        cdef int i, at
        rows = np.asarray(regrets)
        if len(rows) != EXPERTS * KNOTS * REGRETS or live.K != self.K:
            raise ValueError("saved regrets must be of 21 experts at 5 knots")
        check_regrets(rows, live.n)
        self.live, self.predicted_of = live, -1
        for i in range(EXPERTS):
            for at in range(KNOTS * REGRETS):
                self.regrets[at * LANES + i] = regrets[i * KNOTS * REGRETS + at]

    def weights(self):
        """Return the weight of each expert at each knot."""
        return lanes_of(self.live.w, KNOTS).T


def check_regrets(rows, n):
    """Refuse regrets that n outcomes do not lead to: `regret_steps` clips each to [-10, 2].

    Discounted sums remember MEMORY rounds, and a regret costs at most half of its own size.
    """
    found, slack = rows.reshape(-1, REGRETS), 1.0 + 1e-6
    for row, low, high in (
        (TOTAL, -15.0 * MEMORY, 2.0 * MEMORY),
        (SQUARE, SMALLEST, 100.0 * MEMORY),
        (LARGEST, SMALLEST, 10.0),
        (RUN, -10.0 * n, 10.0 * n),
        (RUNS, SMALLEST, 100.0 * MEMORY * max(n, 1) ** 2),
    ):
        if not ((found[:, row] >= low * slack) & (found[:, row] <= high * slack)).all():
            raise ValueError(f"saved regrets must be within reach of {n} outcomes")
