"""The kernels' elementary functions for Python code that must give the same bits as the kernels."""

from calibrant._kernels cimport functions


def exp(double x):
    return functions.exp(x)


def exps(list xs not None):
    """Return exp of up to 16 numbers, computed together."""
    cdef double[16] x
    cdef int i
    for i in range(len(xs)):
        x[i] = xs[i]
    functions.exps(x, x, <int>len(xs))
    return [x[i] for i in range(len(xs))]


def exp2(double x):
    return functions.exp2(x)


def expm1(double x):
    return functions.expm1(x)


def log(double x):
    return functions.log(x)


def log1p(double x):
    return functions.log1p(x)


def log2(double x):
    return functions.log2(x)


def cbrt(double x):
    return functions.cbrt(x)


def sin(double x):
    return functions.sin(x)


def cos(double x):
    return functions.cos(x)


def tan(double x):
    return functions.tan(x)


def asin(double x):
    return functions.asin(x)


def tanh(double x):
    return functions.tanh(x)


def pow(double x, double y):
    return functions.pow(x, y)
