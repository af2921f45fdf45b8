"""Shapes of residuals, as quantiles, and the mixture of all that use them."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t

from calibrant._kernels.numbers.limits cimport greater, lesser
from calibrant._kernels.numbers.residuals cimport Residuals


cdef enum:
    KINDS = 7                     # shapes of each location
    EXPERTS = 21
    KNOTS = 5                     # levels at which an expert has a weight
    MEMORY = 2000                 # rounds that regrets are remembered


# What is known of the regret of not having followed one expert at one knot.
cdef struct Regret:
    double total                  # discounted, less what its own size costs
    double square                 # sum of squares, and the largest size, both discounted
    double largest
    double run                    # sum over the rounds that an outcome is late, discounted
    double runs                   # the sum of the squares of these


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
    cdef double *inverse          # 1 / (the step of levels that a slope is taken over)
    cdef double *hat              # the weight of the lower of its two knots
    cdef int *knot                # which that is
    cdef int[KNOTS] first         # the first level of each knot, and the end of all
    cdef double[KNOTS] hats       # the sum of the weights of each knot


cdef class Shapes:
    cdef readonly int K
    cdef readonly int64_t n       # outcomes known when it was made
    cdef double *q                # quantiles of error / scale, a row an expert
    cdef double *w                # weights at the knots, a row an expert

    cdef Shapes copied(self)


cdef class QuantileMixture:
    cdef Levels levels
    cdef int K
    cdef readonly Shapes live     # as it is now; whoever keeps a reference keeps it as it is
    cdef Regret *regrets          # a row an expert
    cdef double *words            # what the experts said last, and its mixture
    cdef double *mixed
    cdef int64_t said_of          # the round that this was said of, if by the live shapes; else -1
    cdef double *room

    cdef void say(
        self, Shapes shapes, Residuals residuals, const double *t, double far, int64_t place
    ) noexcept nogil
    cdef int own_live(self, Py_ssize_t holders) except -1
    cdef void weigh(
        self, Shapes said, Residuals residuals, const double *t, double far, int64_t place,
        double r, const Lateness *late,
    ) noexcept nogil
    cdef void shape(
        self, Residuals residuals, const double *t, double r, int64_t n
    ) noexcept nogil


cdef inline double regret_step(
    Regret *regret, double loss, double surprise, const Lateness *late
) noexcept nogil:
    """Add what an expert would have gained in a round; return the rate that it is weighed with.

    `surprise` is -log of its prior. Late regrets come in runs: their variance is counted as that of
    sums over the lateness.
    """
    cdef double square, eta, D = late.rounds + 1.0, forget = 1.0 / MEMORY
    loss = lesser(greater(loss, -10.0), 2.0)
    regret.largest = greater(regret.largest * (1.0 - forget), fabs(loss))
    regret.square += loss * loss - forget * regret.square
    square = regret.square
    if late.is_late:
        regret.run += loss - regret.run / D
        regret.runs += regret.run * regret.run / late.spread - forget * regret.runs
        square *= lesser(greater(regret.runs / regret.square, 1.0), D)
    else:
        regret.runs = regret.square
    eta = lesser(0.5 / regret.largest, sqrt(surprise / square))
    regret.total += loss - eta * loss * loss - forget * regret.total
    return eta


cdef void share_out(
    const double *prior, const double *eta, const Regret *regrets, int count, double *w
) noexcept nogil
cdef void sort(double *values, int size) noexcept nogil
