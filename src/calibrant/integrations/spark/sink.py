"""A sink that is written exactly once: every batch has its own folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_folder(path: str) -> Callable[[DataFrame, int], None]:
    """Return a function for `foreachBatch` that writes answers as Parquet, by number of batch.

    A batch that is played again after a crash replaces what it wrote before. The refused rows stand
    apart, so that ``spark.read.parquet(path).where("not refused")`` reads predictions only.
    """

    def write(answers: DataFrame, batch: int) -> None:
        (
            answers.withColumn("refused", sql.col("reason").isNotNull())
            .write.mode("overwrite")
            .partitionBy("refused")
            .parquet(f"{path.rstrip('/')}/batch={batch}")
        )

    return write
