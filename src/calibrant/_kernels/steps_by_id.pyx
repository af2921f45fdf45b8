"""One prediction or outcome by id of a recalibrator without groups, in one compiled call.

What `Waiting.open` and `Waiting.answer` do with any recalibrator, for the one that is used most.
"""

from calibrant._kernels.kernel cimport as_outcome
from calibrant._kernels.rounds cimport Round, as_round
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


def update_by_id(ScoringKernel kernel not None, Waiting waiting not None, id_, outcome, learn):
    """Learn an id's outcome, unless it did so before; `learn` is asked if the round has a group."""
    cdef double y = as_outcome(outcome)
    cdef Round opened
    name = checked(id_)
    waiting.acquire()
    try:
        prediction = waiting.named.get(name)
        if prediction is None:
            waiting.check_repeat(name, y, None)
            return
        if type(prediction) is Round:
            opened = prediction
            kernel.enter()
            if kernel.finish(&opened.begun, y, kernel.lateness(&opened.begun)) < 0:
                raise MemoryError
        else:
            learn(prediction, y)
        waiting.finish(name, y)
    finally:
        waiting.release()
