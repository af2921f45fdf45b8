"""Memory and pace of ``calibrant recalibrate FILE --key``: files of growing length, the same keys.

``python -m benchmarks.keyed_files [ROWS ...]``. Resident memory must not grow with the rows.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks import machine

KEYS = 100_000
BATCH = 2**18


def write(path: Path, rows: int) -> None:
    """Write rows of random keys, scores and outcomes, a batch at a time."""
    schema = pa.schema([("key", pa.int64()), ("score", pa.float64()), ("y", pa.int64())])
    writer = pq.ParquetWriter if path.suffix == ".parquet" else pyarrow.csv.CSVWriter
    rng = np.random.default_rng(0)
    with writer(path, schema) as file:
        for start in range(0, rows, BATCH):
            size = min(BATCH, rows - start)
            score = rng.random(size).round(5)
            columns = [rng.integers(0, KEYS, size), score, (rng.random(size) < score**2) * 1]
            file.write_table(pa.table(columns, schema=schema))


def measure(path: Path) -> tuple[float, float]:
    """Return the seconds and the largest resident memory, in MB, of one run."""
    command = [sys.executable, "-m", "calibrant", "recalibrate", str(path), "--score", "score"]
    began = time.perf_counter()
    child = subprocess.Popen(
        [*command, "--outcome", "y", "--key", "key"], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    return time.perf_counter() - began, used.ru_maxrss / 1024


def main() -> None:
    counts = [int(float(each)) for each in sys.argv[1:]] or [10**6, 4 * 10**6, 16 * 10**6]
    print(machine.describe())
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".parquet", ".csv"):
            for rows in counts:
                path = Path(folder) / f"rows{ending}"
                write(path, rows)
                seconds, memory = measure(path)
                size = path.stat().st_size / 2**20
                print(
                    f"{ending} {rows:,} rows, {size:,.0f} MB: {memory:,.0f} MB resident, "
                    f"{1e6 * seconds / rows:.2f} us a row"
                )


if __name__ == "__main__":
    main()
