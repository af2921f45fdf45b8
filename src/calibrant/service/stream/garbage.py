"""Python's search for garbage, made seldom where many rows are worked on.

Rows are tuples by the hundred thousand, none of which is part of a cycle: reference counts free
them all, and a search finds nothing, again and again, in a quarter of the time of a replay.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects between two searches: those of about ten batches of a thousand rows.
SELDOM = 50_000


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Put the search off to the end of the block; what is put off already stays so."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def search_seldom() -> None:
    """Let a process that serves look at what is there already never again, at new things seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
