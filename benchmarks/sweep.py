"""How much faster two workers finish the default sweep than one."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.tables import table
from calibrant.experiments import parquet

TITLE = "Sweeps"
REPEATS = 2
LEAST = 1.7
PROGRAM = Path(sys.executable).parent / "calibrant"


def seconds(workers, folder):
    """Return how long ``calibrant compare`` takes from start to end, into an empty folder."""
    started = time.perf_counter()
    subprocess.run(
        [PROGRAM, "compare", "--workers", str(workers), "--out", folder],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - started


def tables(progress):
    """Return the table of this module."""
    times, written = {1: [], 2: []}, set()
    for repeat in range(REPEATS):
        for workers, taken in times.items():
            progress(f"sweep: {workers} workers, {repeat + 1} of {REPEATS}")
            with tempfile.TemporaryDirectory() as folder:
                taken.append(seconds(workers, folder))
                written.add((Path(folder) / parquet.NAME).read_bytes())
    assert len(written) == 1, "the results depend on the number of workers"
    one, two = (min(taken) for taken in times.values())
    yield table(
        f"The default sweep, `calibrant compare`, best of {REPEATS}",
        ["workers", "seconds", "times as fast", "at least"],
        [["1", f"{one:.1f}", "1", ""], ["2", f"{two:.1f}", f"{one / two:.2f}", str(LEAST)]],
    )
