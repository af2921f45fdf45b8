"""What a recalibrator remembers of a round until its outcome comes."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.sharp cimport sharp_within

ROUND = ROUND_SIZE
LEAST = sharp_within(0.0)  # of the scores, and of what the experts say


@cython.final
@cython.freelist(64)
cdef class Round:
    """A round whose outcome is still to come, to be kept and read in Python."""

    @property
    def number(self):
        """How many predictions came before."""
        return self.begun.number

    @property
    def probability(self):
        """The score as a probability."""
        return self.begun.s

    @property
    def mean(self):
        """The mixture's mean for the score."""
        return self.begun.m

    @property
    def prediction(self):
        """What was predicted."""
        return self.begun.z

    @property
    def experts(self):
        """What each expert of the mixture said."""
        return array_of(self.begun.said, EXPERTS)


def save_rounds(rounds):
    """Return the numbers of rounds, and all else of them, ROUND doubles for each."""
    numbers = np.array([r.number for r in rounds], dtype=np.int64)
    places = np.empty(len(rounds) * ROUND)
    cdef double[::1] to = places
    cdef Py_ssize_t i
    cdef Round r
    for i, r in enumerate(rounds):
        memcpy(&to[i * ROUND_SIZE], &r.begun.s, ROUND_SIZE * sizeof(double))
    return numbers, places


def load_rounds(const int64_t[::1] numbers, const double[:, ::1] places):
    """Return the rounds that `save_rounds` saved, from one row of `places` each."""
    rounds = []
    cdef Begun begun
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        begun.number = numbers[i]
        memcpy(&begun.s, &places[i, 0], ROUND_SIZE * sizeof(double))
        rounds.append(as_round(begun))
    return rounds


def check_rounds(places, z):
    """Refuse saved rounds, one after the other, that did not predict one of the points z."""
    values = places.reshape(-1, ROUND)
    z = z[(z > 0.0) & (z < 1.0)]
    if not np.isin(values[:, 2], z).all():
        raise ValueError("a saved prediction without its outcome is none of the saved points")
    said = np.delete(values, 2, axis=1)
    if not ((said >= LEAST) & (said <= 1.0 - LEAST)).all():
        raise ValueError(f"a saved prediction must come from numbers in [{LEAST}, {1.0 - LEAST}]")
