from libc.stdint cimport int32_t, int64_t, uint64_t

from calibrant._kernels.fleet.fleet_curve cimport curve_ask_for
from calibrant._kernels.fleet.fleet_rule cimport MANY, Key, Own, Pool
from calibrant._kernels.prefetch cimport prefetch


cdef class Owned:
    cdef Own *rows                  # in the order in which keys came to have them
    cdef Py_ssize_t count
    cdef Py_ssize_t room
    cdef int32_t *table             # row + 1 of some slot at each place, 0 where there is none
    cdef int shift                  # 64 less the logarithm of its size
    cdef object held                # the array that read-only rows stand in, or None

    cdef int add(self, const Pool *pool, int64_t slot) noexcept nogil
    cdef int reserve(self, Py_ssize_t count) noexcept nogil
    cdef void enter(self, Py_ssize_t row) noexcept nogil


cdef inline uint64_t first_place(int64_t slot, int shift) noexcept nogil:
    return (<uint64_t>slot * <uint64_t>0x9E3779B97F4A7C15) >> shift


cdef inline Own *own_of(Owned owned, const Key *key, int64_t slot) noexcept nogil:
    """Return what the key in a slot has of its own; NULL for nothing."""
    cdef uint64_t place, mask
    cdef int32_t row
    if key.learned < MANY or owned.count == 0:
        return NULL
    place, mask = first_place(slot, owned.shift), (<uint64_t>1 << (64 - owned.shift)) - 1
    while True:
        row = owned.table[place]
        if row == 0:
            return NULL
        if owned.rows[row - 1].slot == slot:
            return &owned.rows[row - 1]
        place = (place + 1) & mask


cdef inline void ask_for_place(Owned owned, int64_t slot) noexcept nogil:
    """Have the memory fetched that says where the row of a slot is."""
    if owned.count:
        prefetch(&owned.table[first_place(slot, owned.shift)])


cdef inline void ask_for_row(Owned owned, int64_t slot, float v) noexcept nogil:
    """Have fetched what a slot's row has for the logit of a score, if the row is found at once."""
    cdef int32_t row
    if owned.count:
        row = owned.table[first_place(slot, owned.shift)]
        if row:
            prefetch(&owned.rows[row - 1])
            curve_ask_for(&owned.rows[row - 1].curve, v)
