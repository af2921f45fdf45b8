"""Safe: a mean m is rounded to a zooming grid, and moved only off points known to be biased.

Symbols as in Zoom: theta, z, v, n, S, g; but e = S^2 / (n v + 1) - k is how much the bias
exceeds what chance explains, with k = 2 + 1.5 log(n v + 1). A point is *neutral* while e <= 0: its
bias is within sqrt(k) standard errors, a bound that grows with the visits. Otherwise
it *under-predicts* (S < 0) or *over-predicts* (S > 0). The sentinel 0 counts as under-predicting, 1
as over-predicting, and neither is ever predicted.

With D = (n + 1) v + 1, a round with mean m is played

1. if both ends of m's gap are neutral, at the end with the smaller charge d^2 + v S d / (2 D),
   where d = z - m: the squared distance, plus a quarter of what the visit is expected to add to v
   S^2 / D if m is right. So nearby ends are preferred, and among them the one whose bias the visit
   repays;
2. otherwise at the admissible place nearest to m: a neutral point, or neighbours of which the left
   under-predicts and the right over-predicts, mixed each with the other's slope e |S| / D.

Every outcome counts for the gap that holds m, wherever the round was played, and a gap with enough
of them is cut: where points have become biased, new ones appear near m.

**An admissible place always exists.** If no point is neutral, each under- or over-predicts. The
first, 0, under-predicts and the last, 1, over-predicts, so somewhere a point that under-predicts
stands left of a neighbour that over-predicts. (If one of the two is a sentinel, the other is
predicted.)

**What bounds S.** A point that is neutral when it is predicted has |S| <= sqrt(k (n v + 1)) before
the outcome and moves by less than 1, while k and n v only grow. So |S| < sqrt(k (n v + 1)) + 1
after each of its visits but those that were mixed or beside a sentinel, whatever the outcomes. For
mixed rounds take the potential Phi, half the sum of e^2 over the points that are not neutral; that
k grows with n can only lower it. With c = e + k, a visit changes c by exactly (2 S d + d^2 - c v) /
D, now with d = z - y. With a, b the slopes of the left and the right end, the left is drawn with
probability b / (a + b), and the first term moves Phi, to first order, by 2 a b / (a + b) (z_right -
z_left) in the mean, the same for every outcome: no opponent that does not see the draw can choose
it. The other two terms lower Phi where d^2 < c v, as they do for every z in [1/3, 2/3], since there
d^2 <= 4/9 <= 2 v and c > 2. Slopes that start from zero at the threshold matter: with slopes |S| /
D an opponent loads a neutral point for nothing and lets mixing pass the load on.
"""

from libc.math cimport M_PI, cbrt, log
from libc.stdint cimport int64_t

from calibrant._kernels.grid cimport Grid, grid_cut, grid_find, grid_reserve, grid_start

cdef Py_ssize_t GAPS = 32   # at the start, of equal width in theta
cdef double NEUTRAL = 2.0   # k of a point without visits
cdef double LENIENT = 1.5   # growth of k with log(n v + 1)
cdef double REPAY = 0.5     # weight of a point's bias against the squared distance
cdef double CUT = 1 / 64.0  # a gap is cut once g width^2 > (CUT * number of gaps)^2


cdef void safe_weigh(Grid *s, Py_ssize_t i) noexcept nogil:
    """Compute e of point i: how much its bias exceeds what chance explains."""
    cdef double noise = s.n[i] * s.v[i] + 1.0
    s.e[i] = s.S[i] * s.S[i] / noise - NEUTRAL - LENIENT * log(noise)


cdef int safe_start(Grid *s) noexcept nogil:
    """Start with points at equal angles; -1 when there is no memory."""
    cdef Py_ssize_t i
    if grid_start(s, GAPS) < 0:
        return -1
    for i in range(s.count):
        safe_weigh(s, i)
    return 0


cdef inline int leaning(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Return -1 for a point that under-predicts, 0 for a neutral one, 1 if it over-predicts."""
    if k == 0:
        return -1
    if k == s.count - 1:
        return 1
    if s.e[k] <= 0.0:
        return 0
    return 1 if s.S[k] > 0.0 else -1


cdef inline double weighed(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Return S / D."""
    return s.S[k] / ((s.n[k] + 1.0) * s.v[k] + 1.0)


cdef inline double charge(const Grid *s, Py_ssize_t k, double m) noexcept nogil:
    """Return what predicting point k for a mean m is taken to cost."""
    cdef double d = s.z[k] - m
    return d * (d + REPAY * s.v[k] * weighed(s, k))


cdef inline Place point(const Grid *s, Py_ssize_t k) noexcept nogil:
    return Place(s.z[k], s.z[k], 1.0)


cdef Place mixed(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Mix point k and the next, which lean apart, each with the other's slope."""
    cdef double a, b
    if k == 0:
        return point(s, 1)
    if k == s.count - 2:
        return point(s, k)
    a = s.e[k] * -weighed(s, k)
    b = s.e[k + 1] * weighed(s, k + 1)
    return Place(s.z[k], s.z[k + 1], b / (a + b))


cdef Place safe_place(const Grid *s, double m) noexcept nogil:
    """Choose where to play for a mean m inside (0, 1)."""
    cdef Py_ssize_t last = s.count - 1, i = grid_find(s, m), j = i + 1
    cdef int left = leaning(s, i), right = leaning(s, j)
    if left == 0 and right == 0:
        return point(s, i if charge(s, i, m) <= charge(s, j, m) else j)
    if left < 0 and right > 0:
        return mixed(s, i)
    # Search outwards, the nearer side first, until the place that always exists.
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


cdef int safe_learn(Grid *s, double m, double z, double y) noexcept nogil:
    """Count the outcome for z, which was predicted for m, and cut m's gap if it is due.

    Returns 0, or -1 when there was no memory and nothing changed.
    """
    cdef Py_ssize_t k = grid_find(s, z)
    cdef double w, most = CUT * (s.count - 1)
    if grid_reserve(s, s.count + 1) < 0:
        return -1
    s.n[k] += 1.0
    s.S[k] += z - y
    safe_weigh(s, k)
    k = grid_find(s, m)
    s.g[k] += 1.0
    w = s.theta[k + 1] - s.theta[k]
    if s.g[k] * w * w > most * most and grid_cut(s, k):
        safe_weigh(s, k + 1)
    return 0


cdef int safe_reserve(Grid *s, int64_t outcomes) noexcept nogil:
    """Make room for the points that so many outcomes can add; -1 when there is no memory.

    A gap is at most pi / GAPS wide, so one that is cut when there are k gaps holds more than
    (CUT k GAPS / pi)^2 outcomes, and is empty afterwards. The squares of the cuts to come sum to
    at most what all gaps hold with these outcomes, so there are at most cbrt(3 held / a) + 1 cuts,
    where a = (CUT GAPS / pi)^2.
    """
    cdef double held = <double>outcomes, a = CUT * GAPS / M_PI
    cdef Py_ssize_t i
    for i in range(s.count):
        held += s.g[i]
    return grid_reserve(s, s.count + 2 + <Py_ssize_t>cbrt(3.0 * held / (a * a)))
