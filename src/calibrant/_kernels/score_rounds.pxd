"""What a recalibrator remembers of a round until its outcome comes."""

from libc.stdint cimport int64_t

from calibrant._kernels.recent cimport RECENTS
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
    double moved          # 1 if no neutral point beside the mean was predicted, else 0
    double past           # the last outcomes known then, as `recent.pyx` keeps them
    double[EXPERTS] said  # what each expert said
    double[1 + RECENTS] recalled  # what the mixture said, and each expert that looks at the past


cdef enum:
    ROUND_SIZE = 6 + EXPERTS + RECENTS
    ROUND_BEFORE = 3 + EXPERTS  # without a past, as calibrant 0.1 saved it


cdef class Round:
    cdef Begun begun


cdef inline Round as_round(Begun begun):
    """Return a round as an object that Python can keep."""
    cdef Round r = Round.__new__(Round)
    r.begun = begun
    return r
