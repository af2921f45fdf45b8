"""Locks that are free in a forked child.

A child has only the thread that forked. A lock that another thread held would stay locked there for
ever, and what it guards might be half changed. So a fork waits until all these locks are free, and
both processes go on with every one of them whole.

A thread may hold one of them while it takes or makes another: `Fleet.split` does. So a fork never
waits for a lock while it keeps others for long: it gives all of them back and begins anew.
"""

from __future__ import annotations

import os
import time
from threading import RLock
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from _thread import RLock as AnyLock

#: Seconds that a fork waits for one lock while it keeps others, and before it tries again.
PATIENCE, PAUSE = 0.05, 0.001

_making = RLock()  # no lock is made while a fork collects them
_locks: WeakSet[AnyLock] = WeakSet()
_held: list[AnyLock] = []


def forkable_lock() -> AnyLock:
    """Return a lock that one thread may take several times, and that a fork waits for."""
    with _making:
        lock = RLock()
        _locks.add(lock)
    return lock


def _take_all() -> None:
    while not _try_to_take_all():
        time.sleep(PAUSE)


def _try_to_take_all() -> bool:
    while True:
        _making.acquire()
        wanted = set(_locks).difference(_held)
        if not wanted:
            return True
        _making.release()
        for lock in wanted:
            if not lock.acquire(timeout=PATIENCE):
                while _held:
                    _held.pop().release()
                return False
            _held.append(lock)


def _give_back() -> None:
    while _held:
        _held.pop().release()
    _making.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back)
