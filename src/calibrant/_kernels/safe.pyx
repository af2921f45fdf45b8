# cython: boundscheck=False, wraparound=False, cdivision=True
"""Safe: a mean m is rounded to a zooming grid, and moved only off points known to be biased.

Symbols as in Zoom: theta, z, v, n, S, e = S^2 / (n v + 1), g. A point is *neutral* while
e <= KAPPA: its bias is within sqrt(KAPPA) = 3 standard errors. Otherwise it *under-predicts*
(S < 0) or *over-predicts* (S > 0). The sentinel 0 counts as under-predicting, 1 as over-predicting,
and neither is ever predicted.

Where both ends of m's gap are neutral, one of them is drawn so that the mean stays m. Otherwise
the round is played at the admissible place nearest to m: a neutral point, or neighbours of which
the left under-predicts and the right over-predicts, mixed.

**An admissible place always exists.** If no point is neutral, each under- or over-predicts. The
first, 0, under-predicts and the last, 1, over-predicts, so somewhere a point that under-predicts
stands left of a neighbour that over-predicts.

**What bounds S.** A point that is neutral when it is predicted has |S| <= 3 sqrt(n v + 1) before
the outcome and moves by less than 1. So |S| < 3 sqrt(n v + 1) + 1 for every point that was never
predicted but when neutral, whatever the outcomes. In a round that mixes, put D = (n + 1) v + 1 and
d = z - y. Then e changes by exactly (2 S d + d^2 - e v) / D. With a = |S| / D at the left end and
b = |S| / D at the right, drawing the left end with probability b / (a + b) makes the first term's
mean the same for y = 0 and y = 1, and every y between: 2 a b / (a + b) times the gap. The rest has
e > 9 and d^2 < 1: it is negative where v >= 1/9, that is for every z in [0.13, 0.87]. So the
expected rise of the sum of all e, in a round that mixes there, is below 2 min(a, b) times the gap,
against any opponent who does not see the draw; and gaps in use shrink.
"""

from libc.math cimport M_PI, cos, fabs, sin
from libc.stdlib cimport free
from libc.string cimport memmove

from calibrant._kernels.memory cimport resize

cdef int COLUMNS = 7
cdef Py_ssize_t GAPS = 16   # at the start, of equal width in theta
cdef double KAPPA = 9.0     # a point is neutral while e is at most this
cdef double CUT = 0.5       # a gap is cut once g (its width)^2 passes this


cdef inline void columns_of(SafeState *s, double ***columns) noexcept nogil:
    columns[0], columns[1], columns[2], columns[3] = &s.theta, &s.z, &s.v, &s.n
    columns[4], columns[5], columns[6] = &s.S, &s.e, &s.g


cdef double safe_cost(double n, double S, double v) noexcept nogil:
    return S * S / (n * v + 1.0)


cdef int safe_reserve(SafeState *s, Py_ssize_t count) noexcept nogil:
    cdef double **columns[7]
    if count <= s.room:
        return 0
    columns_of(s, columns)
    if resize(columns, COLUMNS, 2 * count) < 0:
        return -1
    s.room = 2 * count
    return 0


cdef void safe_free(SafeState *s) noexcept nogil:
    cdef double **columns[7]
    cdef Py_ssize_t i
    columns_of(s, columns)
    for i in range(COLUMNS):
        free(columns[i][0])


cdef void insert(SafeState *s, Py_ssize_t at, double theta, double z, double v) noexcept nogil:
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


cdef int safe_start(SafeState *s) noexcept nogil:
    """Start with points at equal angles."""
    cdef Py_ssize_t i
    cdef double theta, a, b
    if safe_reserve(s, GAPS + 1) < 0:
        return -1
    insert(s, 0, 0.0, 0.0, 0.0)
    for i in range(1, GAPS):
        theta = M_PI * i / GAPS
        a, b = sin(0.5 * theta), cos(0.5 * theta)
        insert(s, i, theta, a * a, (a * a) * (b * b))
    insert(s, GAPS, M_PI, 1.0, 0.0)
    return 0


