"""Files as streams of Spark, and queries that play them to their end."""

from __future__ import annotations

import os

import numpy as np
from pyspark.errors import StreamingQueryException

from calibrant.integrations.spark import recalibrate, to_folder
from integrations.spark.made import SETTINGS

NAMES = {"key": "key", "score": "score", "outcome": "outcome", "time": "time", "id": "id"}
TYPES = "key bigint, id bigint, score double, outcome double, time timestamp_ntz"


def in_pandas(frame):
    """A frame in pandas, without the warnings of toPandas about pandas 3."""
    return frame.toArrow().to_pandas()


def written(rows, folder, batches):
    """Write rows as files, one per batch, a second apart: Spark reads them by their time."""
    folder.mkdir()
    for number, own in enumerate(np.array_split(np.arange(len(rows)), batches)):
        path = folder / f"{number:03}.parquet"
        rows.iloc[own].to_parquet(path)
        os.utime(path, (1e9 + number, 1e9 + number))
    return str(folder)


def run(spark, source, tmp_path, name, types=TYPES, **arguments):
    """Play all files as a stream, one per batch; return the answers and the checkpoint."""
    rows = (
        spark.readStream.schema(types)
        .option("maxFilesPerTrigger", 1)
        .option("latestFirst", "false")
        .parquet(source)
    )
    checkpoint, out = str(tmp_path / f"{name}-checkpoint"), str(tmp_path / f"{name}-out")
    query = (
        recalibrate(rows, **(NAMES | SETTINGS | arguments))
        .writeStream.foreachBatch(to_folder(out))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
    )
    to_the_end(query)
    return in_pandas(spark.read.parquet(out)), checkpoint


def to_the_end(query, starts=10):
    """Play a query to its end.

    Spark gives a Python worker ten seconds to start, which can be too few on a busy machine. The
    query then fails, and goes on from its checkpoint when it is started again.
    """
    for left in reversed(range(starts)):
        try:
            query.start().awaitTermination()
            return
        except StreamingQueryException as error:
            if left == 0 or "failed to connect back" not in str(error):
                raise
