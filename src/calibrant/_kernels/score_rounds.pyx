"""What a recalibrator remembers of a round until its outcome comes."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cimport cython

import numpy as np

from calibrant._kernels.draws cimport scramble
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.recent cimport PASTS, RECENTS
from calibrant._kernels.sharp cimport sharp_least

ROUND = ROUND_SIZE
LEAST = sharp_least(1 << 62)  # no score and no expert is ever nearer to 0 or 1


@cython.final
@cython.freelist(64)
cdef class Round:
    """A round whose outcome is still to come, to be kept and read in Python."""

    @property
    def number(self):
        """How many predictions came before."""
        return self.begun.number

    @property
    def batch(self):
        """The number of the first prediction made in the same call."""
        return self.begun.batch

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
    def raw(self):
        """The score as a probability, not moved away from 0 and 1."""
        return self.begun.raw

    @property
    def expected(self):
        """The mean of what might have been predicted."""
        return self.begun.e

    def _set_watched(self, double raw, double expected):
        """Take over what only monitors need, and is saved with them."""
        self.begun.raw, self.begun.e = raw, expected

    @property
    def experts(self):
        """What each expert of the mixture said."""
        return array_of(self.begun.said, EXPERTS)


def learning_order(list predictions not None):
    """Return the order in which outcomes that come together are learned, and predictions in it.

    First what was predicted first. Predictions of one batch have no order of their own, and a
    file's may be sorted by anything: they are learned in an order drawn from their numbers.
    """
    cdef Py_ssize_t i, size = len(predictions)
    batches, drawn = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64)
    cdef int64_t[::1] batch = batches
    cdef uint64_t[::1] draw = drawn
    cdef bint one_batch = True
    cdef object each
    cdef uint64_t number
    for i in range(size):
        each = predictions[i]
        if type(each) is Round:
            batch[i], number = (<Round>each).begun.batch, (<Round>each).begun.number
        else:
            batch[i], number = each.batch, each.number
        draw[i] = scramble(number + 1)
        one_batch = one_batch and batch[i] == batch[0]
    order = np.argsort(drawn) if one_batch else np.lexsort((drawn, batches))
    cdef const Py_ssize_t[::1] at = order
    cdef list ordered = [predictions[at[i]] for i in range(size)]
    return order, ordered


def save_rounds(rounds):
    """Return the numbers of rounds, their batches, and all else of them, ROUND doubles for each."""
    numbers, batches = np.empty(len(rounds), dtype=np.int64), np.empty(len(rounds), dtype=np.int64)
    places = np.empty(len(rounds) * ROUND)
    cdef int64_t[::1] number = numbers, batch = batches
    cdef double[::1] to = places
    cdef Py_ssize_t i
    cdef Round r
    for i, r in enumerate(rounds):
        number[i], batch[i] = r.begun.number, r.begun.batch
        memcpy(&to[i * ROUND_SIZE], &r.begun.s, ROUND_SIZE * sizeof(double))
    return numbers, batches, places


def load_rounds(
    const int64_t[::1] numbers, const int64_t[::1] batches, const double[:, ::1] places
):
    """Return the rounds that `save_rounds` saved, from one row of `places` each."""
    rounds = []
    cdef Begun begun
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        begun.number, begun.batch = numbers[i], batches[i]
        memcpy(&begun.s, &places[i, 0], ROUND_SIZE * sizeof(double))
        begun.raw, begun.e = begun.s, begun.z
        rounds.append(as_round(begun))
    return rounds


def with_past(places, Py_ssize_t count):
    """Return so many saved rounds; calibrant 0.1 knew no past, and none of it moved the mean."""
    if len(places) != count * ROUND_BEFORE or not count:
        return places
    before = places.reshape(count, ROUND_BEFORE)
    recalled = np.repeat(before[:, 1:2], 1 + RECENTS, axis=1)
    neither = np.zeros((count, 2))
    return np.hstack([before[:, :3], neither, before[:, 3:], recalled]).reshape(-1)


def check_rounds(places, z):
    """Refuse saved rounds, one after the other, that did not predict one of the points z."""
    values = places.reshape(-1, ROUND)
    z = z[(z > 0.0) & (z < 1.0)]
    if not np.isin(values[:, 2], z).all():
        raise ValueError("a saved prediction without its outcome is none of the saved points")
    if not (np.isin(values[:, 3], (0, 1)) & np.isin(values[:, 4], np.arange(PASTS))).all():
        raise ValueError("a saved prediction must be moved or not, after a past of six outcomes")
    said = np.delete(values, [2, 3, 4], axis=1)
    if not ((said >= LEAST) & (said <= 1.0 - LEAST)).all():
        raise ValueError(f"a saved prediction must come from numbers in [{LEAST}, {1.0 - LEAST}]")
