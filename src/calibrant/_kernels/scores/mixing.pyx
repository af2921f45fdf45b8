"""A Bayesian mixture whose weights return a little to their prior.

The weights start at a prior w0, are multiplied by each expert's likelihood of the outcome and then
moved a little towards w0. If the mean m is so close to 0 or 1 that an outcome carries little
information, they move less, in proportion to m (1 - m); otherwise rare events could never show which
expert is right. So the mixture's log
loss over any stretch of rounds is at most that of expert i there plus -log(share w0_i), and a
further such term for each change of the best expert (Herbster & Warmuth 1998), plus
-log(1 - share) a round; from the first round on, it is -log(w0_i) instead.

If the last outcomes came `lag` predictions late on average, a likelihood is raised to the power
1 / (1 + lag / LAG), but no less than 1 / SLOWEST: the evidence of late outcomes about the experts may
be outdated, and outcomes that were pending together are often correlated, like flights in one storm.
If they were treated as independent, the weights would follow the storm when it is already over.
The power is the same for all outcomes, early or late, because the delay of an outcome may depend
on the outcome itself.

The likelihood of a weighted outcome is also raised to the power of its weight: it carries more or less
evidence about the experts than others, but the weights return to the prior as after any outcome.

Outcomes that arrive together are processed together: each weight is multiplied by its expert's
likelihood of all of them, raised to the same power, and then moved towards w0 as often as there
are outcomes, in one step. So their order does not matter for the weights.
"""

from libc.stdint cimport int64_t

from calibrant._kernels.functions cimport exp, log, log1p

cdef double RARE = 0.01             # the variance of an outcome below which less returns
cdef int64_t PRODUCTS = 32          # likelihoods to multiply before a logarithm: 1e-9^32 > 0


cdef double returned(double share, double m) noexcept nogil:
    """Return the share of the weights that returns to the prior where the mean is m."""
    return share if m * (1.0 - m) > RARE else share * m * (1.0 - m) / RARE


cdef void evidence_start(Evidence *evidence, Py_ssize_t experts) noexcept nogil:
    """Begin to count the outcomes that came together."""
    cdef Py_ssize_t i
    evidence.experts, evidence.count, evidence.keep = experts, 0, 1.0
    for i in range(experts):
        evidence.log[i], evidence.product[i] = 0.0, 1.0


cdef void evidence_add(
    Evidence *evidence, const double *predicted, double y, double weight, double moved
) noexcept nogil:
    """Count how likely each expert made one outcome of many, which has this weight."""
    cdef Py_ssize_t i, experts = evidence.experts
    if weight != 1.0 or y * (1.0 - y) != 0.0:
        for i in range(experts):
            evidence.log[i] += weight * (y * log(predicted[i]) + (1.0 - y) * log1p(-predicted[i]))
    elif y == 1.0:
        for i in range(experts):
            evidence.product[i] *= predicted[i]
    else:
        for i in range(experts):
            evidence.product[i] *= 1.0 - predicted[i]
    evidence.count += 1
    evidence.keep *= 1.0 - moved
    if evidence.count % PRODUCTS == 0:
        evidence_settle(evidence)


cdef void evidence_settle(Evidence *evidence) noexcept nogil:
    """Turn the products into logarithms before they are too small for a double."""
    cdef Py_ssize_t i
    for i in range(evidence.experts):
        evidence.log[i] += log(evidence.product[i])
        evidence.product[i] = 1.0


cdef void evidence_weigh(
    Evidence *evidence, double *w, const double *priors, double power
) noexcept nogil:
    """Weigh the experts by the outcomes that came together, whose likelihoods count to a power."""
    cdef Py_ssize_t i
    cdef double keep = evidence.keep, total = 0.0, most
    evidence_settle(evidence)
    most = evidence.log[0]
    for i in range(evidence.experts):
        most = max(most, evidence.log[i])
    for i in range(evidence.experts):
        w[i] *= exp((evidence.log[i] - most) * power)
        total += w[i]
    for i in range(evidence.experts):
        w[i] = w[i] / total * keep + (1.0 - keep) * priors[i]
