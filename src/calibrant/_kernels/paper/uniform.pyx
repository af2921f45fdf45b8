"""Interval on equal intervals, as many as suit a deviation: the base of Theorem `CalL1_knownC`.

Symbols: T, the horizon; C, the deviation; iota = log(T/delta); N = ceil(min{sqrt(T/(iota log T)),
(T^2/(iota (1 + C) log T))^(1/3)}), the intervals. The error is Cal1.
"""

from libc.math cimport ceil, fabs, fmax, fmin, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.functions cimport cbrt, log
from calibrant._kernels.paper.interval cimport IntervalKernel, lean_towards
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.memory cimport resize
from calibrant._kernels.paper.partition cimport partition_uniform
from calibrant._kernels.paper.restartable cimport Restartable

from calibrant._kernels.saved import check_names, check_sum, counts, floats, part_of


cdef class UniformKernel(Restartable):
    """Equal intervals for one deviation at a time, and their Cal1."""

    def __init__(
        self, seed, double deviation, double horizon, double delta, double cap, double correction
    ):
        super().__init__(seed)
        cdef double **columns[2]
        self.T, self.delta = horizon, delta
        # The partition given here is a stand-in. None has more intervals than that for C = 0: to
        # begin with it once is to have memory for every other.
        self.interval = IntervalKernel(0, np.array([0.0, 1.0]), 0, horizon, cap, correction, 0.5)
        self.room = <Py_ssize_t>self.intervals_for(0.0) + 1
        columns[:] = [&self.n, &self.s]
        if partition_uniform(&self.interval.spare, self.room - 1, 0.0, 1.0) < 0:
            raise MemoryError
        if self.interval.open_block(self.T, lean_towards(0.5, 0.5)) < 0:
            raise MemoryError
        if resize(columns, 2, self.room) < 0:
            raise MemoryError
        self.begin(deviation)

    def __dealloc__(self):
        free(self.n)
        free(self.s)

    cdef double intervals_for(self, double C) noexcept nogil:
        """Return N."""
        cdef double logs = log(self.T / self.delta) * log(self.T)
        return ceil(fmin(sqrt(self.T / logs), cbrt(self.T * self.T / ((1.0 + C) * logs))))

    cdef void begin(self, double C) noexcept nogil:
        cdef Py_ssize_t i
        self.C, self.total = C, 0.0
        partition_uniform(&self.interval.spare, <Py_ssize_t>self.intervals_for(C), 0.0, 1.0)
        self.interval.open_block(self.T, lean_towards(0.5, 0.5))
        for i in range(self.room):
            self.n[i] = self.s[i] = 0.0

    cdef double error_so_far(self) noexcept nogil:
        return fmax(self.total, 0.0)

    cdef int place(self) noexcept nogil:
        if self.interval.place() < 0:
            return -1
        self.size = self.interval.size
        memcpy(self.points, self.interval.points, self.size * sizeof(double))
        memcpy(self.weights, self.interval.weights, self.size * sizeof(double))
        return 0

    cdef int learn(self, double y) noexcept nogil:
        cdef Py_ssize_t i = self.interval.edge[self.chosen]
        cdef double p = self.points[self.chosen]
        self.interval.learn(y)
        self.total -= fabs(self.s[i] - self.n[i] * p)
        self.n[i] += 1.0
        self.s[i] += y
        self.total += fabs(self.s[i] - self.n[i] * p)
        return 0

    def __sizeof__(self):
        cdef Py_ssize_t own = 2 * self.room * sizeof(double)
        return object.__sizeof__(self) + own + self.interval.__sizeof__()

    def _get_state(self):
        cdef Py_ssize_t edges = self.interval.partition.intervals + 1
        state = {"n": array_of(self.n, edges), "s": array_of(self.s, edges)}
        return state | {f"base.{k}": v for k, v in self.interval._get_state().items()}

    cdef int64_t played(self) noexcept nogil:
        return self.interval.block.seen

    def _take_over(self, state, rounds):
        state, base = part_of(state, "base.")
        check_names(state, {"n", "s"})
        self.begin(self.C)
        cdef Py_ssize_t edges = self.interval.partition.intervals + 1, i
        cdef const double[::1] n = counts(state, "n", size=edges, total=rounds)
        cdef const double[::1] s = floats(state, "s", size=edges, low=0.0)
        self.interval._set_state(base, rounds)
        check_sum("s", state["s"], self.interval.total, rounds)
        for i in range(edges):
            if s[i] > n[i] * (1.0 + 1e-9):
                raise ValueError(f"saved s is more than the rounds at point {i}: {s[i]}")
            self.n[i], self.s[i] = n[i], s[i]
            self.total += fabs(s[i] - n[i] * self.interval.partition.edges[i])
