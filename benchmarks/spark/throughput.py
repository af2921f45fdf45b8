"""Rows a second of a fleet on Spark, beside the same query that only counts rows."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import machine
from benchmarks.spark.job import write_files


def seconds_of(folder: Path, what: str, parts: int, cores: int) -> list[tuple[float, float]]:
    """Run one query in a process of its own; return processor and wall seconds of its batches.

    The processor's are counted from the start; the wall's are those of each batch.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.job", folder, what, str(parts), str(cores)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("batch")]
    return [(float(each[2]), float(each[4])) for each in words]


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
                batches = seconds_of(folder, what, parts, given.cores)
                wall = sum(seconds for _, seconds in batches[1:])
                used = batches[-1][0] - batches[0][0]
                print(
                    f"{what}, {parts} parts: {rows / wall:,.0f} rows/s "
                    f"({', '.join(f'{seconds:.1f}' for _, seconds in batches)} s a batch); "
                    f"{1e6 * used / rows:.1f} us of a core a row: {given.cores * rows / used:,.0f} "
                    f"rows/s if {given.cores} cores did nothing else",
                    flush=True,
                )
                for left in (what, f"{what}-checkpoint"):
                    subprocess.run(["rm", "-rf", str(folder / left)], check=True)


if __name__ == "__main__":
    main()
