"""Delays: F(u), the share of events reported by the age u, from events at their deadlines.

The age is 0 at the prediction and 1 at the deadline. H counts the events of each range of scores
by age, forgetting. Over all scores F(u) = (H(u) + u) / (H(1) + 1), with H(u) those that came by
age u; in a range, (H_k(u) + 20 F(u)) / (H_k(1) + 20).
"""

from libc.math cimport floor

cdef double FORGET = 0.002        # share of the delays that each further one replaces
cdef double POOL = 20.0           # events that all ranges together count for in one range

MOST_EVENTS = 1.0 / FORGET        # that H can count


cdef Py_ssize_t range_of(double x) noexcept nogil:
    """Return the range of scores that holds the logit x."""
    cdef double k = floor(x) + RANGES // 2
    return 0 if k < 0.0 else RANGES - 1 if k > RANGES - 1 else <Py_ssize_t>k


cdef double delays_count(const double *H) noexcept nogil:
    """Return how many events are remembered."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(RANGES * AGES):
        total += H[i]
    return total


cdef void delays_learn(double *H, Py_ssize_t k, double u) noexcept nogil:
    """Count an event of range k that came at age u."""
    cdef Py_ssize_t i
    for i in range(RANGES * AGES):
        H[i] *= 1.0 - FORGET
    i = <Py_ssize_t>(u * AGES)
    H[k * AGES + min(max(i, 0), AGES - 1)] += 1.0


cdef void delays_shares(const double *H, double *F) noexcept nogil:
    """Fill in F of every range, at the AGES + 1 edges of the bins of ages."""
    cdef double[AGES + 1] pooled
    cdef double total = 0.0
    cdef Py_ssize_t j, k
    pooled[0] = 0.0
    for j in range(AGES):
        for k in range(RANGES):
            total += H[k * AGES + j]
        pooled[j + 1] = total
    for j in range(AGES + 1):
        pooled[j] = (pooled[j] + <double>j / AGES) / (total + 1.0)
    for k in range(RANGES):
        total = 0.0
        for j in range(AGES + 1):
            F[k * (AGES + 1) + j] = total
            if j < AGES:
                total += H[k * AGES + j]
        for j in range(AGES + 1):
            F[k * (AGES + 1) + j] = (F[k * (AGES + 1) + j] + POOL * pooled[j]) / (total + POOL)


cdef double delays_share(const double *F, Py_ssize_t k, double u) noexcept nogil:
    """Return F of range k at age u, linear between the edges."""
    cdef double a = (0.0 if not u > 0.0 else 1.0 if u > 1.0 else u) * AGES  # 0 of NaN, too
    cdef Py_ssize_t j = min(<Py_ssize_t>a, AGES - 1)
    F += k * (AGES + 1) + j
    return F[0] + (a - j) * (F[1] - F[0])
