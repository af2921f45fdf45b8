# cython: boundscheck=False, wraparound=False, cdivision=True
"""Safe: a mean m is rounded to a zooming grid, and moved only off points known to be biased.

Symbols as in Zoom: theta, z, v, n, S, e = S^2 / (n v + 1), g. A point is *neutral* while
e <= KAPPA: its bias is within sqrt(KAPPA) = 3 standard errors. Otherwise it *under-predicts*
(S < 0) or *over-predicts* (S > 0). The sentinel 0 counts as under-predicting, 1 as over-predicting,
and neither is ever predicted.

With D = (n + 1) v + 1, a round that is to predict a mean m goes

1. where both ends of m's gap are neutral, to the end with the smaller charge d^2 + v S d / D, where
   d = z - m: the squared distance, plus half of what the visit is expected to add to v e if m is
   right. So nearby ends are preferred, and among them the one whose bias the visit repays;
2. otherwise to the admissible place nearest to m: a neutral point, or neighbours of which the left
   under-predicts and the right over-predicts, mixed each with the other's slope (e - KAPPA) |S| / D.

Every outcome counts for the gap that its m lies in, wherever it was played, and a gap with enough
of them is cut. So where points went bad, fresh ones follow, and no hole stays around m.

**An admissible place always exists.** If no point is neutral, each under- or over-predicts. The
first, 0, under-predicts and the last, 1, over-predicts, so somewhere a point that under-predicts
stands left of a neighbour that over-predicts. (If one of the two is a sentinel, the other is
predicted.)

**What bounds S.** A point that is neutral when it is predicted has |S| <= 3 sqrt(n v + 1) before
the outcome and moves by less than 1. So |S| < 3 sqrt(n v + 1) + 1 after each of its visits but
those that were mixed or beside a sentinel, whatever the outcomes. For mixed rounds take the
potential Phi, half the sum of (e - KAPPA)^2 over the points that are not neutral. A visit changes e
by exactly (2 S d + d^2 - e v) / D, now with d = z - y. With a, b the slopes of the left and the
right end, the left is drawn with probability b / (a + b), and the first term moves Phi, to first
order, by 2 a b / (a + b) (z_right - z_left) in the mean, the same for every outcome: no opponent
who does not see the draw can choose it. The other two terms lower Phi where v >= 1/9, that is for z
in [0.13, 0.87], since d^2 < 1 and e > 9. Slopes that start from zero at the threshold matter: with
slopes |S| / D an opponent loads a neutral point for nothing and lets mixing pass the load on.
"""

from libc.math cimport M_PI, cos, sin
from libc.stdlib cimport free
from libc.string cimport memmove

from calibrant._kernels.memory cimport resize

cdef int COLUMNS = 7
cdef Py_ssize_t GAPS = 16   # at the start, of equal width in theta
cdef double KAPPA = 9.0     # a point is neutral while e is at most this
cdef double CUT = 1 / 64.0  # a gap is cut once g (its width)^2 passes this, times all gaps


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


cdef inline double weighed(const SafeState *s, Py_ssize_t k) noexcept nogil:
    """Return S / D."""
    return s.S[k] / ((s.n[k] + 1.0) * s.v[k] + 1.0)


cdef inline double charge(const SafeState *s, Py_ssize_t k, double m) noexcept nogil:
    """Return what predicting point k for a mean m is taken to cost."""
    cdef double d = s.z[k] - m
    return d * (d + s.v[k] * weighed(s, k))


cdef inline Place point(const SafeState *s, Py_ssize_t k) noexcept nogil:
    return Place(s.z[k], s.z[k], 1.0)


cdef Place mixed(const SafeState *s, Py_ssize_t k) noexcept nogil:
    """Mix point k and the next, which lean apart, each with the other's slope."""
    cdef double a, b
    if k == 0:
        return point(s, 1)
    if k == s.count - 2:
        return point(s, k)
    a = (s.e[k] - KAPPA) * -weighed(s, k)
    b = (s.e[k + 1] - KAPPA) * weighed(s, k + 1)
    return Place(s.z[k], s.z[k + 1], b / (a + b))


cdef Place safe_place(const SafeState *s, double m) noexcept nogil:
    """Choose where to play for a mean m inside (0, 1)."""
    cdef Py_ssize_t last = s.count - 1, i = safe_find(s, m), j = i + 1
    cdef int left = leaning(s, i), right = leaning(s, j)
    if left == 0 and right == 0:
        return point(s, i if charge(s, i, m) <= charge(s, j, m) else j)
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


cdef int safe_learn(SafeState *s, double m, double z, double y) noexcept nogil:
    """Charge the outcome to z, which was predicted for m, and cut m's gap if it has earned it.

    Returns 0, or -1 when there was no memory and nothing changed.
    """
    cdef Py_ssize_t k = safe_find(s, z)
    cdef double theta, w, a, b
    if safe_reserve(s, s.count + 1) < 0:
        return -1
    s.n[k] += 1.0
    s.S[k] += z - y
    s.e[k] = safe_cost(s.n[k], s.S[k], s.v[k])
    k = safe_find(s, m)
    s.g[k] += 1.0
    w = s.theta[k + 1] - s.theta[k]
    if s.g[k] * w * w > CUT * (s.count - 1):
        theta = 0.5 * (s.theta[k] + s.theta[k + 1])
        a, b = sin(0.5 * theta), cos(0.5 * theta)
        # A gap too thin for a number in between stays whole.
        if s.z[k] < a * a < s.z[k + 1]:
            insert(s, k + 1, theta, a * a, (a * a) * (b * b))
    return 0
