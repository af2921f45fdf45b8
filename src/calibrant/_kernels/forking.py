"""Locks that are free in a forked child.

A child has only the thread that forked. A lock that another thread held would stay locked there for
ever, and what it guards might be half changed. So a fork waits until all these locks are free, and
both processes go on with every one of them whole.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from _thread import RLock as AnyLock

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
    _making.acquire()
    # No thread ever holds two of them, so that their order does not matter.
    _held.extend(_locks)
    for lock in _held:
        lock.acquire()


def _give_back() -> None:
    while _held:
        _held.pop().release()
    _making.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back)
