from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.msmwc cimport MsMwC
from calibrant._kernels.partition cimport Partition


cdef class IntervalKernel(Kernel):
    cdef Partition cells      # the partition in use, in probabilities
    cdef MsMwC experts        # expert 2i is (cell i, +1), expert 2i + 1 is (cell i, -1)
    cdef Py_ssize_t lo, hi    # the cells this round is played in; the same when it is one
    cdef double u             # the probability that both cells are charged for

    # Horizon doubling: what a block is, and where in it we are.
    cdef bint doubling
    cdef Py_ssize_t fixed     # cells asked for, or 0 for a number that suits T
    cdef bint given           # was the partition given as such?
    cdef Partition spare      # the next block's partition, being built
    cdef double T             # rounds this block is tuned for
    cdef int64_t seen         # rounds of the block so far

    # Start anew on a partition of [0, 1], tuned for T rounds, from 2 x cells weights or (NULL)
    # uniformly. Returns -1 when there was no memory and nothing changed.
    cdef int begin(self, const Partition *partition, double T, const double *start) noexcept nogil
    cdef int open_block(self, double T) noexcept nogil
    cdef Py_ssize_t cells_for(self, double T) noexcept nogil
    cdef double phi(self, Py_ssize_t i) noexcept nogil


cdef void informed_start(
    const Partition *partition, double y_hat, double trust, double *start
) noexcept nogil
