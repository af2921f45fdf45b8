"""Safe: a mean m is rounded to a zooming grid, and moved only off points known to be biased.

Symbols as in Zoom: theta, z, v, n, S, g. With N = n v + 1/4 and D = N + v, a visit to a point is
*free* while its excess e = |S| - sqrt(D) is at most 0. Otherwise the point *under-predicts* (S < 0)
or *over-predicts* (S > 0). The sentinel 0 counts as under-predicting, 1 as over-predicting, and
neither is ever predicted. Honest noise passes so tight a threshold all the time. So there is a
lenient one as well, |S| <= sqrt((2 + l log D1) D1) with D1 = (n + 1) v + 1, and visits to points
between the two are *bets*, which one *purse* pays for. How lenient it is, l, is 1.5 unless the owner
starts with less: where the means are less often wrong, less patience will do.

The cost of a point is F = f(|S + 1/2 - z| - 1/2 - sqrt(N)) / N, where f(x) = x^2, and 0 for x <= 0.
A round with mean m is played

1. where the lenient threshold wants it. If both ends of m's gap pass it, that is the end with the
   smaller charge d^2 + v S d / (2 D1), where d = z - m: the squared distance, plus a quarter of what
   the visit is expected to add to v S^2 / D1 if m is right. So nearby ends are preferred, and among
   them the one whose bias the visit repays. Otherwise it is the point nearest to m that passes,
   unless two neighbours that lean apart are nearer. This needs a point whose visit is free, or a
   purse that holds what the worse outcome of the bet would add to F;
2. otherwise at the admissible place nearest to m by the tight threshold: a point that is free, or
   neighbours of which the left under-predicts and the right over-predicts, mixed each with the
   other's slope a = (f(e) - f(e - 1)) / D.

The purse starts at 31/2, half for each point. It loses what a bet adds to F, gains what it takes
from F, and gains 1/2 a cut and 0.15 v / D an outcome, but not of a mixed round: honest outcomes bring
few of these, and an opponent most of his.

An outcome counts 1 for the gap that holds m, and a gap with enough of them is cut: where points have
become biased, new ones appear near m. That of a mixed round counts c / 32, c being what a gap must
pass to be cut, for the gap it was played in, which may lie far from m, and for m's: patience, or an
opponent buys points with mixed rounds. So does that of a bet, and of a round played outside of m's
gap, while the purse holds less than 1: the more points, the more there are to load.

Where outcomes are late, a point is predicted many times before its bias is seen, by chance or
because the world moved on, and by then each bet would be charged as if all others had been seen. So
if the last outcomes came `lag` predictions late on average, a bet is charged 1 / (1 + lag / 2) of
it, but no less than 1/64, as an outcome counts for a mixture (`mixing.pyx`), and as there the share
is the same for all outcomes: how late one comes may depend on the outcome itself, and a purse that
only those of one kind charge in full is soon empty. What a round counts for gaps lies as far between
the above and max(1, c) for the gap that a mixed round was played in, and 1 for m's; if lag is above
1/2, it counts as mixed if its point does not pass the lenient threshold by now.

**An admissible place always exists.** If no point is free, each under- or over-predicts. The first,
0, under-predicts and the last, 1, over-predicts, so somewhere a point that under-predicts stands
left of a neighbour that over-predicts. (If one of the two is a sentinel, the other is predicted.)

**What bounds S.** A visit to a free point leaves its cost at 0, whatever the outcome. A bet leaves
the sum of all costs and the purse as it was. The slope a is by how much the cost after the visit
depends on the outcome, so in a mixed round the expected sum of the costs is the same after 0 and
after 1, and no opponent that does not see the draw can choose it. `docs/safe-proof.md` has the
theorem: whatever the means and the outcomes, if these come before the next prediction, the expected
Cal2 is at most of the order of log T times the number of points.
"""

