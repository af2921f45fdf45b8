from libc.stdint cimport int64_t

from calibrant._kernels.scores.mixing cimport Evidence


# How many experts of each shape; `sharp.pyx` gives their memories.
cdef enum:
    PLATTS = 6
    OFFSETS = 5
    BETAS = 3
    CURVES = PLATTS + OFFSETS + BETAS
    GRIDS = 3
    MEMORIES = 3
    ALL_BINS = 140                  # of all grids: 10 + 30 + 100
    EXPERTS = 1 + CURVES + GRIDS * MEMORIES
    KEPT = 4 + GRIDS                # experts that forget nothing
    PRIOR = 2                       # visits that the score itself counts for in a bin
    FLAT = 10                       # the least curvature that a Newton step sees, over `least`
    EVENTS = 10                     # a memory of so many counts a quarter in the smooth estimate
    LEARNED = 100                   # so does what was learned from so many


# How fast each forgets, the bins of each grid, and where the weights start.
cdef double[PLATTS] PLATT_FORGETS
cdef double[OFFSETS] OFFSET_FORGETS
cdef double[BETAS] BETA_FORGETS
cdef double[MEMORIES] BIN_FORGETS
cdef Py_ssize_t[GRIDS] BINS
cdef double[EXPERTS] PRIORS


# Everything the mixture has learned.
cdef struct SharpState:
    double[EXPERTS] w               # weights, summing to 1
    double lag                      # how many predictions late the last outcomes came, on average
    double[2 * PLATTS] platt        # (a, b) of each
    double[3 * PLATTS] platt_A      # upper triangle of its matrix, row by row
    double[OFFSETS] offset
    double[OFFSETS] offset_A
    double[3 * BETAS] beta          # (a, b, c) of each
    double[6 * BETAS] beta_A
    double[MEMORIES * ALL_BINS] Y   # outcomes seen in a bin, faded
    double[MEMORIES * ALL_BINS] N   # visits to it, faded


# A score as the experts see it, and what each of them says.
cdef struct View:
    double s                        # the score as a probability
    double u                        # log s
    double v                        # -log(1 - s)
    double least                    # no expert says less, or more than 1 - least
    Py_ssize_t[GRIDS] bin           # its bin in each grid
    double[EXPERTS] p
    double mean                     # what they say together
    double lasting                  # and without those that forget


# What the outcomes so far were.
cdef struct Events:
    double variance                 # of one of them
    double count                    # how many of the rarer kind there were, about


cdef inline double heard(Events events, double forget) noexcept nogil:
    """Return how far the smooth estimate uses what was learned, if it forgets that fast."""
    cdef double share = events.variance / (events.variance + EVENTS * forget)
    share *= events.count / (events.count + LEARNED)
    return share * share


cdef void sharp_start(SharpState *s) noexcept nogil
cdef double sharp_least(int64_t outcomes) noexcept nogil
cdef double sharp_returned(double m) noexcept nogil
cdef void sharp_view(
    const SharpState *state, double s, double least, View *view
) noexcept nogil
cdef Events sharp_events(const SharpState *state) noexcept nogil
cdef void sharp_view_smooth(const SharpState *state, double s, View *view) noexcept nogil
cdef double sharp_smooth(const SharpState *state, const View *view, Events events) noexcept nogil
cdef void sharp_learn(
    SharpState *state, const View *view, const double *predicted, double m, double y,
    double weight, double late,
) noexcept nogil
cdef void sharp_count(
    Evidence *evidence, const double *predicted, double m, double y, double weight
) noexcept nogil
cdef void sharp_delay(SharpState *state, double late, int64_t count) noexcept nogil
cdef void sharp_weigh(SharpState *state, Evidence *evidence) noexcept nogil
cdef void sharp_step(
    SharpState *state, const View *view, double y, double weight
) noexcept nogil
