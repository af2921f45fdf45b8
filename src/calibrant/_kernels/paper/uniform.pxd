from calibrant._kernels.paper.interval cimport IntervalKernel
from calibrant._kernels.paper.restartable cimport Restartable


cdef class UniformKernel(Restartable):
    cdef IntervalKernel interval
    cdef double T, delta
    cdef double total         # Cal1 so far
    cdef Py_ssize_t room
    cdef double *n            # by edge: the rounds that predicted it
    cdef double *s            # and the sum of their outcomes

    cdef double intervals_for(self, double C) noexcept nogil
