from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel

# The grid of one Zoom: points in increasing order, the first and the last of which (0 and 1) are
# sentinels. Gap i lies between the points i and i + 1.
cdef struct ZoomState:
    Py_ssize_t count      # points, sentinels included
    Py_ssize_t room
    double *theta         # place of a point as an angle, 2 arcsin sqrt(z)
    double *z             # the probability predicted there
    double *v             # z (1 - z), the variance of an outcome
    double *n             # visits: rounds that predicted z
    double *S             # bias: sum of z - y over those rounds
    double *e             # what the bias costs, S^2 / (n v + 1)
    double *g             # rounds played in the gap to the right since it was last cut
    double cut            # a gap is cut once g (its width)^2 passes this
    double m              # recent mean of the outcomes
    double purse          # what bets may still raise the sum of e by
    # This round's place, from `place` to `learn`:
    Py_ssize_t lo         # a gap (lo, lo + 1), or a point (lo == hi) that is predicted for the
    Py_ssize_t hi         # first time
    double w              # width of the gap, or of the one to the right of the point
    bint bet              # does the recent mean decide?


cdef int zoom_start(ZoomState *s) noexcept nogil
cdef void zoom_free(ZoomState *s) noexcept nogil
cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil
cdef int zoom_learn(ZoomState *s, double p, double y) noexcept nogil


cdef class ZoomKernel(Kernel):
    cdef ZoomState state
