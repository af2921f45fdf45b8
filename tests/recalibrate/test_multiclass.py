"""Several classes: against slow twins, run against steps, bad input, how well it does."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import MulticlassRecalibrator, Recalibrator
from calibrant._bytes import Saved
from calibrant._kernels.scores.score_rounds import ROUND
from calibrant.measures import (
    classwise_ece,
    multiclass_brier,
    multiclass_log_loss,
    top_label_ece,
)
from calibrant.recalibrate.top_label import with_confidence
from calibrant.saving import pack, unpack
from naive.multiclass import NaivePerClass, NaiveTopLabel, keep_on_top

MODES = ["per-class", "top-label"]
TWINS = {"per-class": NaivePerClass, "top-label": NaiveTopLabel}


def overconfident(classes, rounds, seed):
    """Return the rows of a model that is too sure of itself, the labels and the true rows."""
    random = np.random.default_rng([seed, classes])
    truth = random.dirichlet(np.ones(classes), rounds)
    labels = (random.random((rounds, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows = truth**2.5
    return rows / rows.sum(axis=1, keepdims=True), labels, truth


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_agrees_with_its_twin(mode, classes):
    """Labels come up to five rounds late."""
    rows, labels, _ = overconfident(classes, 300, seed=1)
    kernel, twin = MulticlassRecalibrator(classes, mode, seed=4), TWINS[mode](classes, seed=4)
    delays = np.random.default_rng(0).integers(0, 6, 300)
    for t in range(300):
        expected = twin.predict(rows[t].tolist(), t)
        np.testing.assert_allclose(kernel.predict(rows[t], id=t), expected, rtol=0, atol=1e-9)
        for late in range(max(t - 5, 0), t + 1):
            if late + delays[late] == t:
                kernel.update(int(labels[late]), id=late)
                twin.update(labels[late], late)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("classes", [2, 4])
def test_run_is_bit_for_bit_the_steps(mode, classes):
    rows, labels, _ = overconfident(classes, 900, seed=2)
    running, stepping = (MulticlassRecalibrator(classes, mode, seed=3) for _ in range(2))
    steps = []
    for row, label in zip(rows, labels, strict=True):
        steps.append(stepping.predict(row))
        stepping.update(label)
    parts = [running.run(rows[part], labels[part]) for part in (slice(0, 333), slice(333, None))]
    assert np.array_equal(np.concatenate(parts), steps)
    assert running.to_bytes() == stepping.to_bytes()
    assert (running.rounds, running.learned, running.pending) == (900, 900, 0)


@pytest.mark.parametrize("mode", MODES)
def test_looking_changes_nothing(mode):
    rows, labels, _ = overconfident(3, 200, seed=3)
    looking, blind = (MulticlassRecalibrator(3, mode, seed=3) for _ in range(2))
    for row, label in zip(rows, labels, strict=True):
        before = looking.to_bytes()
        expected = looking.expected(row)
        assert looking.to_bytes() == before
        prediction = looking.predict(row)
        assert expected.sum() == pytest.approx(1, abs=1e-12)
        assert np.array_equal(prediction, blind.predict(row))
        # Draws are rare on such a stream: most predictions are their own mean.
        assert np.abs(prediction - expected).max() < 0.2
        looking.update(label)
        blind.update(label)
    assert looking.to_bytes() == blind.to_bytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_rows_sum_to_one(mode, classes):
    rows, labels, _ = overconfident(classes, 2000, seed=4)
    rows[::50] = np.eye(classes)[labels[::50]]  # 0 and 1 exactly
    rows[1::50] = 1 / classes  # ties
    predictions = MulticlassRecalibrator(classes, mode).run(rows, labels)
    assert predictions.shape == rows.shape
    assert np.abs(predictions.sum(axis=1) - 1).max() < 1e-11
    assert ((predictions >= 0) & (predictions < 1)).all()


parts = st.lists(st.integers(0, 5), min_size=2, max_size=6).filter(any)


@given(parts=parts, confidence=st.floats(0.001, 0.999))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_top_class_stays_on_top_wherever_it_can(parts, confidence):
    row = np.array(parts) / sum(parts)
    at = int(row.argmax())
    result = with_confidence(row[None], [at], [confidence])[0]
    assert result[at] == confidence
    assert result.sum() == pytest.approx(1, abs=1e-11)
    assert (result >= 0).all()
    np.testing.assert_allclose(result, keep_on_top(row.tolist(), at, confidence), atol=1e-11)
    if confidence > 1 / len(row) + 1e-9:
        assert result.argmax() == at
    # The others keep their order.
    for first in range(len(row)):
        for second in range(len(row)):
            if at not in (first, second) and row[first] < row[second]:
                assert result[first] <= result[second]


def test_proportions_are_kept_where_no_one_reaches_the_top():
    row = with_confidence(np.array([[0.6, 0.3, 0.1]]), [0], [0.5])[0]
    np.testing.assert_allclose(row, [0.5, 0.375, 0.125])


@pytest.mark.parametrize("classes", [3, 10])
def test_better_than_raw(classes):
    """Per class, all of it; by top label, the confidence, and the losses still gain."""
    rows, labels, truth = overconfident(classes, 10_000, seed=5)
    best = multiclass_log_loss(truth, labels)
    raw = multiclass_log_loss(rows, labels)
    per_class = MulticlassRecalibrator(classes, "per-class").run(rows, labels)
    top_label = MulticlassRecalibrator(classes, "top-label").run(rows, labels)
    assert multiclass_log_loss(per_class, labels) - best < 0.1 * (raw - best)
    assert multiclass_log_loss(top_label, labels) - best < 0.5 * (raw - best)
    assert multiclass_brier(top_label, labels) < multiclass_brier(rows, labels) - 0.03
    assert top_label_ece(top_label, labels) < top_label_ece(rows, labels) / 4
    assert classwise_ece(per_class, labels) < classwise_ece(rows, labels) / 3
    assert (top_label.argmax(axis=1) == rows.argmax(axis=1)).mean() > 0.99


def test_two_classes_per_class_is_near_the_recalibrator_of_one():
    rows, labels, _ = overconfident(2, 5000, seed=6)
    both = MulticlassRecalibrator(2).run(rows, labels)
    one = Recalibrator().run(rows[:, 1], labels)
    assert np.abs(both[:, 1] - one).mean() < 0.02


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_was_right_stays_nearly_as_good(mode):
    _, labels, truth = overconfident(4, 10_000, seed=7)
    predictions = MulticlassRecalibrator(4, mode).run(truth, labels)
    assert multiclass_brier(predictions, labels) < multiclass_brier(truth, labels) + 0.003
    assert multiclass_log_loss(predictions, labels) < multiclass_log_loss(truth, labels) + 0.006


@pytest.mark.parametrize("mode", MODES)
def test_names(mode):
    rows, labels, _ = overconfident(3, 300, seed=8)
    names = np.array(["cat", "dog", "eel"])
    named = MulticlassRecalibrator(names, mode)
    plain = MulticlassRecalibrator(3, mode)
    expected = plain.run(rows, labels)
    assert np.array_equal(named.run(rows, names[labels]), expected)
    assert named.classes == ["cat", "dog", "eel"]
    assert np.array_equal(plain.predict(rows[0]), named.predict(rows[0], id="a"))
    with pytest.raises(ValueError, match="label must be one of 'cat', 'dog', 'eel', got 'cow'"):
        named.update("cow", id="a")
    named.update("dog", id="a")
    named.update("dog", id="a")
    with pytest.raises(ValueError, match="id 'a' had the outcome 'dog', and now gets 'eel'"):
        named.update("eel", id="a")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.4, 0.0], "sum to one in each row, got 0.9"),
        ([0.5, 0.5], "must have 3 columns, one a class, got 2"),
        ([1.5, -0.5, 0.0], r"in \[0, 1\]"),
        ([0.5, 0.5, float("nan")], r"in \[0, 1\], got \[0.5, 0.5, nan\]"),
        (0.5, "one row of 3"),
        ("abc", "one row of 3"),
        (None, "one row of 3"),
        (["a", "b", "c"], "rows of probabilities"),
        ([[0.5, 0.5], 0.5], "one row of 3"),
    ],
)
def test_bad_rows(mode, row, message):
    recalibrator = MulticlassRecalibrator(3, mode)
    recalibrator.predict([0.2, 0.3, 0.5], id=1)
    recalibrator.predict([0.2, 0.3, 0.5])
    before = recalibrator.to_bytes()
    for ask in (
        recalibrator.predict,
        recalibrator.expected,
        lambda row: recalibrator.predict(row, id=2),
    ):
        with pytest.raises(ValueError, match=message):
            ask(row)
    assert recalibrator.to_bytes() == before


@pytest.mark.parametrize("mode", MODES)
def test_only_a_look_may_be_at_several_rows(mode):
    recalibrator, rows = MulticlassRecalibrator(3, mode), [[0.2, 0.3, 0.5]]
    assert np.array_equal(recalibrator.expected(rows), [recalibrator.expected(rows[0])])
    with pytest.raises(ValueError, match="one row of 3, got"):
        recalibrator.predict(rows)
    assert recalibrator.rounds == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], [0, 1], "sum to one in each row, got 0.9 in row 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, 2], r"label must be one of 0, 1, got 2 .* at position 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, 1.0], "label must be a string or an integer, got 1.0"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, True], "label must be a string or an integer, got True"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, float("inf")], "label must be .* at position 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [0], "same length, got 2 and 1"),
        ([[0.5, 0.5], [0.5, 0.5]], "01", "labels must be a sequence"),
        ([[0.5, 0.5], [0.5, 0.5]], 1, "labels must be a sequence"),
        ([0.5, 0.5], [0, 1], "rows of probabilities"),
        ([[1.0], [1.0]], [0, 0], "must have 2 columns"),
    ],
)
def test_bad_batches(mode, rows, labels, message):
    recalibrator = MulticlassRecalibrator(2, mode)
    recalibrator.predict([0.2, 0.8])
    before = recalibrator.to_bytes()
    with pytest.raises(ValueError, match=message):
        recalibrator.run(rows, labels)
    assert recalibrator.to_bytes() == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan")])
def test_a_row_without_a_label_is_predicted_and_not_learned(mode, missing):
    recalibrator, other = (MulticlassRecalibrator(["a", "b"], mode) for _ in range(2))
    said = recalibrator.run([[0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], ["a", missing, "b"])
    for row, label, expected in zip([0.2, 0.3, 0.4], ["a", None, "b"], said, strict=True):
        assert np.array_equal(other.predict([row, 1 - row]), expected)
        if label:
            other.update(label)
    assert (recalibrator.rounds, recalibrator.learned) == (3, 2)
    with pytest.raises(ValueError, match="label must be"):
        recalibrator.update(missing)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 1}, r"classes must be an integer in \[2, 65536\]"),
        ({"classes": True}, "classes must be an integer"),
        ({"classes": 2.5}, "classes must be a number or a sequence"),
        ({"classes": "ab"}, "classes must be a number or a sequence"),
        ({"classes": {"a", "b"}}, "classes must be a number or a sequence"),
        ({"classes": ["a"]}, "two labels or more"),
        ({"classes": ["a", "a"]}, "all distinct"),
        ({"classes": ["a", 1.5]}, "each of the classes must be a string or an integer"),
        ({"classes": 3, "mode": "top"}, "mode must be one of 'per-class', 'top-label'"),
        ({"classes": 3, "seed": -1}, "seed must be an integer"),
        ({"classes": 3, "capacity": 0}, "capacity must be an integer"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        MulticlassRecalibrator(**arguments)


def test_the_bound_on_what_waits():
    recalibrator = MulticlassRecalibrator(2, capacity=2, when_full="refuse")
    for id_ in (1, 2):
        recalibrator.predict([0.5, 0.5], id=id_)
    with pytest.raises(ValueError, match="more than capacity=2 allows"):
        recalibrator.predict([0.5, 0.5], id=3)
    assert recalibrator.expire(older_than=1) == [1]
    with pytest.raises(ValueError, match="id 1 expired"):
        recalibrator.update(0, id=1)
    with pytest.raises(ValueError, match="none waits for its outcome"):
        recalibrator.update(0)
    assert recalibrator.pending == 1


def test_nothing_at_all():
    recalibrator = MulticlassRecalibrator(3)
    recalibrator.predict([0.2, 0.3, 0.5])
    for nothing in ([], np.empty((0, 3))):
        assert recalibrator.run(nothing, []).shape == (0, 3)
    assert (recalibrator.rounds, recalibrator.pending) == (1, 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_continue_alike(mode, how):
    rows, labels, _ = overconfident(3, 400, seed=9)
    recalibrator = MulticlassRecalibrator(3, mode, seed=5, capacity=7)
    recalibrator.run(rows[:200], labels[:200])
    recalibrator.predict(rows[0], id="late")
    recalibrator.predict(rows[1])
    other = how(recalibrator)
    given = f"classes=[0, 1, 2], mode='{mode}', seed=5, capacity=7, when_full='expire'"
    deadlines = "silence=None, after=None, hold=None"
    assert repr(other) == f"MulticlassRecalibrator({given}, {deadlines})"
    for each in (recalibrator, other):
        each.update(1)
        each.update(0, id="late")
        each.run(rows[200:], labels[200:])
    assert other.to_bytes() == recalibrator.to_bytes()


def saved_with(mode, **changes):
    """Return bytes with a good checksum and one part that makes no sense."""
    recalibrator = MulticlassRecalibrator(3, mode)
    recalibrator.run([[0.2, 0.3, 0.5], [0.2, 0.5, 0.3]], [0, 1])
    recalibrator.predict([0.2, 0.3, 0.5], id="x")
    recalibrator.predict([0.2, 0.3, 0.5], id="y")
    recalibrator.update(2, id="x")
    recalibrator.predict([0.2, 0.5, 0.3])
    saved = unpack(recalibrator.to_bytes())
    state = {name: value for name, value in {**saved.state, **changes}.items() if value is not ...}
    return pack(Saved(saved.name, saved.parameters, saved.rounds, state))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "changes",
    [
        {"more": 1}, {"waiting_keys": np.array([7, 0])}, {"waiting_sizes": np.array([1, 1])},
        {"waiting_ids": []}, {"waiting_ids": ...}, {"finished_outcomes": np.array([3.0])},
        {"waiting_places": np.full(6 * ROUND, 0.123)}, {"waiting_counts": np.array([3])},
        {"waiting_counts": np.array([99, 0, 0, 4, 0, 0])},
    ],
    ids=str,
)  # fmt: skip
def test_a_saved_state_that_makes_no_sense_is_refused(mode, changes):
    again = MulticlassRecalibrator.from_bytes(saved_with(mode))
    assert again.to_bytes() == saved_with(mode)
    with pytest.raises(ValueError, match="saved"):
        MulticlassRecalibrator.from_bytes(saved_with(mode, **changes))


@pytest.mark.parametrize(
    ("mode", "changes"),
    [
        ("per-class", {"class_parts": ...}), ("per-class", {"class_parts": ["w"]}),
        ("per-class", {"class_rounds": np.array([5, 5, 9])}), ("per-class", {"class_w": ...}),
        ("top-label", {"whole_parts": ...}), ("top-label", {"groups": [2, 7]}),
        ("top-label", {"groups": [2, "1"]}), ("top-label", {"groups": ...}),
        ("top-label", {"whole_rounds": np.array([9])}),
    ],
    ids=str,
)  # fmt: skip
def test_saved_parts_that_make_no_sense_are_refused(mode, changes):
    with pytest.raises(ValueError, match="saved"):
        MulticlassRecalibrator.from_bytes(saved_with(mode, **changes))


def test_bytes_of_another_kind():
    with pytest.raises(ValueError, match="hold a Recalibrator, not a Multiclass"):
        MulticlassRecalibrator.from_bytes(Recalibrator().to_bytes())
