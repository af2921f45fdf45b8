"""Deadlines of a fleet, beyond what all that play rounds share (`tests/rounds`)."""

from datetime import datetime

import numpy as np
import pytest

from calibrant import Fleet
from calibrant.fleet.saving import as_bytes
from fleet.worlds import keyed, log_loss


def conversions(rounds, seed):
    """Return keys, scores as logits, outcomes, and when ones are heard of, in rounds from 0."""
    keys, scores, outcomes = keyed(rounds, 40, seed)
    random = np.random.default_rng(seed)
    delay = np.minimum(random.exponential(60, rounds), 199)
    return keys, scores, outcomes, np.arange(rounds) + delay


def played(fleet, rows, ids_from=0):
    """Play rows at the times 0, 1, ...; ones are heard of when they come, zeros never."""
    keys, scores, outcomes, heard = rows
    predicted = np.empty(len(keys))
    come = sorted(np.flatnonzero(outcomes == 1).tolist(), key=lambda row: heard[row])
    for row in range(len(keys)):
        while come and heard[come[0]] < row:
            done = come.pop(0)
            fleet.update_many([1], ids=[ids_from + done], at=float(heard[done]))
        predicted[row] = fleet.predict_many(
            [keys[row]], [scores[row]], ids=[ids_from + row], at=row
        )[0]
    return predicted


def losses(seed, rounds=3000):
    """Return the log loss with silence, and where ones are learned when they come."""
    rows = keys, scores, outcomes, heard = conversions(rounds, seed)
    predicted = played(Fleet(3, "logit", silence=0, after=200), rows)
    early, biased = Fleet(3, "logit"), np.empty(rounds)
    known = np.where(outcomes == 1, heard, np.arange(rounds) + 200)
    come = np.argsort(known, kind="stable").tolist()
    for row in range(rounds):
        while come and known[come[0]] < row:
            done = come.pop(0)
            early.update(outcomes[done], id=done)
        biased[row] = early.predict(keys[row], scores[row], id=row)
    return log_loss(predicted, outcomes), log_loss(biased, outcomes)


def test_ones_that_come_first_do_not_bias():
    # With seeds 10 to 14 it was 0.034 below on average, from 0.015 to 0.064.
    silent, biased = np.mean([losses(seed) for seed in (2, 3)], axis=0)
    assert silent < biased - 0.01


@pytest.mark.parametrize("shards", [1, 3])
def test_saved_split_and_merged_between_prediction_and_deadline(shards):
    rows = conversions(500, seed=4)
    arguments = {"kind": "logit", "shards": shards, "silence": 0, "after": 200}
    fleet = Fleet(3, **arguments)
    played(fleet, rows)
    again = [Fleet.from_bytes(fleet.to_bytes()), Fleet.merge(fleet.split(shards))]
    wanted = fleet.advance(640), fleet.smooth(rows[0], rows[1]).tolist()
    for each in again:
        assert (each.advance(640), each.smooth(rows[0], rows[1]).tolist()) == wanted
        assert each.to_bytes() == fleet.to_bytes()


def test_rows_that_are_refused_change_nothing():
    fleet = Fleet(silence=0, after="2d")
    fleet.predict_many(["x"], [0.5], ids=["a"], at=datetime(2026, 5, 1))
    before = fleet.to_bytes()
    for call, message in (
        (lambda: fleet.run(["x"], [0.5], [1]), "either all predictions need a time"),
        (lambda: fleet.run(["x"], [0.5], [0.5], at=datetime(2027, 1, 1)), "must be 0 or 1"),
        (lambda: fleet.play(["x"], [0.5], [1], ids=["b"]), "either all predictions need a time"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert fleet.to_bytes() == before
    plain = Fleet()
    for call, message in (
        (lambda: plain.run(["x"], [0.5], [1], at=1, due=3), "due needs silence"),
        (lambda: plain.play(["x"], [0.5], [1], ids=["a"], at=1, due=3), "due needs silence"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("waiting_dues", [np.inf, 3.0]),
        ("waiting_dues", [np.nan, 3.0]),
        ("waiting_outcomes", [np.nan, 2.0]),
        ("waiting_outcomes", [np.nan]),
        ("waiting_held", [1, 2]),
        ("waiting_held", [1, 0]),
        ("clock", as_bytes("now")),
        ("clock_timed", as_bytes(3)),
        ("coming_rows", [7]),
    ],
)
def test_altered_deadlines_are_refused(name, value):
    settings = {"silence": 0, "after": 9}
    fleet = Fleet(**settings)
    fleet.predict_many(["x", "y"], [0.5, 0.5], ids=["a", "b"], at=1)
    arrays = fleet.shard_arrays(0)
    Fleet.from_shards(settings, {0: arrays})
    with pytest.raises(ValueError, match="saved"):
        Fleet.from_shards(settings, {0: arrays | {name: np.array(value)}})


@pytest.mark.parametrize("span", [{"silence": 0, "after": 30}, {"hold": 50}])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("shards", [1, 3])
def test_run_is_predict_and_update_row_by_row(span, timed, shards):
    """An outcome is noted right after its prediction, and learned at its deadline."""
    keys, scores, outcomes, _ = conversions(400, seed=6)
    outcomes[::9] = np.nan
    times = np.cumsum(np.random.default_rng(1).integers(0, 3, 400)).astype(float)
    one, other = (Fleet(3, "logit", shards=shards, **span) for _ in range(2))
    predicted = one.run(keys, scores, outcomes, at=times if timed else None)
    for row in range(400):
        at = {"at": times[row]} if timed else {}
        assert other.predict(keys[row], scores[row], id=row, **at) == predicted[row]
        if not np.isnan(outcomes[row]):
            assert other.update(outcomes[row], id=row, **at) == "applied"
    assert one.learned > 200
    if shards == 1:  # `update` lets time pass in all shards, and `run` in those that have rows
        never = np.isnan(outcomes).sum() if "hold" in span else 0  # waits by id, and not in `run`
        assert (one.learned, one.pending) == (other.learned, other.pending - never)


@pytest.mark.parametrize("shards", [1, 3])
def test_outcomes_come_in_the_order_of_their_times(shards):
    """One time per row: whatever the order of the rows, and as one call a time."""
    keys, ids = [f"key {row}" for row in range(8)], list(range(8))
    fleets = [Fleet(shards=shards, silence=0, after=10) for _ in range(3)]
    for fleet in fleets:
        fleet.predict_many(keys, [0.3] * 8, ids=ids, at=[0, 1, 2, 3, 4, 5, 6, 7])
    outcomes, times = np.array([1, 1, 0, 1, 0, 1, 1, 1]), np.array([9, 9, 9, 20, 12, 12, 30, 15])
    wanted = [
        fleets[0].update_many(outcomes[[row]], ids=[ids[row]], at=float(times[row])).item()
        for row in np.argsort(times, kind="stable")
    ]
    assert wanted.count("conflict") == 2  # silence spoke first of those that came at 20 and 30
    for fleet, order in zip(fleets[1:], (np.arange(8), np.arange(8)[::-1]), strict=True):
        answers = fleet.update_many(
            outcomes[order], ids=[ids[row] for row in order], at=times[order]
        )
        by_time = np.argsort(times[order], kind="stable")
        assert sorted(answers[by_time].tolist()) == sorted(wanted)
        assert fleet.to_bytes() == fleets[0].to_bytes()


def test_an_outcome_of_nobody_is_unknown_before_the_first_prediction():
    _, answers = Fleet(silence=0, after=3).play(["x"], [np.nan], [1], ids=["a"], at=4)
    assert answers.tolist() == ["unknown"]
