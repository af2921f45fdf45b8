"""Exact calibration errors, kept up to date in constant time per round.

Each error is a sum over distinct predictions of a term in (p, n, s): the prediction, the rounds
that made it and the sum of their outcomes. A round changes one term.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from calibrant._kernels.functions cimport asin, log, log1p
from calibrant._kernels.kernel cimport array_of
from calibrant._kernels.memory cimport resize


cdef double TWO_OVER_PI = 0.6366197723675814


cdef inline Py_ssize_t slot_of(const Tally *t, double p) noexcept nogil:
    """Return the slot that holds p, or the free one where it belongs."""
    cdef uint64_t bits
    cdef Py_ssize_t slot
    memcpy(&bits, &p, sizeof(double))
    bits = (bits ^ (bits >> 32)) * <uint64_t>0x9E3779B97F4A7C15
    slot = <Py_ssize_t>((bits >> 20) & <uint64_t>(t.slots - 1))
    while t.table[slot] >= 0 and t.p[t.table[slot]] != p:
        slot = (slot + 1) & (t.slots - 1)
    return slot


cdef int tally_grow(Tally *t, Py_ssize_t room) noexcept nogil:
    """Make room for that many distinct predictions, a power of two."""
    cdef double **columns[4]
    cdef int64_t *table = <int64_t *>malloc(4 * room * sizeof(int64_t))
    cdef Py_ssize_t i
    columns[:] = [&t.p, &t.n, &t.s, &t.kl]
    if table == NULL or resize(columns, 4, room) < 0:
        free(table)
        return -1
    free(t.table)
    t.table, t.room, t.slots = table, room, 4 * room
    memset(table, 0xFF, t.slots * sizeof(int64_t))
    for i in range(t.count):
        t.table[slot_of(t, t.p[i])] = i
    return 0


cdef int tally_start(Tally *t) noexcept nogil:
    """Start an empty tally; the struct must be zeroed."""
    return tally_grow(t, 16)


cdef void tally_free(Tally *t) noexcept nogil:
    free(t.table)
    free(t.p)
    free(t.n)
    free(t.s)
    free(t.kl)


cdef Py_ssize_t tally_find(const Tally *t, double p) noexcept nogil:
    """Return the entry of p, or -1 where p was never predicted."""
    return t.table[slot_of(t, p + 0.0)]  # + 0.0 turns -0.0 into 0.0


cdef Py_ssize_t tally_enter(Tally *t, double p) noexcept nogil:
    """Return the entry of p, made if it is new; -1 when there is no memory for it."""
    cdef Py_ssize_t slot
    p = p + 0.0
    slot = slot_of(t, p)
    if t.table[slot] >= 0:
        return t.table[slot]
    if t.count == t.room:
        if tally_grow(t, 2 * t.room) < 0:
            return -1
        slot = slot_of(t, p)
    t.table[slot] = t.count
    t.p[t.count] = p
    t.n[t.count] = t.s[t.count] = t.kl[t.count] = 0.0
    t.count += 1
    return t.count - 1


cdef inline void add_to(Sum *sum, double x) noexcept nogil:
    """Add to a sum and keep what rounding loses, so that errors do not grow with the rounds."""
    cdef double total = sum.total, after = total + x
    if fabs(total) >= fabs(x):
        sum.lost += (total - after) + x
    else:
        sum.lost += (x - after) + total
    sum.total = after


cdef inline double value_of(Sum sum) noexcept nogil:
    return sum.total + sum.lost


cdef inline void count_entry(Tally *t, Py_ssize_t at, double sign) noexcept nogil:
    """Add (sign = 1) or remove (sign = -1) the terms of an entry."""
    cdef double p = t.p[at], n = t.n[at], s = t.s[at], kl = t.kl[at]
    if n == 0.0:
        return
    add_to(&t.errors[0], sign * cal1_term(p, n, s))
    add_to(&t.errors[1], sign * cal2_term(p, n, s))
    if kl == INFINITY:
        t.infinite += <int64_t>sign
    else:
        add_to(&t.errors[2], sign * kl)


cdef void tally_add(Tally *t, Py_ssize_t at, double mass, double y) noexcept nogil:
    """Count an outcome for an entry, with the mass that predicted it (1 for a drawn one)."""
    if mass == 0.0:
        return
    count_entry(t, at, -1.0)
    t.n[at] += mass
    t.s[at] += mass * y
    t.kl[at] = kl_term(t.p[at], t.n[at], t.s[at])
    count_entry(t, at, 1.0)


def restored(bins, state, cells=0):
    """Return a tally with as many bins, and cells, in a state of `_get_state`."""
    tally = TallyKernel(bins, cells)
    tally._set_state(state)
    return tally


cdef class TallyKernel:
    """A tally for Python, with the losses and the binned residuals of the same rounds.

    With `cells`, predictions in one cell of a grid, even in the arcsine of their root, are counted
    as the first of them, so that there are never more entries than cells; losses and residuals use
    each prediction as it is. 0 and 1 have cells of their own, since they alone can lose infinitely.

    The caller has checked what it passes: predictions and outcomes in [0, 1], masses not negative.
    """

    def __cinit__(self, Py_ssize_t bins=20, Py_ssize_t cells=0):
        self.bins, self.cells = bins, cells
        self.residuals = <double *>calloc(bins, sizeof(double))
        self.entry = <int64_t *>malloc((cells + 2) * sizeof(int64_t))
        if self.residuals == NULL or self.entry == NULL or tally_start(&self.tally) < 0:
            raise MemoryError
        memset(self.entry, 0xFF, (cells + 2) * sizeof(int64_t))

    def __dealloc__(self):
        free(self.residuals)
        free(self.entry)
        tally_free(&self.tally)

    def __len__(self):
        return self.tally.count

    cdef int enter(self) except -1:
        """Refuse a second thread while `extend` works without the GIL."""
        if self.busy:
            raise RuntimeError("this tally is being extended by another thread")
        return 0

    cdef Py_ssize_t entry_of(self, double p) noexcept nogil:
        """Return the entry of a prediction or of its cell, made if it is new; -1 without memory."""
        cdef Py_ssize_t cell
        if self.cells == 0:
            return tally_enter(&self.tally, p)
        cell = <Py_ssize_t>(asin(sqrt(p)) * self.cells * TWO_OVER_PI)
        if p == 0.0 or p == 1.0:
            cell = self.cells + <Py_ssize_t>p
        elif cell >= self.cells:
            cell = self.cells - 1
        if self.entry[cell] < 0:
            self.entry[cell] = tally_enter(&self.tally, p)
        return self.entry[cell]

    cdef int count(self, double p, double y, double mass) noexcept nogil:
        cdef Py_ssize_t at = self.entry_of(p)
        if at < 0:
            return -1
        tally_add(&self.tally, at, mass, y)
        add_to(&self.mass, mass)
        add_to(&self.predicted, mass * p)
        add_to(&self.happened, mass * y)
        add_to(&self.squared, mass * (p - y) * (p - y))
        self.residuals[bin_of(p, self.bins)] += mass * (y - p)
        if (p == 0.0 and y > 0.0) or (p == 1.0 and y < 1.0):
            self.impossible += 1 if mass > 0.0 else 0
            return 0
        if y > 0.0:
            add_to(&self.logs, -mass * y * log(p))
        if y < 1.0:
            add_to(&self.logs, -mass * (1.0 - y) * log1p(-p))
        return 0

    def add(self, double p, double y, double mass=1.0):
        """Count one round."""
        self.enter()
        if self.count(p, y, mass) < 0:
            raise MemoryError

    def extend(self, const double[::1] p, const double[::1] y, const double[::1] mass=None):
        """Count many rounds, each of mass 1 by default."""
        cdef Py_ssize_t i
        cdef bint weighed = mass is not None
        cdef int failed = 0
        self.enter()
        self.busy = True
        with nogil:
            for i in range(p.shape[0]):
                failed = self.count(p[i], y[i], mass[i] if weighed else 1.0)
                if failed < 0:
                    break
        self.busy = False
        if failed < 0:
            raise MemoryError

    def absorb(self, TallyKernel other):
        """Count all that another tally with as many bins has counted."""
        cdef Tally *t = &other.tally
        cdef Py_ssize_t i, at
        self.enter()
        other.enter()
        for i in range(t.count):
            at = self.entry_of(t.p[i])
            if at < 0:
                raise MemoryError
            count_entry(&self.tally, at, -1.0)
            self.tally.n[at] += t.n[i]
            self.tally.s[at] += t.s[i]
            self.tally.kl[at] = kl_term(self.tally.p[at], self.tally.n[at], self.tally.s[at])
            count_entry(&self.tally, at, 1.0)
        for i in range(self.bins):
            self.residuals[i] += other.residuals[i]
        add_to(&self.mass, value_of(other.mass))
        add_to(&self.predicted, value_of(other.predicted))
        add_to(&self.happened, value_of(other.happened))
        add_to(&self.squared, value_of(other.squared))
        add_to(&self.logs, value_of(other.logs))
        self.impossible += other.impossible

    # -- saving ---------------------------------------------------------------------------------

    def _get_state(self):
        """Return all that was counted, as arrays and numbers by name."""
        p, n, s = self.entries()
        return {
            "p": p,
            "n": n,
            "s": s,
            "residuals": array_of(self.residuals, self.bins),
            "sums": array_of(<double *>&self.mass, 2 * SUMS),
            "errors": array_of(<double *>&self.tally.errors, 2 * ERRORS),
            "impossible": self.impossible,
        }

    def _set_state(self, state):
        """Take over a state of `_get_state`, which the caller has checked; only a fresh tally."""
        cdef Tally *t = &self.tally
        cdef const double[::1] p = state["p"], n = state["n"], s = state["s"]
        cdef const double[::1] residuals = state["residuals"]
        cdef const double[::1] sums = state["sums"], errors = state["errors"]
        cdef Py_ssize_t i, at
        for i in range(p.shape[0]):
            at = self.entry_of(p[i])
            if at < 0:
                raise MemoryError
            t.n[at], t.s[at], t.kl[at] = n[i], s[i], kl_term(p[i], n[i], s[i])
            t.infinite += t.kl[at] == INFINITY
        memcpy(self.residuals, &residuals[0], self.bins * sizeof(double))
        memcpy(<double *>&self.mass, &sums[0], 2 * SUMS * sizeof(double))
        memcpy(<double *>&t.errors, &errors[0], 2 * ERRORS * sizeof(double))
        self.impossible = state["impossible"]

    def __reduce__(self):
        return restored, (self.bins, self._get_state(), self.cells)

    @property
    def errors(self):
        """Cal1, Cal2 and KLCal of the rounds counted so far."""
        cdef Tally *t = &self.tally
        self.enter()
        # Where terms cancel, rounding may leave a negative number.
        return (
            max(value_of(t.errors[0]), 0.0),
            max(value_of(t.errors[1]), 0.0),
            INFINITY if t.infinite else max(value_of(t.errors[2]), 0.0),
        )

    @property
    def sums(self):
        """The mass counted, and its sums of predictions, outcomes, squared and log losses."""
        self.enter()
        return (
            value_of(self.mass),
            value_of(self.predicted),
            value_of(self.happened),
            value_of(self.squared),
            INFINITY if self.impossible else value_of(self.logs),
        )

    @property
    def binned(self):
        """The sum over bins of |sum of y - p|."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        self.enter()
        for i in range(self.bins):
            total += fabs(self.residuals[i])
        return total

    def entries(self):
        """Return the distinct predictions, their counts and their sums of outcomes."""
        self.enter()
        cdef Py_ssize_t size = self.tally.count * sizeof(double)
        columns = np.empty((3, self.tally.count))
        cdef double[:, ::1] into = columns
        if size:
            memcpy(&into[0, 0], self.tally.p, size)
            memcpy(&into[1, 0], self.tally.n, size)
            memcpy(&into[2, 0], self.tally.s, size)
        return columns[0], columns[1], columns[2]
