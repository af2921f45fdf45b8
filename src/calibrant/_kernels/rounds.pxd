"""What a recalibrator remembers of a round until its outcome comes."""

from libc.stdint cimport int64_t

from calibrant._kernels.sharp cimport EXPERTS


# From s on, nothing but doubles, saved as one block of ROUND_SIZE.
cdef struct Begun:
    int64_t number        # how many predictions came before
    int64_t batch         # the number of the first prediction made in the same call
    double raw            # the score as a probability, as it came: for monitors, as is e
    double e              # the mean of what might have been predicted
    double s              # the score as a probability
    double m              # the mixture's mean for it
    double z              # the prediction
    double[EXPERTS] said  # what each expert said


cdef enum:
    ROUND_SIZE = 3 + EXPERTS


cdef class Round:
    cdef Begun begun


cdef inline Round as_round(Begun begun):
    """Return a round as an object that Python can keep."""
    cdef Round r = Round.__new__(Round)
    r.begun = begun
    return r
