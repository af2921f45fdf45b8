"""Restarting, Algorithm `meta_alg_piecewise`: a base, until its error passes a certificate.

Symbols: b, the block, which guesses C = 8^b; l, the sub-block; G, how many sub-blocks of a block
assume C = 0, before one assumes C = 8^b; U(n, C), the certificate: what error n rounds of deviation
C explain; t, the rounds so far.
"""

from libc.math cimport ceil, floor, fmax, fmin, ldexp, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.functions cimport cbrt, log2
from calibrant._kernels.kernel cimport Kernel
from calibrant._kernels.paper.restartable cimport Restartable

from calibrant._kernels.saved import check_names, floats, integer, number, part_of

cdef double MOST = 2.0 ** 53      # sub-blocks of a block, far more than there will be rounds
cdef int LAST_BLOCK = 64
cdef Py_ssize_t WIDTH = sizeof(Row) // sizeof(double)


def check_rows(rows, int64_t end):
    """Refuse a history whose sub-blocks do not follow one another up to the current one."""
    block, sub_block, sub_blocks, _, first, last, error, threshold = rows.T
    if not (
        (rows[:, :3] >= 1.0).all()
        and (block <= LAST_BLOCK).all()
        and (sub_block <= sub_blocks).all()
        and (first < last).all()
        and (first[1:] == last[:-1]).all()
        and (last[-1:] == end).all()
        and (error > threshold).all()
    ):
        raise ValueError("saved rows must be sub-blocks that follow one another")


