from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int64_t

# Counts of every distinct prediction, in order of first appearance, and the sums that are the
# calibration errors. `table` is an open-addressed hash of the predictions: slot -> entry, or -1.
cdef struct Tally:
    Py_ssize_t count      # distinct predictions
    Py_ssize_t room
    Py_ssize_t slots      # a power of two, more than twice `room`
    int64_t *table
    double *p             # the prediction
    double *n             # rounds that predicted it
    double *s             # sum of their outcomes
    double[3] total       # sums of the three terms below, infinite terms left out,
    double[3] lost        # and what rounding took from each (Neumaier's compensation)
    int64_t infinite      # entries whose KL term is infinite


cdef inline double cal1_term(double p, double n, double s) noexcept nogil:
    """Return n |rho - p|, with rho = s / n."""
    return fabs(s - n * p)


cdef inline double cal2_term(double p, double n, double s) noexcept nogil:
    """Return n (rho - p)^2."""
    cdef double r = s - n * p
    return r * r / n


cdef inline double kl_term(double p, double n, double s) noexcept nogil:
    """Return n KL(rho, p), which is infinite where the impossible happened."""
    cdef double ones = 0.0, zeros = 0.0
    if s > 0.0:
        if p == 0.0:
            return INFINITY
        ones = s * log(s / (n * p))
    if s < n:
        if p == 1.0:
            return INFINITY
        zeros = (n - s) * log((n - s) / (n * (1.0 - p)))
    # KL is never negative; rounding may say otherwise by a hair where rho = p.
    return ones + zeros if ones + zeros > 0.0 else 0.0


cdef int tally_start(Tally *t) noexcept nogil
cdef void tally_free(Tally *t) noexcept nogil
cdef Py_ssize_t tally_find(const Tally *t, double p) noexcept nogil
cdef Py_ssize_t tally_enter(Tally *t, double p) noexcept nogil
cdef void tally_add(Tally *t, Py_ssize_t at, double mass, double y) noexcept nogil


cdef class TallyKernel:
    cdef Tally tally
