"""The table of an index: open addressing with linear probing.

An entry is 64 bits: the lower half of a key's hash, which says where the entry belongs, and the
key's slot + 1; 0 is an empty entry. At least one entry is empty, so every search ends.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef inline uint64_t entry_of(uint32_t low, int64_t slot) noexcept nogil:
    return <uint64_t>low << 32 | <uint64_t>(slot + 1)


cdef inline uint32_t low_of(uint64_t entry) noexcept nogil:
    return <uint32_t>(entry >> 32)


cdef inline int64_t slot_of(uint64_t entry) noexcept nogil:
    """Return the slot of an entry; -1 of an empty one."""
    return <int64_t>(<uint32_t>entry) - 1


cdef inline int64_t first_like(const uint64_t *table, uint64_t mask, uint32_t low) noexcept nogil:
    """Return the first slot whose key has that half of its hash, or -1."""
    cdef uint64_t first = low & mask, at = first
    while table[at] != 0 and low_of(table[at]) != low:
        at = (at + 1) & mask
        if at == first:
            return -1
    return slot_of(table[at])


cdef inline void spread(
    const uint64_t *table, uint64_t mask, uint64_t *larger, uint64_t larger_mask
) noexcept nogil:
    """Enter all of a table in a larger, empty one."""
    cdef uint64_t i, at
    for i in range(mask + 1):
        if table[i] != 0:
            at = low_of(table[i]) & larger_mask
            while larger[at] != 0:
                at = (at + 1) & larger_mask
            larger[at] = table[i]


cdef inline void take_out(uint64_t *table, uint64_t mask, uint32_t low, int64_t slot) noexcept nogil:
    """Empty a slot's entry, and move up the entries behind it that belong further ahead."""
    cdef uint64_t hole = low & mask, at, home
    while slot_of(table[hole]) != slot:
        hole = (hole + 1) & mask
    at = hole
    while True:
        at = (at + 1) & mask
        if table[at] == 0:
            break
        home = low_of(table[at]) & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            table[hole] = table[at]
            hole = at
    table[hole] = 0
