"""Shapes of residuals, as quantiles, and the mixture of all that use them."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t

from calibrant._kernels.numbers.limits cimport exp_of, greater, lesser
from calibrant._kernels.numbers.residuals cimport Residuals


cdef enum:
    KINDS = 7                     # shapes of each location
    EXPERTS = 21
    LANES = 22                    # and one without weight, so that they are taken in pairs
    KNOTS = 5                     # levels at which an expert has a weight
    MEMORY = 2000                 # rounds that regrets are remembered
    # What is known of the regret of not having followed each expert at one knot, a row each: its
    # sum, discounted, less what its own size costs; sum of squares and largest size, both
    # discounted; the sum over the rounds that an outcome is late, discounted, and the sum of the
    # squares of these.
    TOTAL = 0
    SQUARE = 1
    LARGEST = 2
    RUN = 3
    RUNS = 4
    REGRETS = 5


# How late outcomes are: so many rounds, and what a sum discounted over them spreads.
cdef struct Lateness:
    double rounds
    double spread
    bint is_late                  # has any outcome ever been late?


cdef class Levels:
    cdef readonly object tau
    cdef int K
    cdef double *level
    cdef double *logit
    cdef double *variance         # level (1 - level)
    cdef double *inverse          # 1 / (the step of levels that a slope is taken over)
    cdef double *hat              # the weight of the lower of its two knots
    cdef int *knot                # which that is
    cdef double[KNOTS] hats       # the sum of the weights of each knot


cdef class Shapes:
    cdef readonly int K
    cdef readonly int64_t n       # outcomes known when it was made
    cdef double *q                # quantiles of error / scale: a row per level, a lane an expert
    cdef double *w                # weights: a row a knot

    cdef Shapes copied(self)


cdef class QuantileMixture:
    cdef Levels levels
    cdef int K
    cdef readonly Shapes live     # as it is now; whoever keeps a reference keeps it as it is
    cdef double *regrets          # REGRETS rows a knot
    cdef double *estimates        # what the experts predicted last, a row per level, and its mixture
    cdef double *mixed
    cdef int64_t predicted_of     # its round, if predicted by the live shapes; else -1
    cdef double *spare            # room for the next quantiles

    cdef void say(
        self, Shapes shapes, Residuals residuals, const double *t, double far, int64_t place
    ) noexcept nogil
    cdef int own_live(self, Py_ssize_t holders) except -1
    cdef void weigh(
        self, Shapes predicted, Residuals residuals, const double *t, double far, int64_t place,
        double r, double weight, const Lateness *late,
    ) noexcept nogil
    cdef void shape(
        self, Residuals residuals, const double *t, double r, double weight, int64_t n
    ) noexcept nogil


cdef inline void regret_steps(
    double *regrets, int lanes, double *loss, const double *surprise, const Lateness *late,
    double *eta,
) noexcept nogil:
    """Add what each expert would have gained in a round at one knot; find their rates.

    `surprise` is -log of the prior. Late regrets come in runs: their variance is counted as that of
    sums over the lateness. What experts gained comes in `loss` and is clipped there.
    """
    cdef double *total = regrets + TOTAL * lanes
    cdef double *square = regrets + SQUARE * lanes
    cdef double *largest = regrets + LARGEST * lanes
    cdef double *run = regrets + RUN * lanes
    cdef double *runs = regrets + RUNS * lanes
    cdef double D = late.rounds + 1.0, forget = 1.0 / MEMORY, keep = 1.0 - forget
    cdef int i
    for i in range(lanes):
        loss[i] = lesser(greater(loss[i], -10.0), 2.0)
        largest[i] = greater(largest[i] * keep, fabs(loss[i]))
        square[i] += loss[i] * loss[i] - forget * square[i]
    if late.is_late:
        for i in range(lanes):
            run[i] += loss[i] - run[i] / D
            runs[i] += run[i] * run[i] / late.spread - forget * runs[i]
            eta[i] = square[i] * lesser(greater(runs[i] / square[i], 1.0), D)
    else:
        for i in range(lanes):
            runs[i] = eta[i] = square[i]
    for i in range(lanes):
        eta[i] = lesser(0.5 / largest[i], sqrt(surprise[i] / eta[i]))
        total[i] += loss[i] - eta[i] * loss[i] * loss[i] - forget * total[i]


cdef inline void share_out(
    const double *prior, const double *eta, const double *total, int lanes, double *w
) noexcept nogil:
    """Weigh experts at one knot."""
    cdef double top = -1e300, all = 0.0, share = 1e-3
    cdef int i
    for i in range(lanes):
        w[i] = eta[i] * total[i] if prior[i] > 0.0 else -1e300
        top = greater(top, w[i])
    for i in range(lanes):
        w[i] = prior[i] * eta[i] * exp_of(w[i] - top)
    for i in range(lanes):
        all += w[i]
    all = (1.0 - share) / all
    for i in range(lanes):
        w[i] = all * w[i] + share * prior[i]


cdef void sort(double *values, int size) noexcept nogil
