"""The round that every forecaster shares: place, draw, learn.

A kernel defines its distribution (`place`) and what it learns from an outcome (`learn`). The rest
of the contract is written here once, on top of those two, so that `run` and single steps cannot
differ.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import as_series, describe
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.interrupts cimport hold, release
from calibrant._kernels.memory cimport resize


cdef Py_ssize_t CHUNK = 1 << 15   # outcomes that are copied and then checked while in the cache


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


def own_copy(series, name):
    """Return a series of numbers as float64 in memory that no other thread can change."""
    return np.array(as_series(series, name), dtype=np.float64)


def own_outcomes(series):
    """Return outcomes as `own_copy` does, or name the first outside [0, 1]."""
    series = as_series(series, "outcomes")
    outcomes = np.empty(len(series))
    cdef double[::1] y = outcomes
    cdef Py_ssize_t start, i
    for start in range(0, len(series), CHUNK):
        outcomes[start : start + CHUNK] = series[start : start + CHUNK]
        for i in range(start, min(start + CHUNK, y.shape[0])):
            if not 0.0 <= y[i] <= 1.0:  # also finds NaN
                raise ValueError(f"outcomes must be in [0, 1], got {y[i]!r} at position {i}")
    return outcomes


cdef enum:
    SHORT = 256  # rounds of a run that are over before anybody can press Ctrl-C


cdef class Calls:
    """Calls that change the state together: Ctrl-C is deferred until all are made.

    Each is a function, its arguments, and where in `into` its answer belongs: None for nowhere, a
    slice for all of it. `finish` makes of `into` what is returned. They are made once, however often
    `make` is called.
    """

    cdef list calls
    cdef object into, finish

    def __init__(self, list calls not None, into=None, finish=None):
        self.calls, self.into, self.finish = calls, into, finish

    def make(self):
        """Make the calls."""
        cdef object into = self.into
        cdef list calls = self.calls
        self.calls = []
        for call, given, at in calls:
            answer = call(*given)
            if isinstance(at, slice):
                into = answer
            elif isinstance(answer, list):  # one by one: NumPy looks at signals while it reads one
                for row, each in zip(at.tolist(), answer):
                    into[row] = each
            elif at is not None:
                into[at] = answer
        return into if self.finish is None else self.finish(into)


def all_or_nothing(lock, mark, body):
    """Return what `body` returns, with the lock held: all of it is done, or nothing.

    `mark` is called first, and returns a function that undoes everything. Signals are checked while
    this is possible, for the last time when all is done, so that Ctrl-C is not raised after that.
    Steps that cannot be undone are returned as `Calls`, which are made after the last check: Ctrl-C is
    then raised after all of them.
    """
    lock.acquire()
    try:
        go_back = mark()
        try:
            found = body()
            hold()  # after a last look
        except BaseException:
            while True:
                try:
                    go_back()
                    break
                except KeyboardInterrupt:
                    pass  # that of the first Ctrl-C is raised
            raise
        try:
            return (<Calls>found).make() if type(found) is Calls else found
        finally:
            release()
    finally:
        lock.release()


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

    def _set_state(self, state, rounds):
        """Take over a state of `_get_state` that these rounds can leave behind.

        Any other raises ValueError and changes nothing.
        """
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

    cdef double mean(self) noexcept nogil:
        """Return the mean of P_t, which is ready."""
        cdef double mean = 0.0
        cdef Py_ssize_t i
        for i in range(self.size):
            mean += self.weights[i] * self.points[i]
        return mean

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
                f"this {type(self).__name__} is in use by another thread; "
                "give each thread its own forecaster"
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
        cdef double y = as_outcome(outcome), mean = 0.0
        if self.ready() < 0:
            raise MemoryError
        if self.watch is None:
            if self.advance(y) < 0:
                raise MemoryError
            return
        mean = self.mean()
        hold()
        try:
            if self.advance(y) < 0:
                raise MemoryError
            self.watch(mean, y)
        finally:
            release()

    def expected(self):
        """Return the mean of this round's distribution."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return self.mean()

    def distribution(self):
        """Return this round's distribution as two arrays: its points, and their weights."""
        self.enter()
        if self.ready() < 0:
            raise MemoryError
        return array_of(self.points, self.size), array_of(self.weights, self.size)

    def run(self, outcomes):
        """Run one round an outcome and return the predictions, each made before its outcome.

        All or nothing: interrupted with Ctrl-C, it is as if `run` had not been called.
        """
        self.enter()
        # Each outcome stands here until its prediction takes its place.
        predictions = own_outcomes(outcomes)
        cdef double[::1] p = predictions
        cdef Py_ssize_t rounds = len(predictions), start = 0, stop, i
        cdef int64_t first = self._rounds
        cdef double y
        cdef int failed = 0
        before = self._get_state() if rounds > SHORT else None
        self._running = True
        try:
            while start < rounds:
                stop = min(start + UNINTERRUPTED, rounds)
                with nogil:
                    for i in range(start, stop):
                        y = p[i]
                        failed = self.ready()
                        if failed == 0:
                            p[i] = self.points[self.chosen]
                            if self.means != NULL:
                                self.means[i] = self.mean()
                            failed = self.advance(y)
                        if failed < 0:
                            break
                if failed < 0:
                    raise MemoryError(f"no memory left in round {self._rounds}")
                start = stop
                if before is not None:
                    PyErr_CheckSignals()
        except BaseException:
            self._running = False
            if before is not None:
                self._set_state(before, first)
                self._resume(first)
            raise
        finally:
            self._running = False
        return predictions

    def _tell(self, watch):
        """Tell `watch` the mean of P_t and the outcome after each `update` from now on."""
        self.watch = watch

    def _run_with_means(self, run, outcomes, **given):
        """Return what ``run(outcomes, **given)`` does, and the mean of each round's P_t."""
        self.enter()
        means = np.empty(len(as_series(outcomes, "outcomes")))
        cdef double[::1] into = means
        self.means = &into[0] if len(means) else NULL
        try:
            return run(outcomes, **given), means
        finally:
            self.means = NULL

    def _trace(self, outcomes):
        """Do what `run` does, and return each round's distribution besides its prediction.

        The distribution of round t is ``weights[starts[t]:starts[t + 1]]`` over
        ``points[starts[t]:starts[t + 1]]``.
        """
        self.enter()
        predictions = own_outcomes(outcomes)  # replaced one by one, as in `run`
        cdef Py_ssize_t rounds = len(predictions), room = 2 * rounds + 2, used = 0, i, k
        starts = np.zeros(rounds + 1, dtype=np.int64)
        points, weights = np.empty(room), np.empty(room)
        cdef double y
        cdef double[::1] p = predictions, x = points, w = weights
        cdef int64_t[::1] s = starts
        for i in range(rounds):
            if self.ready() < 0:
                raise MemoryError
            if used + self.size > room:
                room = 2 * (used + self.size)
                x = points = np.concatenate([points, np.empty(room - len(points))])
                w = weights = np.concatenate([weights, np.empty(room - len(weights))])
            y = p[i]
            p[i] = self.points[self.chosen]
            for k in range(self.size):
                x[used + k] = self.points[k]
                w[used + k] = self.weights[k]
            used += self.size
            s[i + 1] = used
            if self.advance(y) < 0:
                raise MemoryError
        return predictions, points[:used].copy(), weights[:used].copy(), starts
