"""The round that every forecaster shares: place, draw, learn.

A kernel defines its distribution (`place`) and what it learns from an outcome (`learn`). The rest
of the contract is written here once, on top of those two, so that `run` and single steps cannot
differ.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import as_series, describe
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.memory cimport resize

# Rounds converted to float64 at a time: bounds the memory of `run` whatever the input's dtype.
cdef Py_ssize_t CHUNK = 1 << 15


cdef double as_outcome(object outcome) except? -1.0:
    """Return one outcome as a float in [0, 1], or raise ValueError."""
    cdef double y
    try:
        if type(outcome) is not float and getattr(outcome, "shape", ()) != ():
            raise TypeError  # an array of one element would pass for a number
        y = outcome
    except (TypeError, OverflowError):
        raise ValueError(f"outcome must be a number in [0, 1], got {describe(outcome)}") from None
    if not 0.0 <= y <= 1.0:  # also catches NaN
        raise ValueError(f"outcome must be in [0, 1], got {y!r}")
    return y


cdef object array_of(const double *values, Py_ssize_t size):
    """Return a copy of C values as an array."""
    array = np.empty(size)
    cdef double[::1] into = array
    if size:
        memcpy(&into[0], values, size * sizeof(double))
    return array


cdef Py_ssize_t first_bad(const double[::1] y) noexcept nogil:
    """Return the place of the first value outside [0, 1] (NaN included), or -1."""
    cdef Py_ssize_t i
    for i in range(y.shape[0]):
        if not 0.0 <= y[i] <= 1.0:
            return i
    return -1


def chunk_of(series, Py_ssize_t start):
    """Return the outcomes from `start` on, CHUNK at the most, as contiguous float64."""
    return np.ascontiguousarray(series[start : start + CHUNK], dtype=np.float64)


def check_range(series):
    """Refuse a series with a value outside [0, 1], naming the first."""
    cdef Py_ssize_t start, i
    for start in range(0, len(series), CHUNK):
        chunk = chunk_of(series, start)
        i = first_bad(chunk)
        if i >= 0:
            raise ValueError(
                f"outcomes must be in [0, 1], got {float(chunk[i])!r} at position {start + i}"
            )


cdef class Kernel:
    """What all compiled forecasters share; not used by itself."""

    def __cinit__(self, *args, **kwargs):
        self._key = scramble(0)
        if self.reserve(2) < 0:
            raise MemoryError

    def __init__(self, seed):
        self._seed = seed
        self._key = scramble(self._seed)

    def __dealloc__(self):
        free(self.points)
        free(self.weights)

    # -- to be written by each forecaster ------------------------------------------------------

    cdef int place(self) noexcept nogil:
        return -1

    cdef int learn(self, double y) noexcept nogil:
        return -1

    cdef bint look(self, Gap *gap) noexcept nogil:
        return False

    def _get_state(self):
        """Return all that was learned, as arrays and numbers by name."""
        raise NotImplementedError

    def _set_state(self, state):
        """Take over a state of `_get_state`, or raise ValueError and change nothing."""
        raise NotImplementedError

    def _resume(self, int64_t rounds):
        """Go to the start of round `rounds`, after restoring a saved state."""
        self._rounds = rounds
        self._placed = False

    # -- the round ------------------------------------------------------------------------------

    cdef int reserve(self, Py_ssize_t size) noexcept nogil:
        """Make room for a distribution over `size` points."""
        cdef double **columns[2]
        if size <= self._room:
            return 0
        columns[:] = [&self.points, &self.weights]
        if resize(columns, 2, size) < 0:
            return -1
        self._room = size
        return 0

    cdef int ready(self) noexcept nogil:
        """Compute P_t and draw from it, once a round."""
        cdef double u
        if self._placed:
            return 0
        if self.place() < 0:
            return -1
        self.chosen = 0
        if self.size > 1:
            u = uniform(self._key, <uint64_t>self._rounds) - self.weights[0]
            while u >= 0.0 and self.chosen < self.size - 1:
                self.chosen += 1
                u -= self.weights[self.chosen]
        self._placed = True
        return 0

    cdef int advance(self, double y) noexcept nogil:
        """Learn this round's outcome and go to the next round."""
        if self.learn(y) < 0:
            return -1
        self._rounds += 1
        self._placed = False
        return 0

    cdef int enter(self) except -1:
        """Refuse a second thread while `run` works without the GIL."""
        if self._running:
            raise RuntimeError(
                f"this {type(self).__name__} is at work in another thread; "
                "give each thread a forecaster of its own"
            )
        return 0

    # -- the contract ---------------------------------------------------------------------------

    @property
    def rounds(self):
        """Rounds completed so far."""
        return self._rounds

    @property
    def seed(self):
        """The seed of the draws, as given."""
        return self._seed

    def predict(self):
        """Return this round's probability; the same number until `update` is called."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return self.points[self.chosen]

    def update(self, outcome):
        """Learn this round's outcome, a number in [0, 1], and go to the next round."""
        self.enter()
        cdef double y = as_outcome(outcome)
        if self.ready() < 0 or self.advance(y) < 0:
            raise MemoryError

    def expected(self):
        """Return the mean of this round's distribution."""
        cdef double mean = 0.0
        cdef Py_ssize_t i
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        for i in range(self.size):
            mean += self.weights[i] * self.points[i]
        return mean

    def distribution(self):
        """Return this round's distribution as two arrays: its points, and their weights."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return array_of(self.points, self.size), array_of(self.weights, self.size)

    def run(self, outcomes):
        """Run one round an outcome and return the predictions, each made before its outcome."""
        self.enter()
        series = as_series(outcomes, "outcomes")
        check_range(series)
        predictions = np.empty(len(series))
        cdef Py_ssize_t start, i
        cdef const double[::1] y
        cdef double[::1] p
        cdef int failed = 0
        self._running = True
        try:
            for start in range(0, len(series), CHUNK):
                y = chunk_of(series, start)
                p = predictions[start : start + CHUNK]
                with nogil:
                    for i in range(y.shape[0]):
                        failed = self.ready()
                        if failed == 0:
                            p[i] = self.points[self.chosen]
                            failed = self.advance(y[i])
                        if failed < 0:
                            break
                if failed < 0:
                    raise MemoryError(f"no memory left in round {self._rounds}")
        finally:
            self._running = False
        return predictions

    def _trace(self, outcomes):
        """Do what `run` does, and return each round's distribution besides its prediction.

        The distribution of round t is ``weights[starts[t]:starts[t + 1]]`` over
        ``points[starts[t]:starts[t + 1]]``.
        """
        self.enter()
        series = as_series(outcomes, "outcomes")
        check_range(series)
        cdef Py_ssize_t rounds = len(series), room = 2 * rounds + 2, used = 0, start, i, k
        predictions, starts = np.empty(rounds), np.zeros(rounds + 1, dtype=np.int64)
        points, weights = np.empty(room), np.empty(room)
        cdef const double[::1] y
        cdef double[::1] p = predictions, x = points, w = weights
        cdef int64_t[::1] s = starts
        for start in range(0, rounds, CHUNK):
            y = chunk_of(series, start)
            for i in range(y.shape[0]):
                if self.ready() < 0:
                    raise MemoryError
                if used + self.size > room:
                    room = 2 * (used + self.size)
                    x = points = np.concatenate([points, np.empty(room - len(points))])
                    w = weights = np.concatenate([weights, np.empty(room - len(weights))])
                p[start + i] = self.points[self.chosen]
                for k in range(self.size):
                    x[used + k] = self.points[k]
                    w[used + k] = self.weights[k]
                used += self.size
                s[start + i + 1] = used
                if self.advance(y[i]) < 0:
                    raise MemoryError
        return predictions, points[:used].copy(), weights[:used].copy(), starts
