"""The draw of a round, from its seed and its number alone."""

from libc.stdint cimport uint64_t

# SplitMix64 (Steele, Lea & Flood 2014), read at a position instead of stepped: draw t of a seed
# is one hash of (seed, t), so that nothing but two integers has to be saved to continue exactly.
cdef inline uint64_t scramble(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline double uniform(uint64_t key, uint64_t t) noexcept nogil:
    """Return the draw of round t, uniform on the multiples of 2^-53 in [0, 1)."""
    return (scramble(key + (t + 1) * <uint64_t>0x9E3779B97F4A7C15) >> 11) * (1.0 / 9007199254740992.0)
