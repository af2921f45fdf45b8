"""Rows per second of a fleet on Spark, and of the same query if it only counts rows.

The answers of the query and its state are then compared with a local fleet, bit for bit.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import machine
from benchmarks.spark.job import STATE, write_files
from benchmarks.spark.kills import check
from benchmarks.tables import table

PAGE = Path(__file__).with_suffix(".md")
COLUMNS = ["query", "rows/s on the wall", "µs of a core a row", "rows/s that 2 cores could do"]


def seconds_of(folder: Path, what: str, shards: int, cores: int) -> list[tuple[float, float]]:
    """Run one query in a separate process; return processor and wall seconds of its batches.

    The processor's are counted from the start; the wall's are those of each batch.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.job", folder, what, str(shards), str(cores)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("batch")]
    return [(float(each[2]), float(each[4])) for each in words]


def measure(folder: Path, what: str, shards: int, cores: int) -> list[str]:
    """Return a line of the table; the first batch, in which Java compiles, does not count."""
    files = sorted((folder / "in").glob("*.parquet"))
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in files[1:])
    batches = seconds_of(folder, what, shards, cores)
    wall = sum(seconds for _, seconds in batches[1:])
    used = batches[-1][0] - batches[0][0]
    return [
        what if what == "count" else f"{what}, {shards} shards",
        f"{rows / wall:,.0f}",
        f"{1e6 * used / rows:.1f}",
        f"{cores * rows / used:,.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--files", type=int, default=4, help="one per batch; the first is not timed"
    )
    parser.add_argument("--rows", type=int, default=500_000, help="rows a file")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[64])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--late", type=float, default=0.0, help="share of rows that wait")
    given = parser.parse_args()
    lines, compared = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(
            folder / "in", files=given.files, rows=given.rows, keys=given.keys, late=given.late,
            seed=0,
        )  # fmt: skip
        for shards in given.shards:
            for what in ("count", "recalibrate"):
                lines.append(measure(folder, what, shards, given.cores))
                print(*lines[-1], sep="; ", flush=True)
                if what == "recalibrate":
                    compared.append(f"{shards} shards: {check(folder, shards)}.")
                    print(compared[-1], flush=True)
                    (folder / STATE).unlink()
                for left in (what, f"{what}-checkpoint"):
                    shutil.rmtree(folder / left)
    title = f"Batches of {given.rows:,} rows on {given.keys:,} keys, `local[{given.cores}]`"
    PAGE.write_text(
        f"# Spark\n\nMeasured on {machine.describe()}, by `python -m benchmarks.spark.throughput`; "
        f"on average {os.getloadavg()[2]:.0f} processes wanted the cores.\n\n"
        f"{table(title, COLUMNS, lines)}\n" + "\n".join(compared) + "\n"
    )


if __name__ == "__main__":
    main()
