"""Blocks of rounds for a forecaster without a horizon.

The first block has 64 rounds and each is eight times as long as the last, so that T^(1/3), the
number of intervals, doubles: the points of a block are among those of the next, and restarts are
few. A block that is planned for up to eight times too many rounds has at most twice the intervals.
"""

from libc.math cimport ceil
from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport cbrt

cdef enum:
    FIRST = 64
    GROWTH = 8


cdef struct Block:
    bint last             # was the horizon given, so that no block follows?
    double T              # rounds this block is tuned for
    int64_t seen          # rounds of it so far


cdef inline bint block_ends(const Block *b) noexcept nogil:
    """Return whether the current round is the block's last."""
    return not b.last and b.seen + 1 >= b.T


cdef inline Py_ssize_t intervals_for(double T) noexcept nogil:
    """Return ceil(T^(1/3)), at least 2; rounding does not push a cube up to the next number."""
    cdef Py_ssize_t intervals = <Py_ssize_t>ceil(cbrt(T) * (1.0 - 1e-12))
    return intervals if intervals > 2 else 2


cdef inline bint is_block_length(const Block *b, double T) noexcept nogil:
    """Return whether T, from a saved state, is a length that a block can have."""
    cdef double length = FIRST
    if b.last:
        return T == b.T
    while length < T:
        length *= GROWTH
    return length == T


cdef inline double rounds_before(const Block *b, double T) noexcept nogil:
    """Return the rounds of all blocks before the one of length T."""
    cdef double length = FIRST, before = 0.0
    if b.last:
        return 0.0
    while length < T:
        before += length
        length *= GROWTH
    return before
