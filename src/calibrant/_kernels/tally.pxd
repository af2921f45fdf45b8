cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport log, log1p

cdef enum:
    ERRORS = 3
    SUMS = 5

# A running sum, and what rounding lost of it (Neumaier's compensation).
cdef struct Sum:
    double total
    double lost


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
    double *kl            # the KL term below, kept because logarithms are slow
    Sum[ERRORS] errors         # sums of the three terms below, infinite terms left out
    int64_t infinite      # entries whose KL term is infinite


cdef inline double cal1_term(double p, double n, double s) noexcept nogil:
    """Return n |rho - p|, with rho = s / n."""
    return fabs(s - n * p)


@cython.cdivision(True)
cdef inline double cal2_term(double p, double n, double s) noexcept nogil:
    """Return n (rho - p)^2."""
    cdef double r = s - n * p
    return r * r / n


cdef inline double log_ratio(double share, double n, double p, double excess) noexcept nogil:
    """Return log(share / (n p)), with excess = share / (n p) - 1 known to more digits."""
    return log1p(excess) if fabs(excess) < 0.5 else log(share) - log(n) - log(p)


@cython.cdivision(True)
cdef inline double kl_term(double p, double n, double s) noexcept nogil:
    """Return n KL(rho, p), infinite where an outcome of probability 0 happened."""
    cdef double q = 1.0 - p, r = s - n * p, kl = 0.0
    if s > 0.0:
        if p == 0.0:
            return INFINITY
        kl += s * log_ratio(s, n, p, r / (n * p))
    if s < n:
        if q == 0.0:
            return INFINITY
        kl += (n - s) * log_ratio(n - s, n, q, -r / (n * q))
    # KL is never negative; where rho = p, rounding can make it so.
    return kl if kl > 0.0 else 0.0


@cython.cdivision(True)
cdef inline Py_ssize_t bin_of(double p, Py_ssize_t bins) noexcept nogil:
    """Return which of the bins [i/bins, (i+1)/bins) holds p; the last one holds 1 too."""
    cdef Py_ssize_t i = <Py_ssize_t>(p * bins)
    # The product may round across an edge; the edges, as floats, decide.
    if i > 0 and p < <double>i / bins:
        i -= 1
    elif p >= <double>(i + 1) / bins:
        i += 1
    return i if i < bins else bins - 1


cdef int tally_start(Tally *t) noexcept nogil
cdef void tally_free(Tally *t) noexcept nogil
cdef Py_ssize_t tally_find(const Tally *t, double p) noexcept nogil
cdef Py_ssize_t tally_enter(Tally *t, double p) noexcept nogil
cdef void tally_add(Tally *t, Py_ssize_t at, double mass, double y) noexcept nogil


cdef class TallyKernel:
    cdef Tally tally
    cdef Py_ssize_t bins, cells
    cdef double *residuals    # sum of y - p of each bin
    cdef int64_t *entry       # of each cell, then of 0 and 1; -1 for none
    cdef Sum mass, predicted, happened, squared, logs     # saved as one block of SUMS
    cdef int64_t impossible   # rounds of infinite log loss, left out of `logs`
    cdef bint busy

    cdef int enter(self) except -1
    cdef Py_ssize_t entry_of(self, double p) noexcept nogil
    cdef int count(self, double p, double y, double mass) noexcept nogil