from libc.math cimport M_PI, fabs, fmax, fmin, sqrt
from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport cbrt, log
from calibrant._kernels.grid cimport (
    Grid,
    grid_cut,
    grid_find,
    grid_find_near,
    grid_free,
    grid_is_near,
    grid_load,
    grid_reserve,
    grid_save,
    grid_start,
)
from calibrant._kernels.grid import GRID_PARTS
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.saved import floats
from calibrant._kernels.scores.mixing cimport LAG, slowness

SAFE_PARTS = (*GRID_PARTS, "purse")

cdef Py_ssize_t GAPS = 32    # at the start, of equal width in theta
cdef double FRESH = 0.25     # N of a point without visits
cdef double NEUTRAL = 2.0    # D1's factor in the lenient threshold where D1 is 1
cdef double LENIENT = 1.5    # its growth with log D1, at the most
cdef double REPAY = 0.5      # weight of a point's bias against the squared distance
cdef double CUT = 1 / 64.0   # a gap is cut once g width^2 > (CUT * number of gaps)^2
cdef double CAUTION = 1 / 32.0  # what a mixed round counts, as a share of that
cdef double GIFT = 0.5       # what a point brings to the purse
cdef double INCOME = 0.15    # and an outcome, of v / D
cdef double SPARE = 1.0      # a purse below this is careful with cuts
cdef double LATE = 0.5       # a lag above which a point has changed since it was played


cdef void safe_weigh(Grid *s, Py_ssize_t i) noexcept nogil:
    """Update the cached thresholds of point i, which depend only on its own outcomes.

    By how much its bias exceeds the tight threshold is e, the lenient one o; b is its part of the
    charge.
    """
    cdef double visited = (s.n[i] + 1.0) * s.v[i], D1 = visited + 1.0, bias = fabs(s.S[i])
    s.o[i] = bias - sqrt((NEUTRAL + s.lenient * log(D1)) * D1)
    s.e[i] = bias - sqrt(visited + FRESH)
    s.b[i] = REPAY * s.v[i] * s.S[i] / D1


cdef int safe_start(Grid *s, double lenient=LENIENT) noexcept nogil:
    """Start with points at equal angles; -1 when there is no memory."""
    cdef Py_ssize_t i
    s.lenient, s.purse = lenient, GIFT * (GAPS - 1)
    if grid_start(s, GAPS) < 0:
        return -1
    for i in range(s.count):
        safe_weigh(s, i)
    return 0


cdef inline int leaning(const Grid *s, Py_ssize_t k, bint tight) noexcept nogil:
    """Return -1 for a point that under-predicts, 0 for a neutral one, 1 if it over-predicts."""
    if k == 0:
        return -1
    if k == s.count - 1:
        return 1
    if (s.e[k] if tight else s.o[k]) <= 0.0:
        return 0
    return 1 if s.S[k] > 0.0 else -1


cdef inline double square(double x) noexcept nogil:
    """Return f."""
    return x * x if x > 0.0 else 0.0


