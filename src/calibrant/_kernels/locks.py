"""Locks that are free in a forked child.

A child has only the thread that forked. A lock held by another thread would stay locked there
forever, and the state it protects might be half changed. So a fork waits until all these locks are
free, and both processes continue with all of them free and the state consistent.

To prevent deadlocks, a thread that holds a lock may only take another with a later `Order`, or one
that it has just created, which no other thread knows. tests/rounds/test_locks.py checks this
while all public methods are called. The garbage collector may run while a lock is held, and call
arbitrary code. So a fork never holds locks for long while it waits for another: it releases all of
them and starts again. It takes these locks before those of `logging`, whose handlers are removed by
such callbacks: hooks run in the reverse order of their registration.
"""

from __future__ import annotations

import logging  # noqa: F401 - its hook must be registered before ours
import os
import time
from enum import IntEnum
from threading import Lock, RLock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from _thread import RLock as AnyLock

#: Seconds that a fork waits for a lock while it holds others, doubled in each try up to the
#: longest, so that it succeeds on a busy machine; and the pause before it tries again.
PATIENCE, LONGEST, PAUSE = 0.05, 2.0, 0.001


class Order(IntEnum):
    """What a lock protects, in the order in which a thread may take several."""

    FLEET = 0
    BOOK = 1
    MAKING = 2


_forking = Lock()  # one thread forks at a time
_making = RLock()  # the last of all: no lock is made while a fork collects them
_locks: WeakKeyDictionary[AnyLock, Order] = WeakKeyDictionary()
_held: list[AnyLock] = []


def forkable_lock(order: Order) -> AnyLock:
    """Return a lock that one thread may take several times, and that a fork waits for."""
    with _making:
        lock = RLock()
        _locks[lock] = order
    return lock


def _take_all() -> None:
    _forking.acquire()
    patience = PATIENCE
    while not _try_to_take_all(patience):
        time.sleep(PAUSE)
        patience = min(2.0 * patience, LONGEST)


def _try_to_take_all(patience: float) -> bool:
    while True:
        _making.acquire()
        wanted = set(_locks).difference(_held)
        if not wanted:
            return True
        _making.release()
        for lock in sorted(wanted, key=_locks.__getitem__):
            if not lock.acquire(timeout=patience):
                while _held:
                    _held.pop().release()
                return False
            _held.append(lock)


def _give_back() -> None:
    while _held:
        _held.pop().release()
    _making.release()
    _forking.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back)
