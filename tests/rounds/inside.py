"""What the tests of rounds look at inside: who waits, who is done with, and all that was learned.

Nothing else in these tests knows how a class keeps its rounds.
"""

from typing import NamedTuple

import numpy as np

from calibrant import EventForecaster, Fleet, MulticlassRecalibrator, Recalibrator
from calibrant._kernels.pending_saving import save_pending
from naive.rules import shard_state

#: Parts of a kernel's state that are about the round without an id, which is compared by what
#: comes of it.
UNNAMED = {"open", "number"}


class Inside(NamedTuple):
    """What one book holds."""

    waiting: list  # ids, in the order of their predictions
    finished: list  # (id, outcome), the oldest first
    expired: list  # ids, the oldest first


def books_of(learner):
    """Return what is inside: one book, or one a shard."""
    if isinstance(learner, Fleet):
        return [_inside(part.waiting) for part in _parts(learner)]
    return [_inside(learner._waiting)]


def states_of(learner):
    """Return all that was learned beside each book, as dicts of arrays and numbers."""
    if isinstance(learner, Fleet):
        return [[shard_state(part.kernel)] for part in _parts(learner)]
    return [_states(learner)]


def settled(learner):
    """Return the rounds that are over since the last call, as `naive.rounds.Settled`; or None."""


def _parts(fleet):
    return [part for _, part in sorted(fleet._parts.items())]


def _inside(waiting):
    return Inside(list(waiting.named), list(waiting.finished.items()), list(waiting.gone))


def _states(learner):
    if isinstance(learner, EventForecaster):
        return [learner._get_state()]
    deadlines = learner._deadlines
    if isinstance(learner, MulticlassRecalibrator):
        pendings = [] if deadlines is None else deadlines.pendings
        return [learner._engine.get_state(), *(save_pending(each) for each in pendings)]
    assert isinstance(learner, Recalibrator)
    silence = [] if deadlines is None or deadlines.pending is None else [deadlines.pending]
    return [
        learner._get_state(), learner._groups.get_state(), *(save_pending(each) for each in silence)
    ]  # fmt: skip


def check_same_states(ours, theirs):
    """Compare what was learned, bit for bit."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for name in mine.keys() - UNNAMED:
            assert _bits(mine[name]) == _bits(other[name]), name


def _bits(value):
    return value.tobytes() if isinstance(value, np.ndarray) else value
