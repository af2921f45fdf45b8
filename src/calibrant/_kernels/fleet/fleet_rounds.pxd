from libc.stdint cimport int64_t

from calibrant._kernels.fleet.fleet_rule cimport Views
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.scores.sharp cimport EXPERTS
from calibrant._kernels.watch.key_evidence cimport Stakes


# An estimate passes through these levels, each with experts of its own: all keys together, as one;
# the key's parent, if it has one; the key.
cdef enum:
    ROOT
    PARENT
    KEY
    LEVELS


# What is remembered of a prediction until its outcome comes.
cdef struct Opened:
    int64_t number                  # how many predictions of the shard came before
    int64_t age                     # outcomes learned before
    int64_t slot                    # of its key; -1 if that was forgotten since
    int64_t parent                  # of the key's parent; -1 if there is none
    int64_t gap                     # of the grid that the mean was in then: where to look first
    double s                        # the score as a probability
    double m                        # the mixture's mean for it
    double bet                      # 1 if the purse of the grid pays for it, else 0
    double z                        # the prediction
    double raw                      # what a monitor compares: the score as it came, as a probability,
    double expected                 # and the mean of what might have been drawn
    Views[LEVELS] views             # what the experts of each level predicted
    int64_t is_learned              # does the whole learn from it?
    double[EXPERTS] predicted       # then, what its experts predicted
    Stakes stakes                   # what the key staked on it, if monitors watch


cdef class FleetRound(Round):
    cdef Opened opened
