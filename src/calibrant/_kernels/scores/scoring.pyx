"""One round of a recalibrator: a score becomes a mean (sharp), then a point of a grid (safe)."""

from libc.math cimport fabs, isfinite
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from calibrant._checks import describe
from calibrant._kernels.scores.batches cimport batches_start, surprises_start
from calibrant._kernels.scores.delays cimport RANGES
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.grid cimport grid_free
from calibrant._kernels.interrupts cimport hold, release
from calibrant._kernels.kernel import own_copy
from calibrant._kernels.scores.levels cimport levels_start, levels_view, levels_weigh_one
from calibrant._kernels.scores.mixing cimport lag_after, within
from calibrant._kernels.scores.pending cimport PendingKernel
from calibrant._kernels.scores.recent cimport (
    RECENTS,
    Recall,
    recent_learn,
    recent_silence,
    recent_smooth,
    recent_start,
    recent_view,
)
from calibrant._kernels.scores.score_rounds cimport ScoreRound
from calibrant._kernels.scores.safe cimport Place, safe_learn, safe_place, safe_start
from calibrant._kernels.scores.sharp cimport (
    EXPERTS,
    Events,
    View,
    sharp_events,
    sharp_learn,
    sharp_least,
    sharp_returned,
    sharp_smooth,
    sharp_start,
    sharp_view,
    sharp_view_smooth,
)

KINDS = ("probability", "logit", "margin")


