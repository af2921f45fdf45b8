"""Correction: learns at deadlines how far to trust an estimate adjusted by pending outcomes.

Pending outcomes describe the recent past. Until the deadline of a new prediction, a change has often
partly reverted, as with the weather, so an estimate that follows it closely is right about the
past and too confident about the future: of the real flights that it predicted to be late with
probability 0.83, 75% were. The waiting mixture has the same fault, with older information. Neither
can detect it, because recent outcomes do not show it.

With x the logit of the score, m the waiting estimate and q the estimate that was moved, the
corrected estimate is sigmoid(a0 x + a1 logit m + a2 logit q + a3). It starts at q, a = (0, 0, 1,
0), and learns at each deadline, by a Newton step on the log loss: with f the features and p what it
says of the prediction now, A = A + h f f^T, h = max(p (1 - p), FLAT), and a moves by -(A + n I)^-1
(p - y) f. n is the number of pending predictions, at least FEW: they all share the current error of the
level, and count as one piece of evidence. So with long spans the estimate is corrected
slowly.

q and the corrected estimate are mixed by weights that are multiplied by each one's likelihood at
the deadlines, to the power 0.05: outcomes that share an error are redundant, and otherwise a few spans
without much movement would remove the correction.
"""

from libc.math cimport fmax
from libc.string cimport memset

from calibrant._kernels.functions cimport exp, log, log1p, pow

cdef double START = 0.5           # first weight of q
cdef double POWER = 0.05          # of a likelihood
cdef double SHARE = 5e-5          # share of the weight that returns to the start at each deadline
cdef double FLAT = 1e-3           # the least curvature that a step sees
cdef double FEW = 100.0
cdef double LEAST = 1e-9          # no estimate is nearer to 0 or 1


cdef inline double logit(double p) noexcept nogil:
    return log(p) - log1p(-p)


cdef void correction_start(Correction *s) noexcept nogil:
    memset(s, 0, sizeof(Correction))
    s.a[2] = 1.0
    s.trust = START


cdef inline double estimate_of(const Correction *s, const double *f) noexcept nogil:
    cdef double z = s.a[0] * f[0] + s.a[1] * f[1] + s.a[2] * f[2] + s.a[3]
    cdef double p = 1.0 / (1.0 + exp(-z))
    return LEAST if p < LEAST else 1.0 - LEAST if p > 1.0 - LEAST else p


cdef double correction_estimate(const Correction *s, double x, double m, double q) noexcept nogil:
    """Return the corrected estimate for an event, where the estimates say m and q inside (0, 1)."""
    cdef double[FEATURES] f
    f[0], f[1], f[2], f[3] = x, logit(m), logit(q), 1.0
    return estimate_of(s, f)


cdef void solve(const double *A, double n, double *g) noexcept nogil:
    """Replace g by (A + n I)^-1 g; A + n I = L D L^T, solved forwards and backwards."""
    cdef double[FEATURES][FEATURES] L
    cdef double[FEATURES] D
    cdef Py_ssize_t i, j, k, at = 0
    for i in range(FEATURES):
        for j in range(i, FEATURES):
            L[j][i] = A[at] + (n if i == j else 0.0)
            for k in range(i):
                L[j][i] -= L[i][k] * D[k] * L[j][k]
            at += 1
        D[i] = fmax(L[i][i], n)  # rounding may not push a pivot below what was added
        for j in range(i + 1, FEATURES):
            L[j][i] /= D[i]
    for i in range(FEATURES):
        for k in range(i):
            g[i] -= L[i][k] * g[k]
    for i in range(FEATURES - 1, -1, -1):
        g[i] /= D[i]
        for k in range(i + 1, FEATURES):
            g[i] -= L[k][i] * g[k]


cdef void correction_learn(
    Correction *s, double x, double m, double q, double corrected, bint event, double waiting
) noexcept nogil:
    """Learn at its deadline whether an event came that the estimates gave m, q and `corrected`."""
    cdef double[FEATURES] f, g
    cdef Py_ssize_t i, j, at = 0
    cdef double old = s.trust * pow(q if event else 1.0 - q, POWER)
    cdef double new = (1.0 - s.trust) * pow(corrected if event else 1.0 - corrected, POWER)
    cdef double p, h
    f[0], f[1], f[2], f[3] = x, logit(m), logit(q), 1.0
    p = estimate_of(s, f)
    h = fmax(p * (1.0 - p), FLAT)
    s.trust = (1.0 - SHARE) * old / (old + new) + SHARE * START
    for i in range(FEATURES):
        g[i] = (p - event) * f[i]
        for j in range(i, FEATURES):
            s.A[at] += h * f[i] * f[j]
            at += 1
    solve(s.A, fmax(waiting, FEW), g)
    for i in range(FEATURES):
        s.a[i] -= g[i]
