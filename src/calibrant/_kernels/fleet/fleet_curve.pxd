cdef enum:
    SCALES = 3                      # a curve is the sum of so many, each twice as fine as the last
    COARSE = 16                     # pieces of the first, from logit -8 to 8
    UNIT = (1 << SCALES) - 1        # knots of all scales from one of the first to the next
    KNOTS = UNIT * COARSE + (1 << (SCALES - 1))


# A value of the curve where two straight pieces meet.
cdef struct Knot:
    float f
    float A                         # its precision


# A curve over the logit of the score, straight between knots. These stand unit by unit, so that what
# a score asks for is together; in the last unit, of which only the first knots are, one is not used.
cdef struct Curve:
    Knot[KNOTS] knots


cdef void curve_ask_for(const Curve *curve, float v) noexcept nogil
cdef void curve_start(Curve *curve) noexcept nogil
cdef float curve_at(const Curve *curve, float v) noexcept nogil
cdef void curve_learn(Curve *curve, float v, float h, float r) noexcept nogil
