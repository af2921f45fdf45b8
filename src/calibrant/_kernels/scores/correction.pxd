cdef enum:
    FEATURES = 4                  # of an estimate: the logits of the score, of m and of q, and 1
    TRIANGLE = 10                 # of a matrix with so many rows
    CORRECTION_SIZE = FEATURES + TRIANGLE + 1


# What deadlines have shown about an estimate. All doubles.
cdef struct Correction:
    double[FEATURES] a            # the factors of the features
    double[TRIANGLE] A            # curvature so far, upper triangle row by row
    double trust                  # weight of q beside the corrected estimate


cdef void correction_start(Correction *s) noexcept nogil
cdef double correction_estimate(const Correction *s, double x, double m, double q) noexcept nogil
cdef void correction_learn(
    Correction *s, double x, double m, double q, double corrected, bint event, double waiting
) noexcept nogil
