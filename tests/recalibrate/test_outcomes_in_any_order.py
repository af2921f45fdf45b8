"""Any interleaving of steps, batches, repeats, saves: what was known when decides, nothing else."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant import Recalibrator
from calibrant._kernels.pending_saving import save_pending
from naive.outcomes import NaiveOutcomes

CAPACITY = 6
LATER = st.integers(0, 6)
IDS = st.one_of(st.integers(0, 12), st.sampled_from(["1", "a", ""]))
SCORES = st.sampled_from([0.05, 0.3, 0.5, 0.8])
GROUPS = st.sampled_from([None, None, "a", 1])
OUTCOMES = st.sampled_from([0.0, 1.0])
ROWS = st.lists(st.tuples(IDS, SCORES, GROUPS, LATER), min_size=1, max_size=9)


class Outcomes(RuleBasedStateMachine):
    """A recalibrator, and the plain book of what was known when."""

    given = {}  # noqa: RUF012
    is_timed = False

    def __init__(self):
        super().__init__()
        self.recalibrator = Recalibrator(seed=3, capacity=CAPACITY, **self.given)
        self.book = NaiveOutcomes(seed=3, capacity=CAPACITY, **self.given)
        self.clock = 0

    def later(self, ticks):
        """Return the time, so many ticks on, None where nothing says when it is."""
        self.clock += ticks
        return self.clock if self.is_timed else None

    def refused(self, call, *given, match, **more):
        """Check that a call is refused, and changes nothing."""
        before = self.recalibrator.to_bytes()
        with pytest.raises(ValueError, match=match):
            call(*given, **more)
        assert self.recalibrator.to_bytes() == before

    @rule(id_=IDS, score=SCORES, group=GROUPS, later=LATER, own=st.booleans())
    def predict(self, id_, score, group, later, own):
        at = self.later(later)
        due = at + 3 if own and self.is_timed and self.given else None
        more = {"id": id_, "by": group, "at": at, "due": due}
        if self.book.refuses([id_]):
            self.refused(self.recalibrator.predict, score, match="predicted already", **more)
            return
        said = self.recalibrator.predict(score, **more)
        times = [None if each is None else [each] for each in (at, due)]
        assert [said] == self.book.predict([score], [id_], [group], *times)

    @rule(rows=ROWS, own=st.booleans(), in_groups=st.booleans())
    def predict_many(self, rows, own, in_groups):
        """The rows of a batch need not be in order of time."""
        ids, scores, groups, ticks = (list(column) for column in zip(*rows, strict=True))
        by = groups if in_groups else None
        at = due = None
        if self.is_timed:
            at = [self.clock + each for each in ticks]
            due = [each + 2 + each % 3 for each in at] if own and self.given else None
        more = {"ids": ids, "by": by, "at": at, "due": due}
        if self.book.refuses(ids):
            match = "predicted already|comes at positions"
            self.refused(self.recalibrator.predict_many, scores, match=match, **more)
            return
        said = self.recalibrator.predict_many(scores, **more)
        assert said.tolist() == self.book.predict(scores, ids, by or [None] * len(ids), at, due)
        self.clock = max(self.clock, *(at or [self.clock]))

    @rule(id_=IDS, outcome=OUTCOMES, later=LATER)
    def update(self, id_, outcome, later):
        at = self.later(later) if self.given and self.book.is_timed else None
        (answer,) = self.book.hear([(id_, outcome)], at)
        words = {"expired": "expired", "unknown": "is unknown", "conflict": "and now gets"}
        more = {} if at is None else {"at": at}
        if answer in words:
            with pytest.raises(ValueError, match=words[answer]):
                self.recalibrator.update(outcome, id=id_, **more)
        else:
            self.recalibrator.update(outcome, id=id_, **more)

    @precondition(lambda self: self.book.waiting)
    @rule(data=st.data(), outcome=OUTCOMES, later=LATER)
    def update_waiting(self, data, outcome, later):
        self.update(data.draw(st.sampled_from(self.book.waiting)).id, outcome, later)

    @rule(data=st.data(), given=st.lists(st.tuples(IDS, OUTCOMES), max_size=8), later=LATER)
    def update_many(self, data, given, later):
        """Among the rows are strangers, repeats and contradictions, in any order."""
        waiting = [(row.id, float(row.number % 2)) for row in self.book.waiting]
        given = data.draw(st.permutations(given + waiting[:: 1 + len(given) % 2]))
        at = self.later(later) if self.given and self.book.is_timed else None
        answers = self.recalibrator.update_many(
            [y for _, y in given], [id_ for id_, _ in given], **({} if at is None else {"at": at})
        )
        assert answers.tolist() == self.book.hear(given, at)

    @precondition(lambda self: self.book.finished)
    @rule(data=st.data())
    def repeat(self, data):
        id_, outcome = data.draw(st.sampled_from(self.book.finished[-CAPACITY:]))
        self.update(id_, outcome, 0)
        self.update(id_, 1 - outcome, 0)

    @precondition(lambda self: self.given and self.is_timed and self.book.is_timed)
    @rule(later=LATER)
    def advance(self, later):
        before = self.book.kernel.learned
        self.book.pass_to(self.later(later), is_over=lambda due, now: due <= now)
        learned = self.recalibrator.advance(self.clock)
        assert learned == self.book.kernel.learned - before
        assert self.recalibrator.advance(self.clock - 5) == 0

    @rule(age=st.integers(0, 12))
    def expire(self, age):
        oldest = self.recalibrator.rounds - age
        assert self.recalibrator.expire(older_than=age) == self.book.expire(
            lambda row: row.number < oldest
        )

    @rule(ago=st.integers(0, 12))
    def expire_before(self, ago):
        before = self.clock - ago
        assert self.recalibrator.expire(before=before) == self.book.expire(
            lambda row: row.made is not None and row.made < before
        )

    @rule()
    def save_and_load(self):
        with TemporaryDirectory() as folder:
            self.recalibrator.save(Path(folder) / "state")
            blob = self.recalibrator.to_bytes()
            self.recalibrator = Recalibrator.load(Path(folder) / "state")
        assert self.recalibrator.to_bytes() == blob

    @rule(id_=IDS)
    def nonsense(self, id_):
        """One bad row, and the whole batch is refused."""
        recalibrator = self.recalibrator
        self.refused(recalibrator.update_many, [0.0, 2.0], [id_, "new"], match="must be in")
        self.refused(recalibrator.update_many, [0.0, 1.0], [id_, 1.5], match="must be a string")
        at = self.clock if self.is_timed else None
        self.refused(
            recalibrator.predict_many, [0.5, 1.5], ids=["x", "y"], at=at, match="must each be"
        )

    @invariant()
    def the_book_agrees(self):
        ours, book = self.recalibrator, self.book
        assert (ours.rounds, ours.learned) == (book.kernel.rounds, book.kernel.learned)
        assert (ours.pending, ours.expired) == (len(book.waiting), book.expired)
        waiting = ours._waiting
        assert list(waiting.named) == [row.id for row in book.waiting]
        assert list(waiting.finished.items()) == book.finished[-CAPACITY:]
        assert list(waiting.gone) == book.gone
        same_numbers(ours._get_state(), book.kernel._get_state())
        same_numbers(ours._groups.get_state(), book.groups.get_state())
        if book.pending is not None:
            same_numbers(save_pending(ours._deadlines.pending), save_pending(book.pending))


def same_numbers(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)


class Silence(Outcomes):
    given = {"silence": 0, "after": 10}  # noqa: RUF012
    is_timed = True


class SilenceInPredictions(Outcomes):
    given = {"silence": 1, "after": 4}  # noqa: RUF012


class Hold(Outcomes):
    given = {"hold": 5}  # noqa: RUF012
    is_timed = True


class HoldInPredictions(Outcomes):
    given = {"hold": 4}  # noqa: RUF012


class Timed(Outcomes):
    is_timed = True


def case(machine, examples):
    test = machine.TestCase
    test.settings = settings(
        derandomize=True, max_examples=examples, stateful_step_count=40, deadline=None
    )
    return test


TestOutcomes, TestTimed = case(Outcomes, 60), case(Timed, 30)
TestSilence, TestSilenceInPredictions = case(Silence, 80), case(SilenceInPredictions, 60)
TestHold, TestHoldInPredictions = case(Hold, 80), case(HoldInPredictions, 60)
