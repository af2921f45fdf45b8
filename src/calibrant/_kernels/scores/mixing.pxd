from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport exp, log, log1p

cdef enum:
    MOST_EXPERTS = 24               # that a mixture may have
    LAG = 2                         # outcomes this late count half
    SLOWEST = 64                    # and none counts less than one in so many


# How likely each expert made outcomes that came together: the logarithm, without the last few.
cdef struct Evidence:
    Py_ssize_t experts
    int64_t count
    double keep                     # the share of the weights that does not return to the prior
    double[MOST_EXPERTS] log
    double[MOST_EXPERTS] product    # of the last few


cdef double returned(double share, double m) noexcept nogil
cdef void evidence_start(Evidence *evidence, Py_ssize_t experts) noexcept nogil
cdef void evidence_add(
    Evidence *evidence, const double *predicted, double y, double weight, double moved
) noexcept nogil
cdef void evidence_weigh(
    Evidence *evidence, double *w, const double *priors, double power
) noexcept nogil
cdef void evidence_settle(Evidence *evidence) noexcept nogil


cdef inline double within(double p, double least) noexcept nogil:
    """Return p, moved away from 0 and 1 if it is nearer than `least`."""
    return least if p < least else 1.0 - least if p > 1.0 - least else p


cdef inline double curvature(double p, double flat) noexcept nogil:
    """Return the second derivative of the log loss by the logit, which counts as `flat` or more."""
    return p * (1.0 - p) if p * (1.0 - p) > flat else flat


cdef inline double slowness(double lag, double half) noexcept nogil:
    """Return how many outcomes count for one if the last came `lag` predictions late: 2 at `half`."""
    return 1.0 + lag / half if lag < half * (SLOWEST - 1) else SLOWEST


cdef inline double lag_after(double lag, double late) noexcept nogil:
    """Return how late the last hundred outcomes came on average, after one that came `late`."""
    return lag + (late - lag) * 0.01


cdef inline double likelihood(double p, double y, double weight, double lag) noexcept nogil:
    return exp(weight * (y * log(p) + (1.0 - y) * log1p(-p)) / slowness(lag, LAG))


cdef inline void weigh(
    double *w, const double *priors, Py_ssize_t experts, const double *predicted, double y,
    double weight, double lag, double moved,
) noexcept nogil:
    """Weigh experts by what they `predicted` of one outcome of this weight.

    Of the weights of experts, `moved` returns.
    """
    cdef Py_ssize_t i
    cdef double total = 0.0, keep
    # An outcome that comes at once, as most do: loops that a compiler can vectorise.
    if lag == 0.0 and weight == 1.0 and y == 1.0:
        for i in range(experts):
            w[i] *= predicted[i]
    elif lag == 0.0 and weight == 1.0 and y == 0.0:
        for i in range(experts):
            w[i] *= 1.0 - predicted[i]
    else:
        for i in range(experts):
            w[i] *= likelihood(predicted[i], y, weight, lag)
    for i in range(experts):
        total += w[i]
    keep = (1.0 - moved) / total
    for i in range(experts):
        w[i] = w[i] * keep + moved * priors[i]
