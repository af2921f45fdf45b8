"""Tables through a fleet with deadlines: what `predict` and `update` do row by row, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import Fleet
from calibrant._kernels.fleet.key_batch import checked_keys, shards_of
from calibrant.fleet.frames import recalibrate_frame
from calibrant.fleet.log import Log
from calibrant.rounds.saving import BOOK_PARTS
from calibrant.tables import InputError, read

COLUMNS = {"key": "k", "score": "s", "outcome": "y"}
CLOCKS = {"time": "t", "available": "a"}
SILENCES = ({"silence": 0, "after": 40}, {"silence": 1, "after": 7.5})
HOLDS = ({"hold": 20}, {"hold": 80})


def frame(size: int, seed: int = 0) -> pd.DataFrame:
    """Many rows at the same time; outcomes arrive after up to 60 ticks, some never do."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, size // 2, size)).astype(float)
    s = rng.random(size)
    y = (rng.random(size) < s**2).astype(float)
    a = t + rng.integers(0, 60, size)
    a[rng.random(size) < 0.1] = np.nan
    y[rng.random(size) < 0.1] = np.nan
    due = t + rng.integers(1, 90, size)
    k = rng.integers(0, 30, size)
    return pd.DataFrame({"k": k, "s": s, "y": y, "t": t, "a": a, "due": due})


def played(log: Log, rows: pd.DataFrame, cuts: list[int]) -> list[float]:
    """Return what a log says of rows, cut into tables."""
    pieces = np.split(np.arange(len(rows)), cuts)
    return np.concatenate([log.play(read(rows.iloc[own])).predictions for own in pieces]).tolist()


def deadline(row, fleet: Fleet, has_due: bool) -> float:
    """Return the deadline of a row."""
    return row.due if has_due else row.t + (fleet.after if fleet.hold is None else fleet.hold)


def by_hand(
    rows: pd.DataFrame, fleet: Fleet, has_due: bool
) -> tuple[list[float], list[tuple[float, float]]]:
    """Each row is predicted after what was heard before its time, by definition.

    Returns the predictions, and the rows whose outcomes arrive later than the last row.
    """
    predicted, news = [], []
    for number, row in enumerate(rows.itertuples()):
        news.sort()
        while news and news[0][0] < row.t:
            at, id_, y = news.pop(0)
            fleet.update_many([y], ids=[id_], at=at)
        due = deadline(row, fleet, has_due)
        predicted.append(
            fleet.predict_many([int(row.k)], [row.s], ids=[number], at=row.t, due=due)[0]
        )
        if not np.isnan(row.y) and not np.isnan(row.a):
            news.append((row.a, number, row.y))
    return predicted, news


def without_ids(fleet: Fleet) -> dict[str, bytes]:
    """Return all that a fleet has learned."""
    arrays = fleet.shard_arrays(0).items()
    return {name: each.tobytes() for name, each in arrays if name not in BOOK_PARTS}


@pytest.mark.parametrize("has_due", [False, True])
@pytest.mark.parametrize("span", [*SILENCES, *HOLDS])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_log_is_its_rows_by_hand_whatever_the_chunks(span, has_due, seed):
    rows = frame(500, seed)
    if "hold" in span:
        rows = rows.dropna()  # the log lets nothing wait that never comes
    twin = Fleet(seed=5, monitor=True, **span)
    expected, news = by_hand(rows, twin, has_due)
    learned, pending = twin.learned, twin.pending
    for at, id_, y in sorted(news):
        twin.update_many([y], ids=[id_], at=at)
    twin.advance(10**4)
    for cuts in ([], [1, 200, 201, 390]):
        fleet = Fleet(seed=5, monitor=True, **span)
        log = Log(fleet, **COLUMNS, **CLOCKS, due="due" if has_due else None)
        assert played(log, rows, cuts) == expected
        assert (fleet.learned, fleet.pending) == (learned, pending)
        assert log.finish()[0] == len(news) > 0
        for each in (fleet, Fleet.from_bytes(fleet.to_bytes())):
            each.advance(10**4)  # what was still to come comes
            assert (each.learned, each.pending) == (twin.learned, 0)
            assert without_ids(each) == without_ids(twin)
    assert learned > 200


