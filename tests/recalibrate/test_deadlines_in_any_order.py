"""Deadlines in any interleaving: what was known when decides, and nothing else."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant import Recalibrator

PROBABILITY = st.sampled_from([0.05, 0.3, 0.5, 0.8])
LATER = st.integers(0, 6)
AFTER = 10


class Deadlines(RuleBasedStateMachine):
    """One recalibrator lives an eventful life; its twin sees only predictions and news.

    A third book is kept by hand: each prediction's deadline and what had been announced by then.
    """

    given = {"silence": 0, "after": AFTER}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.lived, self.twin = Recalibrator(**self.given), Recalibrator(**self.given)
        self.now = 0
        self.due, self.said = {}, {}

    @property
    def waiting(self):
        return [row for row, due in self.due.items() if due > self.now and row not in self.said]

    @rule(score=PROBABILITY, later=LATER, group=st.sampled_from([None, "a"]), own=st.booleans())
    def predict(self, score, later, group, own):
        self.now += later
        row = len(self.due)
        due = self.now + (3 if own else AFTER)
        named = {"id": row, "by": group, "at": self.now, "due": due if own else None}
        assert self.lived.predict(score, **named) == self.twin.predict(score, **named)
        self.due[row] = due

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), outcome=st.sampled_from([0, 1]))
    def update(self, data, outcome):
        row = data.draw(st.sampled_from(self.waiting))
        for each in (self.lived, self.twin):
            each.update(outcome, id=row, at=self.now)
        self.said[row] = outcome

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def update_many(self, data):
        rows = data.draw(st.lists(st.sampled_from(self.waiting), min_size=1, unique=True))
        order = data.draw(st.permutations(rows))
        answers = self.lived.update_many([row % 2 for row in order], order, at=self.now)
        assert set(answers) == {"applied"}
        for row in rows:
            self.twin.update(row % 2, id=row, at=self.now)
            self.said[row] = row % 2

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def repeat(self, data):
        row = data.draw(st.sampled_from(sorted(self.said)))
        self.lived.update(self.said[row], id=row)
        with pytest.raises(ValueError, match="and now gets"):
            self.lived.update(1 - self.said[row], id=row)

    @precondition(lambda self: self.due)
    @rule(later=LATER)
    def advance(self, later):
        self.now += later
        assert self.lived.advance(self.now) == self.twin.advance(self.now)
        assert self.lived.advance(self.now - 5) == 0

    @rule()
    def save_and_load(self):
        self.lived = Recalibrator.from_bytes(self.lived.to_bytes())

    @rule(bad=st.sampled_from([{"at": 10**6}, {"id": "x"}, {"id": "x", "at": 10**6, "due": 3}]))
    def refused(self, bad):
        with pytest.raises(ValueError, match=r"needs an id|all of them or none|needs the time|due"):
            self.lived.predict(0.5, **({"due": 1} | bad if "at" not in bad else bad))

    @invariant()
    def same_state(self):
        assert self.lived.to_bytes() == self.twin.to_bytes()

    @invariant()
    def as_many_as_the_book_says(self):
        over = [row for row, due in self.due.items() if due < self.now]
        at_most = [row for row, due in self.due.items() if due <= self.now]
        if self.given.get("silence") is None:
            over, at_most = ([row for row in rows if row in self.said] for rows in (over, at_most))
        assert len(over) <= self.lived.learned <= len(at_most)


class Held(Deadlines):
    """The same where every outcome is held."""

    given = {"hold": AFTER}  # noqa: RUF012


TestSilence = Deadlines.TestCase
TestSilence.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestHold = Held.TestCase
TestHold.settings = TestSilence.settings
