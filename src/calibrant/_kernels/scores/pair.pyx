"""Two forecasts of the same round, mixed by how likely each made the outcomes so far.

Each round, a forecast's weight is multiplied by its likelihood of the outcome, and then the share
SHARE of all weight is spread evenly. So the log loss of the mixture is at most that of the first
forecast plus -log w, and at most that of the second plus -log(1 - w), where w is the first one's
weight at the start; and in both cases SHARE / (1 - SHARE) a round.
"""

from libc.math cimport isnan

from calibrant._kernels.functions cimport pow

import numpy as np

cdef double SHARE = 1e-4    # share of the weight that is spread evenly each round
LEAST = 0.5 * SHARE * (1.0 - 1e-9)  # no weight falls below this


cdef inline double likelihood(double p, double y) noexcept nogil:
    return pow(p, y) * pow(1.0 - p, 1.0 - y)


cdef class PairKernel:
    """The weight of the first of two forecasts."""

    cdef readonly double weight

    def __init__(self, double weight):
        self.weight = weight

    cdef double mixed(self, double first, double second) noexcept nogil:
        return second + self.weight * (first - second)

    cdef void weigh(self, double first, double second, double y) noexcept nogil:
        cdef double a = self.weight * likelihood(first, y)
        cdef double b = (1.0 - self.weight) * likelihood(second, y)
        self.weight = (1.0 - SHARE) * (a / (a + b)) + 0.5 * SHARE

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

    def learn(self, double first, double second, double y):
        """Weigh the two forecasts by an outcome in [0, 1]."""
        self.weigh(first, second, y)

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
                    self.weigh(first[i], second[i], outcomes[i])
        return mixtures, shares
