from calibrant._kernels.blocks cimport Block
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.paper.msmwc cimport MsMwC
from calibrant._kernels.paper.partition cimport Partition


# The weights of a fresh start. Intervals below y_hat give a share `inner` (those inside [a, b]) or
# `outer` (the others) to the expert that pushes right, intervals above it to the other expert, and
# the interval around it gives 1/2 to each.
cdef struct Lean:
    double y_hat
    double a
    double b
    double inner
    double outer


cdef inline Lean lean_towards(double y_hat, double trust) noexcept nogil:
    return Lean(y_hat, 0.0, 1.0, trust, trust)


cdef class IntervalKernel(Kernel):
    cdef Partition partition  # the partition in use, in probabilities
    cdef MsMwC experts        # expert 2i is (J_i, +1), expert 2i + 1 is (J_i, -1)
    cdef Py_ssize_t lo, hi    # the intervals of this round; the same when it is one
    cdef double[2] share      # their probabilities
    cdef Py_ssize_t[2] edge   # which edges the support points are
    cdef double u             # the probability that both intervals are charged for
    cdef double anchor        # intervals from here on predict their lower end, others the upper one

    cdef Block block
    cdef double total         # sum of the block's outcomes
    cdef double trust         # how firmly a block starts from the mean of the last
    cdef Py_ssize_t fixed     # intervals asked for, or 0 for a number that suits T
    cdef bint given           # was the partition given as such?
    cdef Partition spare      # the next block's partition, being built

    # Start anew for T rounds; a kernel that was given its partition takes what is in `spare`.
    # Returns -1 when there was no memory and nothing changed. The caller watches the horizon,
    # unless this kernel was made to double it.
    cdef int open_block(self, double T, Lean lean) noexcept nogil
    cdef int begin(self, const Partition *partition, double T, Lean lean) noexcept nogil
    cdef double phi(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t edge_of(self, Py_ssize_t i) noexcept nogil
