"""The error of a Refined after every round, which is what a certificate speaks of."""

import numpy as np

from calibrant._checks import as_unit_series
from calibrant._kernels.refined cimport RefinedKernel


def running_errors(RefinedKernel forecaster, outcomes):
    """Play one round an outcome; return the error so far after each."""
    series = as_unit_series(outcomes, "outcomes")
    errors = np.empty(len(series))
    cdef const double[::1] y = series
    cdef double[::1] e = errors
    cdef Py_ssize_t i
    cdef int failed = 0
    forecaster.enter()
    forecaster._running = True
    try:
        with nogil:
            for i in range(y.shape[0]):
                if forecaster.ready() < 0 or forecaster.advance(y[i]) < 0:
                    failed = -1
                    break
                e[i] = forecaster.error_so_far()
    finally:
        forecaster._running = False
    if failed < 0:
        raise MemoryError(f"no memory left in round {forecaster.rounds}")
    return errors
