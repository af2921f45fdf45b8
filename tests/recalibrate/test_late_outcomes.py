"""Outcomes that come late, twice, in any order or never: none lost, none counted double."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant import Recalibrator

CAPACITY = 6

ids = st.one_of(st.integers(-3, 12), st.sampled_from(["1", "2", "a", "é", ""]))
outcomes = st.sampled_from([0.0, 1.0, 0.25])


class LateOutcomes(RuleBasedStateMachine):
    """Beside the recalibrator, a plain list of what happened and the simplest books on it."""

    def __init__(self):
        super().__init__()
        self.recalibrator = Recalibrator(seed=3, capacity=CAPACITY)
        self.log = []  # everything that was accepted, in order
        self.waiting = {}  # id: number of its round
        self.finished = []  # (id, outcome), oldest first
        self.rounds = 0
        self.learned = 0
        self.open = False

    def remembered(self):
        return dict(self.finished[-CAPACITY:])

    @rule(score=st.floats(0, 1), id_=ids)
    def predict(self, score, id_):
        if id_ in self.waiting or id_ in self.remembered() or len(self.waiting) == CAPACITY:
            with pytest.raises(ValueError, match=r"predicted already|capacity=6"):
                self.recalibrator.predict(score, id=id_)
            return
        prediction = self.recalibrator.predict(score, id=id_)
        self.log.append(("predict", score, id_, prediction))
        self.waiting[id_] = self.rounds
        self.rounds += 1

    @rule(score=st.floats(0, 1))
    def predict_without_id(self, score):
        self.log.append(("predict", score, None, self.recalibrator.predict(score)))
        self.rounds += 1
        self.open = True

    @rule(outcome=outcomes)
    def update_without_id(self, outcome):
        if not self.open:
            with pytest.raises(ValueError, match="none waits"):
                self.recalibrator.update(outcome)
            return
        self.recalibrator.update(outcome)
        self.log.append(("update", outcome, None, None))
        self.learned += 1
        self.open = False

    @rule(outcome=outcomes, id_=ids)
    def update_any(self, outcome, id_):
        self.tell(outcome, id_)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), outcome=outcomes)
    def update_waiting(self, data, outcome):
        self.tell(outcome, data.draw(st.sampled_from(list(self.waiting))))

    @precondition(lambda self: self.finished)
    @rule(data=st.data())
    def repeat(self, data):
        id_, outcome = data.draw(st.sampled_from(self.finished[-CAPACITY:]))
        self.tell(outcome, id_)

    def tell(self, outcome, id_):
        remembered = self.remembered()
        if id_ in self.waiting:
            self.recalibrator.update(outcome, id=id_)
            self.log.append(("update", outcome, id_, None))
            del self.waiting[id_]
            self.finished.append((id_, outcome))
            self.learned += 1
        elif id_ not in remembered:
            with pytest.raises(ValueError, match="unknown"):
                self.recalibrator.update(outcome, id=id_)
        elif remembered[id_] == outcome:
            self.recalibrator.update(outcome, id=id_)
        else:
            with pytest.raises(ValueError, match="had the outcome"):
                self.recalibrator.update(outcome, id=id_)

    @rule(age=st.integers(0, 12))
    def expire(self, age):
        old = [id_ for id_, number in self.waiting.items() if self.rounds - number > age]
        assert self.recalibrator.expire(older_than=age) == old
        for id_ in old:
            del self.waiting[id_]

    @rule()
    def save_and_restore(self):
        blob = self.recalibrator.to_bytes()
        self.recalibrator = Recalibrator.from_bytes(blob)
        assert self.recalibrator.to_bytes() == blob

    @rule(outcome=st.sampled_from([float("nan"), 2, "1", None]), id_=ids)
    def nonsense(self, outcome, id_):
        with pytest.raises(ValueError, match="outcome must be"):
            self.recalibrator.update(outcome, id=id_)

    @invariant()
    def books_agree(self):
        recalibrator = self.recalibrator
        assert recalibrator.rounds == self.rounds
        assert recalibrator.learned == self.learned
        assert recalibrator.pending == len(self.waiting) + self.open
        assert recalibrator._get_state()["n"].sum() == self.learned

    def teardown(self):
        """Outcomes in order of arrival, with no saves, repeats or errors, end in the same state."""
        plain, names = Recalibrator(seed=3, capacity=10_000), {}
        for number, (what, value, id_, prediction) in enumerate(self.log):
            if what == "predict":
                # An id may come again after it was forgotten; here each has a name of its own.
                names[id_] = None if id_ is None else number
                assert plain.predict(value, id=names[id_]) == prediction
            else:
                plain.update(value, id=names[id_])
        for name, value in plain._get_state().items():
            assert np.array_equal(value, self.recalibrator._get_state()[name]), name


TestLateOutcomes = LateOutcomes.TestCase
TestLateOutcomes.settings = settings(
    derandomize=True, max_examples=120, stateful_step_count=60, deadline=None
)


def test_the_bound_on_finished_ids():
    recalibrator = Recalibrator(capacity=3)
    for id_ in range(5):
        recalibrator.predict(0.5, id=id_)
        recalibrator.update(1, id=id_)
    recalibrator.update(1, id=4)
    with pytest.raises(ValueError, match=r"0 is unknown: .* more than 3 outcomes ago"):
        recalibrator.update(1, id=0)
    assert recalibrator.learned == 5


def test_ids_of_different_types_are_different():
    recalibrator = Recalibrator()
    recalibrator.predict(0.5, id="1")
    recalibrator.predict(0.5, id=np.int64(1))
    recalibrator = Recalibrator.from_bytes(recalibrator.to_bytes())
    recalibrator.update(1, id=1)
    recalibrator.update(0, id="1")
    assert recalibrator.pending == 0


@pytest.mark.parametrize("id_", [True, 1.0, b"a", ("a",), float("nan"), object()])
def test_ids_that_are_none(id_):
    recalibrator = Recalibrator()
    with pytest.raises(ValueError, match="id must be a string or an integer"):
        recalibrator.predict(0.5, id=id_)
    with pytest.raises(ValueError, match="id must be a string or an integer"):
        recalibrator.update(1, id=id_)
    assert recalibrator.rounds == 0


@pytest.mark.parametrize("age", [-1, 1.5, "1", None, True])
def test_ages_that_are_none(age):
    with pytest.raises(ValueError, match="older_than must be an integer"):
        Recalibrator().expire(older_than=age)


def test_delay_costs_little_and_loses_nothing():
    """Every outcome a thousand rounds late: Brier within 0.01 of the true map's."""
    random = np.random.default_rng(0)
    scores = random.random(8000)
    truth = (random.random(8000) < 1 - scores).astype(float)
    recalibrator = Recalibrator()
    predictions = np.empty(8000)
    for t in range(8000):
        predictions[t] = recalibrator.predict(scores[t], id=t)
        if t >= 1000:
            recalibrator.update(truth[t - 1000], id=t - 1000)
    late = slice(2000, None)
    best = np.mean((1 - scores[late] - truth[late]) ** 2)
    assert np.mean((predictions[late] - truth[late]) ** 2) < best + 0.01
    assert recalibrator.pending == 1000
