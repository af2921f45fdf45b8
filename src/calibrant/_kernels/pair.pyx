"""Two words on the same round, mixed by how likely each made the outcomes so far.

The weight of a word is multiplied by its likelihood of the outcome, and then a little is shared.
The log loss of the mixture is therefore at most that of the first word plus -log of the weight the
first one starts with, at most that of the second plus -log of the rest, and SHARE / (1 - SHARE) a
round.
"""

from libc.math cimport pow

import numpy as np

cdef double SHARE = 1e-4    # of the weight is spread evenly each round


cdef inline double likelihood(double p, double y) noexcept nogil:
    return pow(p, y) * pow(1.0 - p, 1.0 - y)


cdef class PairKernel:
    """The weight of the first of two words, and what it makes of them."""

    cdef readonly double weight

    def __init__(self, double weight):
        self.weight = weight

    cdef double mixed(self, double first, double second) noexcept nogil:
        return second + self.weight * (first - second)

    cdef void weigh(self, double first, double second, double y) noexcept nogil:
        cdef double a = self.weight * likelihood(first, y)
        cdef double b = (1.0 - self.weight) * likelihood(second, y)
        self.weight = (1.0 - SHARE) * (a / (a + b)) + 0.5 * SHARE

    def word(self, double first, double second):
        """Return the mixture of two words inside (0, 1)."""
        return self.mixed(first, second)

    def learn(self, double first, double second, double y):
        """Weigh the two by what they said and the outcome in [0, 1]."""
        self.weigh(first, second, y)

    def run(self, const double[::1] first, const double[::1] second, const double[::1] outcomes):
        """Return the words of many rounds, each learned after it; bit for bit the steps."""
        words = np.empty(len(outcomes))
        cdef double[::1] word = words
        cdef Py_ssize_t i
        with nogil:
            for i in range(word.shape[0]):
                word[i] = self.mixed(first[i], second[i])
                self.weigh(first[i], second[i], outcomes[i])
        return words
