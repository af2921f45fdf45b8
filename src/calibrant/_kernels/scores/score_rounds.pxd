"""What a recalibrator stores of a round until its outcome arrives."""

from libc.stdint cimport int64_t

from calibrant._kernels.scores.recent cimport RECENTS
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.scores.sharp cimport EXPERTS


# Nothing but doubles, saved as one block of ROUND_SIZE.
cdef struct Begun:
    double raw            # the score as a probability, as it came: for monitors, as is e
    double e              # the mean of what might have been predicted
    double s              # the score as a probability
    double m              # the mixture's mean for it
    double z              # the prediction
    double moved          # 1 if no neutral point beside the mean was predicted, else 0
    double bet            # 1 if the purse of the grid pays for it, else 0
    double past           # the last outcomes known then, as `recent.pyx` keeps them
    double[EXPERTS] predicted  # what each expert predicted
    double[1 + RECENTS] recalled  # the mixture's mean, and each expert that looks at the past


cdef enum:
    ROUND_SIZE = 9 + EXPERTS + RECENTS


cdef class ScoreRound(Round):
    cdef Begun begun
    cdef readonly double after       # once learned in a batch, the mean that the batch left for it,
    cdef readonly double dispersed   # and how many of its outcomes count for one; 0 until then


cdef inline ScoreRound new_round(int64_t number):
    """Return a round that a book can keep, to be filled; so many of its kernel came before."""
    cdef ScoreRound r = ScoreRound.__new__(ScoreRound)
    r.number = r.batch = number
    return r
