"""Safe: a mean m is rounded to a zooming grid, and moved only off points known to be biased.

Symbols as in Zoom: theta, z, v, n, S, g. With D = (n + 1) v + 1 and k = 2 + l log D, chance
explains a bias of sqrt(k D), and e = |S| - sqrt(k D) is the *excess*. A point is *neutral* while
e <= 0. Otherwise it *under-predicts* (S < 0) or *over-predicts* (S > 0). The sentinel 0 counts as
under-predicting, 1 as over-predicting, and neither is ever predicted. How lenient it is, l, is 1.5
unless the owner starts with less: where the means are less often wrong, less patience will do.

A round with mean m is played

1. if both ends of m's gap are neutral, at the end with the smaller charge d^2 + v S d / (2 D),
   where d = z - m: the squared distance, plus a quarter of what the visit is expected to add to v
   S^2 / D if m is right. So nearby ends are preferred, and among them the one whose bias the visit
   repays;
2. otherwise at the admissible place nearest to m: a neutral point, or neighbours of which the left
   under-predicts and the right over-predicts, mixed each with the other's slope a = (f(e) -
   f(e - 1)) / D, where f(x) = x^2 log(1 + x), and 0 for x <= 0.

Every outcome counts for the gap that holds m, and a gap with enough of them is cut: where points
have become biased, new ones appear near m. That of a mixed round also counts for the gap it was
played in, which may lie far from m, and there for more than one if there are many gaps: mixing
costs by the square of that gap's width.

**An admissible place always exists.** If no point is neutral, each under- or over-predicts. The
first, 0, under-predicts and the last, 1, over-predicts, so somewhere a point that under-predicts
stands left of a neighbour that over-predicts. (If one of the two is a sentinel, the other is
predicted.)

**What bounds S.** Take as the cost of a point f(x) / (n v + 1), where x is what |S + 1/2 - z| has
in excess of 1/2 + sqrt(k (n v + 1)). A visit to a neutral point leaves the cost at 0, whatever
the outcome. The slope a is by how much the cost after the visit depends on the outcome. So in a
mixed round the expected sum of the costs is the same after 0 and after 1, and no opponent that does
not see the draw can choose it. `docs/safe-proof.md` has the theorem: whatever the means and the
outcomes, the expected Cal2 is at most of the order of log^2 T times the number of points. The
logarithm in f is not needed there. It lets heavy points weigh more: without it, an opponent who is
greedy for Cal2 reaches up to half as much again.
"""

from libc.math cimport M_PI, cbrt, fabs, fmax, log, log1p, sqrt
from libc.stdint cimport int64_t

from calibrant._kernels.grid cimport (
    Grid,
    grid_cut,
    grid_find,
    grid_find_near,
    grid_free,
    grid_reserve,
    grid_save,
    grid_start,
)

cdef Py_ssize_t GAPS = 32   # at the start, of equal width in theta
cdef double NEUTRAL = 2.0   # k where D is 1
cdef double LENIENT = 1.5   # growth of k with log D, at the most
cdef double REPAY = 0.5     # weight of a point's bias against the squared distance
cdef double CUT = 1 / 64.0  # a gap is cut once g width^2 > (CUT * number of gaps)^2


cdef inline double noise(const Grid *s, Py_ssize_t i) noexcept nogil:
    """Return D."""
    return (s.n[i] + 1.0) * s.v[i] + 1.0


cdef void safe_weigh(Grid *s, Py_ssize_t i) noexcept nogil:
    """Compute e of point i: how much its bias exceeds what chance explains."""
    cdef double D = noise(s, i)
    s.e[i] = fabs(s.S[i]) - sqrt((NEUTRAL + s.lenient * log(D)) * D)


cdef int safe_start(Grid *s, double lenient=LENIENT) noexcept nogil:
    """Start with points at equal angles; -1 when there is no memory."""
    cdef Py_ssize_t i
    s.lenient = lenient
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


cdef inline double steep(double x) noexcept nogil:
    """Return f."""
    return x * x * log1p(x) if x > 0.0 else 0.0


