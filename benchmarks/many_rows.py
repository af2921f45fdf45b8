"""A hundred million rows through one fleet: ``python -m benchmarks many_rows``, with ``--help``.

Rows are generated and processed in chunks, so that memory holds the fleet and one chunk. river's
predict + learn alternates with the chunks, so that other load on the machine slows both equally.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from benchmarks import machine
from benchmarks.fleet import memory, river_pair, rows_of
from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import Fleet

CHUNK = 2**20
#: Keys, rows, and whether all keys are asked for as often (or the k-th most 1/k as often).
SIZES = [(10**6, 10**8, False), (10**7, 2 * 10**7, True)]
PAGE = Path(__file__).with_suffix(".md")
COLUMNS = [
    "fleet", "rows/s of a core", "of river's pair", "keys seen", "bytes a key",
    "resident MB, most, a chunk of rows included",
]  # fmt: skip


def play(keys: int, rows: int, is_even: bool) -> list[str]:
    """Play rows through a new fleet; return a line of the table."""
    random, pair, fleet = np.random.default_rng(0), RiverPair(), Fleet()
    before, spent, pairs = memory("VmRSS"), [], []
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        chunks = range(0, rows, CHUNK)
        task = progress.add_task(f"{keys:,} keys, chunks of {CHUNK:,} rows", total=len(chunks))
        for start in chunks:
            batch = rows_of(random, keys, is_even, min(CHUNK, rows - start))
            begun = time.process_time_ns()
            fleet.run(*batch)
            spent.append((time.process_time_ns() - begun) / len(batch[0]))
            pairs.append(river_pair(pair))
            progress.advance(task)
    return [
        f"{keys:,} keys, {rows:,} rows, {'even' if is_even else 'Zipf'}",
        f"{1e9 / np.mean(spent):,.0f}",
        f"{np.median(spent) / np.median(pairs):.3f}",
        f"{len(fleet):,}",
        f"{fleet.nbytes / len(fleet):.0f}",
        f"{(memory('VmHWM') - before) / 1e6:,.0f}",
    ]


def main(arguments: list[str]) -> None:
    """Play what was asked for; without arguments all sizes, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks many_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--keys", type=int, default=10**6)
    parser.add_argument("--even", action="store_true", help="all keys alike, instead of Zipf")
    given = parser.parse_args(arguments)
    sizes = [(given.keys, given.rows, given.even)] if arguments else SIZES
    # A process each: the most that was resident is that of its fleet alone.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone:
        lines = [alone.submit(play, *size).result() for size in sizes]
    page = (
        f"# Many rows\n\nMeasured on {machine.describe()}, by `python -m benchmarks many_rows`; on "
        f"average {os.getloadavg()[2]:.0f} processes wanted the cores.\n\n"
        + table("`Fleet.run`, rows made and played a chunk at a time", COLUMNS, lines)
    )
    print(page)
    if not arguments:
        PAGE.write_text(page)
