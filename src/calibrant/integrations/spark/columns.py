"""The columns of a stream: which they are, and rows that Python can read without loss.

A missing value is marked by a bit of `HOLDS`, and stored as zero or empty text: pandas would
turn an integer column with missing values into floats, and two keys of 64 bits into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql
from pyspark.sql.types import (
    DataType,
    DoubleType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from calibrant.integrations.spark.packing import TASK

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The bits of `holds`: what a row has.
KEY, ID, SCORE, OUTCOME, TIME, DUE = 1, 2, 4, 8, 16, 32


@dataclass(frozen=True)
class Columns:
    """The names of the columns that a recalibration reads."""

    key: str
    score: str
    outcome: str
    time: str
    id: str | None = None
    order: str | None = None
    due: str | None = None

    def check(self, frame: DataFrame) -> None:
        """Refuse columns that are not there or hold what cannot be used."""
        for role, kinds, allowed in (
            ("key", (IntegralType, StringType), "integers or strings"),
            ("id", (IntegralType, StringType), "integers or strings"),
            ("score", (NumericType,), "numbers"),
            ("outcome", (NumericType,), "numbers"),
            ("time", (TimestampType, TimestampNTZType), "timestamps"),
            ("order", (IntegralType,), "integers"),
            ("due", (TimestampType, TimestampNTZType), "timestamps"),
        ):
            name = getattr(self, role)
            if name is None:
                continue
            if name not in frame.columns:
                raise ValueError(
                    f"{role}={name!r} is not a column; there are {', '.join(frame.columns)}"
                )
            kind = frame.schema[name].dataType
            if not isinstance(kind, kinds):
                raise ValueError(
                    f"column {name!r} ({role}) must hold {allowed}, got {kind.simpleString()}"
                )

    def kind_of(self, frame: DataFrame, name: str) -> DataType:
        """Return the type in which a column of names goes to Python: bigint or string."""
        is_text = isinstance(frame.schema[name].dataType, StringType)
        return StringType() if is_text else LongType()

    def prepared(self, frame: DataFrame, shards: int, tasks: int) -> DataFrame:
        """Return the rows as `rows.py` reads them, each with its shard and its task."""
        names = (self.key, self.id, self.score, self.outcome, self.time, self.due)
        holds = sql.lit(0)
        for bit, name in zip((KEY, ID, SCORE, OUTCOME, TIME, DUE), names, strict=True):
            if name is not None:
                holds += sql.when(sql.col(_quoted(name)).isNotNull(), bit).otherwise(0)
        key = self._named(frame, self.key)
        # As `calibrant._kernels.fleet.key_batch.shards_of`: the upper half of the key's hash.
        shard = sql.shiftrightunsigned(sql.xxhash64(key), 32) % shards
        ends = [] if self.due is None else [_micros(self.due).alias("due")]
        return frame.select(
            (shard % tasks).cast("int").alias(TASK),
            shard.cast("int").alias("shard"),
            holds.cast("int").alias("holds"),
            key.alias("key"),
            (sql.lit("") if self.id is None else self._named(frame, self.id)).alias("id"),
            _number(self.score).alias("score"),
            _number(self.outcome).alias("outcome"),
            _micros(self.time).alias("time"),
            self._order().alias("sequence"),
            *ends,
        )

    def with_watermark(self, frame: DataFrame, late: str) -> DataFrame:
        """Return rows with Spark's watermark on their time, which must be one of a time zone."""
        time = sql.col(_quoted(self.time)).cast(TimestampType())
        return frame.withColumn(self.time, time).withWatermark(self.time, late)

    def _named(self, frame: DataFrame, name: str) -> Column:
        kind = self.kind_of(frame, name)
        empty = sql.lit("" if isinstance(kind, StringType) else 0).cast(kind)
        return sql.coalesce(sql.col(_quoted(name)).cast(kind), empty)

    def _order(self) -> Column:
        if self.order is None:
            return sql.lit(0).cast(LongType())
        return sql.coalesce(sql.col(_quoted(self.order)).cast(LongType()), sql.lit(0))

    def answered(self, frame: DataFrame) -> StructType:
        """Return the columns that come back from Python."""
        id_kind = StringType() if self.id is None else self.kind_of(frame, self.id)
        return StructType(
            [
                StructField("shard", LongType()),
                StructField("holds", LongType()),
                StructField("key", self.kind_of(frame, self.key)),
                StructField("id", id_kind),
                StructField("time", LongType()),
                StructField("score", DoubleType()),
                StructField("prediction", DoubleType()),
                StructField("reason", StringType()),
            ]
        )

    def named(self, answers: DataFrame, frame: DataFrame) -> DataFrame:
        """Return the answers under the names and with the types of the rows that came."""
        columns = [_held("key", KEY, self.key, frame)]
        if self.id is not None:
            columns.append(_held("id", ID, self.id, frame))
        time = sql.timestamp_micros("time").cast(frame.schema[self.time].dataType)
        columns.append(sql.when(_has(TIME), time).alias(self.time))
        columns.append(sql.when(_has(SCORE), sql.col("score")).alias(self.score))
        return answers.select(*columns, "shard", "prediction", "reason")


def _number(name: str) -> Column:
    return sql.coalesce(sql.col(_quoted(name)).cast(DoubleType()), sql.lit(0.0))


def _micros(name: str) -> Column:
    time = sql.col(_quoted(name)).cast(TimestampType())
    return sql.coalesce(sql.unix_micros(time), sql.lit(0))


def _held(column: str, bit: int, name: str, frame: DataFrame) -> Column:
    return sql.when(_has(bit), sql.col(column)).cast(frame.schema[name].dataType).alias(name)


def _has(bit: int) -> Column:
    return sql.col("holds").bitwiseAND(sql.lit(bit)) != 0


def _quoted(name: str) -> str:
    """Return a column's name as Spark reads it: a dot is shard of it."""
    return "`" + name.replace("`", "``") + "`"
