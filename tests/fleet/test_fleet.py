"""The fleet's contract: rows one by one, batches, late outcomes, invalid input."""

import numpy as np
import pytest

from calibrant import Fleet
from fleet.worlds import keyed


def play(fleet, keys, scores, outcomes, parents=None):
    """Return the predictions of rows that are predicted and learned one by one."""
    predictions = []
    for row in range(len(keys)):
        one = slice(row, row + 1)
        above = None if parents is None else parents[one]
        score = None if scores is None else scores[one]
        predictions += fleet.predict_many(keys[one], score, ids=[row], parents=above).tolist()
        if not np.isnan(outcomes[row]):
            assert fleet.update_many(outcomes[one], ids=[row]).tolist() == ["applied"]
    return np.array(predictions)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("kind", ["probability", "logit", "margin"])
@pytest.mark.parametrize("with_parents", [False, True])
def test_run_is_the_rows_one_by_one(kind, shards, with_parents):
    keys, scores, outcomes = keyed(1500, 40, seed=1)
    outcomes[::7] = np.nan
    outcomes[3::11] = 0.3
    if kind == "probability":
        scores = 1 / (1 + np.exp(-scores))
    parents = [f"parent {key % 5}" for key in keys] if with_parents else None
    fleets = [Fleet(5, kind, shards=shards) for _ in range(2)]
    whole = fleets[0].run(keys, scores, outcomes, parents=parents)
    assert (whole == play(fleets[1], keys, scores, outcomes, parents)).all()
    rows = (range(50), np.linspace(0.1, 0.9, 50), ["parent 1"] * 50 if with_parents else None)
    for look in (Fleet.expected, Fleet.smooth):
        seen, twin = (look(each, *rows[:2], parents=rows[2]) for each in fleets)
        assert (seen == twin).all()


def test_run_is_the_rows_one_by_one_where_the_whole_learns_from_some_rows():
    keys, scores, outcomes = keyed(22_000, 40, seed=2)
    first, second = Fleet(5, "logit"), Fleet(5, "logit")
    whole = first.run(keys, scores, outcomes)
    assert (second.run(keys[:16_000], scores[:16_000], outcomes[:16_000]) == whole[:16_000]).all()
    rest = play(second, keys[16_000:], scores[16_000:], outcomes[16_000:])
    assert (rest == whole[16_000:]).all()


def test_names_of_keys_do_not_matter_but_their_draws_do():
    keys, scores, outcomes = keyed(2000, 20, seed=3)
    numbers, names = Fleet(1, "logit"), Fleet(1, "logit")
    numbers.run(keys, scores, outcomes)
    names.run([f"key {key}" for key in keys], scores, outcomes)
    assert sorted(names.keys().tolist()) == sorted(f"key {key}" for key in numbers)
    known = numbers[7]
    assert (known.predictions, known.outcomes) == ((keys == 7).sum(),) * 2
    assert "key 7" in names
    assert "key 99" not in names
    assert 7 not in Fleet()


def test_answers_in_any_order_of_the_rows():
    keys, scores, outcomes = keyed(400, 20, seed=4)
    fleets = [Fleet(1, "logit", shards=2) for _ in range(2)]
    order = np.random.default_rng(0).permutation(400)
    for fleet, rows in zip(fleets, (np.arange(400), order), strict=True):
        fleet.predict_many(keys, scores, ids=range(400))
        assert set(fleet.update_many(outcomes[rows], ids=rows)) == {"applied"}
        assert set(fleet.update_many(outcomes[rows], ids=rows)) == {"repeated"}
        assert fleet.update_many([1 - outcomes[3], 0], ids=[3, "x"]).tolist() == [
            "conflict",
            "unknown",
        ]
    assert (fleets[0].expected(keys, scores) == fleets[1].expected(keys, scores)).all()


def test_a_key_that_was_forgotten_begins_anew():
    fleet = Fleet(1)
    fleet.run(["old"] * 50 + ["new"] * 50, None, [1.0] * 50 + [0.0] * 50)
    fleet.predict_many(["old", "new"], ids=["late", "on time"])
    fleet.predict_many(["new"] * 30)
    assert fleet.evict(idle=30) == 1
    assert fleet.keys().tolist() == ["new"]
    assert fleet["new"].outcomes == 50
    assert fleet.update_many([1, 0], ids=["late", "on time"]).tolist() == ["applied"] * 2
    assert fleet["new"].outcomes == 51
    assert (fleet.expected(["old"]) == fleet.expected(["never seen"])).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fleet: fleet.predict_many([1, "a"], [0.5, 0.5]), "position 1"),
        (
            lambda fleet: fleet.predict_many(["a"], [0.5]),
            "this fleet are integers, got strings",
        ),
        (lambda fleet: fleet.predict_many([1.5], [0.5]), "integers or strings"),
        (lambda fleet: fleet.predict_many([1], [1.5]), r"number in \[0, 1\].*1.5 at position 0"),
        (lambda fleet: fleet.predict_many([1], [np.nan]), "nan at position 0"),
        (
            lambda fleet: fleet.predict_many([1, 2], [0.5]),
            "keys and scores must have the same",
        ),
        (lambda fleet: fleet.predict_many([1], [0.5], ids=["old"]), "'old' was predicted already"),
        (lambda fleet: fleet.predict_many([1, 2], None, ids=["a", "a"]), "positions 0 and 1"),
        (lambda fleet: fleet.predict_many([1], None, at="noon"), "at must be"),
        (lambda fleet: fleet.predict_many([1], None, parents=[None]), "parents: keys must be"),
        (lambda fleet: fleet.run([1, 2], None, [1, 2]), r"outcomes must be in \[0, 1\]"),
        (lambda fleet: fleet.run([1, 2], None, [1]), "keys and outcomes must have the same length"),
        (lambda fleet: fleet.update_many([np.nan], ids=["old"]), "outcomes must be in"),
        (
            lambda fleet: fleet.update_many([1, 0], ids=["old"]),
            "ids and outcomes must have",
        ),
        (lambda fleet: fleet.evict(idle="1d"), "now=... must say"),
        (lambda fleet: fleet.evict(idle=-1), "idle must be a positive number"),
    ],
)
def test_bad_input_changes_nothing(call, message):
    fleet = Fleet(1)
    fleet.run([1, 2, 3], [0.2, 0.5, 0.7], [0, 1, 1])
    fleet.predict_many([2], [0.4], ids=["old"])
    before = fleet.rounds, fleet.learned, len(fleet), fleet.pending
    predicted = fleet.expected([1, 2, 3, 4], [0.3] * 4)
    with pytest.raises(ValueError, match=message):
        call(fleet)
    assert (fleet.rounds, fleet.learned, len(fleet), fleet.pending) == before
    assert (fleet.expected([1, 2, 3, 4], [0.3] * 4) == predicted).all()


def test_a_key_never_seen_is_not_known():
    with pytest.raises(KeyError, match="7"):
        Fleet()[7]
