"""Have memory fetched that will be needed soon; where the compiler has no word for it, do nothing.

GCC takes a function that does nothing else for one that does nothing, and drops its calls. The empty
statement of assembly keeps them.
"""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define calibrant_prefetch(at) do { __builtin_prefetch(at); __asm__ volatile(""); } while (0)
    #else
    #define calibrant_prefetch(at) ((void)(at))
    #endif
    """
    void prefetch "calibrant_prefetch" (const void *at) noexcept nogil
