"""Several classes of which one is silence, or whose labels are held until one age."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator

W, LABELS = 150, ["kept", "returned", "lost"]


def orders(seed, rounds=4_000):
    """Return rows, labels and when those that are announced come; returns rise and fall."""
    random = np.random.default_rng(seed)
    x = random.normal([0.0, -1.5, -2.5], 0.7, (rounds, 3))
    level = 1.3 * np.sign(np.sin(2 * np.pi * np.arange(rounds) / 1_600 + seed))
    truth = x + np.stack([0 * level, level, -0.5 * level], axis=1)
    rows, truth = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (x, truth))
    labels = (random.random((rounds, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    come = np.arange(rounds) + 1 + random.exponential(W / 5, rounds).astype(int)
    labels[come >= np.arange(rounds) + W] = 0
    return rows, labels, np.where(labels == 0, rounds + W, come)


def play(recalibrator, rows, labels, come, *, timed=False, reload=None, names=LABELS):
    """Predict row after row, give each label when it comes; return the rows predicted."""
    arrivals, said = {}, []
    for row, at in enumerate(come.tolist()):
        arrivals.setdefault(at, []).append(row)
    for t, row in enumerate(rows):
        at = {"at": float(t)} if timed else {}
        for late in arrivals.get(t, []):
            recalibrator.update(names[labels[late]], id=late, **at)
        said.append(recalibrator.predict(row, id=t, **at))
        if t == reload:
            recalibrator = type(recalibrator).from_bytes(recalibrator.to_bytes())
    return np.array(said)


def log_loss(said, labels):
    return -np.log(said[np.arange(len(labels)), labels]).mean()


def test_a_class_is_recalibrated_as_by_a_recalibrator_of_its_own():
    rows, labels, come = orders(0, 1_500)
    several = MulticlassRecalibrator(LABELS, silence="kept", after=W, seed=6)
    play(several, rows, labels, come)
    for column, silence in ((0, 1), (1, 0), (2, 0)):
        alone = Recalibrator(silence=silence, after=W, seed=6 + column)
        for t, p in enumerate(rows[:, column].tolist()):
            for late in np.flatnonzero(come == t).tolist():
                alone.update(float(labels[late] == column), id=late)
            alone.predict(p, id=t)
        assert several._engine.kernels[column].expected(0.3) == alone.expected(0.3)


@pytest.mark.parametrize("seed", range(2))
def test_silence_is_better_than_waiting(seed):
    rows, labels, come = orders(seed)
    silent = play(MulticlassRecalibrator(LABELS, silence="kept", after=W), rows, labels, come)
    waiting = play(MulticlassRecalibrator(LABELS), rows, labels, np.arange(len(rows)) + W)
    once = MulticlassRecalibrator(LABELS).run(rows, [LABELS[each] for each in labels])
    losses = [log_loss(said, labels) for said in (once, silent, waiting)]
    assert losses[1] < losses[0] + 0.6 * (losses[2] - losses[0])  # 0.41 and 0.30 here


@pytest.mark.parametrize("mode", ["per-class", "top-label"])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("given", [{"silence": "kept", "after": W}, {"hold": W}])
def test_what_is_saved_goes_on_as_before(mode, timed, given):
    rows, labels, come = orders(3, 700)
    plain = play(MulticlassRecalibrator(LABELS, mode, **given), rows, labels, come, timed=timed)
    again = MulticlassRecalibrator(LABELS, mode, **given)
    reloaded = play(again, rows, labels, come, timed=timed, reload=400)
    np.testing.assert_array_equal(plain, reloaded)


@pytest.mark.parametrize("mode", ["per-class", "top-label"])
def test_hold_is_the_plain_sequence_of_what_it_lets_through(mode):
    rows, labels, come = orders(4, 700)
    come = np.where(labels == 0, np.arange(700) + W // 2, come)
    held = play(MulticlassRecalibrator(LABELS, mode, hold=W), rows, labels, come)
    plain = play(MulticlassRecalibrator(LABELS, mode), rows, labels, np.arange(700) + W)
    np.testing.assert_array_equal(held, plain)


def test_by_the_top_label_silence_is_learned_at_its_deadline():
    rows, labels, come = orders(4, 700)
    top = MulticlassRecalibrator(LABELS, "top-label", silence="kept", after=W)
    plain = MulticlassRecalibrator(LABELS, "top-label")
    np.testing.assert_array_equal(
        play(top, rows, labels, come), play(plain, rows, labels, np.arange(700) + W)
    )


def test_deadlines_in_time_and_of_single_rows():
    start, row = datetime(2026, 1, 1), [0.5, 0.3, 0.2]
    recalibrator = MulticlassRecalibrator(LABELS, silence="kept", after="2h")
    recalibrator.predict(row, id="a", at=start)
    recalibrator.predict(row, id="b", at=start, due=start + timedelta(minutes=30))
    recalibrator.predict_many([row, row], ids=["c", "d"], at=start, due=start + timedelta(hours=9))
    recalibrator.update("lost", id="a", at=start + timedelta(hours=1))
    assert (recalibrator.learned, recalibrator.pending) == (1, 3)  # b, by silence
    recalibrator.update("lost", id="a")  # again: ignored
    with pytest.raises(ValueError, match="had the outcome 'lost', and now gets 'kept'"):
        recalibrator.update("kept", id="a")
    with pytest.raises(ValueError, match="had the outcome 'kept'"):
        recalibrator.update("lost", id="b")
    assert recalibrator.advance(start + timedelta(hours=3)) == 1
    assert recalibrator.advance(start + timedelta(hours=9)) == 2
    with pytest.raises(ValueError, match="nobody"):
        recalibrator.update("lost", id="nobody")


def test_answers_of_a_batch():
    recalibrator = MulticlassRecalibrator(LABELS, silence="kept", after=5)
    rows = np.full((4, 3), 1 / 3)
    recalibrator.predict_many(rows, ids=["a", "b", "c", "d"])
    recalibrator.update("lost", id="a")
    labels = ["lost", "returned", "returned", "kept", "lost", "lost"]
    said = recalibrator.update_many(labels, ids=["a", "b", "b", "c", "c", "x"])
    assert said.tolist() == ["repeated", "applied", "repeated", "conflict", "conflict", "unknown"]
    assert recalibrator.update_many(["lost"], ids=["b"]).tolist() == ["conflict"]
    both = recalibrator.update_many(["returned", "lost"], ids=["b", "b"])
    assert both.tolist() == ["repeated", "conflict"]
    recalibrator.predict_many(rows[:1], ids=["e"])
    assert (recalibrator.learned, recalibrator.pending) == (1, 4)  # a, at its deadline
    recalibrator.predict_many(rows[:3], ids=["f", "g", "h"])
    assert recalibrator.update_many(["returned"] * 3, ids=["b", "c", "d"]).tolist() == [
        "repeated", "conflict", "conflict",
    ]  # fmt: skip


def test_an_expired_prediction_is_not_taken_for_silence():
    recalibrator = MulticlassRecalibrator(LABELS, silence="kept", after=3)
    for name in "ab":
        recalibrator.predict([0.5, 0.3, 0.2], id=name)
    assert recalibrator.expire(older_than=1) == ["a"]
    assert recalibrator.update_many(["lost"], ids=["a"]).tolist() == ["expired"]
    recalibrator.predict([0.5, 0.3, 0.2], id="c")
    assert recalibrator.learned == 0
    recalibrator.predict([0.5, 0.3, 0.2], id="d")
    assert recalibrator.learned == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"silence": "gone", "after": 3}, "silence must be one of 'kept', 'returned', 'lost'"),
        ({"after": 3}, "after needs silence"),
        ({"silence": "kept", "after": 3, "hold": 2}, "silence and hold exclude each other"),
        ({"silence": "kept", "after": -1}, "after must be"),
        ({"hold": "soon"}, "hold must be"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        MulticlassRecalibrator(LABELS, **given)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda r: r.predict([0.5, 0.3, 0.2]), "needs an id"),
        (lambda r: r.predict([0.5, 0.3, 0.2], id="a", at=50.0), "predicted already"),
        (lambda r: r.predict([0.5, 0.3, 0.2], id="z"), "all of them or none"),
        (lambda r: r.predict([0.5, 0.3, 0.2], id="z", at=9.0, due=8.0), "later than at"),
        (lambda r: r.predict([0.5, 0.9, 0.2], id="z", at=99.0), "sum"),
        (lambda r: r.update("gone", id="a", at=99.0), "label must be one of"),
        (lambda r: r.update_many(["lost"], ids=["a", "b"], at=99.0), "ids"),
    ],
)
def test_a_refused_step_changes_nothing(step, said):
    recalibrator = MulticlassRecalibrator(LABELS, silence="kept", after=5)
    recalibrator.predict([0.5, 0.3, 0.2], id="a", at=1.0)
    before = recalibrator.to_bytes()
    with pytest.raises(ValueError, match=said):
        step(recalibrator)
    assert recalibrator.to_bytes() == before


def test_without_deadlines_there_is_nothing_to_advance_to():
    recalibrator = MulticlassRecalibrator(LABELS)
    with pytest.raises(ValueError, match="no deadlines to advance to"):
        recalibrator.advance(3)
    with pytest.raises(ValueError, match="due needs silence or hold"):
        recalibrator.predict([0.5, 0.3, 0.2], id="a", at=1.0, due=2.0)


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("waiting_outcomes", lambda _: np.array([0.5, np.nan, np.nan])),
        ("waiting_outcomes", lambda _: np.array([3.0, np.nan, np.nan])),
        ("pending_1_correction", lambda part: -part),
        ("pending_1_waiting", lambda _: -1.0),
    ],
)
def test_a_damaged_state_is_refused(part, damage):
    recalibrator = MulticlassRecalibrator(LABELS, silence="kept", after=5)
    for name in range(3):
        recalibrator.predict([0.5, 0.3, 0.2], id=name)
    rounds, state = recalibrator._save()
    state[part] = damage(state[part])
    fresh = MulticlassRecalibrator(LABELS, silence="kept", after=5)
    with pytest.raises(ValueError, match="saved"):
        fresh._load(rounds, state)