cdef class RestartingKernel(Kernel):
    """The blocks of one Restarting.

    `base` is the forecaster that is restarted, fresh and with deviation 0, and `name` what its part
    of a saved state is called. `l1` says that its error, and so the certificate, is of Cal1.
    `horizon` is what the thresholds of a whole stream refer to; 0 stands for none.
    """

    def __init__(
        self, seed, Restartable base, str name, bint l1, double horizon, coefficients,
    ):
        super().__init__(seed)
        self.base, self.name = base, name
        self.l1, self.horizon = l1, horizon
        self.c0, self.c1, self.d0, self.d1 = coefficients
        self.open_block(1)

    def __dealloc__(self):
        free(self.rows)

    # -- thresholds -----------------------------------------------------------------------------

    cdef double U(self, double n, int64_t b) noexcept nogil:
        """Return the certificate for C = 8^b, or for C = 0 if b is 0."""
        cdef double root = ldexp(1.0, <int>b) if b else 0.0, M
        if self.l1:
            return self.c0 * sqrt(n) + self.d0 * root * cbrt(n)
        M = log2(n + 1.0)
        return self.c0 + self.c1 * M + (self.d0 + self.d1 * M) * root

    cdef double threshold(self) noexcept nogil:
        """Return the error at which the sub-block ends."""
        if self.l <= self.G:
            return self.U(<double>(self.t - self.start), 0)
        return self.U(self.horizon if self.horizon > 0.0 else <double>self.t, self.b)

    # -- blocks ---------------------------------------------------------------------------------

    cdef double guess(self) noexcept nogil:
        """Return the deviation that the sub-block assumes."""
        return 0.0 if self.l <= self.G else ldexp(1.0, 3 * <int>self.b)

    cdef void open_block(self, int64_t b) noexcept nogil:
        # Without a horizon, twice the rounds so far take its place: blocks should last that long.
        cdef double n = self.horizon if self.horizon > 0.0 else fmax(2.0 * self.t, 64.0)
        cdef double q = self.U(n, b) / self.U(n, 0)
        self.b, self.l = b, 1.0
        self.G = fmin(ceil(q * q if self.l1 else q), MOST)
        self.open_sub_block()

    cdef void open_sub_block(self) noexcept nogil:
        self.start = self.t
        self.base.begin(self.guess())

    cdef Row current(self) noexcept nogil:
        """Return the current sub-block as if it ended now."""
        return Row(
            self.b, self.l, self.G + 1.0, self.guess(), self.start, self.t,
            self.base.error_so_far(), self.threshold(),
        )

    cdef int reserve_row(self) noexcept nogil:
        """Make room for one more row, up to KEPT; then the oldest is overwritten."""
        cdef void *grown
        cdef Py_ssize_t room
        if self.closed < self.room or self.room == KEPT:
            return 0
        room = 16
        while room <= self.closed and room < KEPT:
            room *= 2
        grown = realloc(self.rows, room * sizeof(Row))
        if grown == NULL:
            return -1
        self.rows, self.room = <Row *>grown, room
        return 0

    # -- the round ------------------------------------------------------------------------------

    cdef int place(self) noexcept nogil:
        if self.base.place() < 0 or self.reserve(self.base.size) < 0:
            return -1
        self.size = self.base.size
        memcpy(self.points, self.base.points, self.size * sizeof(double))
        memcpy(self.weights, self.base.weights, self.size * sizeof(double))
        return 0

    cdef int learn(self, double y) noexcept nogil:
        if self.reserve_row() < 0:
            return -1
        self.base.chosen = self.chosen
        if self.base.learn(y) < 0:
            return -1
        self.t += 1
        if self.base.error_so_far() <= self.threshold():
            return 0
        self.rows[self.closed % KEPT] = self.current()
        self.closed += 1
        if self.l > self.G:
            self.open_block(self.b + 1 if self.b < LAST_BLOCK else self.b)
        else:
            self.l += 1.0
            self.open_sub_block()
        return 0

    # -- for Python -----------------------------------------------------------------------------

    @property
    def epoch(self):
        """The current epoch, counted from 1 since the last restart; 1 if the base has none."""
        self.enter()
        return getattr(self.base, "epoch", 1)

    @property
    def error(self):
        """The error since the last restart, by the measure, summed over epochs."""
        self.enter()
        return self.base.error_so_far()

    def _rows(self):
        """Return the rows kept of sub-blocks that are over, oldest first."""
        self.enter()
        cdef Py_ssize_t kept = min(self.closed, <int64_t>KEPT), k
        table = np.empty((kept, WIDTH))
        cdef double[:, ::1] into = table
        for k in range(kept):
            memcpy(&into[k, 0], &self.rows[(self.closed - kept + k) % KEPT], sizeof(Row))
        return table

    def _row(self):
        """Return the row of the current sub-block."""
        self.enter()
        cdef Row row = self.current()
        table = np.empty(WIDTH)
        cdef double[::1] into = table
        memcpy(&into[0], &row, sizeof(Row))
        return table

    @property
    def forgotten(self):
        """How many of the oldest sub-blocks `history` no longer holds."""
        self.enter()
        return max(self.closed - KEPT, 0)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.room * sizeof(Row) + self.base.__sizeof__()

    def _get_state(self):
        state = {
            "t": self.t,
            "start": self.start,
            "b": self.b,
            "l": self.l,
            "G": self.G,
            "closed": self.closed,
            "rows": self._rows().ravel(),
        }
        return state | {f"{self.name}.{k}": v for k, v in self.base._get_state().items()}

    def _set_state(self, state, rounds):
        before = self._get_state(), self.t
        try:
            self._take_over(state, rounds)
        except ValueError:
            self._take_over(*before)
            raise

    def _take_over(self, state, rounds):
        """Take over a state; a bad one raises ValueError and may leave part of it behind."""
        state, inner = part_of(state, f"{self.name}.")
        check_names(state, {"t", "start", "b", "l", "G", "closed", "rows"})
        cdef int64_t t = integer(state, "t", low=rounds, high=rounds)
        cdef int64_t start = integer(state, "start", low=0, high=t)
        cdef int64_t b = integer(state, "b", low=1, high=LAST_BLOCK)
        cdef double G = number(state, "G", low=1.0, high=MOST)
        cdef double l = number(state, "l", low=1.0, high=G + 1.0)
        cdef int64_t closed = integer(state, "closed", low=0, high=start), k
        cdef Py_ssize_t kept = min(closed, <int64_t>KEPT)
        cdef const double[::1] rows = floats(state, "rows", size=kept * WIDTH, low=0.0)
        check_rows(state["rows"].reshape(-1, WIDTH), start)
        if (closed == 0) != (start == 0) or l != floor(l) or G != floor(G):
            raise ValueError("saved sub-blocks must be counted from the first round")
        self.t, self.start, self.b, self.l, self.G = t, start, b, l, G
        # The base lays out its intervals for the deviation that the sub-block assumes.
        self.base.C = self.guess()
        self.base._take_over(inner, t - start)
        if self.base.error_so_far() > self.threshold():
            raise ValueError("saved error must not exceed the threshold of the sub-block")
        for k in range(closed - kept, closed):
            self.closed = k
            if self.reserve_row() < 0:
                raise MemoryError
            memcpy(&self.rows[k % KEPT], &rows[(k - closed + kept) * WIDTH], sizeof(Row))
        self.closed = closed
