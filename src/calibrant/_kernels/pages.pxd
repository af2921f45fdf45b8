"""Memory for large arrays with random access.

A processor caches some thousand entries of the page table. A large array has more pages than that,
and a miss costs as much as an access to memory. So large arrays are allocated on huge pages where
Linux has them; elsewhere memory is allocated as usual.
"""

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
    LINE = 64                       # bytes of a cache line
    HUGE = 1 << 21                  # and of a huge page
    FEW = 8                         # huge pages: of less than that a last one, half empty, is much


cdef inline void *memory_new(size_t size) noexcept nogil:
    """Return memory that begins with a cache line, on huge pages if it is large; NULL if none."""
    return aligned_new(HUGE if size >= <size_t>FEW * HUGE else LINE, size)
