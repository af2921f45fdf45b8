"""Zoom: prediction points that are inserted where they are used.

Symbols: theta, the angle of a point, in which noise has the same size everywhere; z =
sin^2(theta/2), its probability, and v = z (1 - z); n, its visits; S, its bias, the sum of z - y
over them; e = S^2 / (n v + 1), what the bias costs; g, the rounds played in a gap of width w; m,
the recent mean of the outcomes.
"""

from libc.math cimport log2

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
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.saved import check_names, number

cdef double RATE = 0.25     # m forgets at RATE w a round: it remembers about 4 / w rounds
cdef double GRANT = 0.5     # a point inserted allows bets to raise the sum of e by this


cdef inline double cost(double n, double S, double v) noexcept nogil:
    return S * S / (n * v + 1.0)


cdef inline double patience(Py_ssize_t count) noexcept nogil:
    """Return the threshold of a cut: gaps grow to (log2 M) / 2 standard errors, M gaps in all."""
    cdef double l = log2(<double>(count - 1))
    return 0.25 * l * l


cdef int zoom_start(ZoomState *s) noexcept nogil:
    """Start with the sentinels 0 and 1 and the point 1/2."""
    if grid_start(&s.grid, 2) < 0:
        return -1
    s.cut = patience(s.grid.count)
    s.m = 0.5
    return 0


cdef Py_ssize_t zoom_place(ZoomState *s, double *points, double *weights) noexcept nogil:
    """Choose where to play; return how many points carry mass."""
    cdef Grid *grid = &s.grid
    cdef Py_ssize_t lo = 0, hi = grid.count - 1, k
    cdef double low, high
    # Neighbours that under-predict (S <= 0) and over-predict (S > 0); the sentinels count as such,
    # so a crossing exists. A point never visited is predicted outright.
    while hi - lo > 1:
        k = (lo + hi) >> 1
        if grid.n[k] == 0.0:
            lo = hi = k
        elif grid.S[k] <= 0.0:
            lo = k
        else:
            hi = k
    s.lo, s.hi, s.bet = lo, hi, False
    s.w = grid.theta[lo + 1] - grid.theta[lo]
    weights[0] = 1.0
    points[0] = grid.z[lo]
    if lo == hi or hi == grid.count - 1:
        return 1
    if lo == 0:
        points[0] = grid.z[hi]
        return 1
    if s.purse > 0.0:
        # A recent mean clearly beyond one end (by sqrt 2 of its standard errors) is bet on: that
        # end is nearer the truth, and playing it repays its bias.
        low, high = grid.z[lo] - s.m, s.m - grid.z[hi]
        if low > 0.0 and low * low >= RATE * s.w * grid.v[lo]:
            s.bet = True
            return 1
        if high > 0.0 and high * high >= RATE * s.w * grid.v[hi]:
            s.bet = True
            points[0] = grid.z[hi]
            return 1
    if grid.e[lo] == 0.0:
        return 1
    # Each end with the other's cost, which is proportional to the slope of |S|^3 / (n v + 1): the
    # expected rise of the sum of these is then the same for every outcome, to first order, and
    # small because the ends are close.
    points[1] = grid.z[hi]
    weights[0] = grid.e[hi] / (grid.e[lo] + grid.e[hi])
    weights[1] = 1.0 - weights[0]
    return 2


cdef int zoom_learn(ZoomState *s, double p, double y) noexcept nogil:
    """Charge the outcome to the point predicted, and cut the gap if it has earned it."""
    cdef Grid *grid = &s.grid
    cdef Py_ssize_t lo = s.lo, k = s.lo if p == grid.z[s.lo] else s.hi
    cdef double before = grid.e[k]
    if grid_reserve(grid, grid.count + 1) < 0:
        return -1
    grid.n[k] += 1.0
    grid.S[k] += grid.z[k] - y
    grid.e[k] = cost(grid.n[k], grid.S[k], grid.v[k])
    if s.bet:
        s.purse += before - grid.e[k]
    s.m += RATE * s.w * (y - s.m)
    if lo == s.hi:
        return 0
    grid.g[lo] += 1.0
    if grid.g[lo] * s.w * s.w > s.cut and grid_cut(grid, lo):
        s.purse += GRANT
        s.cut = patience(grid.count)
    return 0


cdef class ZoomKernel(Kernel):
    """The grid of one Zoom."""

    def __cinit__(self, *args, **kwargs):
        if zoom_start(&self.state) < 0:
            raise MemoryError

    def __init__(self, seed):
        super().__init__(seed)

    def __dealloc__(self):
        grid_free(&self.state.grid)

    cdef int place(self) noexcept nogil:
        self.size = zoom_place(&self.state, self.points, self.weights)
        return 0

    cdef int learn(self, double y) noexcept nogil:
        return zoom_learn(&self.state, self.points[self.chosen], y)

    def __sizeof__(self):
        return object.__sizeof__(self) + grid_bytes(&self.state.grid)

    def _get_state(self):
        cdef ZoomState *s = &self.state
        return {"m": s.m, "purse": s.purse, **grid_save(&s.grid)}

    def _set_state(self, state):
        check_names(state, {"m", "purse", *GRID_PARTS})
        cdef double m = number(state, "m", low=0.0, high=1.0)
        cdef double purse = number(state, "purse")
        cdef ZoomState *s = &self.state
        cdef Grid *grid = &s.grid
        cdef Py_ssize_t i
        grid_load(grid, state)
        s.m, s.purse, s.cut = m, purse, patience(grid.count)
        for i in range(grid.count):
            grid.e[i] = cost(grid.n[i], grid.S[i], grid.v[i])
