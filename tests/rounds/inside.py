"""What the tests of rounds look at inside: who waits, who is done with, and all that was learned.

Nothing else in these tests knows how a class keeps its rounds.
"""

from typing import NamedTuple

import numpy as np

from calibrant import EventForecaster, Fleet, MulticlassRecalibrator, Recalibrator
from calibrant._kernels.scores.pending_saving import save_pending
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
    return [_inside(book) for book in _books(learner)]


def states_of(learner):
    """Return all that was learned beside each book, as dicts of arrays and numbers."""
    if isinstance(learner, Fleet):
        return [[shard_state(part.kernel)] for part in _parts(learner)]
    return [_states(learner)]


def settled(learner):
    """Return the rounds that are over since the last call, as `naive.rounds.Settled`."""
    found = []
    for book in _books(learner):
        if book.settled is None:  # new, or just loaded: nothing is over yet
            book.collect()
            continue
        over = book.take_settled()
        columns = zip(
            over.ids, over.rounds, over.when.tolist(), over.outcome.tolist(),
            over.is_silence.tolist(), strict=True,
        )  # fmt: skip
        found += [
            (id_, each.number, each.at, each.due, each.arrived, when, outcome, is_silence)
            for id_, each, when, outcome, is_silence in columns
        ]
    return [tuple(None if is_nan(part) else part for part in each) for each in found]


def is_nan(part):
    return isinstance(part, float) and np.isnan(part)


def _parts(fleet):
    return [part for _, part in sorted(fleet._shards.items())]


def _books(learner):
    if isinstance(learner, Fleet):
        return [part.book for part in _parts(learner)]
    return [learner._late._book if isinstance(learner, EventForecaster) else learner._book]


def _inside(book):
    return Inside(book.ids, list(book.finished.items()), list(book.gone))


def _states(learner):
    if isinstance(learner, EventForecaster):
        return [learner._get_state()]
    if isinstance(learner, MulticlassRecalibrator):
        silence = learner._rule.silence
        states = [learner._rule.save([])]
        return states if silence is None else [*states, save_pending(silence)]
    assert isinstance(learner, Recalibrator)
    silence = learner._rule.silence
    states = [learner._whole._get_state(), learner._groups.get_state()]
    return states if silence is None else [*states, save_pending(silence)]


def check_same_states(ours, theirs):
    """Compare what was learned, bit for bit."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for name in mine.keys() - UNNAMED:
            assert _bits(mine[name]) == _bits(other[name]), name


def _bits(value):
    return value.tobytes() if isinstance(value, np.ndarray) else value
