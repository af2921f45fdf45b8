from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport Kernel

# The grid of one Zoom: points in increasing order, the first and the last of which (0 and 1) are
# sentinels. Gap i lies between the points i and i + 1.
cdef struct ZoomState:
    Py_ssize_t count      # points, sentinels included
    Py_ssize_t room
    double *theta         # place of a point as an angle, 2 arcsin sqrt(z)
    double *z             # the probability predicted there
    double *n             # visits: rounds that predicted z
    double *S             # bias: sum of z - y over those rounds
    double *phi           # the point's weight in the mixture, a function of n and S
    double *g             # rounds played in the gap to the right since it was last cut
    Py_ssize_t lo         # where this round is played: a point (lo == hi) or a gap
    Py_ssize_t hi


cdef int zoom_start(ZoomState *s) noexcept nogil
cdef void zoom_free(ZoomState *s) noexcept nogil
cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil
cdef int zoom_learn(ZoomState *s, Py_ssize_t chosen, double y) noexcept nogil


cdef class ZoomKernel(Kernel):
    cdef ZoomState state
