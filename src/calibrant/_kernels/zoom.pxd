from libc.stdint cimport int64_t

from calibrant._kernels.grid cimport Grid
from calibrant._kernels.kernel cimport Kernel

# The state of one Zoom.
cdef struct ZoomState:
    Grid grid             # n counts rounds that predicted z; e is S^2 / (n v + 1); g counts rounds
                          # played in the gap
    double cut            # a gap is cut once g (its width)^2 passes this
    double m              # recent mean of the outcomes
    double purse          # what bets may still raise the sum of e by
    # This round's place, from `place` to `learn`:
    Py_ssize_t lo         # a gap (lo, lo + 1), or a point (lo == hi) that is predicted for the
    Py_ssize_t hi         # first time
    double w              # width of the gap, or of the one to the right of the point
    bint bet              # does the recent mean decide?


cdef int zoom_start(ZoomState *s) noexcept nogil
cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil
cdef int zoom_learn(ZoomState *s, double p, double y) noexcept nogil


cdef class ZoomKernel(Kernel):
    cdef ZoomState state
