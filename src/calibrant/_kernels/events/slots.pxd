"""Counters of what followed each context, in a hashed table that grows with the contexts met."""

from libc.stdint cimport int64_t, uint32_t

# What followed one context.
cdef struct Slot:
    uint32_t key          # the context's number; 0 for a slot that is free
    uint32_t n            # outcomes counted, up to LONG
    double slow           # their mean, (1 + sum) / (2 + n) up to LONG of them, then slowly fading
    double fast           # their mean over about the last SHORT


cdef struct Slots:
    Py_ssize_t count      # slots in use
    Py_ssize_t room       # slots there are, a power of two
    int shift             # 32 less its logarithm
    Slot *slot


cdef int slots_start(Slots *s) noexcept nogil
cdef void slots_free(Slots *s) noexcept nogil
cdef int slots_reserve(Slots *s, Py_ssize_t more) noexcept nogil
cdef void slots_count(Slots *s, Py_ssize_t at, uint32_t key, double y) noexcept nogil
cdef dict slots_save(const Slots *s)
cdef object slots_load(Slots *s, object state, uint32_t most, int64_t rounds)


cdef inline double slots_within(double p) noexcept nogil:
    """Return p, moved away from 0 and 1 if it is too near."""
    return 1e-5 if p < 1e-5 else 1.0 - 1e-5 if p > 1.0 - 1e-5 else p


cdef inline Py_ssize_t slots_find(const Slots *s, uint32_t key) noexcept nogil:
    """Return where a context's slot is or, if it has none, the free slot where it would be."""
    # Fibonacci hashing: neighbouring keys, which contexts often have, land far apart.
    cdef Py_ssize_t at = <Py_ssize_t>((key * <uint32_t>2654435769) >> s.shift)
    while s.slot[at].key != key and s.slot[at].key != 0:
        at = (at + 1) & (s.room - 1)
    return at
