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

from calibrant._kernels.prefetch cimport prefetch

cdef float END = 8.0
cdef float SD = 0.5
cdef float STIFF = 1.5


# Where a score is between the knots of one scale.
cdef struct Between:
    int below                       # the knot below, and the one above
    int above
    float share                     # of the latter


cdef inline int knot_at(int scale, int i) noexcept nogil:
    """Return where the i-th knot of a scale stands."""
    cdef int each = 1 << scale      # knots of the scale in a unit, after those of coarser ones
    return (i >> scale) * UNIT + (each - 1) + (i & (each - 1))


cdef inline Between between(int scale, float v) noexcept nogil:
    cdef Between found
    cdef float place
    cdef int i
    v = END if v > END else v
    v = -END if v < -END else v
    place = (v + END) * <float>(1 << scale)
    i = <int>place
    i = i if i < COARSE << scale else (COARSE << scale) - 1
    found.below, found.above, found.share = knot_at(scale, i), knot_at(scale, i + 1), place - <float>i
    return found


cdef void curve_ask_for(const Curve *curve, float v) noexcept nogil:
    """Have the memory fetched that a score will need."""
    cdef Between b = between(0, v)
    prefetch(&curve.knots[b.below])
    prefetch(&curve.knots[b.above + 1])


cdef void curve_start(Curve *curve) noexcept nogil:
    cdef int i
    for i in range(KNOTS):
        curve.knots[i].f, curve.knots[i].A = 0.0, <float>1.0 / (SD * SD)


cdef float curve_at(const Curve *curve, float v) noexcept nogil:
    """Return the curve's value for the logit of a score."""
    cdef float total = 0.0
    cdef const Knot *knots = curve.knots
    cdef Between b
    cdef int scale
    for scale in range(SCALES):
        b = between(scale, v)
        total = total + (knots[b.below].f * (<float>1.0 - b.share) + knots[b.above].f * b.share)
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
        step(&curve.knots[b.above], b.share, h, r)
