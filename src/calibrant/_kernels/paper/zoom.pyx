"""Zoom: prediction points that are inserted where they are used. The rule is called Even.

Symbols: theta, the angle of a point, in which noise has the same size everywhere; z =
sin^2(theta/2), its probability, and v = z (1 - z); n, its visits; S, its bias, the sum of z - y
over them; b, an imagined outcome, fixed when the point is inserted, and R = S + z - b, its bias
with that outcome; N = n v + 1 and D = N + v; phi = (R + 1/2 - z)^2 / N, what the bias costs; g, the
rounds played in a gap of width w; m, the recent mean of the outcomes. A point whose phi is hopeless
retires: it starts a new life at the same z. Lemmas and theorems are those of docs/zoom-proof.md.
"""

from libc.math cimport fmax
from libc.stdint cimport int64_t
from libc.stdlib cimport free

import numpy as np

from calibrant._kernels.functions cimport log, log1p, log2
from calibrant._kernels.grid cimport (
    Grid,
    grid_bytes,
    grid_cut,
    grid_free,
    grid_load,
    grid_reserve,
    grid_save,
    grid_start,
)
from calibrant._kernels.grid import GRID_PARTS
from calibrant._kernels.kernel cimport Gap, Kernel, array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.saved import check_names, counts, floats, number

cdef double RATE = 0.25     # m forgets at RATE w a round: it remembers about 4 / w rounds
cdef double GRANT = 0.5     # gamma: a point inserted allows bets to raise the sum of phi by this
cdef double PATIENCE = 0.4  # a gap is cut once g w^2 passes this times (log2 M)^2, M gaps in all
cdef double HOPELESS = 64.0 # a point retires once phi passes this times 1 + log t, in round t
cdef double ALARMING = 49.0 # a hopeless phi has R^2 / N above this: |U| > 8, and |R| > |U| - 1/2
cdef double SLACK = 1e-6    # between two sums of many rounds, R and S, for their roundings

# A bet lowers phi of a point by less than 4 (n + 2), which the purse gains.
cdef double MOST_PURSE = 4.0

VERSION = 2                 # of the saved state; the first rule, before Even, saved none
NUMBERS = ("version", "m", "purse", "squares")
LIVES = ("retired_z", "retired_n", "retired_S", "retired_R")  # saved if there are any


cdef inline double spread(const Grid *grid, Py_ssize_t k) noexcept nogil:
    """Return D of point k."""
    return (grid.n[k] + 1.0) * grid.v[k] + 1.0


cdef inline double rise(const Grid *grid, Py_ssize_t k, double y) noexcept nogil:
    """Return by how much phi of point k rises if it is predicted and y comes."""
    cdef double z = grid.z[k], U = grid.e[k] + (0.5 - z), after = U + (z - y)
    cdef double N = grid.n[k] * grid.v[k] + 1.0, D = spread(grid, k)
    return (after * after * N - U * U * D) / (N * D)


cdef inline double patience(Py_ssize_t count) noexcept nogil:
    """Return tau(M), the threshold of a cut, for M + 1 points."""
    cdef double l = log2(<double>(count - 1))
    return PATIENCE * l * l


cdef int reserve_lives(ZoomState *s, Py_ssize_t lives) noexcept nogil:
    """Make room for so many lives that are over; -1 when there is no memory."""
    cdef double **columns[LIFE]
    cdef int i
    if lives <= s.room:
        return 0
    for i in range(LIFE):
        columns[i] = &s.life[i]
    if resize(columns, LIFE, 2 * lives) < 0:
        return -1
    s.room = 2 * lives
    return 0


cdef void retire_if_hopeless(ZoomState *s, Py_ssize_t k, int64_t rounds) noexcept nogil:
    """Let point k start a new life if its phi is hopeless; there must be room for what is over."""
    cdef Grid *grid = &s.grid
    cdef double U = grid.e[k] + (0.5 - grid.z[k]), N = grid.n[k] * grid.v[k] + 1.0
    if U * U <= HOPELESS * N * (1.0 + log(<double>rounds)):
        return
    s.life[0][s.lives], s.life[1][s.lives] = grid.z[k], grid.n[k]
    s.life[2][s.lives], s.life[3][s.lives] = grid.S[k], grid.e[k]
    s.lives += 1
    grid.n[k] = grid.S[k] = 0.0
    grid.e[k] = grid.z[k] - s.m  # b is m
    s.found = False


cdef int zoom_start(ZoomState *s) noexcept nogil:
    """Start with the sentinels 0 and 1 and the point 1/2, whose b is 1/2."""
    if grid_start(&s.grid, 2) < 0:
        return -1
    s.cut = patience(s.grid.count)
    s.m = 0.5
    return 0


