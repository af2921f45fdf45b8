# cython: boundscheck=False, wraparound=False, cdivision=True
"""Exact calibration errors, kept up to date in constant time a round.

Each error is a sum over distinct predictions of a term in (p, n, s): the prediction, the rounds
that made it and the sum of their outcomes. A round changes one term.
"""

from libc.math cimport fabs
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np


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
    cdef double **columns[3]
    cdef void *grown
    cdef int64_t *table = <int64_t *>malloc(4 * room * sizeof(int64_t))
    cdef Py_ssize_t i
    if table == NULL:
        return -1
    columns[:] = [&t.p, &t.n, &t.s]
    for i in range(3):
        grown = realloc(columns[i][0], room * sizeof(double))
        if grown == NULL:
            free(table)
            return -1
        columns[i][0] = <double *>grown
    free(t.table)
    t.table, t.room, t.slots = table, room, 4 * room
    memset(table, 0xFF, t.slots * sizeof(int64_t))
    for i in range(t.count):
        t.table[slot_of(t, t.p[i])] = i
    return 0


cdef int tally_start(Tally *t) noexcept nogil:
    """Start an empty tally; the struct must be zeroed."""
    return tally_grow(t, 64)


cdef void tally_free(Tally *t) noexcept nogil:
    free(t.table)
    free(t.p)
    free(t.n)
    free(t.s)


cdef Py_ssize_t tally_find(const Tally *t, double p) noexcept nogil:
    """Return the entry of p, or -1 where p was never predicted."""
    return t.table[slot_of(t, p + 0.0)]  # + 0.0 makes one of the two zeros


cdef Py_ssize_t tally_enter(Tally *t, double p) noexcept nogil:
    """Return the entry of p, made now if need be; -1 when there is no memory for it."""
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
    t.n[t.count] = t.s[t.count] = 0.0
    t.count += 1
    return t.count - 1


cdef inline void add_exactly(Tally *t, int which, double x) noexcept nogil:
    """Add to a total and keep what rounding loses, so that a million rounds lose nothing."""
    cdef double total = t.total[which], after = total + x
    if fabs(total) >= fabs(x):
        t.lost[which] += (total - after) + x
    else:
        t.lost[which] += (x - after) + total
    t.total[which] = after


cdef inline void count_entry(Tally *t, Py_ssize_t at, double sign) noexcept nogil:
    """Add (sign = 1) or remove (sign = -1) the terms of an entry."""
    cdef double p = t.p[at], n = t.n[at], s = t.s[at], kl
    if n == 0.0:
        return
    add_exactly(t, 0, sign * cal1_term(p, n, s))
    add_exactly(t, 1, sign * cal2_term(p, n, s))
    kl = kl_term(p, n, s)
    if kl == INFINITY:
        t.infinite += <int64_t>sign
    else:
        add_exactly(t, 2, sign * kl)


cdef void tally_add(Tally *t, Py_ssize_t at, double mass, double y) noexcept nogil:
    """Count an outcome for an entry, with the mass that predicted it (1 for a drawn one)."""
    count_entry(t, at, -1.0)
    t.n[at] += mass
    t.s[at] += mass * y
    count_entry(t, at, 1.0)


cdef class TallyKernel:
    """A tally for Python; the caller has checked what it passes."""

    def __cinit__(self):
        if tally_start(&self.tally) < 0:
            raise MemoryError

    def __dealloc__(self):
        tally_free(&self.tally)

    def __len__(self):
        return self.tally.count

    def add(self, double p, double y, double mass=1.0):
        """Count one round."""
        cdef Py_ssize_t at = tally_enter(&self.tally, p)
        if at < 0:
            raise MemoryError
        tally_add(&self.tally, at, mass, y)

    def extend(self, const double[::1] p, const double[::1] y):
        """Count many rounds."""
        cdef Py_ssize_t i, at = 0
        with nogil:
            for i in range(p.shape[0]):
                at = tally_enter(&self.tally, p[i])
                if at < 0:
                    break
                tally_add(&self.tally, at, 1.0, y[i])
        if at < 0:
            raise MemoryError

    @property
    def errors(self):
        """Cal1, Cal2 and KLCal of the rounds counted so far."""
        cdef Tally *t = &self.tally
        return (
            t.total[0] + t.lost[0],
            t.total[1] + t.lost[1],
            INFINITY if t.infinite else t.total[2] + t.lost[2],
        )

    def entries(self):
        """Return the distinct predictions, their counts and their sums of outcomes."""
        cdef Py_ssize_t size = self.tally.count * sizeof(double)
        columns = np.empty((3, self.tally.count))
        cdef double[:, ::1] into = columns
        if size:
            memcpy(&into[0, 0], self.tally.p, size)
            memcpy(&into[1, 0], self.tally.n, size)
            memcpy(&into[2, 0], self.tally.s, size)
        return columns[0], columns[1], columns[2]
