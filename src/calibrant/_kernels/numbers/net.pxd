"""The safe stage: levels that follow their own bias, and a net below them."""

from libc.stdint cimport int64_t

from calibrant._kernels.numbers.quantile_mixture cimport Lateness, Levels

cdef enum:
    MOST_HORIZONS = 12


cdef class Net:
    cdef readonly Levels levels
    cdef int K
    cdef readonly int horizons
    cdef readonly double at_once, late    # the wall in standard deviations
    cdef double[MOST_HORIZONS] memory     # of each horizon
    cdef bint may_grow
    cdef double *bias                     # S' of each horizon, and of the plain sum; a row each
    cdef double *run                      # the bias over the lateness, and how much wider than
    cdef double *wider                    # chance it spreads
    cdef readonly double most             # the latest that outcomes ever were, in rounds
    cdef bint is_percent                  # are the levels multiples of 1/100?
    cdef int64_t turn                     # of the schedule
    cdef int64_t *returned                # turns of rounds that were given up
    cdef Py_ssize_t returns, room
    cdef double *moved
    cdef double *pooled
    cdef int *pool

    cdef int walls(self, int64_t n, int first, int *low, int *high) noexcept nogil
    cdef int64_t place(
        self, const double *mixed, double far, int64_t n, double late, double *predicted
    ) noexcept nogil
    cdef bint is_biased(self, int64_t n) noexcept nogil
    cdef int64_t caught(self, int64_t n, int first, double *predicted) noexcept nogil
    cdef double u(self, int64_t turn) noexcept nogil
    cdef int64_t take_turn(self) noexcept nogil
    cdef int give_back(self, int64_t turn) except -1
    cdef void learn(
        self, const double *below, bint is_marked, int64_t n, const Lateness *late
    ) noexcept nogil