cdef class ScoringKernel:
    """The mixture and the grid of one recalibrator, and what a round does with them."""

    def __cinit__(self, *args, **kwargs):
        sharp_start(&self.sharp)
        recent_start(&self.recent)
        batches_start(&self.batches)
        surprises_start(&self.surprises)
        levels_start(&self.levels)
        self.calls, self.deferred = [], 0
        self.view_age = -1
        if safe_start(&self.safe) < 0:
            raise MemoryError

    def __init__(self, kind, seed, inner=False, trust=None):
        """With `inner`, scores are another kernel's estimates; `trust` is the identity's weight."""
        cdef Py_ssize_t i
        cdef double less
        if trust is not None:  # the other experts keep their proportions
            less = (1.0 - trust) / (1.0 - self.sharp.w[0])
            self.sharp.w[0] = trust
            for i in range(1, EXPERTS):
                self.sharp.w[i] *= less
        self._kind = KINDS.index(kind)
        self._inner = inner
        self._seed = seed
        self._key = scramble(self._seed)

    def __dealloc__(self):
        grid_free(&self.safe)

    @property
    def kind(self):
        """What the scores are, as given."""
        return KINDS[self._kind]

    # -- the round ------------------------------------------------------------------------------

    cdef double size_with(self, double score) noexcept nogil:
        return self.size + (fabs(score) - self.size) / (self._rounds + 1)

    cdef double raw_of(self, double score) noexcept nogil:
        """Return a score of any kind as a probability."""
        cdef double size = self.size_with(score) if self._kind == MARGIN else 0.0
        return probability_of(self._kind, score, size)

    cdef double above_floor(self, double s) noexcept nogil:
        """Return a probability that the experts can take."""
        return s if self._inner else within(s, sharp_least(self._learned))

    cdef double waiting_mean(self, double s, double past) noexcept nogil:
        """Return the mean of all experts for s after this past, and keep what each predicted."""
        cdef double least = sharp_least(self._learned)
        # An inner kernel has less evidence than the one whose estimate is its score.
        least = min(least, s, 1.0 - s)
        self.view_age = self._learned
        sharp_view(&self.sharp, s, least, &self.view)
        if self.levels.count > 0.0:
            levels_view(&self.levels, &self.view)
        return recent_view(&self.recent, past, &self.view, &self.recall)

    cdef double look(self, double s) noexcept nogil:
        """Return the mean for s after what is known now, moved by what silence says, if anything."""
        cdef double mean = self.waiting_mean(s, self.recent.past)
        return mean if self.pending is None else self.pending.mixed(s, mean)

    cdef double look_aside(self, double s) noexcept nogil:
        """Return the mean for s of a round off the grid: the past is left out."""
        self.waiting_mean(s, self.recent.past)
        return self.aside(s)

    cdef double aside(self, double s) noexcept nogil:
        """Return the mean off the grid for s, the score of the last view."""
        return self.view.mean if self.pending is None else self.pending.mixed(s, self.view.mean)

    cdef double smooth(self, double s) noexcept nogil:
        """Return the estimate for ranking, for a score as a probability."""
        cdef View view
        cdef Recall recall
        cdef Events events = sharp_events(&self.sharp)
        cdef double estimate
        sharp_view_smooth(&self.sharp, s, &view)
        recent_view(&self.recent, self.recent.past, &view, &recall)
        estimate = sharp_smooth(&self.sharp, &view, events)
        estimate = recent_smooth(&self.recent, &recall, estimate, events)
        return estimate if self.pending is None else self.pending.mixed(s, estimate)

    cdef void opened(self, double score, Begun *r) noexcept nogil:
        """Open the next round, with what the experts say of its score."""
        r.raw = self.given = self.raw_of(score)
        r.s = self.above_floor(r.raw)
        r.m = self.look(r.s)
        r.moved, r.bet, r.past = 0.0, 0.0, self.recent.past
        memcpy(r.predicted, self.view.p, sizeof(r.predicted))
        memcpy(r.recalled, self.recall.p, sizeof(r.recalled))
        if self._kind == MARGIN:
            self.size = self.size_with(score)
        self._rounds += 1

    cdef void begin_mean(self, double score, Begun *r) noexcept nogil:
        """Open the next round off the grid, with the mixture's mean as its prediction."""
        self.opened(score, r)
        r.e = r.z = r.m = self.aside(r.s)
        recent_silence(r.recalled, r.recalled[0])

    cdef void begin(self, double score, Begun *r) noexcept nogil:
        """Make the next prediction."""
        cdef Place place
        self.opened(score, r)
        place = safe_place(&self.safe, r.m)
        r.e, r.z, r.bet = place_mean(place), place.hi, place.bet
        if uniform(self._key, <uint64_t>(self._rounds - 1)) < place.share:
            r.z = place.lo
        if place.moved:
            r.moved = 1.0
            recent_silence(r.recalled, r.recalled[0])

    cdef double lateness(self, int64_t number) noexcept nogil:
        """Return how many predictions were made since the one of this number."""
        return <double>(self._rounds - number - 1)

    cdef void weigh_levels(self, const Begun *r, double y, double weight, double lag) noexcept nogil:
        """Weigh those that forecast the levels of batches, if there were any, by one outcome."""
        if self.levels.count > 0.0:
            levels_weigh_one(
                &self.levels, self.sharp.w, r.predicted, sharp_returned(r.recalled[0]), y, weight, lag
            )

    cdef void finish_mean(self, const Begun *r, double y, double weight, double late) noexcept nogil:
        """Learn the outcome of a round that stayed off the grid, with this weight."""
        if self.view_age != self._learned or self.view.s != r.s or self.recall.past != r.past:
            self.waiting_mean(r.s, r.past)
        self.weigh_levels(r, y, weight, lag_after(self.sharp.lag, late))
        sharp_learn(&self.sharp, &self.view, r.predicted, r.recalled[0], y, weight, late)
        recent_learn(&self.recent, &self.recall, r.recalled, r.moved, y, weight, self.sharp.lag)
        self._learned += 1

    cdef int finish(self, const Begun *r, double y, double weight, double late) noexcept nogil:
        """Learn the outcome of a prediction; -1 when there was no memory and nothing changed.

        Its weight says how much it teaches the mixture. The grid counts it once: what it promises is
        calibration over the outcomes, each of which is one.
        """
        cdef double lag = lag_after(self.sharp.lag, late)
        if safe_learn(&self.safe, r.m, r.z, y, r.bet > 0.0, lag) < 0:
            return -1
        self.finish_mean(r, y, weight, late)
        return 0

    cdef int enter(self) except -1:
        """Refuse a second thread while `run` works without the GIL, and learn what was deferred."""
        if self._running:
            raise RuntimeError(
                f"this {type(self).__name__} is in use by another thread; "
                "give each thread its own recalibrator"
            )
        if self.deferred:
            hold()
            try:
                self.catch_up()
            finally:
                release()
        return 0

    cdef int catch_up(self) except -1:
        """Learn what was deferred; who defers something says how."""
        return 0

    # -- silence ------------------------------------------------------------------------------

    def _attend(self, PendingKernel pending):
        """Let what silence says move the mixture's mean from now on."""
        self.pending = pending

    cdef double mean_begun(self, const Begun *r) noexcept nogil:
        """Return what all experts say of a round just begun, without what silence says."""
        cdef double mean = 0.0
        cdef Py_ssize_t i
        for i in range(1 + RECENTS):
            mean += self.recent.w[i] * r.recalled[i]
        return mean

    def _waiting_mean(self, ScoreRound opened not None):
        """Do what `mean_begun` does, for Python."""
        return self.mean_begun(&opened.begun)

    def _refit(self, double now):
        """Fit the estimates of what is pending, if a fit is due."""
        cdef double[RANGES] x, n, means
        cdef Py_ssize_t k
        self.enter()
        if self.pending is None or not self.pending.wants_fit():
            return
        self.pending.range_means(x, n)
        for k in range(RANGES):
            means[k] = 0.5
            if n[k] > 0.0:
                # What is pending came after many pasts.
                self.waiting_mean(self.pending.score_of(x[k]), self.recent.past)
                means[k] = self.view.mean
        self.view_age = -1
        self.pending.fit(now, x, n, means)

    # -- scores ---------------------------------------------------------------------------------

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

    cdef object as_scores(self, object scores):
        """Return a copy of many scores of the declared kind, or raise ValueError."""
        own = own_copy(scores, "scores")
        cdef const double[::1] x = own
        cdef Py_ssize_t i
        for i in range(x.shape[0]):
            if not self.fits(x[i]):
                raise ValueError(
                    f"scores must each be {self._allowed()}, got {x[i]!r} at position {i}"
                )
        return own
