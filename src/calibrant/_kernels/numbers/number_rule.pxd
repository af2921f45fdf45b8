"""The rule for numbers: a forecast in, quantiles out."""

from libc.stdint cimport int64_t

from calibrant._kernels.numbers.net cimport Net
from calibrant._kernels.numbers.quantile_mixture cimport (
    KNOTS, REGRETS, Lateness, Levels, QuantileMixture, Shapes,
)
from calibrant._kernels.numbers.residuals cimport Residuals
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule


cdef class NumberKernel:
    cdef readonly Levels levels
    cdef readonly Residuals residuals
    cdef readonly QuantileMixture mixture
    cdef readonly Net net
    cdef Shapes anchor                    # what rounds are judged by that begin now
    cdef readonly double low, high        # bounds of outcomes
    cdef readonly int64_t begun, learned
    cdef Lateness late
    cdef double past                      # a moving mean of outcomes, the forecast where none is
    cdef double[2 * KNOTS * REGRETS] given_regrets  # of the mixture, and of what was given
    cdef double[2 * KNOTS] given_weights            # a row a knot
    cdef double *mixed                    # of the last round that began
    cdef double *below

    cdef int begin(self, NumberRound r, double m, const double *given) except -1
    cdef void mix_given(
        self, const double *given, const double *weights, double *mixed
    ) noexcept nogil
    cdef void weigh_given(self, NumberRound r, double residual, double weight) noexcept nogil
    cdef double shown(self, NumberRound r, int k) noexcept nogil
    cdef void note_lateness(self, NumberRound r, int64_t n) noexcept nogil
    cdef int learn(self, NumberRound r, double outcome, double weight) except -1
    cdef int give_up(self, NumberRound r) except -1


cdef class NumberRound(Round):
    cdef NumberKernel kernel
    cdef NumberRound whole                # the same round to the whole, of one in a group
    cdef Shapes shapes                    # what the weights are judged by
    cdef double m, far
    cdef int64_t place                    # rounds of its kernel before it
    cdef int64_t known                    # outcomes known when it began
    cdef int64_t turn                     # of the net's schedule; -1 of a round that is not marked
    cdef bint has_given
    cdef double *token                    # of `Residuals.look`
    cdef double *predicted                # quantiles of the residual
    cdef double *given                    # quantiles that were given, and the weights they had

    cdef double at_level(self, double level)


cdef class NumberRule(Rule):
    cdef readonly NumberKernel whole
    cdef readonly dict groups             # the kernel of each, by name
    cdef readonly object max_groups

    cdef NumberRound begun_in(self, double m, const double *given, object by)
    cdef NumberKernel kernel_of(self, object by)
