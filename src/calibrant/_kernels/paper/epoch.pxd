from calibrant._kernels.kernel cimport Kernel


cdef class EpochKernel(Kernel):
    cdef bint kl              # clip for PKLCal (simple_block_PKL), or not (simple_block)?
    cdef double delta         # failure probability inside iota
    cdef int m                # the current epoch
    cdef double y_hat         # mean outcome of the epoch before, 1/2 in the first
    cdef double p_hat         # what this epoch predicts
    cdef double seen          # rounds of this epoch so far
    cdef double total         # sum of their outcomes
    cdef void settle(self) noexcept nogil