cdef Py_ssize_t safe_find(const SafeState *s, double z) noexcept nogil:
    """Return the last point at or below z, for z in [0, 1)."""
    cdef Py_ssize_t lo = 0, hi = s.count - 1, k
    while hi - lo > 1:
        k = (lo + hi) >> 1
        if s.z[k] <= z:
            lo = k
        else:
            hi = k
    return lo


cdef inline int leaning(const SafeState *s, Py_ssize_t k) noexcept nogil:
    """Return -1 for a point that under-predicts, 0 for a neutral one, 1 if it over-predicts."""
    if k == 0:
        return -1
    if k == s.count - 1:
        return 1
    if s.e[k] <= KAPPA:
        return 0
    return 1 if s.S[k] > 0.0 else -1


cdef inline double slope(const SafeState *s, Py_ssize_t k) noexcept nogil:
    return fabs(s.S[k]) / ((s.n[k] + 1.0) * s.v[k] + 1.0)


cdef inline Place point(const SafeState *s, Py_ssize_t k) noexcept nogil:
    return Place(s.z[k], s.z[k], 1.0, s.z[k])


cdef Place gap(const SafeState *s, Py_ssize_t k, double share) noexcept nogil:
    """Return the gap right of point k; beside a sentinel all mass goes to the other end."""
    if k == 0:
        share = 0.0
    elif k == s.count - 2:
        share = 1.0
    return Place(s.z[k], s.z[k + 1], share, s.z[k] if share == 1.0 else s.z[k + 1])


cdef Place mixed(const SafeState *s, Py_ssize_t k) noexcept nogil:
    """Mix neighbours that lean apart, each with the other's slope."""
    cdef double a = slope(s, k), b = slope(s, k + 1)
    return gap(s, k, b / (a + b) if a + b > 0.0 else 0.5)


cdef Place safe_place(const SafeState *s, double m) noexcept nogil:
    """Choose where to play for a mean m inside (0, 1); nothing is drawn yet."""
    cdef Py_ssize_t last = s.count - 1, i = safe_find(s, m), j = i + 1
    cdef int left = leaning(s, i), right = leaning(s, j)
    if (left == 0 or i == 0) and (right == 0 or j == last):
        return gap(s, i, (s.z[j] - m) / (s.z[j] - s.z[i]))
    if left < 0 and right > 0:
        return mixed(s, i)
    # Outwards, the nearer side first. A place always exists, so neither side runs out unseen.
    while True:
        if i > 0 and (j == last or m - s.z[i] <= s.z[j] - m):
            left = leaning(s, i)
            if left == 0:
                return point(s, i)
            if left > 0 and leaning(s, i - 1) < 0:
                return mixed(s, i - 1)
            i -= 1
        else:
            right = leaning(s, j)
            if right == 0:
                return point(s, j)
            if right < 0 and leaning(s, j + 1) > 0:
                return mixed(s, j)
            j += 1


cdef int safe_learn(SafeState *s, Place place, double y) noexcept nogil:
    """Charge the outcome to the point that was drawn, and cut its gap if it has earned it."""
    cdef Py_ssize_t k = safe_find(s, place.z), lo
    cdef double theta, w, a, b
    if safe_reserve(s, s.count + 1) < 0:
        return -1
    s.n[k] += 1.0
    s.S[k] += s.z[k] - y
    s.e[k] = safe_cost(s.n[k], s.S[k], s.v[k])
    if place.lo == place.hi:
        return 0
    lo = safe_find(s, place.lo)
    # Cut since the prediction was made: its halves count only rounds that were played in them.
    if s.z[lo + 1] != place.hi:
        return 0
    s.g[lo] += 1.0
    w = s.theta[lo + 1] - s.theta[lo]
    if s.g[lo] * w * w > CUT:
        theta = 0.5 * (s.theta[lo] + s.theta[lo + 1])
        a, b = sin(0.5 * theta), cos(0.5 * theta)
        # A gap too thin for a number in between stays whole.
        if s.z[lo] < a * a < s.z[lo + 1]:
            insert(s, lo + 1, theta, a * a, (a * a) * (b * b))
    return 0
