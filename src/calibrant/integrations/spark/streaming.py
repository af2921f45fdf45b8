"""Recalibration of a stream and of its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pyspark.sql import functions as sql
from pyspark.sql.types import StringType, StructType

from calibrant._checks import check_integer
from calibrant._spans import as_span
from calibrant.fleet.fleet import Fleet
from calibrant.integrations.spark.columns import Columns
from calibrant.integrations.spark.packing import PACKED, TASK, pack_tasks, unpack_answers
from calibrant.integrations.spark.processor import ShardProcessor
from calibrant.integrations.spark.rows import has_deadlines
from calibrant.integrations.spark.state import DEADLINES, PAGES, state_of
from calibrant.integrations.spark.task import Task, plain_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: What a session must be configured with, and what makes a commit write only what changed.
CONFIGURATION = {
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Predictions and refusals are written side by side; with one writer they would be sorted first.
    "spark.sql.maxConcurrentOutputFileWriters": "2",
}


class History(NamedTuple):
    """What was predicted of each row of a history, and the state that a stream starts from.

    Examples
    --------
    >>> predictions, state = recalibrate_batch(frame, **columns)  # doctest: +SKIP
    """

    predictions: DataFrame
    state: DataFrame


def recalibrate(
    stream: DataFrame,
    *,
    key: str,
    score: str,
    outcome: str,
    time: str,
    id: str | None = None,  # noqa: A002 - the word of every recalibrator
    order: str | None = None,
    shards: int = 64,
    tasks: int | None = None,
    seed: int = 0,
    kind: str = "probability",
    capacity: int = 100_000,
    due: str | None = None,
    silence: int | None = None,
    after: timedelta | str | None = None,
    hold: timedelta | str | None = None,
    wait: float | str | timedelta | None = None,
    late: str = "10 minutes",
    start: DataFrame | Fleet | None = None,
) -> DataFrame:
    """Return a stream of calibrated probabilities for a stream of scores and outcomes.

    A row with a score is predicted. A row with an outcome teaches: the prediction of its `id` if it
    has no score, itself if it has one. Every row has a key, outcomes too. What comes back, one row
    each, are predictions, and rows that were refused with the `reason`; see `docs/spark.md`.

    Parameters
    ----------
    stream : DataFrame
        A streaming data frame, in a session with `CONFIGURATION`.
    key, score, outcome, time, id, order : str
        Names of columns. Keys and ids are integers or strings. Rows of a batch are played in order
        of `time`; of rows at one time in that of `order`, then predictions first.
    shards, seed, kind, capacity
        Arguments of the `Fleet` to which the result is equal, bit for bit.
    tasks : int, optional
        Among so many tasks the shards are dealt out, one a shard by default. Not more than shards.
    silence, after, hold : optional
        As in `Fleet`: outcomes are learned at deadlines, in event time. Predictions need ids then.
    due : str, optional
        The column of each prediction's own deadline, with `silence` or `hold`: timestamps.
    wait : time, optional
        Expire a prediction without an outcome after so much event time: "30d", "12h", seconds.
        An outcome that comes later is refused. Not with `silence` or `hold`.
    late : str, default "10 minutes"
        With `wait`, how far rows may be behind others in event time: Spark's watermark.
    start : DataFrame or Fleet, optional
        What to begin with: the state of a `recalibrate_batch`, or a fleet with these arguments.

    Returns
    -------
    DataFrame
        The columns `key`, `id`, `time` and `score`, and `shard`, `prediction` and `reason`.

    Examples
    --------
    >>> rows = spark.readStream.schema(schema).parquet("rows/")  # doctest: +SKIP
    >>> answers = recalibrate(  # doctest: +SKIP
    ...     rows, key="shop", id="id", score="score", outcome="sold", time="at", shards=64
    ... )
    """
    columns = Columns(key, score, outcome, time, id, order, due)
    settings = settings_of(seed, kind, shards, capacity, silence, after, hold)
    check_deadlines(Fleet(**settings), columns, wait)
    tasks = checked_tasks(tasks, shards)
    columns.check(stream)
    session = stream.sparkSession
    if session.conf.get(PROVIDER, None) != ROCKSDB:
        raise ValueError(
            f"the session must keep state in RocksDB: spark.conf.set({PROVIDER!r}, {ROCKSDB!r}); "
            "calibrant.integrations.spark.CONFIGURATION has all settings"
        )
    initial = None
    if start is not None:
        state = state_of(session, start, settings) if isinstance(start, Fleet) else start
        initial = state.withColumn(TASK, sql.col("shard") % tasks).groupBy(TASK)
    seconds = None if wait is None else as_span(wait, "wait").length
    rows = stream if wait is None else columns.with_watermark(stream, late)
    answered = columns.answered(stream)
    answers = (
        columns.prepared(rows, shards, tasks)
        .mapInArrow(pack_tasks, f"{TASK} int, {PACKED} binary")
        .groupBy(TASK)
        .transformWithStateInPandas(
            ShardProcessor(settings, answered, seconds),
            f"{PACKED} binary",
            "append",
            "None" if wait is None else "EventTime",
            initial,
        )
        .mapInArrow(unpack_answers, answered)
    )
    return columns.named(answers, stream)


def recalibrate_batch(
    frame: DataFrame,
    *,
    key: str,
    score: str,
    outcome: str,
    time: str,
    id: str | None = None,  # noqa: A002 - the word of every recalibrator
    order: str | None = None,
    shards: int = 64,
    tasks: int | None = None,
    seed: int = 0,
    kind: str = "probability",
    capacity: int = 100_000,
    due: str | None = None,
    silence: int | None = None,
    after: timedelta | str | None = None,
    hold: timedelta | str | None = None,
    wait: float | str | timedelta | None = None,
) -> History:
    """Return the predictions of a history, and the state from which a stream continues.

    The arguments are those of `recalibrate`, and so is what is predicted of each row. A task's rows
    must fit into the memory of one worker. Both frames come from one computation, which is kept
    between their uses, on disk if need be.

    Examples
    --------
    >>> history = recalibrate_batch(  # doctest: +SKIP
    ...     spark.read.parquet("history/"), key="shop", score="score", outcome="sold", time="at"
    ... )
    >>> answers = recalibrate(  # doctest: +SKIP
    ...     rows, key="shop", score="score", outcome="sold", time="at", start=history.state
    ... )
    """
    columns = Columns(key, score, outcome, time, id, order, due)
    settings = settings_of(seed, kind, shards, capacity, silence, after, hold)
    check_deadlines(Fleet(**settings), columns, wait)
    tasks = checked_tasks(tasks, shards)
    columns.check(frame)
    answered = columns.answered(frame)
    both = StructType([*answered.fields, *(f for f in PAGES.fields if f.name != "shard")])
    played = (
        columns.prepared(frame, shards, tasks)
        .groupBy(TASK)
        .applyInPandas(player(settings, both, wait), both)
        .persist()
    )
    is_page = sql.col("content").isNotNull()
    rows = played.where(~is_page).select(*answered.names)
    pages = played.where(is_page).select(*(sql.col(f.name).cast(f.dataType) for f in PAGES.fields))
    return History(columns.named(rows, frame), pages)


def player(
    settings: Mapping[str, Any], schema: StructType, wait: float | str | timedelta | None
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that plays a task's rows and returns answers and pages in one frame."""
    # Nothing may be missing in a column of integers: pandas would make floats of all.
    empty = {
        field.name: "" if isinstance(field.dataType, StringType) else 0
        for field in schema.fields
        if field.name != "content"
    }

    seconds = None if wait is None else as_span(wait, "wait").length

    def played(rows: pd.DataFrame) -> pd.DataFrame:
        task = Task(settings, {}, seconds)
        answers = task.play(rows).assign(array="", number=0, content=None)
        pages = pd.DataFrame(
            [(*page, content) for page, content in task.pages().items()], columns=PAGES.names
        )
        both = [answers, pages.assign(**{k: v for k, v in empty.items() if k not in pages})]
        return plain_text(pd.concat(both, ignore_index=True)[schema.names])

    return played


