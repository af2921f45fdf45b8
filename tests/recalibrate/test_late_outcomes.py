"""Outcomes that come late, twice, in any order or never: none lost, none counted double."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant import MulticlassRecalibrator, Recalibrator
from recalibrate.cases import last_stages

CAPACITY = 6

ids = st.one_of(st.integers(-3, 12), st.sampled_from(["1", "2", "a", "é", ""]))


class LateOutcomes(RuleBasedStateMachine):
    """Beside the recalibrator, a plain list of what was accepted and the simplest counts of it.

    A subclass says what is predicted from (`inputs`, arguments by name) and what may happen.
    """

    def __init__(self):
        super().__init__()
        self.recalibrator = self.make(CAPACITY)
        self.log = []  # everything that was accepted, in order
        self.waiting = {}  # id: number of its round
        self.finished = []  # (id, outcome), oldest first
        self.gone = []  # expired ids, oldest first
        self.expired = 0
        self.rounds = 0
        self.learned = 0
        self.open = False

    def remembered(self):
        return dict(self.finished[-CAPACITY:])

    @rule(data=st.data(), id_=ids)
    def predict(self, data, id_):
        given = data.draw(self.inputs)
        if id_ in self.waiting or id_ in self.remembered():
            with pytest.raises(ValueError, match="predicted already"):
                self.recalibrator.predict(**given, id=id_)
            return
        prediction = self.recalibrator.predict(**given, id=id_)
        self.log.append(("predict", [given], [id_], [prediction]))
        self.admit([id_])

    def admit(self, names):
        """Let predictions wait; the oldest expire if they are too many."""
        for name in names:
            self.waiting[name] = self.rounds
            self.rounds += 1
            if name in self.gone:
                self.gone.remove(name)
            if len(self.waiting) > CAPACITY:
                self.give_up(min(self.waiting, key=self.waiting.get))

    def give_up(self, name):
        del self.waiting[name]
        self.gone = [*self.gone, name][-CAPACITY:]
        self.expired += 1

    @rule(data=st.data(), names=st.lists(ids, min_size=1, max_size=8))
    def predict_many(self, data, names):
        rows = [data.draw(self.inputs) for _ in names]
        scores, more = columns_of(rows)
        taken = {*self.waiting, *self.remembered()}
        if len(set(names)) < len(names) or taken & set(names):
            before = self.recalibrator.to_bytes()
            with pytest.raises(ValueError, match=r"predicted already|comes at positions"):
                self.recalibrator.predict_many(scores, ids=names, **more)
            assert self.recalibrator.to_bytes() == before
            return
        said = self.recalibrator.predict_many(scores, ids=names, **more)
        self.log.append(("predict_many", rows, names, list(said)))
        self.admit(names)

    @rule(data=st.data(), names=st.lists(ids, min_size=1, max_size=8))
    def update_many(self, data, names):
        """Among the rows are strangers, repeats and contradictions; order does not matter."""
        names = [*names, *data.draw(st.permutations(list(self.waiting)))[: len(names)]]
        rows = [(name, data.draw(self.outcomes)) for name in names]
        remembered = self.remembered()
        said = {name: {y for other, y in rows if other == name} for name in names}
        expected, applied = [], {}
        for name, outcome in rows:
            if name in self.waiting and len(said[name]) == 1:
                expected.append("repeated" if name in applied else "applied")
                applied[name] = outcome
            elif name in self.waiting:
                expected.append("conflict")
            elif name in remembered:
                expected.append("repeated" if remembered[name] == outcome else "conflict")
            else:
                expected.append("expired" if name in self.gone else "unknown")
        answers = self.recalibrator.update_many([y for _, y in rows], ids=names)
        assert answers.tolist() == expected
        if not applied:
            return
        self.log.append(("update_many", list(applied.values()), list(applied), None))
        order = list(self.recalibrator._book.finished)[-len(applied) :]
        for name in order if len(applied) <= CAPACITY else applied:
            self.finished.append((name, applied[name]))
        for name in applied:
            del self.waiting[name]
        self.learned += len(applied)

    @rule(data=st.data())
    def predict_without_id(self, data):
        given = data.draw(self.inputs)
        self.log.append(("predict", [given], [None], [self.recalibrator.predict(**given)]))
        self.rounds += 1
        self.open = True

    @rule(data=st.data())
    def update_without_id(self, data):
        outcome = data.draw(self.outcomes)
        if not self.open:
            with pytest.raises(ValueError, match="none waits"):
                self.recalibrator.update(outcome)
            return
        self.recalibrator.update(outcome)
        self.log.append(("update", [outcome], [None], None))
        self.learned += 1
        self.open = False

    @rule(data=st.data(), id_=ids)
    def update_any(self, data, id_):
        self.update_with(data.draw(self.outcomes), id_)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def update_waiting(self, data):
        id_ = data.draw(st.sampled_from(list(self.waiting)))
        self.update_with(data.draw(self.outcomes), id_)

    @precondition(lambda self: self.finished)
    @rule(data=st.data())
    def repeat(self, data):
        id_, outcome = data.draw(st.sampled_from(self.finished[-CAPACITY:]))
        self.update_with(outcome, id_)

    def update_with(self, outcome, id_):
        remembered = self.remembered()
        if id_ in self.waiting:
            self.recalibrator.update(outcome, id=id_)
            self.log.append(("update", [outcome], [id_], None))
            del self.waiting[id_]
            self.finished.append((id_, outcome))
            self.learned += 1
        elif id_ not in remembered:
            with pytest.raises(ValueError, match="expired" if id_ in self.gone else "unknown"):
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
            self.give_up(id_)

    @rule()
    def save_and_restore(self):
        blob = self.recalibrator.to_bytes()
        self.recalibrator = type(self.recalibrator).from_bytes(blob)
        assert self.recalibrator.to_bytes() == blob

    @rule(data=st.data(), id_=ids)
    def nonsense(self, data, id_):
        before = self.recalibrator.to_bytes()
        with pytest.raises(ValueError, match="must be"):
            self.recalibrator.update(data.draw(self.not_outcomes), id=id_)
        with pytest.raises(ValueError, match="must be"):
            self.recalibrator.update_many([data.draw(self.not_outcomes)], ids=[id_])
        assert self.recalibrator.to_bytes() == before

    @invariant()
    def counts_agree(self):
        recalibrator = self.recalibrator
        assert recalibrator.rounds == self.rounds
        assert recalibrator.learned == self.learned
        assert recalibrator.pending == len(self.waiting) + self.open
        assert recalibrator.expired == self.expired
        assert self.counted() == self.learned

    def teardown(self):
        """What was known when, with no saves, repeats or errors, ends in the same state.

        Batches come last row first: their order must not matter.
        """
        plain, names = self.make(10_000), {None: None}
        for number, (what, values, ids_, predictions) in enumerate(self.log):
            if what.startswith("predict"):
                # An id may come again after it was forgotten; here each has a name of its own.
                names |= {id_: f"{number} {id_!r}" for id_ in ids_ if id_ is not None}
            mine = [names[id_] for id_ in ids_]
            if what == "predict":
                assert np.array_equal(plain.predict(**values[0], id=mine[0]), predictions[0])
            elif what == "predict_many":
                scores, more = columns_of(values)
                again = plain.predict_many(scores, ids=mine, **more)
                assert np.array_equal(again, predictions)
            elif what == "update":
                plain.update(values[0], id=mine[0])
            else:
                plain.update_many(values[::-1], ids=mine[::-1])
        ours, theirs = self.state(self.recalibrator), self.state(plain)
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert np.array_equal(value, ours[name]), name


def columns_of(rows):
    """Return what `predict_many` gets for rounds of `inputs`: scores, and groups if any."""
    (main,) = {"score", "probabilities"} & rows[0].keys()
    more = {"by": [row["by"] for row in rows]} if "by" in rows[0] else {}
    return [row[main] for row in rows], more


class LateOutcomesInGroups(LateOutcomes):
    inputs = st.fixed_dictionaries(
        {"score": st.floats(0, 1), "by": st.sampled_from([None, None, "a", "b", 1])}
    )
    outcomes = st.sampled_from([0.0, 1.0, 0.25])
    not_outcomes = st.sampled_from([float("nan"), 2, "1", None])

    @staticmethod
    def make(capacity):
        return Recalibrator(seed=3, capacity=capacity)

    @staticmethod
    def state(recalibrator):
        return recalibrator._whole._get_state() | recalibrator._groups.get_state()

    def counted(self):
        """Return how many outcomes all grids have been charged with."""
        grids = [self.recalibrator._whole, *last_stages(self.recalibrator._groups)]
        return sum(grid._get_state()["n"].sum() for grid in grids)


class LateLabels(LateOutcomes):
    inputs = st.fixed_dictionaries(
        {
            "probabilities": st.sampled_from(
                [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
            )
        }
    )
    outcomes = st.sampled_from(["x", "y", 3])
    not_outcomes = st.sampled_from([float("nan"), 2, "1", None])
    mode = "top-label"

    def make(self, capacity):
        return MulticlassRecalibrator(["x", "y", 3], self.mode, seed=3, capacity=capacity)

    @staticmethod
    def state(recalibrator):
        return recalibrator._engine.get_state()

    def counted(self):
        stages = last_stages(self.recalibrator._engine.groups)
        return sum(stage._get_state()["n"].sum() for stage in stages)


class LateLabelsPerClass(LateLabels):
    mode = "per-class"

    def counted(self):
        counts = {kernel._get_state()["n"].sum() for kernel in self.recalibrator._engine.kernels}
        assert len(counts) == 1
        return counts.pop()


TestLateOutcomesInGroups = LateOutcomesInGroups.TestCase
TestLateLabels = LateLabels.TestCase
TestLateLabelsPerClass = LateLabelsPerClass.TestCase
TestLateOutcomesInGroups.settings = settings(
    derandomize=True, max_examples=150, stateful_step_count=50, deadline=None
)
TestLateLabels.settings = TestLateLabelsPerClass.settings = settings(
    derandomize=True, max_examples=60, stateful_step_count=50, deadline=None
)


def test_the_bound_on_finished_ids():
    recalibrator = Recalibrator(capacity=3)
    for id_ in range(5):
        recalibrator.predict(0.5, id=id_)
        recalibrator.update(1, id=id_)
    recalibrator.update(1, id=4)
    with pytest.raises(ValueError, match=r"0 is unknown: .* more than 3 ids ago"):
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


def test_an_id_that_could_not_be_saved_is_refused():
    """Python does not write integers of more than 4,300 digits as text."""
    recalibrator = Recalibrator()
    with pytest.raises(ValueError, match="id must be an integer of at most 1024 bits"):
        recalibrator.predict(0.5, id=10**4300)
    recalibrator.predict(0.5, id=-(2**1024) + 1)
    recalibrator = Recalibrator.from_bytes(recalibrator.to_bytes())
    recalibrator.update(1, id=-(2**1024) + 1)
    assert recalibrator.pending == 0


@pytest.mark.parametrize("age", [-1, 1.5, "1", True])
def test_ages_that_are_none(age):
    with pytest.raises(ValueError, match="older_than must be an integer"):
        Recalibrator().expire(older_than=age)


@pytest.mark.parametrize("given", [{}, {"older_than": 1, "before": 2}, {"older_than": None}])
def test_expiry_is_by_count_or_by_time(given):
    with pytest.raises(ValueError, match="older_than, an integer, or before, a time"):
        Recalibrator().expire(**given)


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


def test_memory_is_bounded_by_the_grid_and_what_waits():
    """Ten times the rounds, with ids that all differ, take more bytes only for points."""
    recalibrator, random = Recalibrator(capacity=50), np.random.default_rng(0)
    sizes = []
    for t, (score, chance) in enumerate(random.random((20_000, 2)).tolist()):
        recalibrator.predict(score, id=t)
        if t >= 40:
            recalibrator.update(chance < score, id=t - 40)
        if t in (1999, 19_999):
            points = len(recalibrator._whole._get_state()["z"])
            sizes.append(len(recalibrator.to_bytes()) - 6 * 8 * points)
    # The 90 ids in the header and some counts there have a digit more.
    assert abs(sizes[1] - sizes[0]) < 400
