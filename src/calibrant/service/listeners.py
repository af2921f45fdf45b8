"""Clients that follow events: each has a bounded queue, and is dropped if it does not keep up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from calibrant.service.store.records import EventRow

#: Events that may wait for one listener, and listeners at once.
MOST_WAITING, MOST_LISTENERS = 1000, 200


class Listener:
    """One client: new events, and the names of streams that have changed since."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.events: list[EventRow] = []
        self.changed: set[str] = set()
        self.is_dropped = False
        self.wake = asyncio.Event()

    def take(self) -> tuple[list[EventRow], set[str]]:
        """Return what is new; in the listener's own loop."""
        self.wake.clear()
        events, self.events = self.events, []
        changed, self.changed = self.changed, set()
        return events, changed


class Listeners:
    """All listeners; may be called from any thread."""

    def __init__(self) -> None:
        self._all: set[Listener] = set()
        self._lock = threading.Lock()
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._all)

    def add(self) -> Listener | None:
        """Return a new listener in the running loop, None if there are too many."""
        with self._lock:
            if len(self._all) >= MOST_LISTENERS or self.is_closed:
                return None
            listener = Listener(asyncio.get_running_loop())
            self._all.add(listener)
            return listener

    def remove(self, listener: Listener) -> None:
        """Remove a listener."""
        with self._lock:
            self._all.discard(listener)

    def close(self) -> None:
        """Drop all listeners."""
        self.is_closed = True
        for listener in self._listening():
            self._in_loop(listener, lambda one=listener: setattr(one, "is_dropped", True))

    def publish(self, event: EventRow) -> None:
        """Add an event to all queues."""

        def put(listener: Listener) -> None:
            if len(listener.events) >= MOST_WAITING:
                listener.is_dropped = True
            else:
                listener.events.append(event)

        for listener in self._listening():
            self._in_loop(listener, lambda one=listener: put(one))

    def mark(self, names: Iterable[str]) -> None:
        """Mark streams as changed for all listeners."""
        changed = set(names)
        for listener in self._listening():
            if not changed <= listener.changed:
                self._in_loop(listener, lambda one=listener: one.changed.update(changed))

    def _listening(self) -> list[Listener]:
        with self._lock:
            return list(self._all)

    def _in_loop(self, listener: Listener, change: object) -> None:
        def run() -> None:
            change()  # type: ignore[operator]
            listener.wake.set()

        try:
            listener.loop.call_soon_threadsafe(run)
        except RuntimeError:  # its loop is closed
            self.remove(listener)
