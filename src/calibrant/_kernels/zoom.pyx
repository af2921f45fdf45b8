# cython: boundscheck=False, wraparound=False, cdivision=True
"""Zoom: prediction points that are inserted where they are used.

Symbols: theta, the angle of a point (variance is even in it); z = sin^2(theta/2), its probability;
n, its visits; S, its bias, the sum of z - y over them; g, the rounds played in a gap.
"""

from libc.math cimport M_PI, exp, fabs, fmin, sin, sqrt
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.saved import check_names, floats

cdef double CUT = 4.0          # a gap is cut once g (its width)^2 passes this
cdef double SPREAD = 3.0       # how many variances of bias a point bears before it is avoided
cdef double LINEAR = 0.001     # what still tells small biases apart
cdef double FLOOR = 1e-12      # of the variance z(1 - z), against rounding


cdef inline double potential(double n, double S, double z) noexcept nogil:
    """Return how much the bias of a point weighs against predicting it."""
    cdef double v = z * (1.0 - z)
    if v < FLOOR:
        v = FLOOR
    cdef double spread = n * v + 1.0
    return exp(fmin(S * S / (SPREAD * spread), 600.0)) - 1.0 + LINEAR * fabs(S) / sqrt(spread)


cdef int zoom_reserve(ZoomState *s, Py_ssize_t count) noexcept nogil:
    cdef double **columns[6]
    cdef void *grown
    cdef Py_ssize_t i, room
    if count <= s.room:
        return 0
    room = 2 * count
    columns[:] = [&s.theta, &s.z, &s.n, &s.S, &s.phi, &s.g]
    for i in range(6):
        grown = realloc(columns[i][0], room * sizeof(double))
        if grown == NULL:
            return -1
        columns[i][0] = <double *>grown
    s.room = room
    return 0


cdef void zoom_free(ZoomState *s) noexcept nogil:
    free(s.theta)
    free(s.z)
    free(s.n)
    free(s.S)
    free(s.phi)
    free(s.g)


cdef void zoom_insert(ZoomState *s, Py_ssize_t at, double theta) noexcept nogil:
    """Put a fresh point at index `at`; there must be room. Both gaps beside it start anew."""
    cdef double **columns[6]
    cdef double half = sin(theta / 2.0)
    cdef Py_ssize_t i
    columns[:] = [&s.theta, &s.z, &s.n, &s.S, &s.phi, &s.g]
    for i in range(6):
        memmove(columns[i][0] + at + 1, columns[i][0] + at, (s.count - at) * sizeof(double))
    s.theta[at] = theta
    s.z[at] = half * half
    s.n[at] = s.S[at] = s.phi[at] = s.g[at] = 0.0
    if at > 0:
        s.g[at - 1] = 0.0
    s.count += 1


cdef int zoom_start(ZoomState *s) noexcept nogil:
    """Start with the sentinels 0 and 1 and the point 1/2."""
    if zoom_reserve(s, 8) < 0:
        return -1
    s.count = 0
    zoom_insert(s, 0, 0.0)
    zoom_insert(s, 1, M_PI)
    s.z[1] = 1.0
    zoom_insert(s, 1, M_PI / 2.0)
    s.z[1] = 0.5
    return 0


cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil:
    """Choose where to play; return how many points carry mass."""
    cdef Py_ssize_t lo = 0, hi = s.count - 1, middle
    # The sentinels count as S <= 0 and S > 0, so a crossing always exists.
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if s.n[middle] == 0.0:
            lo = hi = middle
        elif s.S[middle] > 0.0:
            hi = middle
        else:
            lo = middle
    s.lo, s.hi = lo, hi
    weights[0] = 1.0
    if lo == hi or hi == s.count - 1:
        points[0] = s.z[lo]
        return 1
    if lo == 0:
        points[0] = s.z[hi]
        return 1
    points[0], points[1] = s.z[lo], s.z[hi]
    weights[0] = s.phi[hi] / (s.phi[lo] + s.phi[hi])
    weights[1] = 1.0 - weights[0]
    return 2


cdef int zoom_learn(ZoomState *s, Py_ssize_t chosen, double y) noexcept nogil:
    """Charge the outcome to the point predicted and cut the gap if it has earned it."""
    cdef Py_ssize_t at = s.lo
    cdef double width
    if zoom_reserve(s, s.count + 1) < 0:
        return -1
    if chosen == 1 or s.lo == 0:
        at = s.hi
    s.n[at] += 1.0
    s.S[at] += s.z[at] - y
    s.phi[at] = potential(s.n[at], s.S[at], s.z[at])
    if s.lo != s.hi:
        s.g[s.lo] += 1.0
        width = s.theta[s.hi] - s.theta[s.lo]
        if s.g[s.lo] * width * width > CUT:
            zoom_insert(s, s.hi, (s.theta[s.lo] + s.theta[s.hi]) / 2.0)
    return 0


cdef class ZoomKernel(Kernel):
    """The grid of one Zoom."""

    def __cinit__(self, *args, **kwargs):
        if zoom_start(&self.state) < 0:
            raise MemoryError

    def __init__(self, seed):
        super().__init__(seed)

    def __dealloc__(self):
        zoom_free(&self.state)

    cdef int place(self) noexcept nogil:
        self.size = zoom_place(&self.state, self.points, self.weights)
        return 0

    cdef int learn(self, double y) noexcept nogil:
        return zoom_learn(&self.state, self.chosen, y)

    def __sizeof__(self):
        return object.__sizeof__(self) + 6 * self.state.room * sizeof(double)

    def _get_state(self):
        cdef ZoomState *s = &self.state
        return {
            "theta": array_of(s.theta, s.count),
            "z": array_of(s.z, s.count),
            "n": array_of(s.n, s.count),
            "S": array_of(s.S, s.count),
            "g": array_of(s.g, s.count),
        }

    def _set_state(self, state):
        check_names(state, {"theta", "z", "n", "S", "g"})
        cdef const double[::1] theta = floats(state, "theta", low=0.0)
        cdef Py_ssize_t count = theta.shape[0], i
        cdef const double[::1] z = floats(state, "z", size=count, low=0.0)
        cdef const double[::1] n = floats(state, "n", size=count, low=0.0)
        cdef const double[::1] S = floats(state, "S", size=count)
        cdef const double[::1] g = floats(state, "g", size=count, low=0.0)
        if count < 3 or z[0] != 0.0 or z[count - 1] != 1.0:
            raise ValueError("saved z must run from 0 to 1 over three points or more")
        for i in range(1, count):
            if not (theta[i - 1] < theta[i] and z[i - 1] < z[i]):
                raise ValueError(f"saved points must increase, they do not at point {i}")
        cdef ZoomState *s = &self.state
        if zoom_reserve(s, count) < 0:
            raise MemoryError
        s.count = count
        for i in range(count):
            s.theta[i], s.z[i], s.n[i], s.S[i], s.g[i] = theta[i], z[i], n[i], S[i], g[i]
            s.phi[i] = potential(n[i], S[i], z[i])
