"""Rows of a stream, and what a local fleet says of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.types import DoubleType, LongType, StringType, StructType

from calibrant import Fleet
from calibrant._kernels.fleet.key_batch import checked_keys, shards_of
from calibrant.integrations.spark.columns import ID, KEY, OUTCOME, SCORE, TIME
from calibrant.integrations.spark.packing import PACKED, pack, unpack

SETTINGS = {"seed": 3, "kind": "probability", "shards": 8, "capacity": 1000}
ANSWERED = StructType()
for name in ("shard", "holds", "key", "id", "time"):
    ANSWERED.add(name, LongType())
ANSWERED.add("score", DoubleType()).add("prediction", DoubleType()).add("reason", StringType())
ALL = KEY | ID | SCORE | OUTCOME | TIME


def stream(size: int, keys: int, seed: int, share_late: float = 0.3) -> pd.DataFrame:
    """Rows in order of time: some with score and outcome, others with an outcome that follows."""
    rng = np.random.default_rng(seed)
    key, score = rng.integers(0, keys, size), rng.random(size)
    outcome = (rng.random(size) < score**2).astype(float)
    late = rng.random(size) < share_late
    made = pd.DataFrame(
        {
            "key": key * 1_000_003 - 2**62,  # more than a float can hold
            "id": np.arange(size),
            "score": score,
            "outcome": np.where(late, np.nan, outcome),
            "time": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(size), unit="s"),
        }
    )
    follow = made[late].assign(score=np.nan, outcome=outcome[late])
    follow["time"] += pd.to_timedelta(rng.integers(1, 200, late.sum()), unit="s")
    rows = pd.concat([made, follow]).sort_values(["time", "outcome"], kind="stable")
    rows["time"] = rows["time"].astype("datetime64[us]")
    return rows.reset_index(drop=True)


def prepared(rows: pd.DataFrame, shards: int) -> pd.DataFrame:
    """Rows as Spark hands them to Python."""
    holds = np.full(len(rows), KEY | ID | TIME)
    holds += np.where(rows["score"].isna(), 0, SCORE)
    holds += np.where(rows["outcome"].isna(), 0, OUTCOME)
    return rows.fillna({"score": 0.0, "outcome": 0.0}).assign(
        shard=shards_of(checked_keys(rows["key"].to_numpy()).hashes(), shards),
        holds=holds,
        time=rows["time"].astype("int64"),
        sequence=0,
    )


def played_by(tester, task, rows: pd.DataFrame) -> pd.DataFrame:
    """The answers of a tester's processor to rows, packed in two values as Spark's batches are."""
    halves = [rows.iloc[: len(rows) // 2], rows.iloc[len(rows) // 2 :]]
    values = [
        pack(pa.RecordBatch.from_pandas(half.drop(columns="task", errors="ignore")))
        for half in halves
        if len(half)
    ]
    answers = tester.testInPandas(task, pd.DataFrame({PACKED: values}))
    return unpack(answers[PACKED])


def said_locally(rows: pd.DataFrame, settings: dict) -> tuple[pd.Series, Fleet]:
    """The predictions by id of a local fleet that is given one row after the other."""
    fleet, predicted = Fleet(**settings), {}
    micros = rows["time"].astype("int64")
    order = np.lexsort([rows["key"], rows["score"].isna(), micros])
    for key, name, score, outcome, time in zip(
        *(rows[c].to_numpy()[order].tolist() for c in ("key", "id", "score", "outcome")),
        (micros.to_numpy()[order] / 1e6).tolist(),
        strict=True,
    ):
        if np.isnan(score):
            assert fleet.update_many([outcome], ids=[name], at=time).tolist() == ["applied"]
        elif np.isnan(outcome):
            predicted[name] = fleet.predict_many([key], [score], ids=[name], at=time)[0]
        else:
            predicted[name] = fleet.run([key], [score], [outcome], at=time)[0]
    return pd.Series(predicted).sort_index(), fleet


def rows_with_deadlines(size: int, seed: int) -> pd.DataFrame:
    """Rows of a stream of which each prediction has a deadline after up to 150 seconds."""
    rows = stream(size, 40, seed=seed)
    ends = rows["time"] + pd.to_timedelta(1 + rows["id"] * 7 % 150, unit="s")
    return rows.assign(due=ends.where(~rows["score"].isna()))


def said_until(
    rows: pd.DataFrame, settings: dict, has_due: bool = False
) -> tuple[pd.Series, Fleet, list[str]]:
    """The predictions by id of a local fleet with deadlines, and what outcomes were answered."""
    fleet, predicted, answers = Fleet(**settings), {}, []
    rows = rows.assign(late=rows["score"].isna(), at=rows["time"].astype("int64") / 1e6)
    rows["end"] = rows["due"].astype("datetime64[us]").astype("int64") / 1e6
    for row in rows.sort_values(["at", "late", "key"], kind="stable").itertuples():
        if not row.late:
            due = {"due": row.end} if has_due else {}
            predicted[row.id] = fleet.predict_many(
                [row.key], [row.score], ids=[row.id], at=row.at, **due
            )[0]
        if not np.isnan(row.outcome):
            answers += fleet.update_many([row.outcome], ids=[row.id], at=row.at).tolist()
    return pd.Series(predicted).sort_index(), fleet, answers


def same_fleets(one: Fleet, other: Fleet) -> bool:
    """Whether two fleets hold the same, bit for bit, in the shards that have keys."""
    return all(
        one.shard_arrays(shard)[name].tobytes() == array.tobytes()
        for shard in range(other.shards)
        if other.shard_arrays(shard)["key_rows"].size
        for name, array in other.shard_arrays(shard).items()
        if not name.endswith("_index_table")
    )