cdef inline double slope(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Return by how much the cost of a biased point depends on its next outcome."""
    return (steep(s.e[k]) - steep(s.e[k] - 1.0)) / noise(s, k)


cdef inline double charge(const Grid *s, Py_ssize_t k, double m) noexcept nogil:
    """Return what predicting point k for a mean m is taken to cost."""
    cdef double d = s.z[k] - m
    return d * (d + REPAY * s.v[k] * s.S[k] / noise(s, k))


cdef inline Place point(const Grid *s, Py_ssize_t k) noexcept nogil:
    return Place(s.z[k], s.z[k], 1.0, True)


cdef inline Place beside(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Play point k, an end of the mean's gap."""
    cdef Place place = point(s, k)
    place.moved = False
    return place


cdef Place mixed(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Mix point k and the next, which lean apart, each with the other's slope."""
    cdef double a, b
    if k == 0:
        return point(s, 1)
    if k == s.count - 2:
        return point(s, k)
    a, b = slope(s, k), slope(s, k + 1)
    return Place(s.z[k], s.z[k + 1], b / (a + b), True)


cdef Place safe_place(const Grid *s, double m) noexcept nogil:
    """Choose where to play for a mean m inside (0, 1)."""
    return safe_place_in(s, m, grid_find(s, m))


cdef Place safe_place_in(const Grid *s, double m, Py_ssize_t gap) noexcept nogil:
    """Choose where to play for a mean m in a gap."""
    cdef Py_ssize_t last = s.count - 1, first = gap, i = gap, j = i + 1
    cdef int left = leaning(s, i), right = leaning(s, j)
    if left == 0 and right == 0:
        return beside(s, i if charge(s, i, m) <= charge(s, j, m) else j)
    if left < 0 and right > 0:
        return mixed(s, i)
    # Search outwards, the nearer side first, until the place that always exists.
    while True:
        if i > 0 and (j == last or m - s.z[i] <= s.z[j] - m):
            left = leaning(s, i)
            if left == 0:
                return beside(s, i) if i == first else point(s, i)
            if left > 0 and leaning(s, i - 1) < 0:
                return mixed(s, i - 1)
            i -= 1
        else:
            right = leaning(s, j)
            if right == 0:
                return beside(s, j) if j == first + 1 else point(s, j)
            if right < 0 and leaning(s, j + 1) > 0:
                return mixed(s, j)
            j += 1


cdef inline double patience(const Grid *s) noexcept nogil:
    """Return what the rounds of a gap, times its width squared, must pass for a cut."""
    cdef double most = CUT * (s.count - 1)
    return most * most


cdef void count(Grid *s, Py_ssize_t i, double rounds) noexcept nogil:
    """Count rounds for gap i, and cut it if it is due; there must be room."""
    cdef double w = s.theta[i + 1] - s.theta[i]
    s.g[i] += rounds
    if s.g[i] * w * w > patience(s) and grid_cut(s, i):
        safe_weigh(s, i + 1)


cdef int safe_learn(Grid *s, double m, double z, double y) noexcept nogil:
    """Count the outcome for z, which was predicted for m, and cut the gaps that are due.

    Returns 0, or -1 when there was no memory and nothing changed.
    """
    return safe_learn_near(s, m, z, y, grid_find(s, m))


cdef int safe_learn_near(
    Grid *s, double m, double z, double y, Py_ssize_t gap
) noexcept nogil:
    """Do what `safe_learn` does, sooner if `gap` is the one that holds m."""
    cdef Py_ssize_t k = grid_find_near(s, z, gap)
    cdef int side = leaning(s, k)
    cdef bint elsewhere = True  # was the round played outside of m's gap?
    if grid_reserve(s, s.count + 2) < 0:
        return -1
    s.n[k] += 1.0
    s.S[k] += z - y
    safe_weigh(s, k)
    if side != 0:
        # A biased point is only played with the neighbour that it leans towards.
        k = k if side < 0 else k - 1
        elsewhere = k != grid_find_near(s, m, gap)
        count(s, k, fmax(1.0, patience(s)))
    if elsewhere:
        count(s, grid_find_near(s, m, gap), 1.0)
    return 0


cdef double safe_counted(int64_t outcomes, Py_ssize_t points) noexcept nogil:
    """Return the most that so many outcomes can count in the gaps of so many points."""
    return outcomes * (2.0 + (CUT * points) * (CUT * points))


cdef int safe_reserve(Grid *s, int64_t outcomes) noexcept nogil:
    """Make room for the points that so many outcomes can add; -1 when there is no memory.

    A gap is at most pi / GAPS wide, so one that is cut when there are k gaps holds more than
    A (CUT k)^2, A = (GAPS / pi)^2, and is empty afterwards. An outcome adds at most 2 to what the
    gaps hold, and (CUT k)^2 for a biased point. Of the cuts to come, those paid for one half by the
    former, and by what the gaps hold now, sum to at most all of that, so there are at most
    cbrt(6 held / (A CUT^2)) + 1 of them. Each of the others takes A / 2 outcomes.
    """
    cdef double held = 2.0 * outcomes, A = (GAPS / M_PI) * (GAPS / M_PI)
    cdef Py_ssize_t i
    for i in range(s.count):
        held += s.g[i]
    held = cbrt(6.0 * held / (A * CUT * CUT)) + 2.0 * outcomes / A
    return grid_reserve(s, s.count + 2 + <Py_ssize_t>held)


cdef class SafeKernel:
    """The safe stage by itself, for means of any origin: what tests and attacks play with."""

    cdef Grid grid

    def __cinit__(self, double lenient=LENIENT):
        if safe_start(&self.grid, lenient) < 0:
            raise MemoryError

    def __dealloc__(self):
        grid_free(&self.grid)

    def place(self, double mean):
        """Return the lower and the upper point played for a mean, and the share of the lower."""
        cdef Place place = safe_place(&self.grid, mean)
        return place.lo, place.hi, place.share

    def is_moved(self, double mean):
        """Return whether no neutral end of the mean's gap is played."""
        return safe_place(&self.grid, mean).moved

    def learn(self, double mean, double point, double outcome):
        """Count an outcome for a point that was predicted for a mean."""
        if safe_learn(&self.grid, mean, point, outcome) < 0:
            raise MemoryError

    def columns(self):
        """Return theta, z, v, n, S and g of the points, by name."""
        return grid_save(&self.grid)
