"""AdaNormalHedge on a dyadic grid: two experts a leaf, each asleep while another leaf predicts.

Symbols, for a leaf of width w: p, its middle, which it predicts; R_up and R_down, the regrets of its
experts, which claim that outcomes at p are larger and smaller than p; C_up and C_down, the sums of
their absolute changes; W, the sum of their weights, and h, the first weight minus the second; g, the
rounds in which the leaf was found. A leaf of level l, of width 2^-l, is split when g = 4^l.
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memmove

import numpy as np

from calibrant._kernels.functions cimport exp
from calibrant._kernels.kernel cimport Kernel, array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.saved import SLACK, check_names, floats

cdef enum:
    COLUMNS = 9
    DEEPEST = 40  # 4^40 rounds are more than anybody plays, and p is exact

# Exponents end here, so that no weight overflows; only an opponent who sees the draws gets there.
cdef double LARGEST = 300.0
PARTS = ("level", "R_up", "R_down", "C_up", "C_down", "g")


cdef inline double power(double R, double C) noexcept nogil:
    """Return the exponent of AdaNormalHedge's potential, [R]_+^2 / (3 C)."""
    R = fmax(R, 0.0)
    return R * R / (3.0 * C)


cdef inline double weight(double R, double C) noexcept nogil:
    """Return AdaNormalHedge's weight: half the potential at R + 1 minus half that at R - 1."""
    cdef double high = power(R + 1.0, C + 1.0), low = power(R - 1.0, C + 1.0)
    return 0.5 * exp(fmin(high, LARGEST)) * (1.0 - exp(low - high))


def check_leaves(level, R_up, R_down, C_up, C_down, g, rounds):
    """Refuse leaves that do not fill [0, 1], and counts that rounds cannot reach."""
    if (level % 1).any():
        raise ValueError("saved level must hold whole numbers")
    width = 0.5**level
    left = np.cumsum(width) - width
    if width.sum() != 1.0 or (left % width).any():
        raise ValueError("saved leaves must be halves of halves and fill the interval from 0 to 1")
    counted = g.sum()
    for depth in range(int(level.max())):  # those that were split
        counted += 4.0**depth * len(np.unique(np.floor(left[level > depth] * 2.0**depth)))
    if (g % 1).any() or (g >= 4.0**level).any() or counted > 2 * rounds:
        raise ValueError(f"saved g must count no more than {rounds} rounds")
    for R, C in ((R_up, C_up), (R_down, C_down)):
        if (abs(R) > C * (1 + SLACK)).any() or (C > g * (1 + SLACK)).any():
            raise ValueError("saved regrets must be within reach of saved g")


