from calibrant._kernels.scores.safe cimport Place
from calibrant._kernels.scores.scoring cimport ScoringKernel


cdef class QueryKernel(ScoringKernel):
    cdef Place would_be(self, object score) except *
