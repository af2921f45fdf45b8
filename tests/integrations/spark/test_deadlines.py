"""Shards with silence, hold and deadlines: what a local fleet says, given row after row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from calibrant import Fleet
from calibrant.integrations.spark.columns import DUE, ID, KEY, OUTCOME, SCORE, TIME
from calibrant.integrations.spark.processor import ShardProcessor
from calibrant.integrations.spark.rows import play
from integrations.spark.made import (
    ANSWERED,
    SETTINGS,
    played_by,
    prepared,
    rows_with_deadlines,
    said_until,
)

SILENCE, HOLD = {"silence": 0, "after": "100s"}, {"hold": "90s"}


def as_spark_hands_them(rows, has_due):
    """Rows with deadlines as Spark hands them to Python."""
    made = prepared(rows.drop(columns="due"), SETTINGS["shards"])
    if not has_due:
        return made
    holds = made["holds"] + np.where(rows["due"].isna(), 0, DUE)
    micros = rows["due"].astype("datetime64[us]").fillna(pd.Timestamp(0)).astype("int64")
    return made.assign(holds=holds, due=micros)


@pytest.mark.parametrize("has_due", [False, True])
@pytest.mark.parametrize("span", [SILENCE, HOLD])
@pytest.mark.parametrize(("tasks", "cuts"), [(8, []), (3, [300, 301, 700])])
def test_a_shard_learns_at_deadlines_whatever_shards_and_batches(span, has_due, tasks, cuts):
    rows, settings = rows_with_deadlines(800, seed=1), SETTINGS | span
    predicted, _, known = said_until(rows, settings, has_due)
    tester, answers = TwsTester(ShardProcessor(settings, ANSWERED)), []
    made = as_spark_hands_them(rows, has_due)
    for batch in np.split(np.arange(len(made)), cuts):
        shuffled = made.iloc[batch].sample(frac=1.0, random_state=len(batch))
        for task, own in shuffled.groupby(shuffled["shard"] % tasks):
            answers.append(played_by(tester, int(task), own))
    answers = pd.concat(answers)
    found = answers[answers["reason"].isna()].set_index("id")["prediction"].sort_index()
    pd.testing.assert_series_equal(found, predicted, check_exact=True, check_names=False)
    refused = answers["reason"].value_counts().to_dict()
    assert refused.get("another outcome was given before", 0) == known.count("conflict")
    assert refused.get("the outcome was given before", 0) == known.count("repeated")
    assert ("conflict" in known) == ("silence" in span)


def test_rows_without_an_id_or_a_deadline_are_refused():
    row = {"shard": 0, "holds": KEY | ID | SCORE | TIME | DUE, "key": 1, "id": 1, "score": 0.5}
    row |= {"outcome": 0.0, "time": 9, "sequence": 0, "due": 19}
    bad = [
        row,
        row | {"holds": row["holds"] - ID, "time": 10},
        row | {"holds": row["holds"] - DUE, "id": 2, "time": 11},
        row | {"id": 3, "time": 19},
        row | {"id": 1, "holds": KEY | ID | OUTCOME | TIME, "outcome": 0.5, "time": 12},
    ]
    fleet = Fleet(silence=0)
    found = play(fleet, pd.DataFrame(bad))
    assert found["reason"].fillna("").tolist() == [
        "",
        "a prediction with a deadline needs an id",
        "the deadline is missing",
        "with silence the outcome must be 0 or 1",
        "the deadline must be later than the time",
    ]
    assert fleet.rounds == 1


def test_a_batch_may_begin_with_outcomes():
    row = {"shard": 0, "holds": KEY | ID | OUTCOME | TIME, "key": 1, "id": 1, "score": 0.0}
    row |= {"outcome": 1.0, "time": 9, "sequence": 0, "due": 0}
    found = play(Fleet(silence=0), pd.DataFrame([row]))
    assert found["reason"].tolist() == ["no prediction with this id is pending"]
