from libc.stdint cimport int64_t

from calibrant._kernels.paper.cuts cimport Cut
from calibrant._kernels.paper.interval cimport IntervalKernel
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.paper.partition cimport Partition
from calibrant._kernels.paper.restartable cimport Restartable
from calibrant._kernels.paper.swap cimport SwapKernel


cdef class RefinedKernel(Restartable):
    cdef int measure          # one of cuts.pxd
    cdef bint tuned
    cdef bint drawn           # does the error count predictions, not P_t?
    cdef double T, delta      # T = 0: none was given, and every epoch plans for twice its length
    cdef IntervalKernel interval      # for l1 and l2
    cdef SwapKernel swap              # for pseudo_l2 and pseudo_kl
    cdef Kernel base                  # the one of the two in use

    cdef int m                # the epoch, of s_m = 2^m rounds
    cdef int64_t seen         # rounds of it so far
    cdef double y_hat         # the mean that its intervals were cut around
    cdef double total         # sum of the outcomes since the start
    cdef double epoch_total   # sum of the epoch's outcomes

    # The error of each epoch is counted apart: `closed` sums those of epochs that are over, and the
    # arrays have an entry for each point of the current epoch.
    cdef double closed, open
    cdef Py_ssize_t room
    cdef double *mass         # rounds that predicted it, or their P_t
    cdef double *ones         # the same, times the outcomes
    cdef double *term         # what it adds to the error

    cdef int open_epoch(self, int m, double y_hat) noexcept nogil
    cdef int lay_out(self, Partition *partition, const Cut *cut) noexcept nogil
    cdef int open_interval(self, const Cut *cut) noexcept nogil
    cdef int open_swap(self, const Cut *cut, double s) noexcept nogil
    cdef int reserve_points(self, Py_ssize_t points) noexcept nogil
    cdef Py_ssize_t points_in_epoch(self) noexcept nogil
    cdef Py_ssize_t place_of(self, Py_ssize_t k) noexcept nogil
    cdef double point(self, Py_ssize_t i) noexcept nogil
    cdef double term_of(self, double p, double n, double ones) noexcept nogil
    cdef double gain_of(self, double y, bint keep) noexcept nogil
    cdef double gain_at(self, Py_ssize_t k, double mass, double y, bint keep) noexcept nogil
