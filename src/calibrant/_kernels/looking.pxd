from calibrant._kernels.safe cimport Place
from calibrant._kernels.scoring cimport ScoringKernel


cdef class LookingKernel(ScoringKernel):
    cdef Place would_be(self, object score) except *