def settings_of(
    seed: int, kind: str, shards: int, capacity: int, *deadlines: Any
) -> dict[str, Any]:
    """Return the arguments of the fleet, checked, as they can be saved; `DEADLINES` if given."""
    given = dict(zip(DEADLINES, deadlines, strict=True))
    fleet = Fleet(seed, kind, shards=shards, capacity=capacity, **given)
    names = [name for name in DEADLINES if given[name] is not None]
    return {each: getattr(fleet, each) for each in ("seed", "kind", "shards", "capacity", *names)}


def check_deadlines(fleet: Fleet, columns: Columns, wait: object) -> None:
    """Refuse deadlines that predictions of a stream cannot have."""
    if not has_deadlines(fleet):
        if columns.due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        return
    if columns.id is None:
        raise ValueError("with silence or hold predictions need ids, for their outcomes")
    if wait is not None:
        raise ValueError(
            "wait cannot be combined with silence or hold, which set when outcomes are learned"
        )
    if columns.due is None:
        span = fleet.after if fleet.hold is None else fleet.hold
        if span is None:
            raise ValueError("a prediction needs a deadline: due=..., or after=... for all")
        if not as_span(span, "the deadline").is_time:
            raise ValueError(f'a deadline after {span!r} has no unit; say "{span}d" or so')


def checked_tasks(tasks: int | None, shards: int) -> int:
    """Return the number of tasks."""
    return shards if tasks is None else check_integer("tasks", tasks, 1, shards)
