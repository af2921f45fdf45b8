"""A log of predictions and outcomes, played in batches of any size."""

import numpy as np
import pytest

from calibrant import Fleet
from fleet.worlds import keyed

NAN = float("nan")


def log_of(rounds, keys, seed, late):
    """Return the columns of a log in which outcomes arrive `late` rows after their predictions."""
    random = np.random.default_rng(seed)
    key, score, outcome = keyed(rounds, keys, seed)
    made = np.arange(rounds, dtype=float)
    come = made + random.exponential(late, rounds) + 0.5
    order = np.argsort(np.concatenate([made, come]), kind="stable")
    missing = np.full(rounds, NAN)
    return (
        np.concatenate([key, key])[order],
        np.concatenate([score, missing])[order],
        np.concatenate([missing, outcome])[order],
        np.concatenate([np.arange(rounds)] * 2)[order],
        np.concatenate([made, come])[order],
    )


def one_by_one(fleet, keys, scores, outcomes, ids, times):
    predicted, answers = [], []
    for key, score, outcome, name, time in zip(keys, scores, outcomes, ids, times, strict=True):
        if np.isnan(score):
            predicted.append(NAN)
            answers += fleet.update_many([outcome], ids=[name]).tolist()
        else:
            predicted += fleet.predict_many([key], [score], ids=[name], at=time).tolist()
            answers.append("predicted")
    return predicted, answers


@pytest.mark.parametrize("shards", [1, 3])
def test_play_is_predict_and_update_row_by_row(shards):
    log = log_of(600, 30, seed=1, late=20)
    predicted, answers = one_by_one(Fleet(2, "logit", shards=shards), *log)
    for size in (1, 7, 100, 2000):
        fleet = Fleet(2, "logit", shards=shards)
        for first in range(0, len(log[0]), size):
            keys, scores, outcomes, ids, times = (each[first : first + size] for each in log)
            some, estimates = fleet.play(keys, scores, outcomes, ids=ids, at=times)
            assert np.array_equal(some, predicted[first : first + size], equal_nan=True)
            assert estimates.tolist() == answers[first : first + size]


def test_a_row_with_both_is_that_of_run():
    keys, scores, outcomes = keyed(500, 20, seed=3)
    first, second = Fleet(1, "logit"), Fleet(1, "logit")
    predicted, answers = first.play(keys, scores, outcomes, ids=[None] * 500)
    assert (predicted == second.run(keys, scores, outcomes)).all()
    assert set(answers) == {"applied"}


def test_answers_of_rows_that_change_nothing():
    fleet, other = Fleet(capacity=3), Fleet(capacity=3)
    log = [
        ("a", 0.5, NAN, "x", "predicted"),
        ("b", 0.5, NAN, "x", "used"),
        ("c", 0.4, NAN, "y", "predicted"),
        ("a", NAN, 1, "x", "applied"),
        ("a", NAN, 1, "x", "repeated"),
        ("a", NAN, 0, "x", "conflict"),
        ("d", 0.5, NAN, "x", "used"),
        ("a", NAN, 0, "z", "unknown"),
        ("a", 0.1, NAN, None, "predicted"),
        ("a", 0.2, NAN, "u", "predicted"),
        ("a", 0.3, NAN, "v", "predicted"),
        ("a", 0.4, NAN, "w", "predicted"),
        ("a", NAN, 1, "y", "expired"),
    ]
    keys, scores, outcomes, ids, wanted = zip(*log, strict=True)
    predicted, answers = fleet.play(keys, scores, outcomes, ids=ids)
    assert answers.tolist() == list(wanted)
    assert np.isnan(predicted).tolist() == [estimate != "predicted" for estimate in wanted]
    assert fleet.keys().tolist() == ["a", "c"]
    useful = [row for row, estimate in enumerate(wanted) if estimate in ("predicted", "applied")]
    used = [[column[row] for row in useful] for column in (keys, scores, outcomes, ids)]
    other.play(*used[:3], ids=used[3])
    fleet.update_many([0], ids=["u"])
    other.update(0, id="u")
    assert (fleet.expected(["a", "c"], [0.3, 0.3]) == other.expected(["a", "c"], [0.3, 0.3])).all()


def test_the_id_of_a_row_with_both_is_used():
    fleet = Fleet(capacity=2)
    log = [
        ("a", 0.5, 1, "x", "applied"),
        ("a", 0.5, 0, "x", "used"),
        ("b", 0.5, NAN, "x", "used"),
        ("a", NAN, 1, "x", "repeated"),
        ("a", NAN, 0, "x", "conflict"),
        ("a", 0.5, NAN, "y", "predicted"),
        ("a", 0.5, NAN, "z", "predicted"),
        ("a", 0.5, NAN, "u", "predicted"),
        ("a", NAN, 1, "y", "expired"),
        ("a", 0.5, 1, "y", "applied"),  # an expired id may be used again
        ("a", NAN, 1, "y", "repeated"),
    ]
    keys, scores, outcomes, ids, wanted = zip(*log, strict=True)
    _, answers = fleet.play(keys, scores, outcomes, ids=ids)
    assert answers.tolist() == list(wanted)
    assert (len(fleet), fleet.learned, fleet.pending, fleet.expired) == (1, 2, 2, 1)
    assert Fleet.from_bytes(fleet.to_bytes()).to_bytes() == fleet.to_bytes()


def test_deadlines_of_rows_that_are_not_predicted_do_not_matter():
    fleet = Fleet(silence=0)
    columns = [["a"] * 3, [0.5, NAN, 0.2], [NAN, 1, NAN]]
    _, answers = fleet.play(*columns, ids=["x", "x", "y"], at=[1, 2, 3], due=[9, NAN, 8])
    assert answers.tolist() == ["predicted", "applied", "predicted"]
    with pytest.raises(ValueError, match=r"due must be later than at=2\.0, got 1\.0"):
        fleet.play(["a"], [0.5], [NAN], ids=["z"], at=2, due=1)
    with pytest.raises(ValueError, match="due must be a date, a time or a finite number"):
        fleet.play(["a"], [0.5], [NAN], ids=["z"], at=12, due=[NAN])
    assert [fleet.advance(now) for now in (8, 9)] == [1, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((["a"], [NAN], [NAN], ["x"]), "row 0 has neither a score nor an outcome"),
        ((["a"], [NAN], [1], [None]), "row 0 has neither a score nor an outcome"),
        ((["a"], [2], [NAN], ["x"]), "2.0 at position 0"),
        ((["a"], [NAN], [2], ["x"]), "outcomes must be in"),
        ((["a"], [0.5], [NAN], [1.5]), "id must be a string or an integer"),
        ((["a"], [0.5], [NAN], ["x", "y"]), "same length"),
    ],
)
def test_bad_rows_change_nothing(row, message):
    fleet = Fleet()
    with pytest.raises(ValueError, match=message):
        fleet.play(*row[:3], ids=row[3])
    assert (len(fleet), fleet.rounds) == (0, 0)
