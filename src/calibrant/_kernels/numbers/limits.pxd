"""The minimum and maximum of two numbers as processor instructions, and a fast exp.

C's fmin and fmax must return the other number if one is NaN, and are calls; these are one
instruction each. Where a is NaN, both return b.
"""

from libc.stdint cimport int64_t


cdef extern from *:
    """
    #define CALIBRANT_LARGEST 1e250
    """
    const double LARGEST "CALIBRANT_LARGEST"  # no forecast and no outcome is larger


cdef inline double lesser(double a, double b) noexcept nogil:
    return a if a < b else b


cdef inline double greater(double a, double b) noexcept nogil:
    return a if a > b else b


cdef union Bits:
    double real
    int64_t whole


cdef inline double exp_of(double x) noexcept nogil:
    """Return exp(x) of a number that is not above 0, to the last bit or two; 0 from -700 on down.

    C's exp is a call a number; of this, the compiler takes two or more at once. And it gives the
    same on every platform. x = k log 2 + r, with r small: 2^k is made of its bits.
    """
    cdef Bits scale
    cdef double shifted, k, r, p
    shifted = greater(x, -700.0) * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    scale.real = shifted
    scale.whole = (scale.whole << 52) + (<int64_t>1023 << 52)
    return p * scale.real if x > -700.0 else 0.0
