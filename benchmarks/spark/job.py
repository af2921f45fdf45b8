"""A streaming query on files, one file per batch, which the benchmarks start, kill and restart.

Its arguments: the folder to work in, then ``recalibrate`` or ``count``, the shards, the cores.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

TYPES = "key bigint, id bigint, score double, outcome double, time timestamp_ntz"
BEGUN = "the query has begun"
#: The fleet that the query's state holds in the end.
STATE = "state.fleet"
NAMES = {"key": "key", "score": "score", "outcome": "outcome", "time": "time", "id": "id"}


def write_files(folder: Path, *, files: int, rows: int, keys: int, late: float, seed: int) -> None:
    """Write a stream as Parquet: some rows wait, for outcomes up to half a file later."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    left = None
    for number in range(files):
        score, key = rng.random(rows), rng.integers(0, keys, rows)
        outcome = (rng.random(rows) < score**2).astype(float)
        micros = np.arange(rows) + rows * number
        made = pd.DataFrame(
            {"key": key, "id": micros, "score": score, "outcome": outcome, "time": micros}
        )
        waits = rng.random(rows) < late
        follow = made[waits].assign(score=np.nan)
        follow["time"] += rng.integers(1, max(rows // 2, 2), len(follow))
        made.loc[waits, "outcome"] = np.nan
        frame = pd.concat([made, follow] if left is None else [left, made, follow])
        is_now = frame["time"] < (number + 1) * rows
        if number == files - 1:
            is_now[:] = True
        frame, left = frame[is_now], frame[~is_now]
        frame = frame.sort_values(["time", "outcome"], kind="stable")
        frame["time"] = pd.to_datetime(frame["time"], unit="us").astype("datetime64[us]")
        path = folder / f"{number:04}.parquet"
        frame.to_parquet(path, index=False)
        os.utime(path, (1e9 + number, 1e9 + number))  # Spark reads files by their time


def session(folder: Path, cores: int):
    """Return a session that keeps what it needs in the folder."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - not in the process that only kills

    from calibrant.integrations.spark import CONFIGURATION  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = CONFIGURATION | {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(folder / "local"),
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def processor_time() -> float:
    """Return the processor's seconds so far of this process, the Java runtime and the workers.

    What a busy machine does to the clock on the wall, it does not do to these.
    """
    import psutil  # noqa: PLC0415

    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def run(folder: Path, what: str, shards: int, cores: int) -> list[float]:
    """Play all files that are not played yet; return the seconds of each batch."""
    from pyspark.sql import functions as sql  # noqa: PLC0415

    from calibrant.integrations.spark import fleet_in, recalibrate, to_folder  # noqa: PLC0415

    spark = session(folder, cores)
    rows = spark.readStream.schema(TYPES).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    write = to_folder(f"{folder}/{what}")
    if what == "count":
        task = (sql.shiftrightunsigned(sql.xxhash64("key"), 32) % shards).alias("task")
        answers = rows.groupBy(task).count().withColumn("reason", sql.lit(None).cast("string"))
    else:
        answers = recalibrate(rows, **NAMES, shards=shards)
    seconds, last = [], [time.perf_counter()]

    def sink(frame, batch):
        write(frame, batch)
        seconds.append(time.perf_counter() - last[0])
        last[0] = time.perf_counter()
        print(f"batch {batch}: {processor_time():.2f} cpu, {seconds[-1]:.2f} s", flush=True)

    query = (
        answers.writeStream.foreachBatch(sink)
        .outputMode("update" if what == "count" else "append")
        .option("checkpointLocation", f"{folder}/{what}-checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    print(BEGUN, flush=True)
    query.awaitTermination()
    if what == "recalibrate":
        fleet_in(spark, f"{folder}/{what}-checkpoint").save(folder / STATE)
    spark.stop()
    return seconds


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
