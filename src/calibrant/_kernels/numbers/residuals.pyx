"""The location and the scale of residuals, as expected for the next one.

Everything is in residuals r = outcome - forecast, in units of their slow mean size, so that shift
and scale of the outcomes make no difference. There are three locations, and four scales of each:

- the forecast; plus a moving offset; plus a robust regression on the forecast, known residuals and
  the phases of a few seasons, least squares weighted by 1 / scale^2;
- the mean |error| at three speeds, and a scale learned from these, the forecast and the phases, by
  Newton steps on the likelihood of Laplace's distribution.

An outcome is learned with the features that its prediction had.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.numbers.limits cimport LARGEST, greater, lesser

cdef enum:
    LEAST_KNOWN = 10              # a prediction made from fewer outcomes teaches no regression
    FEW = 20                      # outcomes until outliers are told from the rest

cdef double[3] RATES = [0.1, 0.03, 0.005]   # of the three speeds
cdef double FORGET_LOCATION = 5e-4
cdef double FORGET_SCALE = 1e-3
cdef double RIDGE = 10.0
cdef double PHASE_RATE = 0.1
cdef double STALE = 0.3           # a memory of 1 / rate rounds is so much longer a round of lateness
cdef double TINY = 1e-300
# No location is farther from the forecast, so that no |error| of it is above FARTHEST_ERROR.
cdef double FARTHEST = 4.0 * LARGEST
cdef double FARTHEST_ERROR = 7.0 * LARGEST


cdef inline double clip(double x, double bound) noexcept nogil:
    return lesser(greater(x, -bound), bound)


cdef inline void remember(
    double *A, const double *x, double weight, double forget, int size, double *lane, int width
) noexcept nogil:
    """Forget a little of A, add weight x x' to it, and copy its upper half to a lane.

    A system that is smaller than the others is filled up with an unknown that is 0.
    """
    cdef int i, j
    cdef double f, keep = 1.0 - forget
    cdef double *row = A
    for i in range(size):
        f = x[i] * weight
        for j in range(i, size):  # of a symmetric matrix, the upper half will do
            row[j] = keep * row[j] + f * x[j]
        row[i] += forget * RIDGE
        for j in range(i, size):
            lane[j * SYSTEMS] = row[j]
        if size < width:
            lane[size * SYSTEMS] = 0.0
        row, lane = row + size, lane + width * SYSTEMS
    if size < width:
        lane[size * SYSTEMS] = 1.0


cdef inline double hastened(double rate, double weight) noexcept nogil:
    """Return how far a mean moves towards an outcome of a weight: no further than to it."""
    return lesser(1.0, weight * rate)


cdef void solve(double *M, double *v, int size) noexcept nogil:
    """Solve M x = v of all systems at once, a lane each; v becomes x, and M is used up.

    The ridge keeps M well away from singular, so that elimination needs no pivots.
    """
    cdef int i, j, k
    cdef double a, b, c, d
    cdef double[SYSTEMS] f, inverse
    cdef double *pivot
    cdef double *row
    cdef double *x
    for i in range(size):
        pivot = M + i * (size + 1) * SYSTEMS
        for k in range(SYSTEMS):
            inverse[k] = 1.0 / pivot[k]
        for j in range(i + 1, size):
            row, x = M + j * (size + 1) * SYSTEMS, pivot + (j - i) * SYSTEMS
            for k in range(SYSTEMS):
                f[k] = x[k] * inverse[k]
            for k in range(size - j):
                a = row[0] - f[0] * x[0]
                b = row[1] - f[1] * x[1]
                c = row[2] - f[2] * x[2]
                d = row[3] - f[3] * x[3]
                row[0], row[1], row[2], row[3] = a, b, c, d
                row, x = row + SYSTEMS, x + SYSTEMS
            for k in range(SYSTEMS):
                v[j * SYSTEMS + k] -= f[k] * v[i * SYSTEMS + k]
        for k in range(SYSTEMS):
            pivot[k] = inverse[k]
    for i in range(size - 1, -1, -1):
        pivot, x = M + i * (size + 1) * SYSTEMS, v + i * SYSTEMS
        for k in range(SYSTEMS):
            f[k] = x[k]
        for j in range(1, size - i):
            for k in range(SYSTEMS):
                f[k] -= pivot[j * SYSTEMS + k] * x[j * SYSTEMS + k]
        for k in range(SYSTEMS):
            x[k] = f[k] * pivot[k]


#: Features are in units of their spread, so that coefficients stay far below this, and features of
#: the scale, which are logarithms of ratios of doubles above TINY, below STEEPEST_S.
cdef double STEEPEST = 1e30
cdef double STEEPEST_S = 1300.0


cdef class Residuals:
    """Three locations and four scales of each, from the residuals known so far."""

    def __cinit__(self, periods):
        cdef int i
        self.periods = tuple(periods)
        self.count = len(self.periods)
        self.phases = sum(self.periods)
        self.nx, self.ns = PLAIN_X + self.count, PLAIN_S + self.count
        self.at_mu = self.nx + LOCATIONS * self.ns
        self.at_s = self.at_mu + LOCATIONS
        self.at_unit = self.at_s + LOCATIONS * SCALES
        self.size = self.at_unit + 1
        self.doubles = (
            sizeof(Known) // sizeof(double) + self.nx * (self.nx + 1)
            + LOCATIONS * (self.ns * (self.ns + 1) + SPEEDS + 1) + self.phases * (1 + LOCATIONS)
        )
        self.block = <double *>calloc(self.doubles, sizeof(double))
        self.length = <int64_t *>malloc((self.count + 1) * sizeof(int64_t))
        self.heard = <unsigned char *>calloc(self.phases + 1, 1)
        self.solve = <double *>malloc(self.nx * (self.nx + 1) * SYSTEMS * sizeof(double))
        if not (self.block and self.length and self.heard and self.solve):
            raise MemoryError
        for i in range(self.count):
            self.length[i] = self.periods[i]
        self.known = <Known *>self.block
        self.A = self.block + sizeof(Known) // sizeof(double)
        self.theta = self.A + self.nx * self.nx
        self.As = self.theta + self.nx
        self.thetas = self.As + LOCATIONS * self.ns * self.ns
        self.means = self.thetas + LOCATIONS * self.ns
        self.cap = self.means + LOCATIONS * SPEEDS
        self.phase_m = self.cap + LOCATIONS
        self.phase_s = self.phase_m + self.phases
        for i in range(self.nx):
            self.A[i * (self.nx + 1)] = RIDGE
        for j in range(LOCATIONS):
            for i in range(self.ns):
                self.As[j * self.ns * self.ns + i * (self.ns + 1)] = RIDGE
            # The learned scale begins as a geometric mean of the three speeds.
            self.thetas[j * self.ns + 1] = 0.2
            self.thetas[j * self.ns + 2] = self.thetas[j * self.ns + 3] = 0.4

    def __dealloc__(self):
        free(self.block)
        free(self.length)
        free(self.heard)
        free(self.solve)

    cdef void look(self, double m, int64_t number, int64_t n, double *to) noexcept nogil:
        """Fill in features, locations, scales and the unit of round `number`, with forecast m.

        So many outcomes n are known.
        """
        cdef Known *known = self.known
        cdef double unit = greater(self.means[SPEEDS - 1], TINY)
        cdef double *mu = to + self.at_mu
        cdef double *s
        cdef double *sx
        cdef double *x = to
        cdef double size, total
        cdef int i, j, p, at
        x[0] = 1.0
        x[1] = clip((m - known.mean_m) / greater(known.dev_m, TINY), 3.0) if n > 0 else 0.0
        x[2], x[3] = known.last / unit, known.before / unit
        x[4], x[5] = known.quick / unit, known.slow / unit
        at = 0
        for p in range(self.count):
            x[PLAIN_X + p] = self.phase_m[at + number % self.length[p]] / unit
            at += <int>self.length[p]
        for i in range(2, self.nx):
            x[i] = clip(x[i], 8.0)
        total = 0.0
        for i in range(self.nx):
            total += self.theta[i] * x[i]
        mu[0], mu[1], mu[2] = 0.0, known.offset, clip(total * unit, FARTHEST)
        size = log(lesser(fabs(m) / greater(known.abs_m, TINY), 1e6) + 0.05)
        for j in range(LOCATIONS):
            sx, s = to + self.nx + j * self.ns, to + self.at_s + j * SCALES
            sx[0] = 1.0
            for i in range(SPEEDS):
                s[i] = greater(self.means[j * SPEEDS + i], 1e-3 * unit)
                sx[1 + i] = log(s[i] / unit)
            sx[4] = size
            at = 0
            for p in range(self.count):
                i = at + <int>(number % self.length[p])
                sx[PLAIN_S + p] = (
                    log(greater(self.phase_s[j * self.phases + i], 1e-2 * unit) / unit)
                    if self.heard[i] else sx[3]
                )
                at += <int>self.length[p]
            total = 0.0
            for i in range(self.ns):
                total += self.thetas[j * self.ns + i] * sx[i]
            s[SPEEDS] = unit * exp(lesser(greater(total, -6.0), 4.0))
        to[self.at_unit] = unit

    cdef void learn(
        self, const double *t, double m, double r, double weight, int64_t number, int64_t n,
        int64_t known, double late,
    ) noexcept nogil:
        """Learn a residual of round `number`, which was predicted from what `look` put in t.

        It is the n-th, `known` of them were known then, and outcomes are so many rounds `late`. It
        counts `weight` times in least squares, and means move so many times as far, up to it.
        """
        cdef Known *state = self.known
        cdef const double *sx
        cdef const double *s
        cdef double mid = t[self.at_s + 1], unit = t[self.at_unit], least = 1.0 / n
        cdef double e, size, share, clipped, rate, step
        cdef double *v = self.solve + self.nx * self.nx * SYSTEMS
        cdef bint teaches = known > LEAST_KNOWN
        cdef int i, j, p, at
        for j in range(LOCATIONS):
            s, sx = t + self.at_s + j * SCALES, t + self.nx + j * self.ns
            e = r - t[self.at_mu + j]
            size = fabs(e)
            if teaches:
                remember(
                    self.As + j * self.ns * self.ns, sx, weight, FORGET_SCALE, self.ns,
                    self.solve + j, self.nx,
                )
                step = weight * (lesser(4.0, size / s[SPEEDS]) - 1.0)
                for i in range(self.ns):
                    v[i * SYSTEMS + j] = step * sx[i]
                v[self.ns * SYSTEMS + j] = 0.0
            # One outlier counts at most 20 mean errors; each that follows, twice as much.
            if n > FEW and self.means[j * SPEEDS + SPEEDS - 1] > 0.0:
                if size > self.cap[j]:
                    size = self.cap[j]
                    self.cap[j] *= 2.0
                else:
                    self.cap[j] = greater(20.0 * self.means[j * SPEEDS + SPEEDS - 1], 0.9 * self.cap[j])
            else:
                self.cap[j] = greater(self.cap[j], 20.0 * size)
            for i in range(SPEEDS):
                rate = hastened(greater(1.0 / (1.0 / RATES[i] + STALE * late), least), weight)
                self.means[j * SPEEDS + i] += rate * (size - self.means[j * SPEEDS + i])
            at = 0
            for p in range(self.count):
                i = at + <int>(number % self.length[p])
                rate = hastened(greater(PHASE_RATE, 1.0 / (self.heard[i] + 1.0)), weight)
                self.phase_s[j * self.phases + i] += rate * (size - self.phase_s[j * self.phases + i])
                at += <int>self.length[p]
        if teaches:
            s = t + self.at_s + (LOCATIONS - 1) * SCALES
            share = lesser(5.0, unit / s[1])
            e = clip((r - t[self.at_mu + LOCATIONS - 1]) / s[1], 3.0)
            remember(
                self.A, t, weight * (share * share), FORGET_LOCATION, self.nx, self.solve + LOCATIONS,
                self.nx,
            )
            for i in range(self.nx):
                v[i * SYSTEMS + LOCATIONS] = weight * (e * share) * t[i]
            solve(self.solve, v, self.nx)
            for i in range(self.nx):
                self.theta[i] += v[i * SYSTEMS + LOCATIONS]
            for j in range(LOCATIONS):
                for i in range(self.ns):
                    self.thetas[j * self.ns + i] += v[i * SYSTEMS + j]
        clipped = clip(r, 4.0 * mid) if teaches else r
        e = clip(r - state.offset, 4.0 * mid) if teaches else r - state.offset
        state.offset += hastened(greater(1.0 / (50.0 + STALE * late), least), weight) * e
        rate = hastened(greater(1.0 / (7.0 + STALE * late), least), weight)
        state.quick += rate * (clipped - state.quick)
        rate = hastened(greater(1.0 / (100.0 + STALE * late), least), weight)
        state.slow += rate * (clipped - state.slow)
        state.before, state.last = state.last, clipped
        at = 0
        for p in range(self.count):
            i = at + <int>(number % self.length[p])
            if self.heard[i] < 255:
                self.heard[i] += 1
            rate = hastened(greater(PHASE_RATE, 1.0 / self.heard[i]), weight)
            self.phase_m[i] += rate * (clipped - self.phase_m[i])
            at += <int>self.length[p]
        rate = greater(0.002, least)
        state.mean_m += rate * (m - state.mean_m)
        state.dev_m += rate * (fabs(m - state.mean_m) * 1.25 - state.dev_m)
        state.abs_m += rate * (fabs(m) - state.abs_m)
        state.far = greater(state.far, fabs(r))

    # -- saving ---------------------------------------------------------------------------------

    def save(self):
        """Return the state: numbers, and how often each phase was heard, a byte each."""
        numbers, heard = np.empty(self.doubles), np.zeros(self.phases // 8 + 1, dtype=np.int64)
        cdef double[::1] to = numbers
        cdef int64_t[::1] counts = heard
        memcpy(&to[0], self.block, self.doubles * sizeof(double))
        memcpy(&counts[0], self.heard, self.phases)
        return {"residuals": numbers, "phases": heard}

    def load(self, const double[::1] numbers, const int64_t[::1] heard):
        """Take over what `save` returned."""
        if numbers.shape[0] != self.doubles or heard.shape[0] != self.phases // 8 + 1:
            raise ValueError("the saved residuals must be of the same periods")
        low, high = limits_of(self.limits())
        if not ((np.asarray(numbers) >= low) & (np.asarray(numbers) <= high)).all():
            raise ValueError("the saved residuals must be within reach of what can be observed")
        memcpy(self.block, &numbers[0], self.doubles * sizeof(double))
        memcpy(self.heard, &heard[0], self.phases)
        self.check()

    def limits(self):
        """Return how many numbers of the state lie between which, one after the other."""
        cdef double x = 25.0 * 64.0 / FORGET_LOCATION, s = STEEPEST_S * STEEPEST_S / FORGET_SCALE
        return [
            (1, 0.0, FARTHEST),                               # far
            (5, -FARTHEST, FARTHEST),                         # offset, quick, slow, last, before
            (1, -FARTHEST, FARTHEST), (2, 0.0, FARTHEST),     # mean_m; dev_m, abs_m
            (self.nx * self.nx, -x - RIDGE, x + RIDGE), (self.nx, -STEEPEST, STEEPEST),
            (LOCATIONS * self.ns * self.ns, -s - RIDGE, s + RIDGE),
            (LOCATIONS * self.ns, -STEEPEST, STEEPEST),
            (LOCATIONS * SPEEDS, 0.0, FARTHEST_ERROR), (LOCATIONS, 0.0, 20.0 * FARTHEST_ERROR),
            (self.phases, -FARTHEST, FARTHEST), (LOCATIONS * self.phases, 0.0, FARTHEST_ERROR),
        ]

    def features(self):
        """Return how many numbers that `look` fills lie between which, one after the other."""
        return [
            (1, 1.0, 1.0), (1, -3.0, 3.0), (self.nx - 2, -8.0, 8.0),
            *LOCATIONS * [
                (1, 1.0, 1.0), (SPEEDS, -7.0, STEEPEST_S), (1, -3.0, 14.0),
                (self.count, -7.0, STEEPEST_S),
            ],
            (1, 0.0, 0.0), (LOCATIONS - 1, -FARTHEST, FARTHEST),
            (LOCATIONS * SCALES, 1e-304, 100.0 * FARTHEST_ERROR),
            (1, TINY, FARTHEST_ERROR),
        ]

    def check(self):
        """Refuse least squares that no rounds lead to."""
        cdef int j
        for matrix in [matrix_of(self.A, self.nx)] + [
            matrix_of(self.As + j * self.ns * self.ns, self.ns) for j in range(LOCATIONS)
        ]:
            # What is added to the ridge is never negative, but for what is rounded.
            size = np.abs(matrix).max()
            if np.tril(matrix, -1).any() or (
                np.linalg.eigvalsh(matrix, "U")[0] < 0.5 * RIDGE - 1e-9 * size
            ):
                raise ValueError("the saved least squares must be upper halves, above their ridge")


def limits_of(parts):
    """Return the least and the greatest of each number, from how many lie between which."""
    count, low, high = zip(*parts)
    return np.repeat(low, count), np.repeat(high, count)


cdef object matrix_of(const double *values, int size):
    found = np.empty((size, size))
    cdef double[:, ::1] to = found
    memcpy(&to[0, 0], values, size * size * sizeof(double))
    return found
