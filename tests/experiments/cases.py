"""A small plan of a sweep, and what its tests look at."""

import pyarrow.parquet as pq

from calibrant.experiments import parquet, plan

FORECASTERS = ["zoom", "foster-hart:horizon=T", "swap:intervals=5"]
STREAMS = ["drift", "iid:mean=0.3", "chaser", "quakes6h"]
TASKS = plan(FORECASTERS, STREAMS, [200, 500], seeds=3)


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def rows_of(folder):
    """Return the table in a folder as it is, row by row."""
    return pq.ParquetFile(folder / parquet.NAME).read().to_pylist()


def stop_after(tasks):
    """Return a callback that interrupts a sweep once so many tasks are finished."""

    def advance(progress):
        if progress.tasks >= tasks:
            raise KeyboardInterrupt

    return advance
