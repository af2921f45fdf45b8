from libc.stdint cimport int64_t

from calibrant._kernels.scores.correction cimport Correction
from calibrant._kernels.scores.delays cimport AGES, RANGES

cdef enum:
    SLICES = 128                  # of time, each with the predictions made in it
    SPANS = 32                    # classes of span, an eighth of an octave wide
    MOVED = 4                     # experts that move the waiting mixture's estimate
    CELL_SIZE = 5 + MOVED
    AWAITED_SIZE = 7 + MOVED


# Predictions of one slice with scores of one range and deadlines equally far, as sums. All doubles,
# of which the first CELL_SIZE are saved; the others follow from these.
cdef struct Cell:
    double n                      # how many
    double came                   # of these, whose event has come
    double x                      # logits of the scores
    double at                     # times of prediction, after the slice's start
    double span                   # from prediction to deadline
    double[MOVED] predicted       # what each expert predicted
    double rated                  # F for which the logs hold; negative if n or `predicted` changed
    double[MOVED] log_predicted   # log of an event, by the mean of what each expert predicted
    double[MOVED] log_silent      # log of no event so far


cdef struct Slice:
    int64_t serial                # slices before it; -1 if empty
    double start                  # time of its first prediction
    Py_ssize_t count
    Py_ssize_t room
    int *keys                     # range and class of span of each cell
    Cell *cells


# A cell as a fit sees it.
cdef struct Seen:
    double n
    double came
    double f                      # F at its age
    double b                      # logit of what the waiting mixture says of it now
    double[MOVED] weight          # for each expert
    double[MOVED] p               # what each expert says of it now


# A prediction until its deadline. All but the last two are doubles.
cdef struct Wait:
    double at
    double due
    double came                   # when its event came; infinite until then
    double x                      # logit of the score
    double mean                   # what the waiting mixture predicted
    double[MOVED] predicted       # the moved estimates,
    double moved                  # and all of them together,
    double corrected              # and what the correction made of that
    int64_t serial                # its slice
    int64_t cell                  # its cell there


cdef class Awaited:
    cdef Wait wait


cdef class PendingKernel:
    cdef readonly int silence     # the outcome that is never announced
    cdef double[MOVED + 1] w      # weights: of the waiting estimate, of each moved one
    cdef double[MOVED] c          # how far each moves the logit
    cdef double[MOVED] recent     # how likely each made what is pending, by log likelihood
    cdef double[RANGES][AGES] H   # ages at which events of a range came, faded
    cdef Correction correction    # of the estimates together
    cdef double waiting           # predictions that wait for their deadlines
    cdef double span              # mean span from prediction to deadline
    cdef double reference         # the first span
    cdef int64_t serial           # slices so far
    cdef bint _stale              # has a slice begun since the last fit?
    cdef Slice[SLICES] slices
    cdef Seen *seen               # scratch of a fit
    cdef Py_ssize_t seen_room

    cdef double moved(self, double mean, const double *predicted) noexcept nogil
    cdef double mixed(self, double probability, double mean) noexcept nogil
    cdef void estimates(self, double mean, double *predicted) noexcept nogil
    cdef Cell *find(self, const Wait *wait) noexcept nogil
    cdef Cell *cell_of(self, Wait *wait) noexcept nogil
    cdef int make_room(self) except -1
    cdef Py_ssize_t look(self, double now, const double *base, const double *x) noexcept nogil
    cdef void step(self, Py_ssize_t many) noexcept nogil
    cdef bint wants_fit(self) noexcept nogil
    cdef double score_of(self, double x) noexcept nogil
    cdef int fit(
        self, double now, const double *x, const double *n, const double *means
    ) except -1
    cdef void range_means(self, double *x, double *n) noexcept nogil
    cdef int begin(
        self, Wait *wait, double probability, double mean, double at, double due
    ) except -1
    cdef void hear(self, Wait *wait, double now) noexcept nogil
    cdef void forget(self, const Wait *wait) noexcept nogil
    cdef void end(self, const Wait *wait) noexcept nogil
