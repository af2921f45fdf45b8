"""A curve of a key's own: what an offset and a slope cannot say.

It is the sum of SCALES curves over the logit of the score, each straight between its knots. The
knots of the first are 1 apart, from -8 to 8, and those of each next one half as far; beyond the ends
a curve stays where it is. A score between two knots belongs to them by shares that sum to 1, and the
curve is the mean of their values f by these. At first all values are 0, with a prior of standard
deviation SD.

With r the error of a prediction, h = p (1 - p) and a the share of a knot, the knot's precision A
grows by STIFF h a, and f moves by -r a / A. That is a Newton step with a matrix that is 0 off its
diagonal: with STIFF = SCALES it is nowhere below the true one; half of that learns faster.

All of it is in single precision, operation by operation.
"""

cdef float END = 8.0
cdef float SD = 0.5
cdef float STIFF = 1.5


# Where a score is between the knots of one scale.
cdef struct Between:
    int below                       # the knot below
    float share                     # of the knot above


cdef inline Between between(int scale, float v) noexcept nogil:
    cdef Between found
    cdef float place
    v = END if v > END else (-END if v < -END else v)
    place = (v + END) * <float>(1 << scale)
    found.below = <int>place
    if found.below == COARSE << scale:
        found.below -= 1
    found.share = place - <float>found.below
    # The scales before have COARSE (2^scale - 1) pieces, and each has one knot more than pieces.
    found.below += COARSE * ((1 << scale) - 1) + scale
    return found


cdef void curve_start(Curve *curve) noexcept nogil:
    cdef int i
    for i in range(KNOTS):
        curve.knots[i].f, curve.knots[i].A = 0.0, <float>1.0 / (SD * SD)


cdef float curve_at(const Curve *curve, float v) noexcept nogil:
    """Return the curve's value for the logit of a score."""
    cdef float total = 0.0
    cdef const Knot *knot
    cdef Between b
    cdef int scale
    for scale in range(SCALES):
        b = between(scale, v)
        knot = &curve.knots[b.below]
        total = total + (knot[0].f * (<float>1.0 - b.share) + knot[1].f * b.share)
    return total


cdef inline void step(Knot *knot, float share, float h, float r) noexcept nogil:
    knot.A = knot.A + STIFF * h * share
    knot.f = knot.f - r * share / knot.A


cdef void curve_learn(Curve *curve, float v, float h, float r) noexcept nogil:
    """Learn from the error r of a prediction, whose curvature is h."""
    cdef Between b
    cdef int scale
    for scale in range(SCALES):
        b = between(scale, v)
        step(&curve.knots[b.below], <float>1.0 - b.share, h, r)
        step(&curve.knots[b.below + 1], b.share, h, r)
