"""The round of a recalibrator: a score becomes a mean (sharp), then a point of a grid (safe)."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp, fabs, isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from calibrant._checks import check_integer, check_same_length, describe
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.grid cimport (
    Grid, grid_bytes, grid_copy, grid_free, grid_load, grid_save,
)
from calibrant._kernels.grid import GRID_PARTS
from calibrant._kernels.kernel cimport UNINTERRUPTED, array_of, as_outcome
from calibrant._kernels.kernel import own_copy, own_outcomes
from calibrant._kernels.rounds cimport Begun, Round, as_round
from calibrant._kernels.rounds import ROUND, check_rounds
from calibrant._kernels.safe cimport Place, safe_learn, safe_place, safe_start, safe_weigh
from calibrant._kernels.saved import check_names, floats, number
from calibrant._kernels.sharp import check_parts
from calibrant._kernels.sharp cimport (
    ALL_BINS,
    BETAS,
    EXPERTS,
    MEMORIES,
    OFFSETS,
    PLATTS,
    SharpState,
    View,
    sharp_learn,
    sharp_start,
    sharp_view,
    sharp_within,
)

KINDS = ("probability", "logit", "margin")
cdef enum:
    PROBABILITY
    LOGIT
    MARGIN

# The parts of SharpState, which is nothing but doubles: their names and sizes, in its order.
SHARP_PARTS = {
    "w": EXPERTS,
    "lag": 1,
    "platt": 2 * PLATTS,
    "platt_A": 3 * PLATTS,
    "offset": OFFSETS,
    "offset_A": OFFSETS,
    "beta": 3 * BETAS,
    "beta_A": 6 * BETAS,
    "Y": MEMORIES * ALL_BINS,
    "N": MEMORIES * ALL_BINS,
}


def outcome_of(outcome):
    """Return one outcome as a float in [0, 1], or raise ValueError."""
    return as_outcome(outcome)


cdef class RecalibrateKernel:
    """The mixture and the grid of one Recalibrator."""

    cdef SharpState sharp
    cdef Grid safe
    cdef int _kind
    cdef double size              # mean absolute margin so far
    cdef uint64_t _seed
    cdef uint64_t _key
    cdef int64_t _rounds          # predictions made
    cdef int64_t _learned         # outcomes learned
    cdef bint _open               # does a prediction without an id wait for its outcome?
    cdef bint _running            # is a thread inside `run`, with the GIL released?
    cdef Begun current            # that prediction
    cdef View view                # what the experts said last; mostly, its outcome comes next
    cdef int64_t view_age         # outcomes learned before that; -1 if the view is out of date

    def __cinit__(self, *args, **kwargs):
        sharp_start(&self.sharp)
        self.view_age = -1
        if safe_start(&self.safe) < 0:
            raise MemoryError

    def __init__(self, kind, seed):
        self._kind = KINDS.index(kind)
        self._seed = seed
        self._key = scramble(self._seed)

    def __dealloc__(self):
        grid_free(&self.safe)

    # -- one round ------------------------------------------------------------------------------

    cdef double size_with(self, double score) noexcept nogil:
        return self.size + (fabs(score) - self.size) / (self._rounds + 1)

    cdef double probability_of(self, double score) noexcept nogil:
        """Return a score of any kind as a probability that the experts can take."""
        cdef double size
        if self._kind == PROBABILITY:
            return sharp_within(score)
        if self._kind == MARGIN:
            # A margin of the usual size counts as a logit of 1; only its unit is unknown.
            size = self.size_with(score)
            score = score / size if size > 0.0 else 0.0
        return sharp_within(1.0 / (1.0 + exp(-score)))

    cdef double look(self, double s) noexcept nogil:
        """Return the mixture's mean for s, and keep what each expert said."""
        self.view_age = self._learned
        return sharp_view(&self.sharp, s, &self.view)

    cdef Begun begin_mean(self, double score) noexcept nogil:
        """Open the next round with the mixture's mean as its prediction."""
        cdef Begun r
        r.number, r.s = self._rounds, self.probability_of(score)
        r.z = r.m = self.look(r.s)
        memcpy(r.said, self.view.p, sizeof(r.said))
        if self._kind == MARGIN:
            self.size = self.size_with(score)
        self._rounds += 1
        return r

    cdef Begun begin(self, double score) noexcept nogil:
        """Make the next prediction."""
        cdef Begun r = self.begin_mean(score)
        cdef Place place = safe_place(&self.safe, r.m)
        r.z = place.hi
        if uniform(self._key, <uint64_t>r.number) < place.share:
            r.z = place.lo
        return r

    cdef void finish_mean(self, const Begun *r, double y) noexcept nogil:
        """Learn the outcome of a round that stayed off the grid."""
        if self.view_age != self._learned or self.view.s != r.s:
            self.look(r.s)
        sharp_learn(&self.sharp, &self.view, r.said, y, <double>(self._rounds - r.number - 1))
        self._learned += 1

    cdef int finish(self, const Begun *r, double y) noexcept nogil:
        """Learn the outcome of a prediction; -1 when there was no memory and nothing changed."""
        if safe_learn(&self.safe, r.m, r.z, y) < 0:
            return -1
        self.finish_mean(r, y)
        return 0

    cdef int enter(self) except -1:
        """Refuse a second thread while `run` works without the GIL."""
        if self._running:
            raise RuntimeError(
                f"this {type(self).__name__} is at work in another thread; "
                "give each thread a recalibrator of its own"
            )
        return 0

    cdef double as_score(self, object score) except? -1.0:
        """Return one score as a float of the declared kind, or raise ValueError."""
        cdef double value
        try:
            if type(score) is not float and getattr(score, "shape", ()) != ():
                raise TypeError  # an array of one element would pass for a number
            value = score
        except (TypeError, OverflowError):
            raise ValueError(f"score must be {self._allowed()}, got {describe(score)}") from None
        if not self.fits(value):
            raise ValueError(f"score must be {self._allowed()}, got {value!r}")
        return value

    cdef bint fits(self, double score) noexcept nogil:
        return 0.0 <= score <= 1.0 if self._kind == PROBABILITY else isfinite(score)

    def _allowed(self):
        if self._kind == PROBABILITY:
            return "a number in [0, 1] (kind='probability')"
        return f"a finite number (kind={self.kind!r})"

    # -- the contract ---------------------------------------------------------------------------

    @property
    def rounds(self):
        """Predictions made so far."""
        return self._rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self._learned

    @property
    def seed(self):
        """The seed of the draws, as given."""
        return self._seed

    @property
    def kind(self):
        """What the scores are, as given."""
        return KINDS[self._kind]

    @property
    def is_open(self):
        """Whether the last prediction without an id still waits for its outcome."""
        return self._open

    def _predict(self, score):
        """Predict without an id; an earlier such prediction without an outcome is given up."""
        self.enter()
        cdef double value = self.as_score(score)
        self.current = self.begin(value)
        self._open = True
        return self.current.z

    def _update(self, outcome):
        """Learn the outcome of the last prediction without an id."""
        self.enter()
        cdef double y = as_outcome(outcome)
        if not self._open:
            raise ValueError(
                "update() without an id answers the last predict() without one, "
                "and none waits for its outcome"
            )
        if self.finish(&self.current, y) < 0:
            raise MemoryError
        self._open = False

    def _give_up(self):
        """Stop waiting for the outcome of the last prediction without an id."""
        self.enter()
        self._open = False

    def _begin(self, score, bint placed=True):
        """Predict for a caller that keeps the round; off the grid, the mixture's mean."""
        self.enter()
        cdef double value = self.as_score(score)
        return as_round(self.begin(value) if placed else self.begin_mean(value))

    def _finish(self, Round opened not None, outcome, bint placed=True):
        """Learn the outcome of a round of `_begin`."""
        self.enter()
        cdef double y = as_outcome(outcome)
        if not placed:
            self.finish_mean(&opened.begun, y)
        elif self.finish(&opened.begun, y) < 0:
            raise MemoryError

    def _look(self, score):
        """Return a score as a probability and the mixture's mean for it; changes nothing."""
        self.enter()
        cdef double s = self.probability_of(self.as_score(score))
        return s, self.look(s)

    def _trust(self, double weight):
        """Give the identity this weight in the mixture; the others keep their proportions."""
        cdef Py_ssize_t i
        cdef double less = (1.0 - weight) / (1.0 - self.sharp.w[0])
        self.sharp.w[0] = weight
        for i in range(1, EXPERTS):
            self.sharp.w[i] *= less

    cdef Place would_be(self, object score) except *:
        self.enter()
        return safe_place(&self.safe, self.look(self.probability_of(self.as_score(score))))

    def expected(self, score):
        """Return the mean of what `predict` would draw for this score now; changes nothing."""
        cdef Place place = self.would_be(score)
        return place.share * place.lo + (1.0 - place.share) * place.hi

    def distribution(self, score):
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        cdef Place place = self.would_be(score)
        if place.lo == place.hi:
            return np.array([place.lo]), np.array([1.0])
        return np.array([place.lo, place.hi]), np.array([place.share, 1.0 - place.share])

    def run(self, scores, outcomes):
        """Predict each score and then learn its outcome; return the predictions.

        Bit for bit what `predict` and `update` without ids give, in one compiled loop. All or
        nothing: interrupted with Ctrl-C, it is as if `run` had not been called.
        """
        return self._run_means(scores, outcomes)[0]

    def _run_means(self, scores, outcomes, placed=None):
        """Play rounds of which only those marked in `placed`, a byte each, go to the grid.

        Returns the predictions, the mixture's means for rounds off the grid, and the scores as
        probabilities. Bit for bit what the steps give.
        """
        self.enter()
        # Each outcome and score stands here until the prediction and the probability of its round
        # take its place.
        probabilities, predictions = own_copy(scores, "scores"), own_outcomes(outcomes)
        cdef Py_ssize_t rounds = len(probabilities), start = 0, stop, t
        check_same_length("scores", rounds, "outcomes", len(predictions))
        cdef double[::1] p = predictions, s = probabilities
        cdef double score, y
        if placed is None:
            placed = np.ones(rounds, dtype=np.uint8)
        cdef const unsigned char[::1] on_grid = placed
        cdef int failed = 0
        self.check_scores(s)
        before = self._copy() if rounds > UNINTERRUPTED else None
        if rounds:
            self._open = False
        self._running = True
        try:
            while start < rounds:
                stop = min(start + UNINTERRUPTED, rounds)
                with nogil:
                    for t in range(start, stop):
                        score, y = s[t], p[t]
                        if on_grid[t]:
                            self.current = self.begin(score)
                            failed = self.finish(&self.current, y)
                            if failed < 0:
                                break
                        else:
                            self.current = self.begin_mean(score)
                            self.finish_mean(&self.current, y)
                        p[t], s[t] = self.current.z, self.current.s
                if failed < 0:
                    raise MemoryError(f"no memory left in round {self._rounds}")
                start = stop
                if start < rounds:
                    PyErr_CheckSignals()
        except BaseException:
            if before is not None:
                self._go_back(before)
            raise
        finally:
            self._running = False
        return predictions, probabilities

    cdef int check_scores(self, const double[::1] scores) except -1:
        cdef Py_ssize_t i
        for i in range(scores.shape[0]):
            if not self.fits(scores[i]):
                raise ValueError(
                    f"scores must each be {self._allowed()}, got {scores[i]!r} at position {i}"
                )
        return 0

    # -- going back -----------------------------------------------------------------------------

    def _copy(self):
        """Return a kernel in the state of this one, for `_go_back`."""
        cdef RecalibrateKernel copy = RecalibrateKernel.__new__(RecalibrateKernel)
        if grid_copy(&copy.safe, &self.safe) < 0:
            raise MemoryError
        copy.sharp, copy.size, copy.current = self.sharp, self.size, self.current
        copy._rounds, copy._learned, copy._open = self._rounds, self._learned, self._open
        return copy

    def _go_back(self, RecalibrateKernel before not None):
        """Return to the state that `_copy` gave, which must not be used again."""
        self.safe, before.safe = before.safe, self.safe
        self.sharp, self.size, self.current = before.sharp, before.size, before.current
        self._rounds, self._learned, self._open = before._rounds, before._learned, before._open
        self.view_age = -1

    # -- saving ---------------------------------------------------------------------------------

    def __sizeof__(self):
        return object.__sizeof__(self) + grid_bytes(&self.safe)

    def _get_state(self):
        """Return everything the past left behind, as arrays and numbers by name."""
        self.enter()
        state = {"learned": self._learned, "size": self.size}
        state["number"] = self.current.number if self._open else 0
        cdef double *part = <double *>&self.sharp
        for name, count in SHARP_PARTS.items():
            state[name] = array_of(part, count)
            part += <Py_ssize_t>count
        state |= grid_save(&self.safe)
        state["open"] = array_of(&self.current.s, ROUND if self._open else 0)
        return state

    def _set_state(self, state):
        """Take over a state of `_get_state`, or raise ValueError and change nothing."""
        names = {"rounds", "learned", "size", "number", "open"}
        check_names(state, {*names, *SHARP_PARTS, *GRID_PARTS})
        cdef int64_t rounds = check_integer("saved rounds", state["rounds"], 0, 2**53)
        cdef int64_t learned = check_integer("saved learned", state["learned"], 0, rounds)
        cdef int64_t opened = check_integer("saved number", state["number"], 0, max(rounds - 1, 0))
        most = 1.7976931348623157e308 if self._kind == MARGIN and rounds else 0.0
        cdef double size = number(state, "size", low=0.0, high=most)
        parts = {name: floats(state, name, size=count) for name, count in SHARP_PARTS.items()}
        cdef const double[::1] waiting = floats(state, "open", low=0.0)
        cdef const double[::1] sharp = np.concatenate(list(parts.values()))
        cdef Py_ssize_t i
        if waiting.shape[0] not in (0, ROUND):
            raise ValueError(f"saved open must have 0 or {ROUND} values, got {waiting.shape[0]}")
        check_rounds(state["open"], state["z"])
        if not 0.0 <= parts["lag"][0] <= rounds:
            raise ValueError(f"saved lag must be in [0, {rounds}]")
        if waiting.shape[0] and learned == rounds:
            raise ValueError("saved open must be empty if every prediction has its outcome")
        check_parts(parts, learned)
        grid_load(&self.safe, state, learned)
        for i in range(self.safe.count):
            safe_weigh(&self.safe, i)
        memcpy(&self.sharp, &sharp[0], sizeof(SharpState))
        self._rounds, self._learned, self.size = rounds, learned, size
        self._open, self.view_age = waiting.shape[0] > 0, -1
        if self._open:
            self.current.number = opened
            memcpy(&self.current.s, &waiting[0], ROUND * sizeof(double))
