"""What keys with many outcomes have of their own: rows in one array, found by the slot of the key."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy as np

from calibrant._kernels.fleet.fleet_curve cimport KNOTS
from calibrant._kernels.fleet.fleet_rule cimport MANY, Own, own_start
from calibrant._kernels.pages cimport memory_new

#: Outcomes after which a key has a row.
MANY_OUTCOMES = MANY
#: One row as NumPy sees it.
OWN = np.dtype(
    [
        ("slot", "<i8"), ("weight", "<f8"), ("knots", [("f", "<f4"), ("A", "<f4")], KNOTS),
    ]
)
assert OWN.itemsize == sizeof(Own)


cdef class Owned:
    """Rows in the order in which keys came to have them, and a table of their slots."""

    def __dealloc__(self):
        if self.held is None:
            free(self.rows)
        free(self.table)

    def __len__(self):
        return self.count

    @property
    def nbytes(self):
        """Bytes in use."""
        table = <size_t>1 << (64 - self.shift) if self.table != NULL else 0
        return self.room * sizeof(Own) + table * sizeof(int32_t)

    cdef int reserve(self, Py_ssize_t count) noexcept nogil:
        """Make room for so many rows; -1 when there is no memory, and nothing has changed."""
        cdef Own *rows
        cdef int32_t *table
        cdef Py_ssize_t room = count + count // 4 + 8, i
        cdef int shift = 60
        if count <= self.room:
            return 0
        while (<Py_ssize_t>1 << (64 - shift)) < 2 * room:
            shift -= 1
        rows = <Own *>memory_new(room * sizeof(Own))
        if rows == NULL:
            return -1
        if self.count:
            memcpy(rows, self.rows, self.count * sizeof(Own))
        free(self.rows)
        self.rows = rows
        table = <int32_t *>calloc(<size_t>1 << (64 - shift), sizeof(int32_t))
        if table == NULL:
            return -1
        free(self.table)
        self.table, self.room, self.shift = table, room, shift
        for i in range(self.count):
            self.enter(i)
        return 0

    cdef void enter(self, Py_ssize_t row) noexcept nogil:
        """Let the slot of a row be found."""
        cdef uint64_t mask = (<uint64_t>1 << (64 - self.shift)) - 1
        cdef uint64_t place = first_place(self.rows[row].slot, self.shift)
        while self.table[place] != 0:
            place = (place + 1) & mask
        self.table[place] = <int32_t>(row + 1)

    cdef int add(self, const Pool *pool, int64_t slot) noexcept nogil:
        """Give a key something of its own; -1 when there is no memory, and nothing has changed."""
        if self.reserve(self.count + 1) < 0:
            return -1
        own_start(&self.rows[self.count], pool, slot)
        self.enter(self.count)
        self.count += 1
        return 0

    def keep(self, slots):
        """Follow the keys of these slots, which increase, to the first ones; forget all others."""
        rows = self.saved()
        places = np.searchsorted(slots, rows["slot"])
        found = places < len(slots)
        found[found] = slots[places[found]] == rows["slot"][found]
        rows, places = rows[found], places[found]
        rows["slot"] = places
        self.load(rows)

    # -- saving ---------------------------------------------------------------------------------

    def saved(self):
        """Return all rows as an array of OWN."""
        found = np.empty(self.count, dtype=OWN)
        cdef unsigned char[::1] to = found.view(np.uint8)
        if self.count:
            memcpy(&to[0], self.rows, self.count * sizeof(Own))
        return found

    def load(self, found, bint copy=True):
        """Take over what `saved` returned; without a copy, read-only."""
        cdef const unsigned char[::1] of = np.ascontiguousarray(found).view(np.uint8)
        cdef Py_ssize_t i, count = len(found)
        cdef Owned fresh = Owned.__new__(Owned)
        if fresh.reserve(count) < 0:
            raise MemoryError
        if count and copy:
            memcpy(fresh.rows, &of[0], count * sizeof(Own))
        elif count:
            free(fresh.rows)
            fresh.rows, fresh.held = <Own *>&of[0], found
        fresh.count = count
        for i in range(count):
            fresh.enter(i)
        self.rows, fresh.rows = fresh.rows, self.rows
        self.table, fresh.table = fresh.table, self.table
        self.held, fresh.held = fresh.held, self.held
        self.count, self.room, self.shift = fresh.count, fresh.room, fresh.shift
