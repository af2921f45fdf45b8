"""The hash of a key: XXH64 (Collet 2012) with seed 42.

It never changes, because saved files and a fleet's shards depend on it. An int64 is hashed as its
8 bytes, little-endian, a text as its UTF-8. Spark's `xxhash64(column)` gives the same number, so
that a row finds its shard inside Spark.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from *:
    """
    #define CALIBRANT_P1 0x9E3779B185EBCA87ULL
    #define CALIBRANT_P2 0xC2B2AE3D27D4EB4FULL
    #define CALIBRANT_P3 0x165667B19E3779F9ULL
    #define CALIBRANT_P4 0x85EBCA77C2B2AE63ULL
    #define CALIBRANT_P5 0x27D4EB2F165667C5ULL
    #define CALIBRANT_SEED 42ULL
    """
    const uint64_t P1 "CALIBRANT_P1"
    const uint64_t P2 "CALIBRANT_P2"
    const uint64_t P3 "CALIBRANT_P3"
    const uint64_t P4 "CALIBRANT_P4"
    const uint64_t P5 "CALIBRANT_P5"
    const uint64_t SEED "CALIBRANT_SEED"


cdef inline uint64_t rotated(uint64_t x, int r) noexcept nogil:
    return (x << r) | (x >> (64 - r))


cdef inline uint64_t mixed(uint64_t sum, uint64_t word) noexcept nogil:
    return rotated(sum + word * P2, 31) * P1


cdef inline uint64_t finished(uint64_t h) noexcept nogil:
    h = (h ^ (h >> 33)) * P2
    h = (h ^ (h >> 29)) * P3
    return h ^ (h >> 32)


cdef inline uint64_t word_at(const uint8_t *at) noexcept nogil:
    """Return 8 bytes as an integer, little-endian: byte by byte, which compilers make one load."""
    cdef uint64_t word = 0
    cdef int i
    for i in range(8):
        word |= <uint64_t>at[i] << (8 * i)
    return word


cdef inline uint64_t hash_of_int(int64_t key) noexcept nogil:
    cdef uint64_t h = SEED + P5 + 8
    h ^= mixed(0, <uint64_t>key)
    return finished(rotated(h, 27) * P1 + P4)


cdef inline uint64_t hash_of_text(const uint8_t *text, int64_t size) noexcept nogil:
    cdef uint64_t h
    cdef uint64_t[4] lanes
    cdef int64_t at = 0
    cdef int i
    if size >= 32:
        lanes[0], lanes[1], lanes[2], lanes[3] = SEED + P1 + P2, SEED + P2, SEED, SEED - P1
        while at + 32 <= size:
            for i in range(4):
                lanes[i] = mixed(lanes[i], word_at(text + at + 8 * i))
            at += 32
        h = (
            rotated(lanes[0], 1) + rotated(lanes[1], 7)
            + rotated(lanes[2], 12) + rotated(lanes[3], 18)
        )
        for i in range(4):
            h = (h ^ mixed(0, lanes[i])) * P1 + P4
    else:
        h = SEED + P5
    h += <uint64_t>size
    while at + 8 <= size:
        h = rotated(h ^ mixed(0, word_at(text + at)), 27) * P1 + P4
        at += 8
    if at + 4 <= size:
        h ^= (
            <uint64_t>text[at] | <uint64_t>text[at + 1] << 8
            | <uint64_t>text[at + 2] << 16 | <uint64_t>text[at + 3] << 24
        ) * P1
        h = rotated(h, 23) * P2 + P3
        at += 4
    while at < size:
        h = rotated(h ^ text[at] * P5, 11) * P1
        at += 1
    return finished(h)
