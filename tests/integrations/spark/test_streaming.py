"""Fleets on Spark itself: equal to a local fleet, whatever batches; refused rows stand apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant import Fleet
from calibrant._kernels.fleet.key_batch import checked_keys
from calibrant.integrations.spark import fleet_in, fleet_of, recalibrate, recalibrate_batch
from integrations.spark.made import (
    SETTINGS,
    rows_with_deadlines,
    said_locally,
    said_until,
    same_fleets,
    stream,
)
from integrations.spark.queries import NAMES, TYPES, in_pandas, run, written

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


def test_the_hash_is_sparks(spark):
    ints, texts = [0, 1, -1, 2**63 - 1, -(2**63)], ["", "a", "Spark", "é" * 40, "x" * 32]
    rows = spark.createDataFrame(list(zip(ints, texts, strict=True)), "i bigint, t string")
    found = in_pandas(rows.selectExpr("xxhash64(i) i", "xxhash64(t) t"))
    for name, keys in (("i", ints), ("t", texts)):
        hashes = checked_keys(keys).hashes().view(np.int64)
        assert found[name].tolist() == hashes.tolist()


def test_a_stream_is_equal_to_a_local_fleet(spark, tmp_path):
    rows = stream(1500, 60, seed=2)
    predicted, fleet = said_locally(rows, SETTINGS)
    source = written(rows, tmp_path / "in", 3)
    answers, checkpoint = run(spark, source, tmp_path, "equal", tasks=3)
    assert answers["reason"].isna().all()
    assert len(answers) == len(predicted) == 1500
    answers = answers.set_index("id").sort_index()
    pd.testing.assert_series_equal(
        answers["prediction"],
        predicted,
        check_exact=True,
        check_names=False,
        check_index_type=False,
    )
    first = rows.drop_duplicates("id").set_index("id").sort_index()
    assert (answers["key"] == first["key"]).all()
    assert (answers["time"] == first["time"]).all()
    assert same_fleets(fleet_in(spark, checkpoint), fleet)


def test_refused_rows_stand_apart_and_the_query_goes_on(spark, tmp_path):
    good = stream(400, 20, seed=3, share_late=0.0)
    bad = good.iloc[:6].copy()
    bad["id"] = np.arange(1000, 1006)
    bad["key"] = bad["key"].astype("Int64")
    bad.loc[0, "key"] = pd.NA
    bad.loc[1, "score"] = 1.5
    bad.loc[2, "score"] = None  # an outcome whose prediction nobody made
    bad.loc[3, ["score", "outcome"]] = None
    bad.loc[4, "time"] = pd.NaT
    bad.loc[5, "outcome"] = None  # waits, and then the id comes again
    again = bad.iloc[5:]
    rows = pd.concat([good.iloc[:200], bad, again, good.iloc[200:]], ignore_index=True)
    answers, checkpoint = run(spark, written(rows, tmp_path / "in", 2), tmp_path, "refused")
    is_refused = answers["answer"] == "refusal"
    refused = answers[is_refused].set_index("id")["reason"].to_dict()
    assert refused == {
        1000: "the key is missing",
        1001: "the score must be in [0, 1]",
        1002: "no prediction with this id is pending",
        1003: "there is neither a score nor an outcome",
        1004: "the time is missing",
        1005: "the id was used before",
    }
    assert (~is_refused).sum() == 401
    assert fleet_in(spark, checkpoint).pending == 1


def test_the_state_of_a_history_starts_a_stream(spark, tmp_path):
    rows = stream(1200, 50, seed=4)
    cut = 700
    predicted, fleet = said_locally(rows, SETTINGS)
    history = spark.read.schema(TYPES).parquet(written(rows.iloc[:cut], tmp_path / "old", 2))
    before, state = recalibrate_batch(history, **NAMES, **SETTINGS)
    local = said_locally(rows.iloc[:cut], SETTINGS)[1]
    assert same_fleets(fleet_of(state), local)
    source = written(rows.iloc[cut:], tmp_path / "new", 2)
    for name, start in (("state", state), ("fleet", local)):
        after, checkpoint = run(spark, source, tmp_path, name, start=start)
        found = pd.concat([in_pandas(before), after]).set_index("id")["prediction"].sort_index()
        assert (found == predicted).all()
        assert len(found) == len(predicted)
        assert same_fleets(fleet_in(spark, checkpoint), fleet)
    with pytest.raises(ValueError, match="the fleet to start from has"):
        run(spark, source, tmp_path, "other", start=Fleet(shards=8))


def test_a_timer_of_event_time_gives_up_predictions_without_outcome(spark, tmp_path):
    seconds = [100, 110, 120, 9950, 10_000, 10_001]
    rows = pd.DataFrame(
        {
            "key": np.arange(6),
            "id": np.arange(6),
            "score": 0.5,
            "outcome": [np.nan] * 4 + [1.0, 0.0],
            "time": pd.to_datetime(seconds, unit="s").astype("datetime64[us]"),
        }
    )
    source = written(rows, tmp_path / "in", 3)
    answers, checkpoint = run(spark, source, tmp_path, "timer", wait=100.0, late="0 seconds")
    assert answers["reason"].isna().all()
    # The watermark has passed the deadlines of the first three, not that of the fourth.
    state = fleet_in(spark, checkpoint)
    assert sorted(state.waiting()) == [3]
    assert state.expired == 3


def test_keys_and_ids_may_be_strings(spark):
    names = ["é", "b", "é", "b"]
    rows = spark.createDataFrame(
        [(k, f"id {t}", 0.5, 1.0, t) for t, k in enumerate(names)],
        "`the.key` string, id string, s double, y double, seconds int",
    ).selectExpr("*", "timestamp_seconds(seconds) t")
    columns = {"key": "the.key", "id": "id", "score": "s", "outcome": "y", "time": "t"}
    predictions, state = recalibrate_batch(rows, **columns, shards=2)
    fleet = Fleet(shards=2)
    predicted = fleet.run(names, [0.5] * 4, [1] * 4, at=[0.0, 1.0, 2.0, 3.0])
    found = in_pandas(predictions.orderBy("t"))
    assert found["prediction"].tolist() == predicted.tolist()
    assert found["the.key"].tolist() == names
    assert found["id"].tolist() == [f"id {t}" for t in range(4)]
    assert same_fleets(fleet_of(state), fleet)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"key": "absent"}, "key='absent' is not a column; there are"),
        ({"key": "score"}, r"column 'score' \(key\) must hold integers or strings, got double"),
        ({"time": "id"}, r"column 'id' \(time\) must hold timestamps, got bigint"),
        ({"score": "time"}, "must hold numbers"),
        ({"tasks": 9}, r"tasks must be an integer in \[1, 8\], got 9"),
        ({"kind": "odds"}, "kind must be one of"),
    ],
)
def test_wrong_arguments_are_named_before_anything_runs(spark, changed, words):
    rows = spark.createDataFrame([], TYPES)
    for function in (recalibrate, recalibrate_batch):
        with pytest.raises(ValueError, match=words):
            function(rows, **(NAMES | SETTINGS | changed))


def test_a_session_without_rocksdb_is_told_the_line(spark):
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    spark.conf.unset(name)
    try:
        with pytest.raises(ValueError, match=r"must keep state in RocksDB: spark\.conf\.set"):
            recalibrate(spark.createDataFrame([], TYPES), **NAMES)
    finally:
        spark.conf.set(name, before)


def test_a_stream_that_starts_from_history_learns_at_deadlines(spark, tmp_path):
    rows = rows_with_deadlines(500, seed=2)
    settings = SETTINGS | {"silence": 0}
    predicted, fleet, _ = said_until(rows, settings, has_due=True)
    rows["due"] = rows["due"].astype("datetime64[us]")
    given = {"types": f"{TYPES}, due timestamp_ntz", "due": "due", "silence": 0}
    old = spark.read.schema(given["types"]).parquet(written(rows.iloc[:300], tmp_path / "old", 1))
    before, state = recalibrate_batch(old, **NAMES, **settings, due="due")
    source = written(rows.iloc[300:], tmp_path / "new", 2)
    after, checkpoint = run(spark, source, tmp_path, "until", start=state, **given)
    answers = pd.concat([in_pandas(before), after])
    found = answers[answers["reason"].isna()].set_index("id")["prediction"].sort_index()
    pd.testing.assert_series_equal(
        found, predicted, check_exact=True, check_names=False, check_index_type=False
    )
    left = fleet_in(spark, checkpoint)
    assert left.silence == 0
    assert left.pending > 0
    # By hand, outcomes let time pass in all shards at once.
    assert left.advance(1e10) >= fleet.advance(1e10)
    assert same_fleets(left, fleet)
    with pytest.raises(ValueError, match="the fleet to start from has"):
        run(spark, source, tmp_path, "other", start=Fleet(**SETTINGS, silence=0, after="1d"))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"due": "time"}, "due needs silence or hold"),
        ({"silence": 0}, "a prediction needs a deadline"),
        ({"silence": 0, "after": 30}, "has no unit"),
        ({"silence": 0, "after": "30d", "id": None}, "need ids"),
        ({"silence": 0, "after": "30d", "wait": "3d"}, "wait cannot be combined with silence"),
        ({"silence": 0, "hold": "30d"}, "cannot be combined"),
        ({"silence": 0, "due": "score"}, "must hold timestamps"),
    ],
)
@pytest.mark.parametrize("function", [recalibrate, recalibrate_batch])
def test_deadlines_that_make_no_sense_are_refused(spark, function, changed, words):
    rows = spark.createDataFrame([], TYPES)
    with pytest.raises(ValueError, match=words):
        function(rows, **(NAMES | SETTINGS | changed))
