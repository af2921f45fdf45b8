cdef enum:
    SCALES = 3                      # a curve is the sum of so many, each twice as fine as the last
    COARSE = 16                     # pieces of the first, from logit -8 to 8
    KNOTS = 7 * COARSE + SCALES     # of all of them: 17 + 33 + 65


# A value of the curve where two straight pieces meet.
cdef struct Knot:
    float f
    float A                         # its precision


# A curve over the logit of the score, straight between knots.
cdef struct Curve:
    Knot[KNOTS] knots


cdef void curve_start(Curve *curve) noexcept nogil
cdef float curve_at(const Curve *curve, float v) noexcept nogil
cdef void curve_learn(Curve *curve, float v, float h, float r) noexcept nogil
