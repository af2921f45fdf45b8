"""How likely an estimate made an outcome."""

from calibrant._kernels.functions cimport exp, log, log1p


cdef inline double likelihood(double p, double y, double power) noexcept nogil:
    """Return the likelihood of y where p was predicted, to a power."""
    if y == 1.0 and power == 1.0:
        return p
    if y == 0.0 and power == 1.0:
        return 1.0 - p
    return exp(power * (y * log(p) + (1.0 - y) * log1p(-p)))
