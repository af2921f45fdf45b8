"""MsMwC, the expert algorithm under Interval (Chen, Luo & Wei 2021), with m_t = 0.

Symbols: d experts with weights w and losses l; V, the sum of squared losses of an expert; eta =
min{cap, sqrt(ln(dT) / V)}, its rate; lambda, the number that makes the new weights,
max{1/(dT), w exp(-eta (l + c eta l^2 + lambda))}, sum to 1. The paper has cap = 1/64 and c = 32.

The sum of the new weights is convex and decreasing in lambda, so Newton's method cannot overshoot
twice. Few losses of a round differ from 0, and they are applied first: what is left for all experts
is one factor exp(-eta lambda), with an argument so small that a short series is exact.
"""

from libc.math cimport fabs, fmax, sqrt
from libc.stdlib cimport free

from calibrant._kernels.functions cimport exp, log
from calibrant._kernels.memory cimport resize

cdef double SERIES = 1.0 / 64.0   # up to here the series of exp to degree 6 is exact in float64
cdef double TOLERANCE = 1e-14     # of the sum of the weights
cdef int STEPS = 60               # far more than Newton's method takes


cdef void scale(MsMwC *s, double lam) noexcept nogil:
    """Set trial to w exp(-eta lambda)."""
    cdef const double *w = s.w
    cdef const double *eta = s.eta
    cdef double *trial = s.trial
    cdef Py_ssize_t d = s.d, i
    cdef double x
    if s.cap * fabs(lam) > SERIES:
        for i in range(d):
            trial[i] = w[i] * exp(-eta[i] * lam)
        return
    for i in range(d):
        x = -eta[i] * lam
        trial[i] = w[i] * (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (
            1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0)))))))


cdef double clip(MsMwC *s) noexcept nogil:
    """Raise trial to the floor; set the slope of its sum and return the sum."""
    cdef const double *eta = s.eta
    cdef double *trial = s.trial
    cdef Py_ssize_t d = s.d, whole = d - d % 2, i
    cdef double f = s.floor, a = 0.0, b = 0.0, slope_a = 0.0, slope_b = 0.0
    for i in range(0, whole, 2):
        slope_a += eta[i] * trial[i] if trial[i] > f else 0.0
        slope_b += eta[i + 1] * trial[i + 1] if trial[i + 1] > f else 0.0
        trial[i] = trial[i] if trial[i] > f else f
        trial[i + 1] = trial[i + 1] if trial[i + 1] > f else f
        a += trial[i]
        b += trial[i + 1]
    for i in range(whole, d):
        slope_a += eta[i] * trial[i] if trial[i] > f else 0.0
        trial[i] = trial[i] if trial[i] > f else f
        a += trial[i]
    s.slope = slope_a + slope_b
    return a + b


cdef void normalise(MsMwC *s, double excess) noexcept nogil:
    """Find lambda and take over the weights it gives; `excess` is their sum minus 1."""
    cdef double lam = 0.0, error, last = 2.0
    cdef int step
    for step in range(STEPS):
        # The slope is 0 where all weights lie on the floor, which never holds at lambda = 0.
        lam = lam + excess / s.slope if s.slope > 0.0 else 0.0
        scale(s, lam)
        excess = clip(s) - 1.0
        error = fabs(excess)
        # Rounding sets a limit that grows with d: stop where a step no longer helps.
        if error <= TOLERANCE or (error >= last and step > 2):
            break
        last = error
    s.w, s.trial = s.trial, s.w


cdef int msmwc_reserve(MsMwC *s, Py_ssize_t d) noexcept nogil:
    cdef double **columns[4]
    if d <= s.room:
        return 0
    columns[:] = [&s.w, &s.eta, &s.V, &s.trial]
    if resize(columns, 4, d) < 0:
        return -1
    s.room = d
    return 0


cdef void msmwc_begin(MsMwC *s, Py_ssize_t d, double T) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t i
    s.d = d
    s.log_dT = log(d * T)
    s.floor = 1.0 / (d * T)
    for i in range(d):
        total += s.trial[i]
    for i in range(d):
        s.w[i] = s.trial[i] = s.trial[i] / total
        s.eta[i] = s.cap
        s.V[i] = 0.0
    # A weight below the floor is raised to it and the others make room.
    normalise(s, clip(s) - 1.0)


cdef inline void set_rate(MsMwC *s, Py_ssize_t i) noexcept nogil:
    s.eta[i] = s.cap
    if s.V[i] * s.cap * s.cap > s.log_dT:
        s.eta[i] = sqrt(s.log_dT / s.V[i])


cdef void msmwc_learn(
    MsMwC *s, Py_ssize_t count, const Py_ssize_t *experts, const double *losses
) noexcept nogil:
    cdef double excess = 0.0, loss, eta, before
    cdef Py_ssize_t k, i
    for k in range(count):
        i, loss = experts[k], losses[k]
        eta, before = s.eta[i], s.w[i]
        s.w[i] = before * exp(-eta * loss * (1.0 + s.correction * eta * loss))
        excess += fmax(s.w[i], s.floor) - before
    normalise(s, excess)
    for k in range(count):
        i = experts[k]
        s.V[i] += losses[k] * losses[k]
        set_rate(s, i)


cdef void msmwc_restore(
    MsMwC *s, const double *w, const double *V, double slope
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(s.d):
        s.w[i], s.V[i] = w[i], V[i]
        set_rate(s, i)
    s.slope = slope


cdef void msmwc_free(MsMwC *s) noexcept nogil:
    free(s.w)
    free(s.eta)
    free(s.V)
    free(s.trial)
