from libc.stdint cimport int64_t

from calibrant._kernels.grid cimport Grid
from calibrant._kernels.kernel cimport Gap, Kernel

cdef enum:
    LIFE = 4                  # what is kept of a life that is over: its z, n, S and R at the end

# The state of one Zoom.
cdef struct ZoomState:
    Grid grid             # n counts rounds that predicted z; e is R, which starts at z - b when the
                          # point is inserted; g counts rounds played in the gap; a point that
                          # retired has n, S and e of its present life
    double cut            # a gap is cut once g (its width)^2 passes this
    double m              # recent mean of the outcomes
    double purse          # what bets may still raise the sum of phi by
    Py_ssize_t lives      # lives that are over
    Py_ssize_t room       # for how many there is room
    double *life[LIFE]    # a column each
    double squares        # sum of w^2 over the rounds that were no bets: Theorem 1 counts it
    # Where the round is played:
    bint found            # do the next three still hold?
    Py_ssize_t lo         # a gap, between neighbours
    Py_ssize_t hi
    double w              # its width
    bint bet              # does the recent mean decide?


cdef int zoom_start(ZoomState *s) noexcept nogil
cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil
cdef int zoom_learn(ZoomState *s, double p, double y, int64_t rounds) noexcept nogil


cdef class ZoomKernel(Kernel):
    cdef ZoomState state
