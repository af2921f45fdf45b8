"""The word for ranking, beside the one that is placed on the grid."""

from calibrant._kernels.scoring cimport ScoringKernel


def smooth_of(ScoringKernel kernel not None, score):
    """Return the smooth word for a score; changes nothing."""
    kernel.enter()
    kernel.look(kernel.probability_of(kernel.as_score(score)))
    return kernel.smooth()


def smooth_of_many(ScoringKernel kernel not None, scores):
    """Return the smooth word for each of many scores; changes nothing."""
    kernel.enter()
    words = kernel.as_scores(scores)
    cdef double[::1] word = words
    cdef Py_ssize_t i
    for i in range(word.shape[0]):
        kernel.look(kernel.probability_of(word[i]))
        word[i] = kernel.smooth()
    return words


def smooth_of_last(ScoringKernel kernel not None):
    """Return the smooth word for the round that was just begun."""
    return kernel.smooth()
