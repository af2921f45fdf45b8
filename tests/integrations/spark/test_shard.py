"""Shards without Spark: pages, order, refusals, and the same numbers as a local fleet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from calibrant import Fleet
from calibrant.integrations.spark.columns import ID, KEY, OUTCOME, SCORE, TIME
from calibrant.integrations.spark.packing import PACKED, pack_tasks, unpack, unpack_answers
from calibrant.integrations.spark.pages import PAGE, Page, changes, from_pages, to_pages
from calibrant.integrations.spark.processor import STATE, ShardProcessor
from calibrant.integrations.spark.rows import play
from calibrant.integrations.spark.task import Task
from integrations.spark.made import (
    ALL,
    ANSWERED,
    SETTINGS,
    played_by,
    prepared,
    said_locally,
    same_fleets,
    stream,
)


@pytest.fixture(scope="module")
def rows():
    return stream(1500, 60, seed=1)


@pytest.fixture(scope="module")
def local(rows):
    return said_locally(rows, SETTINGS)


def played(rows, tasks, cuts):
    """Predictions by id, and the fleet, of a processor that gets the rows in batches."""
    rows = prepared(rows, SETTINGS["shards"])
    tester = TwsTester(ShardProcessor(SETTINGS, ANSWERED))
    answers = []
    for batch in np.split(np.arange(len(rows)), cuts):
        shuffled = rows.iloc[batch].sample(frac=1.0, random_state=len(batch))
        for task, own in shuffled.groupby(shuffled["shard"] % tasks):
            answers.append(played_by(tester, int(task), own))
    pages = {}
    for task in range(tasks):
        held = tester.peekMapState(STATE, task)
        pages |= {Page(*name): content for name, (content,) in held.items()}
    settings, shards = from_pages(pages)
    return pd.concat(answers), Fleet.from_shards(settings, shards)


@pytest.mark.parametrize(
    ("tasks", "cuts"), [(8, []), (8, [400, 401, 900]), (3, [700]), (1, [5, 1000])]
)
def test_a_shard_says_what_a_local_fleet_says_whatever_shards_and_batches(rows, local, tasks, cuts):
    answers, fleet = played(rows, tasks, cuts)
    predicted = answers.set_index("id")["prediction"].sort_index()
    assert answers["reason"].isna().all()
    pd.testing.assert_series_equal(predicted, local[0], check_exact=True, check_names=False)
    assert same_fleets(fleet, local[1])
    assert fleet.learned == local[1].learned == 1500


def test_pages_hold_every_array_bit_for_bit():
    fleet = Fleet(**SETTINGS)
    fleet.run([f"key {i}" for i in range(5000)], np.full(5000, 0.3), np.tile([0, 1], 2500))
    arrays = fleet.shard_arrays(2)
    pages = to_pages(SETTINGS, 2, arrays)
    assert max(len(content) for page, content in pages.items() if page.array) == PAGE
    settings, shards = from_pages(pages)
    assert settings == SETTINGS
    assert list(shards) == [2]
    assert {k: v.tobytes() for k, v in shards[2].items()} == {
        k: v.tobytes() for k, v in arrays.items() if not k.endswith("_index_table")
    }


def test_only_pages_that_changed_are_written():
    fleet = Fleet(**SETTINGS | {"shards": 1})
    keys = np.arange(5000)
    fleet.run(keys, None, keys % 2)
    before = to_pages(SETTINGS, 0, fleet.shard_arrays(0))
    fleet.run(keys[:20], None, keys[:20] % 2)
    after = to_pages(SETTINGS, 0, fleet.shard_arrays(0))
    written, removed = changes(before, after)
    assert set(written) == {Page(0, "", 0), Page(0, "key_rows", 0)}
    assert len(after) > 20
    assert removed == []
    assert changes(after, {}) == ({}, list(after))


def test_a_batch_that_changes_nothing_in_the_book_writes_none_of_its_pages():
    settings, made, first = SETTINGS | {"shards": 1, "capacity": 20_000}, 10**6, 10**9
    task = Task(settings, {})
    for holds, ids in ((KEY | ID | SCORE | TIME, range(12_000)), (LATE, range(0, 8_000, 2))):
        rows = [refused_row(holds=holds, id=first + each, time=made) for each in ids]
        task.play(pd.DataFrame(rows))
    before = task.pages()
    pages_of = {page.array for page in before}
    assert {"waiting_rounds", "waiting_ids", "waiting_numbers", "finished_ids"} <= pages_of
    task = Task(settings, before)
    assert changes(before, task.pages()) == ({}, [])
    task.play(pd.DataFrame([refused_row(score=7.0, time=made), refused_row(holds=0)]))
    assert changes(before, task.pages()) == ({}, [])
    learned = [refused_row(id=i, time=made + i) for i in range(100)]  # score and outcome
    task.play(pd.DataFrame(learned))
    unknown = [refused_row(holds=LATE, id=7, time=2 * made)]
    task.play(pd.DataFrame(unknown))
    written, removed = changes(before, task.pages())
    assert {page.array for page in written} == {""}
    assert removed == []
    one_more = [refused_row(holds=KEY | ID | SCORE | TIME, id=8, time=3 * made)]
    task.play(pd.DataFrame(one_more))
    written, removed = changes(before, task.pages())
    # What is pending stands in the order of its numbers: one more is added at the end.
    assert all(written[page].startswith(before.get(page, b"")[:-1]) for page in written if page[1])
    assert removed == []


def test_rows_are_packed_by_shard_and_keep_their_order():
    tasks = np.array([3, 1, 3, 0, 1], dtype=np.int32)
    rows = pa.record_batch({"task": tasks, "key": [10, 11, 12, 13, 14], "id": list("abcde")})
    (packed,) = pack_tasks([rows])
    assert packed.column("task").to_pylist() == [0, 1, 3]
    values = [value.as_py() for value in packed.column(PACKED)]
    assert [unpack([value])["key"].tolist() for value in values] == [[13], [11, 14], [10, 12]]
    assert unpack(values)["id"].tolist() == ["d", "b", "e", "a", "c"]
    answers = list(unpack_answers([packed]))
    assert [batch.column("key").to_pylist() for batch in answers] == [[13], [11, 14], [10, 12]]


LATE = KEY | ID | OUTCOME | TIME  # an outcome by id


def refused_row(**changed):
    row = {"shard": 0, "holds": ALL, "key": 1, "id": 1, "score": 0.5, "outcome": 1.0, "time": 9}
    return {**row, "sequence": 0, **changed}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"holds": ALL - KEY}, "key is missing"),
        ({"holds": ALL - TIME}, "time is missing"),
        ({"holds": KEY | ID | TIME}, "neither a score nor an outcome"),
        ({"score": 1.5}, "score must be in"),
        ({"score": np.nan}, "score must be in"),
        ({"outcome": -1.0}, "outcome must be in"),
        ({"outcome": np.nan}, "outcome must be in"),
        ({"holds": KEY | OUTCOME | TIME}, "needs an id"),
        ({"holds": KEY | ID | OUTCOME | TIME, "id": 77}, "no prediction with this id"),
        ({"holds": KEY | ID | SCORE | TIME, "id": 50}, "id was used before"),
        ({"holds": KEY | ID | OUTCOME | TIME, "id": 51}, "outcome was given before"),
        ({"holds": KEY | ID | OUTCOME | TIME, "id": 51, "outcome": 0.0}, "another outcome"),
    ],
)
def test_a_refused_row_has_a_reason_and_changes_nothing(changed, reason):
    waits = KEY | ID | SCORE | TIME
    first = pd.DataFrame(
        [
            refused_row(holds=waits, id=50, time=1),
            refused_row(holds=waits, id=51, time=1),
            refused_row(holds=KEY | ID | OUTCOME | TIME, id=51, time=2),
        ]
    )
    good = refused_row(time=20, holds=ALL)
    fleets = [Fleet(shards=1), Fleet(shards=1)]
    for fleet in fleets:
        play(fleet, first)
    bad = pd.DataFrame([refused_row(**changed), good])
    answers = play(fleets[0], bad)
    assert answers["reason"].str.contains(reason).tolist() == [True, False]
    assert np.isnan(answers["prediction"].iloc[0])
    expected = play(fleets[1], pd.DataFrame([good]))
    assert answers["prediction"].iloc[1] == expected["prediction"].iloc[0]
    assert same_fleets(*fleets)


def test_a_logit_may_be_any_finite_number():
    for score, is_fine in ((-3.0, True), (np.inf, False)):
        answers = play(Fleet(kind="logit"), pd.DataFrame([refused_row(score=score)]))
        assert (answers["reason"].iloc[0] is None) == is_fine


def test_a_query_does_not_go_on_with_other_arguments():
    pages = to_pages(SETTINGS, 0, Fleet(**SETTINGS).shard_arrays(0))
    Task(SETTINGS, pages)
    with pytest.raises(ValueError, match="the state was made with"):
        Task(SETTINGS | {"seed": 4}, pages)


def test_the_processor_takes_over_the_pages_of_a_history(rows, local):
    cut = 800
    history, rest = rows.iloc[:cut], rows.iloc[cut:]
    _, fleet = said_locally(history, SETTINGS)
    processor = ShardProcessor(SETTINGS, ANSWERED)
    tester = TwsTester(processor)
    answers = []
    for shard, own in prepared(rest, 8).groupby("shard"):
        pages = to_pages(SETTINGS, shard, fleet.shard_arrays(shard))
        start = pd.DataFrame(
            [(*p, c) for p, c in pages.items()], columns=[*Page._fields, "content"]
        )
        tester.handle.setGroupingKey(shard)
        processor.handleInitialState(shard, start, None)
        answers.append(played_by(tester, shard, own))
    predicted = pd.concat(answers).set_index("id")["prediction"].sort_index()
    assert (predicted == local[0].loc[predicted.index]).all()
    assert len(predicted) == rest["score"].notna().sum()


def waiting_row(id_, seconds, holds):
    return refused_row(shard=5, holds=holds, id=id_, time=seconds * 1_000_000)


def patient_tester():
    return TwsTester(
        ShardProcessor(SETTINGS, ANSWERED, wait=100.0),
        timeMode="EventTime",
        eventTimeExtractor=lambda row: 2**40,  # noqa: ARG005 - no value of packed rows is late
    )


@pytest.mark.parametrize(
    "batches", [[[0, 1, 2, 3, 4, 5]], [[0, 1, 4], [2], [3], [5]], [[0, 1, 4], [5], [2], [3]]]
)
def test_an_outcome_later_than_the_wait_is_refused_whatever_the_batches(batches):
    made, known = KEY | ID | SCORE | TIME, KEY | ID | OUTCOME | TIME
    rows = pd.DataFrame(
        [
            waiting_row(1, 100, made),
            waiting_row(2, 150, made),
            waiting_row(1, 201, known),
            waiting_row(2, 250, known),
            waiting_row(3, 160, made),
            waiting_row(3, 300, known),
        ]
    )
    tester = patient_tester()
    answers = pd.concat([played_by(tester, 0, rows.iloc[own]) for own in batches])
    told = answers[answers["reason"].notna()]
    assert sorted(told["id"]) == [1, 3]
    assert told["reason"].str.contains("expired").all()


def test_a_timer_gives_up_predictions_without_outcome():
    made = KEY | ID | SCORE | TIME
    tester = patient_tester()
    played_by(tester, 0, pd.DataFrame([waiting_row(i, 100 + 10 * i, made) for i in range(3)]))

    def pending():
        pages = {Page(*k): v for k, (v,) in tester.peekMapState(STATE, 0).items()}
        settings, shards = from_pages(pages)
        return sorted(Fleet.from_shards(settings, shards).waiting())

    for watermark, left in ((200_000, [0, 1, 2]), (205_000, [1, 2]), (215_000, [2]), (10**6, [])):
        tester.setWatermark(watermark)
        assert pending() == left
