"""The memory of a level's keys: blocks of 2^9 keys, which begin with a cache line and never move.

A processor finds a page of memory by a table of which it remembers some thousand entries. The keys
of a large fleet stand on more pages than that, and waiting for the table takes as long as waiting
for the keys. So from the FEW-th block on memory comes in slabs of 2 MB, for which Linux has huge
pages; on other systems a slab is a slab. Blocks are added and removed at the end only.
"""

from libc.stdlib cimport free

from calibrant._kernels.fleet_rule cimport Key

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    /* Memory that begins at a multiple of `align`, or NULL; `free` returns it. */
    static void *aligned_new(size_t align, size_t size) {
    #if defined(__linux__) || defined(__APPLE__)
        void *memory = NULL;
        if (posix_memalign(&memory, align, size)) return NULL;
    #if defined(MADV_HUGEPAGE)
        if (align > 4096) madvise(memory, size, MADV_HUGEPAGE);
    #endif
        return memory;
    #else
        (void)align;
        return malloc(size);
    #endif
    }
    """
    void *aligned_new(size_t align, size_t size) noexcept nogil

cdef enum:
    BLOCK_BITS = 9
    BLOCK = 1 << BLOCK_BITS         # keys
    LINE = 64
    HUGE = 1 << 21                  # bytes of a slab, and of a page
    SLAB = HUGE // (BLOCK * sizeof(Key))    # blocks
    FEW = 8 * SLAB                  # blocks before the first slab: a last one, half empty, is little


cdef inline Py_ssize_t blocks_held(Py_ssize_t room) noexcept nogil:
    """Return how many blocks there is memory for, if so many are in use."""
    return room if room <= FEW else (room + SLAB - 1) // SLAB * SLAB


cdef inline Key *block_new(Key **blocks, Py_ssize_t room) noexcept nogil:
    """Return memory for one block more than `room`; NULL if there is none."""
    if room < FEW:
        return <Key *>aligned_new(LINE, BLOCK * sizeof(Key))
    if room % SLAB == 0:
        return <Key *>aligned_new(HUGE, HUGE)
    return blocks[room - 1] + BLOCK


cdef inline void block_free(Key **blocks, Py_ssize_t last) noexcept nogil:
    """Give back the last block, or its slab with the first block of it."""
    if last < FEW or last % SLAB == 0:
        free(blocks[last])