@pytest.mark.parametrize("has_due", [False, True])
@pytest.mark.parametrize("span", [*SILENCES, *HOLDS])
def test_a_plain_fleet_that_is_told_at_the_deadlines_says_the_same(span, has_due):
    rows, fleet, plain = frame(600, seed=3), Fleet(**span), Fleet()
    predicted = played(Log(fleet, **COLUMNS, **CLOCKS, due="due" if has_due else None), rows, [250])
    learned = []
    for number, row in enumerate(rows.itertuples()):
        for over in sorted(each for each in learned if each[0] < row.t):
            plain.update(over[-1], id=over[-2])
            learned.remove(over)
        assert plain.predict(int(row.k), row.s, id=number) == predicted[number]
        due, y, is_due = deadline(row, fleet, has_due), row.y, True
        if np.isnan(row.a) or (fleet.silence is not None and row.a > due):
            y = np.nan
        if fleet.silence is not None and np.isnan(y):
            y = fleet.silence
        if row.a > due and fleet.hold is not None:
            due, is_due = row.a, False  # learned when it comes, before what is due then
        if not np.isnan(y):
            learned.append((due, is_due, number, y))
    assert fleet.learned == plain.learned
    assert fleet.pending == len(learned)


def with_ids(size: int, seed: int, timed: bool) -> pd.DataFrame:
    """A log in which some outcomes stand in their rows and some come later, by id, some twice."""
    rng = np.random.default_rng(seed)
    rows = []
    for row, order in enumerate(rng.integers(0, size, size).tolist()):  # some are used twice
        s, has = float(rng.random()), rng.random() < 0.3
        y = float(rng.random() < s) if has else np.nan
        rows.append({"k": order % 8, "s": s, "y": y, "id": f"order {order}"})
        while rng.random() < 0.5:
            about = rows[int(rng.integers(max(0, row - 40), len(rows)))]
            y = float(rng.random() < 0.5)
            rows.append({"k": about["k"], "s": np.nan, "y": y, "id": about["id"]})
    found = pd.DataFrame(rows)
    if timed:
        found["t"] = np.sort(rng.integers(0, len(found) // 2, len(found))).astype(float)
    return found


def by_id(rows: pd.DataFrame, fleets: list[Fleet]) -> tuple[list[float], dict[str, int]]:
    """Play a log with ids row by row, through fleets that hold a shard each."""
    predicted, answers = [], {}
    shards = shards_of(checked_keys(rows["k"].to_numpy()).hashes(), len(fleets))
    for row, fleet in zip(rows.itertuples(), [fleets[shard] for shard in shards], strict=True):
        when = {"at": row.t} if hasattr(row, "t") else {}
        predicted.append(np.nan)
        if not np.isnan(row.s):
            try:
                predicted[-1] = fleet.predict_many([row.k], [row.s], ids=[row.id], **when)[0]
            except ValueError:  # the id is used
                answers["used"] = answers.get("used", 0) + 1
                continue
        if not np.isnan(row.y):
            (answer,) = fleet.update_many([row.y], ids=[row.id], **when)
            if np.isnan(row.s):
                answers[answer] = answers.get(answer, 0) + 1
    return predicted, answers


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("capacity", [4, 100_000])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("span", [{"silence": 0, "after": 15}, {"hold": 25}])
@pytest.mark.parametrize("seed", [7, 8])
def test_outcomes_by_id_wait_for_their_deadlines(seed, span, shards, capacity, timed):
    rows = with_ids(400, seed=seed, timed=timed)
    settings = {"monitor": True, "shards": shards, "capacity": capacity, **span}
    twins = Fleet(**settings).split(shards)  # outcomes let time pass in all shards of a fleet
    expected, answers = by_id(rows, twins)
    for cuts in ([], [3, 300, 301]):
        fleet = Fleet(**settings)
        log = Log(fleet, **COLUMNS, id="id", time="t" if timed else None)
        assert np.array_equal(played(log, rows, cuts), expected, equal_nan=True)
        assert log.answers == answers
        assert fleet.to_bytes() == Fleet.merge(twins).to_bytes()
    assert {"applied", "repeated", "conflict", "used"} <= set(answers)
    assert ("expired" in answers) == (capacity == 4)


@pytest.mark.parametrize(
    ("span", "named"),
    [(SILENCES[0], False), (SILENCES[0], True), (HOLDS[0], False), (HOLDS[0], True), ({}, False)],
)
def test_a_log_may_stop_anywhere_and_go_on_from_what_was_saved(span, named):
    """Outcomes that come after the last row of a log are learned in the next."""
    rows = frame(500, seed=2).assign(id=[f"id {row}" for row in range(500)])
    due, name = "due" if span else None, "id" if named else None
    columns = {**COLUMNS, **CLOCKS, "due": due, "id": name}
    whole = Fleet(monitor=True, **span)
    expected = played(Log(whole, **columns), rows, [])
    for cut in (1, 137, 250, 251, 499):
        fleet = Fleet(monitor=True, **span)
        first = Log(fleet, **columns)
        predicted = played(first, rows.iloc[:cut], [])
        first.finish()
        if cut % 2:
            fleet = Fleet.from_bytes(fleet.to_bytes())
        predicted += played(Log(fleet, **columns), rows.iloc[cut:], [])
        assert predicted == expected
        assert fleet.to_bytes() == whole.to_bytes()
        if not span:
            assert fleet.learned + fleet.pending == len(rows.dropna())


def test_rows_are_judged_by_what_was_learned_of_them():
    """At their deadlines: also where silence was learned, and an outcome arrived later."""
    rows = frame(500, seed=4)
    log = Log(Fleet(silence=1, after=40, capacity=1_000), **COLUMNS, **CLOCKS)
    judged = [log.play(read(rows.iloc[own])).judged for own in np.split(np.arange(500), [90, 400])]
    last = rows["t"].iloc[-1]
    due = rows["t"] + 40
    heard = rows["y"].where(rows["a"] <= due)
    outcomes = heard.fillna(1.0)[due < last]
    found = sorted(pair for raw, _, y in judged for pair in zip(raw, y, strict=True))
    assert found == sorted(zip(rows["s"][outcomes.index], outcomes, strict=True))
    late, waiting = log.finish()
    assert late == (~rows["y"].isna() & (rows["a"] >= last)).sum() > 0
    assert len(waiting.outcomes) == 0  # their deadlines are still to come


def test_an_outcome_lets_time_pass():
    nan = np.nan
    rows = {"k": [1, 2, 1, 1], "s": [0.5, 0.5, nan, nan], "y": [nan, nan, 1.0, 1.0]}
    rows |= {"id": ["a", "b", "a", "a"], "t": [0.0, 1.0, 9.0, 20.0], "due": [30.0, 10.0, nan, nan]}
    fleet = Fleet(silence=0)
    log = Log(fleet, **COLUMNS, id="id", time="t", due="due")
    log.play(read(pd.DataFrame(rows)))
    assert log.answers == {"applied": 1, "repeated": 1}
    assert (fleet.learned, fleet.pending) == (1, 1)
    with pytest.raises(InputError, match="row 1, column 't'"):
        log.play(read(pd.DataFrame(rows)))


def test_rows_that_expired_are_not_judged_and_not_kept():
    rows = frame(300, seed=5).assign(y=np.nan, id=range(300))
    fleet = Fleet(silence=1, after=40, capacity=5)
    log = Log(fleet, **COLUMNS, time="t", id="id")
    judged = log.play(read(rows)).judged
    assert len(judged.outcomes) == fleet.learned == 300 - fleet.expired - 5
    assert fleet.pending == 5
    assert fleet.expired > 100


def test_rows_without_an_id_do_not_expire():
    rows = frame(300, seed=5).assign(y=np.nan)
    fleet = Fleet(silence=1, after=40, capacity=5)
    judged = Log(fleet, **COLUMNS, time="t").play(read(rows)).judged
    assert len(judged.outcomes) == fleet.learned == 300 - fleet.pending
    assert (fleet.expired, fleet.waiting()) == (0, {})


def test_rows_without_ids_keep_clear_of_ids():
    fleet = Fleet(silence=0, after=5)
    fleet.predict_many([1, 1], [0.5, 0.5], ids=[2, 7], at=0)
    log = Log(fleet, **COLUMNS, time="t")
    log.play(read(frame(20)))
    assert fleet.rounds == 22


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_with_deadlines_go_on_where_the_last_stopped(library):
    rows = frame(300).assign(t=lambda f: pd.Timestamp("2026-01-01") + pd.to_timedelta(f["t"], "h"))
    rows["a"] = rows["t"] + pd.to_timedelta(30, "h")
    given = rows if library is pd else pl.from_pandas(rows)
    named = {**COLUMNS, **CLOCKS}
    expected = recalibrate_frame(given, **named, silence=0, after="2d")["calibrated"]
    fleet = Fleet(silence=0, after="2d")
    halves = [
        recalibrate_frame(half, **named, fleet=fleet)["calibrated"].to_numpy()
        for half in (given[:120], given[120:])
    ]
    assert np.concatenate(halves).tolist() == expected.to_numpy().tolist()
    with pytest.raises(ValueError, match="has its own silence, after and hold"):
        recalibrate_frame(given, **named, fleet=fleet, silence=0)
    with pytest.raises(ValueError, match="due needs silence or hold"):
        recalibrate_frame(given, **named, due="t")


def test_what_is_wrong_is_named_and_nothing_changes():
    rows, settings = frame(50), {"silence": 0, "after": 30}
    fleet = Fleet(**settings)
    Log(fleet, **COLUMNS, time="t").play(read(rows))
    before = fleet.to_bytes()
    for arguments, changed, words in (
        ({"time": "t"}, {"s": 3.0}, "row 2, column 's'"),
        ({"time": "t"}, {"k": None}, "row 2, column 'k': the key is missing"),
        ({"time": "t"}, {"k": "text"}, "a key must be an integer or text|keys of this fleet"),
        ({"time": "t", "due": "due"}, {"due": 0.0}, "row 2, column 'due': the deadline"),
        ({"time": "t", "due": "due"}, {"due": np.nan}, "the deadline is missing"),
        ({}, {}, "either all predictions need a time"),
    ):
        bad = rows.assign(t=rows["t"] + 100, due=rows["due"] + 100)
        for column, value in changed.items():
            bad[column] = bad[column].astype(object)
            bad.loc[1, column] = value
        with pytest.raises((InputError, ValueError), match=words):
            Log(fleet, **COLUMNS, **arguments).play(read(bad))
        assert fleet.to_bytes() == before
    counted = Fleet(**settings)
    counted.predict(1, 0.5, id="a")
    with pytest.raises(ValueError, match="either all predictions need a time"):
        Log(counted, **COLUMNS, time="t").play(read(rows))
    late = pd.DataFrame({"k": [1], "s": [np.nan], "y": [1.0], "id": ["a"], "t": [3.0]})
    with pytest.raises(ValueError, match="if predictions have one"):
        Log(counted, **COLUMNS, time="t", id="id").play(read(late))
    with pytest.raises(ValueError, match="a prediction needs a deadline"):
        Log(Fleet(silence=0), **COLUMNS, time="t").play(read(rows))
    with pytest.raises(ValueError, match="a deadline in time needs the"):
        Log(Fleet(hold="3d"), **COLUMNS).play(read(rows))
