from libc.stdint cimport int64_t, uint64_t

from calibrant._kernels.functions cimport exp
from calibrant._kernels.grid cimport Grid
from calibrant._kernels.scores.batches cimport BatchState, SurpriseState
from calibrant._kernels.scores.levels cimport LevelState
from calibrant._kernels.scores.pending cimport PendingKernel
from calibrant._kernels.scores.recent cimport Recall, RecentState
from calibrant._kernels.scores.score_rounds cimport Begun
from calibrant._kernels.scores.safe cimport Place
from calibrant._kernels.scores.sharp cimport SharpState, View

cdef enum:
    PROBABILITY
    LOGIT
    MARGIN


cdef inline double probability_of(int kind, double score, double size) noexcept nogil:
    """Return a score of any kind as a probability; `size` is the usual one of margins."""
    if kind == MARGIN:
        # A margin of the usual size counts as a logit of 1; only its unit is unknown.
        score = score / size if size > 0.0 else 0.0
    if kind != PROBABILITY:
        score = 1.0 / (1.0 + exp(-score))
    return score


cdef inline double place_mean(Place place) noexcept nogil:
    """Return the mean of what may be drawn at a place of the grid."""
    return place.share * place.lo + (1.0 - place.share) * place.hi


cdef class ScoringKernel:
    cdef SharpState sharp
    cdef RecentState recent
    cdef Grid safe
    cdef BatchState batches
    cdef SurpriseState surprises
    cdef LevelState levels
    cdef list calls               # outcomes of rounds that waited together, by call: not learned yet
    cdef int64_t deferred         # how many these are
    cdef int _kind
    cdef double given             # the last score as a probability, which no floor has moved
    cdef bint _inner              # are the scores another kernel's estimates, with a floor already?
    cdef double size              # mean absolute margin so far
    cdef uint64_t _seed
    cdef uint64_t _key
    cdef int64_t _rounds          # predictions made
    cdef int64_t _learned         # outcomes learned
    cdef bint _open               # does a prediction without an id wait for its outcome?
    cdef bint _running            # is a thread inside `run`, with the GIL released?
    cdef Begun current            # that prediction
    cdef int64_t opened_as        # and how many came before it
    cdef View view                # what the experts predicted last; mostly, its outcome comes next
    cdef Recall recall            # and those that look at the past
    cdef PendingKernel pending    # what silence says, None if nothing
    cdef int64_t view_age         # outcomes learned before that; -1 if the view is out of date

    cdef double size_with(self, double score) noexcept nogil
    cdef double raw_of(self, double score) noexcept nogil
    cdef double above_floor(self, double s) noexcept nogil
    cdef double waiting_mean(self, double s, double past) noexcept nogil
    cdef double look(self, double s) noexcept nogil
    cdef double look_aside(self, double s) noexcept nogil
    cdef double aside(self, double s) noexcept nogil
    cdef void opened(self, double score, Begun *r) noexcept nogil
    cdef double smooth(self, double s) noexcept nogil
    cdef void begin_mean(self, double score, Begun *r) noexcept nogil
    cdef void begin(self, double score, Begun *r) noexcept nogil
    cdef double mean_begun(self, const Begun *r) noexcept nogil
    cdef double lateness(self, int64_t number) noexcept nogil
    cdef void weigh_levels(self, const Begun *r, double y, double weight, double lag) noexcept nogil
    cdef void finish_mean(self, const Begun *r, double y, double weight, double late) noexcept nogil
    cdef int finish(self, const Begun *r, double y, double weight, double late) noexcept nogil
    cdef int enter(self) except -1
    cdef int catch_up(self) except -1
    cdef double as_score(self, object score) except? -1.0
    cdef bint fits(self, double score) noexcept nogil
    cdef object as_scores(self, object scores)
