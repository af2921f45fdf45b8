"""What is remembered of a recalibrator's round until its outcome comes."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from calibrant._kernels.sharp cimport EXPERTS


# All but the number are saved as one stretch of ROUND doubles.
cdef struct Round:
    int64_t number
    double s              # the score as a probability
    double m              # the mixture's word on it
    double z              # the prediction
    double[EXPERTS] said  # what each expert said


cdef enum:
    ROUND_SIZE = 3 + EXPERTS


cdef inline tuple kept(const Round *r):
    """Return a round as what Python keeps of it."""
    return r.number, r.s, r.m, r.z, (<const char *>r.said)[: sizeof(r.said)]


cdef inline Round again(tuple begun) except *:
    """Return a round that Python kept."""
    cdef Round r
    cdef bytes said
    r.number, r.s, r.m, r.z, said = begun
    memcpy(r.said, <const char *>said, sizeof(r.said))
    return r
