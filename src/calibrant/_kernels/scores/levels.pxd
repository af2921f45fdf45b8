from libc.stdint cimport int64_t

from calibrant._kernels.scores.mixing cimport Evidence
from calibrant._kernels.scores.sharp cimport EXPERTS, View

cdef enum:
    REGRESSIONS = 3                 # autoregressions; `levels.pyx` gives their orders
    LAGS = 4                        # the highest order
    TERMS = 1 + LAGS                # a constant, and a coefficient for each lag
    REMEMBERED = 12                 # levels that are kept, so that batches may come late


# How the levels of batches follow one another. All doubles.
cdef struct LevelState:
    double[1 + REGRESSIONS] w       # weights: of the mixture's mean, and of each regression
    double[REGRESSIONS] odds        # what each multiplies odds by, by the levels known now
    double[REGRESSIONS * TERMS] theta
    double[REGRESSIONS * TERMS * TERMS] P  # its covariance, over that of the noise
    double count                    # levels kept, REMEMBERED at the most
    double[REMEMBERED] level        # the newest first
    double[REMEMBERED] since        # predictions that had been made when it became known


cdef void levels_start(LevelState *state) noexcept nogil
cdef Py_ssize_t levels_known(const LevelState *state, int64_t number, double *terms) noexcept nogil
cdef void levels_odds(const LevelState *state, const double *terms, double *odds) noexcept nogil
cdef void levels_say(const double *odds, double q, double least, double *predicted) noexcept nogil
cdef void levels_view(const LevelState *state, View *view) noexcept nogil
cdef void levels_weigh_one(
    LevelState *state, const double *w, const double *predicted, double moved, double y,
    double weight, double lag,
) noexcept nogil
cdef void levels_weigh(
    LevelState *state, Evidence *evidence, double mixture, double power
) noexcept nogil
cdef void levels_change(
    LevelState *state, const double *before, Evidence *evidence, double mixture, double power,
    double change, double lasts
) noexcept nogil
cdef void levels_return(LevelState *state, double keep) noexcept nogil
cdef void levels_learn(LevelState *state, const double *terms, double level) noexcept nogil
cdef void levels_add(LevelState *state, double level, int64_t number) noexcept nogil
