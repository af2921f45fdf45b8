"""Where an epoch puts its intervals: the parameter sets of the paper, and the tuned ones.

Symbols: s, the rounds of the epoch; n, those that y_hat is the mean of; C, the deviation; T, the
horizon; iota = log(T/delta); theta(p) = 2 arcsin sqrt(p); [a, b], the inner region x +- 2r in which
the truth is expected, of length I; N, its intervals; B, the intervals of each band around it.
"""

from libc.math cimport M_PI, ceil, fmax, fmin, sqrt

from calibrant._kernels.functions cimport asin, cbrt, log

cdef enum:
    L1 = 0
    L2 = 1
    PSEUDO_L2 = 2
    PSEUDO_KL = 3         # the one measure whose intervals are cut in angles

cdef struct Cut:
    double T              # rounds that the base forecaster is to plan for
    double low, high      # the domain, in probabilities or angles
    double x              # y_hat, or its angle; tuned: moved into the domain
    double r
    double a, b
    Py_ssize_t left       # inner intervals left of x if x is an edge, all of them if not
    Py_ssize_t right
    Py_ssize_t per_band


cdef inline double theta(double p) noexcept nogil:
    return 2.0 * asin(sqrt(fmin(fmax(p, 0.0), 1.0)))


cdef inline Cut domain_of(int measure, double T, double y_hat) noexcept nogil:
    """Return the domain and the centre; r is still to be set."""
    cdef Cut cut
    cut.T, cut.low, cut.high, cut.x = T, 0.0, 1.0, y_hat
    if measure == PSEUDO_KL:
        cut.low = theta(1.0 / (T + 1.0))
        cut.high = M_PI - cut.low
        cut.x = theta(y_hat)
    return cut


cdef inline void move_inside(Cut *cut) noexcept nogil:
    """Move the centre into the domain."""
    cut.x = fmin(fmax(cut.x, cut.low), cut.high)


cdef inline void set_region(Cut *cut, double r) noexcept nogil:
    cut.r = r
    cut.a = fmin(fmax(cut.x - 2.0 * r, cut.low), cut.high)
    cut.b = fmax(fmin(cut.x + 2.0 * r, cut.high), cut.low)


cdef inline Py_ssize_t as_count(double B) noexcept nogil:
    """Round up; a huge deviation, which leaves no room for bands, is capped."""
    return <Py_ssize_t>fmin(ceil(B), 1e9)


cdef inline Cut paper_cut(
    int measure, double C, double T, double delta, double s, double y_hat
) noexcept nogil:
    """As printed, with y_hat the mean of the last epoch, of n = s/2 rounds.

    The inner region is centred on theta(y_hat) and then intersected with the domain.
    """
    cdef double iota = log(T / delta), n = s / 2.0, I, N, B
    cdef Cut cut = domain_of(measure, T, y_hat)
    if measure == PSEUDO_KL:
        set_region(&cut, 2.0 * M_PI * sqrt((iota + C) / n))
    else:
        set_region(&cut, sqrt(iota / n) + C / n)
    I = cut.b - cut.a
    N = ceil(cbrt(s * I * I / iota))
    if measure == L1:
        B = cbrt((1.0 + C) * (1.0 + C) / (iota * T))
    elif measure == L2:
        B = cbrt((1.0 + C) / iota)
    elif measure == PSEUDO_L2:
        B = cbrt(1.0 + C) / iota
    else:
        N = fmax(N, ceil(2.0 * I / M_PI))
        B = fmax(2.0, cbrt((1.0 + C) / (log(T) * log(T))))
    cut.left, cut.right, cut.per_band = <Py_ssize_t>N, 0, as_count(B)
    return cut


cdef inline Py_ssize_t share_of(double N, double part) noexcept nogil:
    """Return the intervals of a part of the inner region, which gets one if it has any width."""
    return <Py_ssize_t>fmax(1.0, ceil(N * part - 1e-9)) if part > 0.0 else 0


cdef inline Cut tuned_cut(int measure, double C, double s, double y_hat) noexcept nogil:
    """With y_hat the mean of all n = s - 2 rounds before the epoch, and x an edge.

    The radius is 1.5 standard errors, where the paper has sqrt(iota), about 4, times the largest
    standard error that is possible. Each epoch takes T = 2s: no horizon is needed.
    """
    cdef double n = s - 2.0, T = 2.0 * s, v, I, N, B = cbrt((1.0 + C) / 4.0)
    cdef Cut cut = domain_of(measure, T, y_hat)
    move_inside(&cut)
    if measure == PSEUDO_KL:
        set_region(&cut, 1.5 / sqrt(n) + sqrt(C / n))
    else:
        v = fmax(y_hat * (1.0 - y_hat), 1.0 / n)
        set_region(&cut, 1.5 * sqrt(v / n) + C / n)
    I = cut.b - cut.a
    N = cbrt(s * I * I)
    if measure == L1:
        B = cbrt((1.0 + C) * (1.0 + C) / (4.0 * T))
    elif measure == PSEUDO_KL:
        N, B = fmax(N, 2.0 * I / M_PI), fmax(2.0, B)
    cut.left, cut.right = share_of(N, (cut.x - cut.a) / I), share_of(N, (cut.b - cut.x) / I)
    cut.per_band = as_count(B)
    cut.T = s
    return cut
