from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel


cdef class Restartable(Kernel):
    cdef double C             # the deviation that it was told

    # Forget everything that was learned and start anew, for deviation C. Needs no memory.
    cdef void begin(self, double C) noexcept nogil
    # The error since then, as the certificate of the forecaster bounds it.
    cdef double error_so_far(self) noexcept nogil
    # The rounds since then.
    cdef int64_t played(self) noexcept nogil
