"""Two forecasts of the same round, mixed by how likely each made the outcomes so far.

Each round, a forecast's weight is multiplied by its likelihood of the outcome, and then the share
SHARE of all weight is spread evenly. So the log loss of the mixture is at most that of the first
forecast plus -log w, and at most that of the second plus -log(1 - w), where w is the first one's
weight at the start; and in both cases SHARE / (1 - SHARE) a round.
"""

from libc.math cimport isnan

import numpy as np

from calibrant._kernels.functions cimport exp, log, pow

cdef double SHARE = 1e-4    # share of the weight that is spread evenly each round
cdef double RETURN = 0.03   # and the most that a batch spreads, as in `batches.pyx`
cdef double FARTHEST = 700  # no log likelihood ratio of a batch counts for more
LEAST = 0.5 * SHARE * (1.0 - 1e-9)  # no weight falls below this


cdef inline double likelihood(double p, double y, double weight) noexcept nogil:
    cdef double found = pow(p, y) * pow(1.0 - p, 1.0 - y)
    return found if weight == 1.0 else pow(found, weight)


cdef class PairKernel:
    """The weight of the first of two forecasts."""

    cdef readonly double weight

    def __init__(self, double weight):
        self.weight = weight

    cdef double mixed(self, double first, double second) noexcept nogil:
        return second + self.weight * (first - second)

    cdef void weigh(self, double first, double second, double y, double weight) noexcept nogil:
        self.move(likelihood(first, y, weight), likelihood(second, y, weight), SHARE)

    cdef void move(self, double first, double second, double share) noexcept nogil:
        """Move the weights by two likelihoods, and spread a share of them."""
        cdef double a = self.weight * first, b = (1.0 - self.weight) * second
        self.weight = (1.0 - share) * (a / (a + b)) + 0.5 * share

    def mix(self, double first, double second):
        """Return the mixture of two forecasts inside (0, 1)."""
        return self.mixed(first, second)

    def mix_many(self, const double[::1] first, const double[::1] second):
        """Return the mixture of each two forecasts as things stand now."""
        mixtures = np.empty(len(first))
        cdef double[::1] into = mixtures
        cdef Py_ssize_t i
        for i in range(into.shape[0]):
            into[i] = self.mixed(first[i], second[i])
        return mixtures

    def learn(self, double first, double second, double y, double weight=1.0):
        """Weigh the two forecasts by an outcome in [0, 1], whose likelihood counts to its weight."""
        self.weigh(first, second, y, weight)

    def learn_batch(self, const double[::1] first, const double[::1] second, const double[::1] y,
                    double dispersed, const double[::1] weights):
        """Weigh the two forecasts by a batch, in which so many outcomes count for one."""
        cdef double ratio = 0.0
        cdef Py_ssize_t i, n = y.shape[0]
        for i in range(n):
            ratio += weights[i] * log(
                likelihood(second[i], y[i], 1.0) / likelihood(first[i], y[i], 1.0)
            )
        ratio = min(max(ratio / dispersed, -FARTHEST), FARTHEST)
        self.move(1.0, exp(ratio), min(1.0 - pow(1.0 - SHARE, <double>n), RETURN))

    def run(self, const double[::1] first, const double[::1] second, const double[::1] outcomes):
        """Return the mixtures of many rounds, each learned after it; bit for bit the steps.

        Also returns the weight of the first in each. An outcome that is NaN is not known.
        """
        mixtures, shares = np.empty(len(outcomes)), np.empty(len(outcomes))
        cdef double[::1] into = mixtures, share = shares
        cdef Py_ssize_t i
        with nogil:
            for i in range(into.shape[0]):
                share[i] = self.weight
                into[i] = self.mixed(first[i], second[i])
                if not isnan(outcomes[i]):
                    self.weigh(first[i], second[i], outcomes[i], 1.0)
        return mixtures, shares
