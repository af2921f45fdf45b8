from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.paper.restartable cimport Restartable

cdef enum:
    KEPT = 4096           # rows of the history; older ones are forgotten


# One sub-block that is over, in doubles, as it is saved.
cdef struct Row:
    double block
    double sub_block
    double sub_blocks
    double guess
    double start
    double end
    double error
    double threshold


cdef class RestartingKernel(Kernel):
    cdef Restartable base     # the forecaster that is restarted
    cdef str name             # what its part of a saved state is called
    cdef bint l1
    cdef double horizon       # [T] of the paper, or 0: then the rounds so far take its place
    cdef double c0, c1, d0, d1

    cdef int64_t t            # rounds so far
    cdef int64_t start        # the first round of the sub-block
    cdef int64_t b            # the block, which guesses C = 8^b
    cdef double l, G          # the sub-block, and how many of the block assume C = 0

    cdef int64_t closed       # sub-blocks that are over
    cdef Py_ssize_t room
    cdef Row *rows            # the last of them: number k is at k % KEPT

    cdef double U(self, double n, int64_t b) noexcept nogil
    cdef double threshold(self) noexcept nogil
    cdef double guess(self) noexcept nogil
    cdef void open_block(self, int64_t b) noexcept nogil
    cdef void open_sub_block(self) noexcept nogil
    cdef Row current(self) noexcept nogil
    cdef int reserve_row(self) noexcept nogil
