"""Rows a second of a fleet on Spark, beside the same query that only counts rows."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import machine
from benchmarks.spark.job import write_files


def seconds_of(folder: Path, what: str, parts: int, cores: int) -> list[float]:
    """Run one query in a process of its own; return the seconds of its batches."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.job", folder, what, str(parts), str(cores)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(line.split()[-2]) for line in done.stdout.splitlines() if "batch" in line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5, help="one a batch; the first is not timed")
    parser.add_argument("--rows", type=int, default=500_000, help="rows a file")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--parts", type=int, nargs="+", default=[64])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--late", type=float, default=0.0, help="share of rows that wait")
    given = parser.parse_args()
    print(machine.describe())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(
            folder / "in", files=given.files, rows=given.rows, keys=given.keys, late=given.late,
            seed=0,
        )  # fmt: skip
        files = sorted((folder / "in").glob("*.parquet"))
        rows = sum(pq.ParquetFile(file).metadata.num_rows for file in files[1:])
        for parts in given.parts:
            for what in ("count", "recalibrate"):
                seconds = seconds_of(folder, what, parts, given.cores)
                total = sum(seconds[1:])
                print(
                    f"{what}, {parts} parts: {rows / total:,.0f} rows/s "
                    f"({', '.join(f'{each:.1f}' for each in seconds)} s a batch)"
                )
                for left in (what, f"{what}-checkpoint"):
                    subprocess.run(["rm", "-rf", str(folder / left)], check=True)


if __name__ == "__main__":
    main()