cdef class DyadicHedgeKernel(Kernel):
    """The leaves, from left to right."""

    cdef Py_ssize_t count, room
    cdef Py_ssize_t lo, hi         # the leaves found in this round, the same one if it is alone
    cdef double margin             # what both experts lose in this round, if their leaf predicts
    cdef double *level
    cdef double *p
    cdef double *R_up
    cdef double *R_down
    cdef double *C_up
    cdef double *C_down
    cdef double *g
    cdef double *h
    cdef double *W

    def __init__(self, seed):
        super().__init__(seed)
        if self.make_room(1) < 0:
            raise MemoryError
        self.count = 1
        self.start(0, 0.0, 0.5)

    def __dealloc__(self):
        cdef double **columns[COLUMNS]
        cdef int i
        self.columns_of(columns)
        for i in range(COLUMNS):
            free(columns[i][0])

    cdef void columns_of(self, double ***columns) noexcept nogil:
        columns[0], columns[1], columns[2] = &self.level, &self.p, &self.g
        columns[3], columns[4], columns[5] = &self.R_up, &self.R_down, &self.C_up
        columns[6], columns[7], columns[8] = &self.C_down, &self.h, &self.W

    cdef int make_room(self, Py_ssize_t count) noexcept nogil:
        """Make room for so many leaves; -1 when there is no memory."""
        cdef double **columns[COLUMNS]
        if count <= self.room:
            return 0
        self.columns_of(columns)
        if resize(columns, COLUMNS, 2 * count) < 0:
            return -1
        self.room = 2 * count
        return 0

    cdef void start(self, Py_ssize_t k, double level, double p) noexcept nogil:
        """Make leaf k a fresh one."""
        self.level[k], self.p[k], self.g[k] = level, p, 0.0
        self.R_up[k] = self.R_down[k] = self.C_up[k] = self.C_down[k] = 0.0
        self.weigh(k)

    cdef void weigh(self, Py_ssize_t k) noexcept nogil:
        cdef double up = weight(self.R_up[k], self.C_up[k])
        cdef double down = weight(self.R_down[k], self.C_down[k])
        self.h[k], self.W[k] = up - down, up + down

    cdef double width(self, Py_ssize_t k) noexcept nogil:
        return 1.0 / <double>((<long long>1) << <int>self.level[k])

    cdef int place(self) noexcept nogil:
        cdef Py_ssize_t lo = -1, hi = self.count, middle
        while hi - lo > 1:
            middle = (lo + hi) // 2
            if self.h[middle] > 0.0:
                lo = middle
            else:
                hi = middle
        self.weights[0] = 1.0
        self.size = 1
        if lo < 0 or hi == self.count:  # beyond the middle of an end leaf an outcome is w/2 away
            lo = hi = max(lo, 0)
            self.margin = 0.0
            if self.h[lo] != 0.0:
                self.margin = 0.5 * self.width(lo) * (fabs(self.h[lo]) / self.W[lo])
        elif self.h[hi] == 0.0:
            lo = hi
            self.margin = 0.0
        else:
            self.points[1] = self.p[hi]
            self.weights[0] = 1.0 / (1.0 + self.h[lo] / -self.h[hi])
            self.weights[1] = 1.0 - self.weights[0]
            self.size = 2
            self.margin = (self.p[hi] - self.p[lo]) / (
                self.W[lo] / self.h[lo] + self.W[hi] / -self.h[hi]
            )
        self.points[0] = self.p[lo]
        self.lo, self.hi = lo, hi
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t k = self.hi if self.chosen else self.lo
        cdef double d = y - self.p[k], up = d - self.margin, down = -d - self.margin
        if self.make_room(self.count + 2) < 0:
            return -1
        self.R_up[k] += up
        self.R_down[k] += down
        self.C_up[k] += fabs(up)
        self.C_down[k] += fabs(down)
        self.weigh(k)
        if self.lo < self.hi:
            self.find(self.hi)
        self.find(self.lo)
        return 0

    cdef void find(self, Py_ssize_t k) noexcept nogil:
        """Count a round in which leaf k was found; split it if it has seen enough."""
        cdef double **columns[COLUMNS]
        cdef double w = self.width(k), p = self.p[k], level = self.level[k] + 1.0
        cdef int i
        self.g[k] += 1.0
        if self.g[k] * w * w < 1.0 or level > DEEPEST:
            return
        self.columns_of(columns)
        for i in range(COLUMNS):
            memmove(columns[i][0] + k + 1, columns[i][0] + k, (self.count - k) * sizeof(double))
        self.count += 1
        self.start(k, level, p - 0.25 * w)
        self.start(k + 1, level, p + 0.25 * w)

    def __sizeof__(self):
        return object.__sizeof__(self) + COLUMNS * self.room * sizeof(double)

    def _get_state(self):
        return {
            "level": array_of(self.level, self.count),
            "R_up": array_of(self.R_up, self.count),
            "R_down": array_of(self.R_down, self.count),
            "C_up": array_of(self.C_up, self.count),
            "C_down": array_of(self.C_down, self.count),
            "g": array_of(self.g, self.count),
        }

    def _set_state(self, state, rounds):
        check_names(state, set(PARTS))
        cdef const double[::1] level = floats(state, "level", low=0.0, high=DEEPEST)
        cdef Py_ssize_t count = level.shape[0], i
        cdef const double[::1] R_up = floats(state, "R_up", size=count)
        cdef const double[::1] R_down = floats(state, "R_down", size=count)
        cdef const double[::1] C_up = floats(state, "C_up", size=count, low=0.0)
        cdef const double[::1] C_down = floats(state, "C_down", size=count, low=0.0)
        cdef const double[::1] g = floats(state, "g", size=count, low=0.0)
        check_leaves(*(state[name] for name in PARTS), rounds)
        if self.make_room(count) < 0:
            raise MemoryError
        self.count = count
        cdef double left = 0.0
        for i in range(count):
            self.level[i], self.g[i] = level[i], g[i]
            self.p[i] = left + 0.5 * self.width(i)
            left += self.width(i)
            self.R_up[i], self.R_down[i] = R_up[i], R_down[i]
            self.C_up[i], self.C_down[i] = C_up[i], C_down[i]
            self.weigh(i)
