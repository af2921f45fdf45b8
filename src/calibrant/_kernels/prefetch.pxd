"""Prefetch memory that will be needed soon; do nothing if the compiler does not support it.

GCC considers a function that only prefetches to have no effect, and drops its calls. The empty
assembly statement keeps them.
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
