"""What a recalibrator stores of a round until its outcome arrives."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.scores.recent cimport PASTS
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.scores.sharp cimport sharp_least

ROUND = ROUND_SIZE
LEAST = sharp_least(1 << 62)  # no score and no expert is ever nearer to 0 or 1


@cython.final
@cython.freelist(4096)
cdef class ScoreRound(Round):
    """A round whose outcome is still to come, to be kept and read in Python."""

    cdef double as_raw(self):
        return self.begun.raw

    cdef double as_prediction(self):
        return self.begun.z

    cdef double as_expected(self):
        return self.begun.e

    @property
    def probability(self):
        """The score as a probability."""
        return self.begun.s

    @property
    def mean(self):
        """The mixture's mean for the score."""
        return self.begun.m

    @property
    def experts(self):
        """What each expert of the mixture predicted."""
        return array_of(self.begun.predicted, EXPERTS)


def save_rounds(rounds):
    """Return the numbers of rounds, as their kernels count them, and ROUND doubles for each."""
    numbers = np.empty(len(rounds), dtype=np.int64)
    places = np.empty(len(rounds) * ROUND)
    cdef int64_t[::1] number = numbers
    cdef double[::1] to = places
    cdef Py_ssize_t i
    cdef ScoreRound r
    for i, r in enumerate(rounds):
        number[i] = r.number
        memcpy(&to[i * ROUND_SIZE], &r.begun, ROUND_SIZE * sizeof(double))
    return numbers, places


def load_rounds(const int64_t[::1] numbers, const double[:, ::1] places):
    """Return the rounds that `save_rounds` saved, from one row of `places` each."""
    cdef list rounds = []
    cdef ScoreRound r
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        r = new_round(numbers[i])
        memcpy(&r.begun, &places[i, 0], ROUND_SIZE * sizeof(double))
        rounds.append(r)
    return rounds


def check_rounds(places, z):
    """Refuse saved rounds, one after the other, that did not predict one of the points z."""
    values = places.reshape(-1, ROUND)
    z = z[(z > 0.0) & (z < 1.0)]
    if not ((values[:, :2] >= 0.0) & (values[:, :2] <= 1.0)).all():
        raise ValueError("a saved prediction must be expected of a score, both in [0, 1]")
    values = values[:, 2:]
    if not np.isin(values[:, 2], z).all():
        raise ValueError("a saved prediction without its outcome is none of the saved points")
    if not (np.isin(values[:, 3:5], (0, 1)).all(axis=1) & np.isin(values[:, 5], np.arange(PASTS))).all():
        raise ValueError("a saved prediction must be moved or not, a bet or not, after a past of six outcomes")
    predicted = np.delete(values, [2, 3, 4, 5], axis=1)
    if not ((predicted >= LEAST) & (predicted <= 1.0 - LEAST)).all():
        raise ValueError(f"a saved prediction must come from numbers in [{LEAST}, {1.0 - LEAST}]")
