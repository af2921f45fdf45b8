from calibrant._kernels.scores.mixing cimport Evidence
from calibrant._kernels.scores.sharp cimport Events, View

# How many experts look at the last outcomes; `recent.pyx` says at how many of these each looks.
cdef enum:
    LASTING = 5                     # experts that move the lasting estimate
    PASSING = 3                     # experts that move the mixture's mean
    RECENTS = LASTING + PASSING
    SLOTS = 116                     # of all these: 2 + 4 + 8 + 16 + 64, and 2 + 4 + 16
    PASTS = 64                      # different pasts of six outcomes


# Everything learned of how outcomes follow one another. All doubles.
cdef struct RecentState:
    double[1 + RECENTS] w           # weights: of the mixture's mean, and of each expert
    double past                     # the last six outcomes known, the newest the lowest bit
    double[SLOTS] odds              # what a slot multiplies the odds by
    double[SLOTS] A                 # its curvature


# What the experts say to a score after some past.
cdef struct Recall:
    double past
    double least                    # no expert says less, or more than 1 - least
    Py_ssize_t[RECENTS] slot        # where each looks
    double[1 + RECENTS] p           # the mixture's mean, and what each makes of it


cdef void recent_start(RecentState *state) noexcept nogil
cdef double recent_view(
    const RecentState *state, double past, const View *view, Recall *recall
) noexcept nogil
cdef double recent_smooth(
    const RecentState *state, const Recall *recall, double estimate, Events events
) noexcept nogil
cdef void recent_silence(double *predicted, double q) noexcept nogil
cdef void recent_learn(
    RecentState *state, const Recall *recall, const double *predicted, double moved, double y,
    double weight, double lag
) noexcept nogil
cdef void recent_count(
    Evidence *evidence, const double *predicted, double moved, double y, double weight
) noexcept nogil
cdef void recent_weigh(RecentState *state, Evidence *evidence, double power) noexcept nogil
cdef void recent_step(
    RecentState *state, const Recall *recall, double y, double weight
) noexcept nogil
