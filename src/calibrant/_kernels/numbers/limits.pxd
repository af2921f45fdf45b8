"""The lesser and the greater of two numbers, as the processor has them.

C's fmin and fmax must return the other number if one is NaN, and are calls; these are one
instruction each. Where a is NaN, both return b.
"""


cdef inline double lesser(double a, double b) noexcept nogil:
    return a if a < b else b


cdef inline double greater(double a, double b) noexcept nogil:
    return a if a > b else b
