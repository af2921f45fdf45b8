"""Predictions and outcomes by id of a recalibrator without groups, in one compiled call.

What `Waiting.open` and `Waiting.answer` do with any recalibrator, for the one that is used most.
"""

from libc.stdint cimport int64_t

from calibrant._kernels.kernel cimport as_outcome
from calibrant._kernels.score_rounds cimport Begun, Round, as_round
from calibrant._kernels.scoring cimport ScoringKernel
from calibrant._kernels.waiting cimport Waiting, checked


def predict_by_id(ScoringKernel kernel not None, Waiting waiting not None, id_, at, score):
    """Return the prediction for a score, which waits for its outcome by id from now on."""
    cdef Round opened
    name = checked(id_)
    waiting.acquire()
    try:
        waiting.check_new(name)
        kernel.enter()
        opened = as_round(kernel.begin(kernel.as_score(score)))
        waiting.keep(name, opened, at)
    finally:
        waiting.release()
    return opened.begun.z


def predict_many_by_id(ScoringKernel kernel not None, Waiting waiting not None, list names not None,
                       times, scores):
    """Return the predictions for scores of one batch, which wait by id from now on, all or none."""
    kernel.enter()
    predictions = kernel.as_scores(scores)  # each takes the place of its score
    cdef double[::1] x = predictions
    cdef Py_ssize_t i
    cdef list rounds = [Round.__new__(Round) for i in range(x.shape[0])]
    cdef int64_t batch = kernel._rounds
    cdef Begun *begun
    waiting.keep_many(names, rounds, times)
    for i in range(x.shape[0]):
        begun = &(<Round>rounds[i]).begun
        begun[0] = kernel.begin(x[i])
        begun.batch = batch
        x[i] = begun.z
    return predictions


def update_by_id(ScoringKernel kernel not None, Waiting waiting not None, id_, outcome, learn):
    """Learn an id's outcome, unless it did so before; `learn` is asked if the round has a group."""
    cdef double y = as_outcome(outcome)
    cdef Round opened
    name = checked(id_)
    waiting.acquire()
    try:
        found = waiting.known.get(name)
        if type(found) is not Round:
            waiting.learn(name, y, learn)
            return
        opened = found
        kernel.enter()
        if kernel.finish(&opened.begun, y, kernel.lateness(&opened.begun)) < 0:
            raise MemoryError
        waiting.finish(name, y)
    finally:
        waiting.release()