cdef void find(ZoomState *s) noexcept nogil:
    """Find neighbours that under-predict (R <= 0) and over-predict (R > 0).

    The sentinels count as such, so there are some. No bisection is needed while it would see the
    same signs as before.
    """
    cdef const double *R = s.grid.e
    cdef Py_ssize_t lo = 0, hi = s.grid.count - 1, k
    while hi - lo > 1:
        k = (lo + hi) >> 1
        if R[k] <= 0.0:
            lo = k
        else:
            hi = k
    s.lo, s.hi, s.found = lo, hi, True
    s.w = s.grid.theta[hi] - s.grid.theta[lo]


cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil:
    """Choose where to play; return how many points carry mass."""
    cdef Grid *grid = &s.grid
    cdef Py_ssize_t lo, hi
    cdef double low, high, a, b
    if not s.found:
        find(s)
    lo, hi, s.bet = s.lo, s.hi, False
    weights[0] = 1.0
    points[0] = grid.z[lo]
    if hi == grid.count - 1:
        return 1
    points[1] = grid.z[hi]
    if lo == 0:
        points[0] = points[1]
        return 1
    if s.purse > 0.0:
        # A recent mean clearly beyond one end (by sqrt 2 of its standard errors) is bet on: that
        # end is nearer the truth, and playing it repays its bias. The purse must cover the worst
        # outcome, which is the one that the end already has too few of.
        low, high = points[0] - s.m, s.m - points[1]
        if low > 0.0 and low * low >= RATE * s.w * grid.v[lo]:
            s.bet = s.purse >= rise(grid, lo, 1.0)
            if s.bet:
                return 1
        elif high > 0.0 and high * high >= RATE * s.w * grid.v[hi]:
            s.bet = s.purse >= rise(grid, hi, 0.0)
            if s.bet:
                points[0] = points[1]
                return 1
    # Each end with the other's slope |R| / D: the expected sum of all phi is then the same for the
    # outcomes 0 and 1, and rises little because the ends are close (Lemma 3).
    if grid.e[lo] == 0.0:
        return 1
    a, b = grid.e[hi] * spread(grid, lo), -grid.e[lo] * spread(grid, hi)
    weights[0] = a / (a + b)
    weights[1] = 1.0 - weights[0]
    return 2


cdef int zoom_learn(ZoomState *s, double p, double y, int64_t rounds) noexcept nogil:
    """Charge the outcome to the point predicted, and cut the gap if it has earned it."""
    cdef Grid *grid = &s.grid
    cdef Py_ssize_t lo = s.lo, k = s.lo if p == grid.z[s.lo] else s.hi
    cdef double d = grid.z[k] - y, square = s.w * s.w
    if grid_reserve(grid, grid.count + 1) < 0:
        return -1
    if s.lives == s.room and reserve_lives(s, s.lives + 1) < 0:
        return -1
    if s.bet:
        s.purse = fmax(0.0, s.purse - rise(grid, k, y))  # below 0 by a rounding at most
    else:
        s.squares += square
    grid.n[k] += 1.0
    grid.S[k] += d
    grid.e[k] += d
    s.found = (grid.e[k] <= 0.0) == (k == lo)
    s.m += RATE * s.w * (y - s.m)
    if grid.e[k] * grid.e[k] > ALARMING * (grid.n[k] * grid.v[k] + 1.0):
        retire_if_hopeless(s, k, rounds)
    grid.g[lo] += 1.0
    if grid.g[lo] * square > s.cut and grid_cut(grid, lo):
        grid.e[lo + 1] = grid.z[lo + 1] - s.m  # b is m
        s.found = False
        s.purse += GRANT
        s.cut = patience(grid.count)
    return 0


def check_lives(z, n, S, R, points):
    """Refuse lives that are over of other points than there are, or that had no reason to end."""
    if not len(z) == len(n) == len(S) == len(R) or not np.isin(z, points).all():
        raise ValueError("saved lives must be of saved points")
    slack = SLACK * (1.0 + n)
    if (n % 1).any() or (n < 1).any() or (S > n * z + slack).any() or (S < n * (z - 1) - slack).any():
        raise ValueError("saved retired_S must be within reach of saved retired_n")
    U = R + (0.5 - z)
    if (abs(R - S) > 1.0 + SLACK).any() or (U * U <= HOPELESS * (n * z * (1 - z) + 1) - slack).any():
        raise ValueError("saved retired_R must lie within 1 of retired_S and be hopeless")


