"""Blocks of rounds for a forecaster that was not told how many there will be.

The first block has 64 rounds and each is eight times as long as the last, so that T^(1/3), the
number of intervals, doubles: the points of a block are among those of the next, and few restarts
are paid for. Planning for up to eight times too many rounds at most doubles the intervals.
"""

from libc.math cimport cbrt, ceil
from libc.stdint cimport int64_t

cdef enum:
    FIRST = 64
    GROWTH = 8


cdef struct Block:
    bint last             # was the horizon given, so that no block follows?
    double T              # rounds this block is tuned for
    int64_t seen          # rounds of it so far


cdef inline bint block_ends(const Block *b) noexcept nogil:
    """Return whether the round being played is the block's last."""
    return not b.last and b.seen + 1 >= b.T


cdef inline Py_ssize_t intervals_for(double T) noexcept nogil:
    """Return ceil(T^(1/3)), and 2 at the least; a cube counts as one in spite of rounding."""
    cdef Py_ssize_t intervals = <Py_ssize_t>ceil(cbrt(T) * (1.0 - 1e-12))
    return intervals if intervals > 2 else 2


cdef inline bint is_block_length(const Block *b, double T) noexcept nogil:
    """Return whether a block can be tuned for T rounds, as a saved state says it is."""
    cdef double length = FIRST
    if b.last:
        return T == b.T
    while length < T:
        length *= GROWTH
    return length == T
