from libc.stdint cimport int64_t

from calibrant._kernels.scores.batches cimport BatchState, SurpriseState
from calibrant._kernels.scores.sharp cimport SharpState, View

cdef enum:
    SHARP = sizeof(SharpState) // sizeof(double)  # numbers of the mixture
    CELLS = 337                     # logits that the estimate is computed at: -21, -20.875, ... 21
    ALL = 1 << 16                   # predictions of which each is learned from; of later ones
    STRIDE = 32                     # one in so many


# The mixture of all keys: the one that learns, and the one that is heard.
cdef struct Whole:
    SharpState sharp
    SharpState heard                # `sharp` as it was some time ago
    double heard_least              # no expert of it predicted less
    int64_t rounds                  # predictions
    int64_t learned                 # outcomes that `sharp` learned
    BatchState batches              # how far batches were from what `sharp` predicted
    SurpriseState surprises         # whether surprises last
    double[CELLS] estimate          # logit of what `heard` says at each cell, once it was asked
    bint[CELLS] known


# What the mixture learns from one of many rounds.
cdef struct WholeRow:
    double s                        # the score as a probability
    double y                        # the outcome
    double weight                   # and its weight
    const double *predicted         # by the experts


cdef void whole_start(Whole *whole) noexcept nogil
cdef double whole_view(const Whole *whole, double s, View *view) noexcept nogil
cdef double whole_estimate(Whole *whole, double s, double v, View *view) noexcept nogil
cdef void whole_passed(Whole *whole) noexcept nogil
cdef double whole_learn_batch(
    Whole *whole, const WholeRow *batch, Py_ssize_t size, int64_t earliest, double *line
) noexcept nogil
cdef void whole_learn(Whole *whole, const View *view, const double *predicted, double m, double y,
                      double weight, double late) noexcept nogil


cdef inline bint whole_learns(int64_t number) noexcept nogil:
    """Return whether the prediction of this number is learned from."""
    return number < ALL or number % STRIDE == 0