cdef class ZoomKernel(Kernel):
    """The grid of one Zoom."""

    def __cinit__(self, *args, **kwargs):
        if zoom_start(&self.state) < 0:
            raise MemoryError

    def __init__(self, seed):
        super().__init__(seed)

    def __dealloc__(self):
        cdef int i
        grid_free(&self.state.grid)
        for i in range(LIFE):
            free(self.state.life[i])

    cdef int place(self) noexcept nogil:
        self.size = zoom_place(&self.state, self.points, self.weights)
        return 0

    cdef int learn(self, double y) noexcept nogil:
        return zoom_learn(&self.state, self.points[self.chosen], y, self._rounds + 1)

    cdef bint look(self, Gap *gap) noexcept nogil:
        cdef ZoomState *s = &self.state
        cdef Grid *grid = &s.grid
        cdef Py_ssize_t lo = s.lo, hi = s.hi
        gap.w, gap.left = s.w, s.cut / (s.w * s.w) - grid.g[lo]
        gap.first, gap.last = lo == 0, hi == grid.count - 1
        gap.z_lo, gap.z_hi = grid.z[lo], grid.z[hi]
        gap.R_lo, gap.R_hi = grid.e[lo], grid.e[hi]
        gap.a_lo, gap.a_hi = -gap.R_lo / spread(grid, lo), gap.R_hi / spread(grid, hi)
        gap.bet = 0
        if s.bet:
            gap.bet = -1 if self.points[0] == grid.z[lo] else 1
        return True

    def _theorem(self):
        """Return Phi, the sum of all phi, and what Theorem 1 bounds its expectation by."""
        cdef ZoomState *s = &self.state
        cdef Grid *grid = &s.grid
        cdef Py_ssize_t k
        cdef double Phi = 0.0, bound = 1.125 * s.squares + GRANT * (grid.count - 3), U, nv, z
        for k in range(1, grid.count - 1):
            U, nv = grid.e[k] + (0.5 - grid.z[k]), grid.n[k] * grid.v[k]
            Phi += U * U / (nv + 1.0)
            bound += log1p(nv) + 0.5
        for k in range(s.lives):
            z = s.life[0][k]
            U, nv = s.life[3][k] + (0.5 - z), s.life[1][k] * (z * (1.0 - z))
            Phi += U * U / (nv + 1.0)
            bound += log1p(nv) + 0.5
        return Phi, bound

    def __sizeof__(self):
        own = LIFE * self.state.room * sizeof(double)
        return object.__sizeof__(self) + grid_bytes(&self.state.grid) + own

    def _lives(self):
        """Return z, n, S and R of all lives: of the points as they are, then of what is over."""
        cdef ZoomState *s = &self.state
        cdef Grid *grid = &s.grid
        cdef double *living[LIFE]
        cdef int i
        living[:] = [grid.z, grid.n, grid.S, grid.e]
        columns = []
        for i in range(LIFE):
            present = array_of(living[i] + 1, grid.count - 2)
            columns.append(np.concatenate([present, array_of(s.life[i], s.lives)]))
        return columns

    def _get_state(self):
        cdef ZoomState *s = &self.state
        cdef int i
        over = {}
        for i in range(LIFE if s.lives else 0):
            over[LIVES[i]] = array_of(s.life[i], s.lives)
        return {
            "version": VERSION,
            "m": s.m,
            "purse": s.purse,
            "squares": s.squares,
            "R": array_of(s.grid.e, s.grid.count),
            **grid_save(&s.grid),
            **over,
        }

    def _set_state(self, state, rounds):
        if state.get("version", 1) != VERSION:
            raise ValueError(
                f"saved Zoom has version {state.get('version', 1)}, of another rule than this "
                f"calibrant's ({VERSION}), which cannot continue it: give a new Zoom the past "
                "outcomes with run(), or keep the calibrant that saved it"
            )
        over = LIVES if "retired_n" in state else ()
        check_names(state, {*NUMBERS, "R", *GRID_PARTS, *over})
        cdef double m = number(state, "m", low=0.0, high=1.0)
        cdef double purse = number(state, "purse", low=0.0, high=MOST_PURSE * (rounds + 1.0) ** 2)
        cdef double squares = number(state, "squares", low=0.0, high=10.0 * rounds)  # w^2 < 10
        cdef const double[::1] R = floats(state, "R")
        cdef ZoomState *s = &self.state
        cdef Grid *grid = &s.grid
        cdef Py_ssize_t i, k
        if (np.abs(np.subtract(R, floats(state, "S", size=len(R)))) > 1.0 + SLACK).any():
            raise ValueError("saved R must lie within 1 of S, point by point")
        columns = [floats(state, name) for name in over] or [np.empty(0)] * LIFE
        check_lives(*columns, floats(state, "z")[1:-1])
        counts(state, "n", total=rounds - columns[1].sum())
        if reserve_lives(s, len(columns[0])) < 0:
            raise MemoryError
        grid_load(grid, state, rounds, rounds)
        s.lives = len(columns[0])
        for i in range(LIFE):
            for k in range(s.lives):
                s.life[i][k] = columns[i][k]
        s.found = False
        s.m, s.purse, s.squares, s.cut = m, purse, squares, patience(grid.count)
        for i in range(grid.count):
            grid.e[i] = R[i]
