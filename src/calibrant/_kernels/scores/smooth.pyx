"""The estimate for ranking, beside the one that is placed on the grid."""

import numpy as np

from calibrant._kernels.scores.scoring cimport ScoringKernel


def smooth_of(ScoringKernel kernel not None, score):
    """Return the smooth estimate for a score; changes nothing."""
    kernel.enter()
    return kernel.smooth(kernel.raw_of(kernel.as_score(score)))


def smooth_of_many(ScoringKernel kernel not None, scores):
    """Return many scores as probabilities, and the smooth estimate for each; changes nothing."""
    kernel.enter()
    given = kernel.as_scores(scores)
    estimates = np.empty(len(given))
    cdef double[::1] s = given, estimate = estimates
    cdef Py_ssize_t i
    for i in range(estimate.shape[0]):
        s[i] = kernel.raw_of(s[i])
        estimate[i] = kernel.smooth(s[i])
    return given, estimates
