"""The memory of a level's keys: blocks of 2^9 keys, which begin with a cache line and never move.

From the FIRST_SLAB-th block on memory comes in slabs of one huge page (`pages.pxd`). Blocks are added
and removed at the end only.
"""

from libc.stdlib cimport free

from calibrant._kernels.fleet.fleet_rule cimport Key
from calibrant._kernels.pages cimport FEW, HUGE, LINE, aligned_new

cdef enum:
    BLOCK_BITS = 9
    BLOCK = 1 << BLOCK_BITS         # keys
    SLAB = HUGE // (BLOCK * sizeof(Key))    # blocks
    FIRST_SLAB = FEW * SLAB


cdef inline Py_ssize_t blocks_held(Py_ssize_t room) noexcept nogil:
    """Return how many blocks there is memory for, if so many are in use."""
    return room if room <= FIRST_SLAB else (room + SLAB - 1) // SLAB * SLAB


cdef inline Key *block_new(Key **blocks, Py_ssize_t room) noexcept nogil:
    """Return memory for one block more than `room`; NULL if there is none."""
    if room < FIRST_SLAB:
        return <Key *>aligned_new(LINE, BLOCK * sizeof(Key))
    if room % SLAB == 0:
        return <Key *>aligned_new(HUGE, HUGE)
    return blocks[room - 1] + BLOCK


cdef inline void block_free(Key **blocks, Py_ssize_t last) noexcept nogil:
    """Give back the last block, or its slab with the first block of it."""
    if last < FIRST_SLAB or last % SLAB == 0:
        free(blocks[last])
