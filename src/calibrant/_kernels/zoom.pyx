# cython: boundscheck=False, wraparound=False, cdivision=True
"""Zoom: prediction points that are inserted where they are used.

Symbols: theta, the angle of a point, in which noise has the same size everywhere; z =
sin^2(theta/2), its probability, and v = z (1 - z); n, its visits; S, its bias, the sum of z - y
over them; e = S^2 / (n v + 1), what the bias costs; g, the rounds played in a gap of width w; m,
the recent mean of the outcomes.
"""

from libc.math cimport M_PI, cos, log2, sin
from libc.stdlib cimport free
from libc.string cimport memmove

from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.saved import check_names, floats, number

cdef int COLUMNS = 7
cdef double RATE = 0.25     # m forgets at RATE w a round: it remembers about 4 / w rounds
cdef double GRANT = 0.5     # a point inserted allows bets to raise the sum of e by this


cdef inline void columns_of(ZoomState *s, double ***columns) noexcept nogil:
    columns[0], columns[1], columns[2], columns[3] = &s.theta, &s.z, &s.v, &s.n
    columns[4], columns[5], columns[6] = &s.S, &s.e, &s.g


cdef inline double cost(double n, double S, double v) noexcept nogil:
    return S * S / (n * v + 1.0)


cdef inline double patience(Py_ssize_t count) noexcept nogil:
    """Return the threshold of a cut: gaps grow to (log2 M) / 2 standard errors, M gaps in all."""
    cdef double l = log2(<double>(count - 1))
    return 0.25 * l * l


cdef int zoom_reserve(ZoomState *s, Py_ssize_t count) noexcept nogil:
    cdef double **columns[7]
    if count <= s.room:
        return 0
    columns_of(s, columns)
    if resize(columns, COLUMNS, 2 * count) < 0:
        return -1
    s.room = 2 * count
    return 0


cdef void zoom_free(ZoomState *s) noexcept nogil:
    cdef double **columns[7]
    cdef Py_ssize_t i
    columns_of(s, columns)
    for i in range(COLUMNS):
        free(columns[i][0])


cdef void zoom_insert(ZoomState *s, Py_ssize_t at, double theta, double z, double v) noexcept nogil:
    """Put a fresh point at index `at`; there must be room. Both gaps beside it start anew."""
    cdef double **columns[7]
    cdef Py_ssize_t i
    columns_of(s, columns)
    for i in range(COLUMNS):
        memmove(columns[i][0] + at + 1, columns[i][0] + at, (s.count - at) * sizeof(double))
    s.theta[at], s.z[at], s.v[at] = theta, z, v
    s.n[at] = s.S[at] = s.e[at] = s.g[at] = 0.0
    if at > 0:
        s.g[at - 1] = 0.0
    s.count += 1


cdef int zoom_start(ZoomState *s) noexcept nogil:
    """Start with the sentinels 0 and 1 and the point 1/2."""
    if zoom_reserve(s, 8) < 0:
        return -1
    zoom_insert(s, 0, 0.0, 0.0, 0.0)
    zoom_insert(s, 1, M_PI / 2.0, 0.5, 0.25)
    zoom_insert(s, 2, M_PI, 1.0, 0.0)
    s.cut = patience(s.count)
    s.m = 0.5
    return 0


cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil:
    """Choose where to play; return how many points carry mass."""
    cdef Py_ssize_t lo = 0, hi = s.count - 1, k
    cdef double low, high
    # Neighbours that under-predict (S <= 0) and over-predict (S > 0); the sentinels count as such,
    # so a crossing exists. A point never visited is predicted outright.
    while hi - lo > 1:
        k = (lo + hi) >> 1
        if s.n[k] == 0.0:
            lo = hi = k
        elif s.S[k] <= 0.0:
            lo = k
        else:
            hi = k
    s.lo, s.hi, s.bet = lo, hi, False
    s.w = s.theta[lo + 1] - s.theta[lo]
    weights[0] = 1.0
    points[0] = s.z[lo]
    if lo == hi or hi == s.count - 1:
        return 1
    if lo == 0:
        points[0] = s.z[hi]
        return 1
    if s.purse > 0.0:
        # A recent mean clearly beyond one end (by sqrt 2 of its standard errors) is bet on: that
        # end is nearer the truth, and playing it repays its bias.
        low, high = s.z[lo] - s.m, s.m - s.z[hi]
        if low > 0.0 and low * low >= RATE * s.w * s.v[lo]:
            s.bet = True
            return 1
        if high > 0.0 and high * high >= RATE * s.w * s.v[hi]:
            s.bet = True
            points[0] = s.z[hi]
            return 1
    if s.e[lo] == 0.0:
        return 1
    # Each end with the other's cost, which is proportional to the slope of |S|^3 / (n v + 1): the
    # expected rise of the sum of these is then the same for every outcome, to first order, and
    # small because the ends are close.
    points[1] = s.z[hi]
    weights[0] = s.e[hi] / (s.e[lo] + s.e[hi])
    weights[1] = 1.0 - weights[0]
    return 2


cdef int zoom_learn(ZoomState *s, double p, double y) noexcept nogil:
    """Charge the outcome to the point predicted, and cut the gap if it has earned it."""
    cdef Py_ssize_t lo = s.lo, k = s.lo if p == s.z[s.lo] else s.hi
    cdef double before = s.e[k], theta, a, b
    if zoom_reserve(s, s.count + 1) < 0:
        return -1
    s.n[k] += 1.0
    s.S[k] += s.z[k] - y
    s.e[k] = cost(s.n[k], s.S[k], s.v[k])
    if s.bet:
        s.purse += before - s.e[k]
    s.m += RATE * s.w * (y - s.m)
    if lo == s.hi:
        return 0
    s.g[lo] += 1.0
    if s.g[lo] * s.w * s.w > s.cut:
        theta = 0.5 * (s.theta[lo] + s.theta[lo + 1])
        a, b = sin(0.5 * theta), cos(0.5 * theta)
        # A gap too thin for a number in between stays whole.
        if s.z[lo] < a * a < s.z[lo + 1]:
            zoom_insert(s, lo + 1, theta, a * a, (a * a) * (b * b))
            s.purse += GRANT
            s.cut = patience(s.count)
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
        return zoom_learn(&self.state, self.points[self.chosen], y)

    def __sizeof__(self):
        return object.__sizeof__(self) + COLUMNS * self.state.room * sizeof(double)

    def _get_state(self):
        cdef ZoomState *s = &self.state
        return {
            "m": s.m,
            "purse": s.purse,
            "theta": array_of(s.theta, s.count),
            "z": array_of(s.z, s.count),
            "v": array_of(s.v, s.count),
            "n": array_of(s.n, s.count),
            "S": array_of(s.S, s.count),
            "g": array_of(s.g, s.count),
        }

    def _set_state(self, state):
        check_names(state, {"m", "purse", "theta", "z", "v", "n", "S", "g"})
        cdef double m = number(state, "m", low=0.0, high=1.0)
        cdef double purse = number(state, "purse")
        cdef const double[::1] theta = floats(state, "theta", low=0.0)
        cdef Py_ssize_t count = theta.shape[0], i
        cdef const double[::1] z = floats(state, "z", size=count, low=0.0)
        cdef const double[::1] v = floats(state, "v", size=count, low=0.0)
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
        s.count, s.m, s.purse, s.cut = count, m, purse, patience(count)
        for i in range(count):
            s.theta[i], s.z[i], s.v[i] = theta[i], z[i], v[i]
            s.n[i], s.S[i], s.e[i], s.g[i] = n[i], S[i], cost(n[i], S[i], v[i]), g[i]
