"""The word for ranking, beside the one that is placed on the grid."""

import numpy as np

from calibrant._kernels.scores.scoring cimport ScoringKernel


def smooth_of(ScoringKernel kernel not None, score):
    """Return the smooth word for a score; changes nothing."""
    kernel.enter()
    return kernel.smooth(kernel.raw_of(kernel.as_score(score)))


def smooth_of_many(ScoringKernel kernel not None, scores):
    """Return many scores as probabilities, and the smooth word for each; changes nothing."""
    kernel.enter()
    given = kernel.as_scores(scores)
    words = np.empty(len(given))
    cdef double[::1] s = given, word = words
    cdef Py_ssize_t i
    for i in range(word.shape[0]):
        s[i] = kernel.raw_of(s[i])
        word[i] = kernel.smooth(s[i])
    return given, words


def smooth_of_last(ScoringKernel kernel not None):
    """Return the last score as a probability and its smooth word, until an outcome is learned."""
    kernel.enter()
    return kernel.given, kernel.smooth(kernel.given)