cdef inline double slope(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Return by how much the cost of a biased point depends on its next outcome."""
    return (square(s.e[k]) - square(s.e[k] - 1.0)) / ((s.n[k] + 1.0) * s.v[k] + FRESH)


cdef inline double cost(double N, double U) noexcept nogil:
    """Return F, where U = S + 1/2 - z."""
    cdef double x = fabs(U) - 0.5 - sqrt(N)
    return x * x / N if x > 0.0 else 0.0


cdef inline double rise(const Grid *s, Py_ssize_t k, double y) noexcept nogil:
    """Return what a visit with outcome y adds to the cost of point k."""
    cdef double N = s.n[k] * s.v[k] + FRESH
    return cost(N + s.v[k], s.S[k] + 0.5 - y) - cost(N, s.S[k] + 0.5 - s.z[k])


cdef inline double charge(const Grid *s, Py_ssize_t k, double m) noexcept nogil:
    """Return what predicting point k for a mean m is taken to cost."""
    cdef double d = s.z[k] - m
    return d * (d + s.b[k])


cdef inline Py_ssize_t nearest(
    const Grid *s, double m, Py_ssize_t gap, bint tight
) noexcept nogil:
    """Return the point to play for a mean in a gap by one of the thresholds.

    Of neighbours that lean apart, return -1 minus the left one.
    """
    cdef int left = leaning(s, gap, tight), right = leaning(s, gap + 1, tight)
    if left == 0 and right == 0:
        # No branch: a processor could not guess it.
        return gap + (charge(s, gap, m) > charge(s, gap + 1, m))
    if left < 0 and right > 0:
        return -1 - gap
    return outwards(s, m, gap, tight)


cdef Py_ssize_t outwards(const Grid *s, double m, Py_ssize_t gap, bint tight) noexcept nogil:
    """Search outwards, the nearer side first, until the place that always exists."""
    cdef Py_ssize_t last = s.count - 1, i = gap, j = i + 1
    cdef int left, right
    while True:
        if i > 0 and (j == last or m - s.z[i] <= s.z[j] - m):
            left = leaning(s, i, tight)
            if left == 0:
                return i
            if left > 0 and leaning(s, i - 1, tight) < 0:
                return -i
            i -= 1
        else:
            right = leaning(s, j, tight)
            if right == 0:
                return j
            if right < 0 and leaning(s, j + 1, tight) > 0:
                return -1 - j
            j += 1


cdef Place mixed(const Grid *s, Py_ssize_t k) noexcept nogil:
    """Mix point k and the next, which lean apart, each with the other's slope."""
    cdef double a, b
    if k == 0:
        return Place(s.z[1], s.z[1], 1.0, True, False)
    if k == s.count - 2:
        return Place(s.z[k], s.z[k], 1.0, True, False)
    a, b = slope(s, k), slope(s, k + 1)
    return Place(s.z[k], s.z[k + 1], b / (a + b), True, False)


cdef Place safe_place(Grid *s, double m) noexcept nogil:
    """Choose where to play for a mean m inside (0, 1)."""
    s.last = grid_find(s, m)
    return safe_place_in(s, m, s.last)


cdef Place safe_place_in(Grid *s, double m, Py_ssize_t gap) noexcept nogil:
    """Choose where to play for a mean m in a gap."""
    cdef Py_ssize_t k = nearest(s, m, gap, False)
    cdef bint bet = False
    if k < 0 or s.e[k] > 0.0:
        # The worse outcome is the one that adds to the bias.
        bet = k >= 0 and rise(s, k, 0.0 if s.S[k] > 0.0 else 1.0) <= s.purse
        if not bet:
            k = nearest(s, m, gap, True)
    s.played = -1 - k if k < 0 else k
    if k < 0:
        return mixed(s, -1 - k)
    return Place(s.z[k], s.z[k], 1.0, k != gap and k != gap + 1, bet)


cdef inline double patience(const Grid *s) noexcept nogil:
    """Return c: what the rounds of a gap, times its width squared, must pass for a cut."""
    cdef double most = CUT * (s.count - 1)
    return most * most


cdef void count(Grid *s, Py_ssize_t i, double rounds) noexcept nogil:
    """Count rounds for gap i, and cut it if it is due; there must be room."""
    cdef double w = s.theta[i + 1] - s.theta[i]
    s.g[i] += rounds
    if s.g[i] * w * w > patience(s) and grid_cut(s, i):
        safe_weigh(s, i + 1)
        s.purse += GIFT


cdef inline double careful(const Grid *s, double bold, double prompt) noexcept nogil:
    """Return what a round counts that an opponent might use to buy points.

    That is a share of the patience if outcomes come at once, and nearly `bold` if they come late.
    """
    return bold + (CAUTION * patience(s) - bold) * prompt


cdef int safe_learn(
    Grid *s, double m, double z, double y, bint bet, double lag
) noexcept nogil:
    """Count the outcome for z, which was predicted for m, and cut the gaps that are due.

    The last outcomes, this one included, came `lag` predictions late on average. Returns 0, or -1
    when there was no memory and nothing changed.
    """
    return safe_learn_near(s, m, z, y, bet, lag, s.last)  # mostly the outcome comes next


cdef int safe_learn_near(
    Grid *s, double m, double z, double y, bint bet, double lag, Py_ssize_t gap
) noexcept nogil:
    """Do what `safe_learn` does, sooner if `gap` is the one that holds m."""
    # Mostly the point is the one played last, or an end of the gap.
    cdef Py_ssize_t at = grid_find_near(s, m, gap)
    cdef Py_ssize_t k = grid_find_near(s, z, s.played if grid_is_near(s, z, s.played) else at)
    cdef double D = (s.n[k] + 1.0) * s.v[k] + FRESH, prompt = 1.0
    # Unless it was a bet, a biased point was played with the neighbour that it leans towards. What it
    # was when it was played, a late outcome does not tell.
    cdef bint is_mixed = s.o[k] > 0.0 if lag > LATE else not bet and s.e[k] > 0.0
    if grid_reserve(s, s.count + 2) < 0:
        return -1
    if lag > 0.0:
        prompt = 1.0 / slowness(lag, LAG)
    if not is_mixed:
        s.purse += INCOME * s.v[k] / D
    if bet:
        s.purse = fmax(0.0, s.purse - prompt * rise(s, k, y))
    gap = k if s.S[k] < 0.0 else k - 1
    s.n[k] += 1.0
    s.S[k] += z - y
    safe_weigh(s, k)
    if is_mixed:
        count(s, gap, careful(s, fmax(1.0, patience(s)), prompt))
        if gap != at:
            count(s, grid_find_near(s, m, at), careful(s, 1.0, prompt))
    elif s.purse >= SPARE or (not bet and (k == at or k == at + 1)):
        count(s, at, 1.0)
    else:
        count(s, at, fmin(1.0, careful(s, 1.0, prompt)))
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


cdef dict safe_save(const Grid *s):
    """Return the points and the purse, as arrays by name."""
    return grid_save(s) | {"purse": array_of(&s.purse, 1)}


cdef object safe_load(Grid *s, object state, int64_t outcomes):
    """Take over what `safe_save` returned after so many outcomes, or raise and change nothing.

    An outcome moves a bias by 1 at the most, and so a cost by no more than 8 times the bias before.
    """
    cdef double rounds = <double>outcomes
    cdef Py_ssize_t points = len(state["z"]), i
    most = GIFT * points + (INCOME + 8.0 * (rounds + 1.0)) * rounds
    cdef double purse = floats(state, "purse", size=1, low=0.0, high=most)[0]
    grid_load(s, state, outcomes, safe_counted(outcomes, points))
    s.purse = purse
    for i in range(s.count):
        safe_weigh(s, i)


def check_has_purse(state, purse="purse"):
    """Refuse a saved state of before the safe stage had a purse."""
    if purse not in state:
        raise ValueError(
            "this state was saved by a calibrant whose safe stage had no purse, and cannot be loaded"
        )


cdef class SafeKernel:
    """The safe stage by itself, for means of any origin: what tests and attacks play with."""

    cdef Grid grid

    def __cinit__(self, double lenient=LENIENT):
        if safe_start(&self.grid, lenient) < 0:
            raise MemoryError

    def __dealloc__(self):
        grid_free(&self.grid)

    @property
    def purse(self):
        """What bets may still cost."""
        return self.grid.purse

    def place(self, double mean):
        """Return the lower and the upper point played for a mean, and the share of the lower."""
        cdef Place place = safe_place(&self.grid, mean)
        return place.lo, place.hi, place.share

    def is_moved(self, double mean):
        """Return whether no neutral end of the mean's gap is played."""
        return safe_place(&self.grid, mean).moved

    def is_bet(self, double mean):
        """Return whether the purse pays for the point that is played."""
        return safe_place(&self.grid, mean).bet

    def learn(self, double mean, double point, double outcome, bet=None, double lag=0.0):
        """Count an outcome for a point that was predicted for a mean; a bet if it is one now."""
        cdef bint paid = safe_place(&self.grid, mean).bet if bet is None else bet
        if safe_learn(&self.grid, mean, point, outcome, paid, lag) < 0:
            raise MemoryError

    def columns(self):
        """Return theta, z, v, n, S and g of the points, by name."""
        return grid_save(&self.grid)
