from libc.stdint cimport int64_t, uint64_t

from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule

cdef enum:
    REGIONS = 10

# What a rule says of a row before chance has its turn.
cdef enum Wish:
    FORBIDDEN
    NO
    YES


cdef struct Decision:
    double p                          # the probability that was given
    double propensity                 # the chance of acting, before it was drawn
    bint acts


cdef class DecisionRound(Round):
    cdef Decision made


cdef class DecisionRule(Rule):
    cdef readonly object seed
    cdef readonly double explore      # the chance of acting where the rule says no
    cdef uint64_t key
    cdef readonly int64_t _rounds, _learned
    cdef readonly int64_t acted       # how often it acted
    cdef readonly int64_t explored    # how often of these only to learn the outcome
    cdef readonly int64_t judged      # how often it acted and the outcome is known
    cdef readonly double hits         # the sum of these outcomes
    cdef readonly double spread       # the sum of their squared differences from p
    cdef int64_t[REGIONS] unlabelled  # by p, rows since the last outcome

    cdef Decision decide(self, double p, double beside) noexcept nogil
    cdef Wish choose(self, double p, double beside) noexcept nogil
    cdef void commit(self, double p, bint chosen, bint acts) noexcept nogil
    cdef void correct(self, const Decision *made, double y) noexcept nogil


cdef double log_odds(double p) noexcept nogil
