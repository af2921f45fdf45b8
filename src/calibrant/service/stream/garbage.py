"""Less frequent garbage collection while many rows are processed.

Rows are hundreds of thousands of tuples that are never part of a cycle: reference counting frees
them all, while the collector would find nothing and take a quarter of the time of a replay.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects between two collections: those of about ten batches of a thousand rows.
RARELY = 50_000


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause garbage collection to the end of the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_rarely() -> None:
    """Exempt what exists from garbage collection, and collect new objects rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(RARELY, *gc.get_threshold()[1:])
