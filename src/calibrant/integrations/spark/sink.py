"""A sink that is written exactly once: every batch has its own folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_folder(path: str) -> Callable[[DataFrame, int], None]:
    """Return a function for `foreachBatch` that writes answers as Parquet, by number of batch.

    A batch that is played again after a crash replaces what it wrote before. Refused rows stand
    apart: ``spark.read.parquet(path).where("answer = 'prediction'")`` does not read them; theirs is
    ``answer = 'refusal'``.

    Examples
    --------
    >>> sink = to_folder("answers/")
    >>> query = (  # doctest: +SKIP
    ...     answers.writeStream.foreachBatch(sink)
    ...     .option("checkpointLocation", "checkpoint/")
    ...     .start()
    ... )
    """

    def write(answers: DataFrame, batch: int) -> None:
        answer = sql.when(sql.col("reason").isNull(), "prediction").otherwise("refusal")
        (
            answers.withColumn("answer", answer)
            .write.mode("overwrite")
            .partitionBy("answer")
            .parquet(f"{path.rstrip('/')}/batch={batch}")
        )

    return write
