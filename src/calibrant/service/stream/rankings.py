"""The keys of a stream by rank. Of many keys, as they were some seconds ago.

Ranking a million keys takes a fifth of a second of the thread that answers every request, and a
page asks every second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from calibrant import Fleet
from calibrant.fleet import KeyMiscalibration, KnownKey
from calibrant.service.stream.key_watch import KeyWatch
from calibrant.service.stream.keys import Key

#: A ranking is kept for a second for so many keys; fewer are ranked at every request.
MANY = 100_000
#: Rankings that are kept.
MOST = 16


class Rankings:
    """Recent answers, and until when each is valid."""

    def __init__(
        self,
        fleet: Fleet,
        watch: KeyWatch | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleet, self._watch, self._now = fleet, watch, now
        self._kept: dict[tuple[str, int, int], tuple[float, list[Any]]] = {}

    def ranked(self, by: str, count: int, start: int) -> list[tuple[Key, KnownKey]]:
        """Return what `Fleet.ranked` returns, or returned up to some seconds ago."""
        return self._valid((by, count, start), lambda: self._fleet.ranked(by, count, start))

    def miscalibrated(self, of: str, count: int) -> list[KeyMiscalibration]:
        """Return the miscalibrated keys, or those of up to some seconds ago, of monitored ones."""
        watch = self._watch
        return [] if watch is None else self._valid((of, count, 0), lambda: watch.ranked(of, count))

    def _valid(self, asked: tuple[str, int, int], ask: Callable[[], list[Any]]) -> list[Any]:
        """Return an answer that is still valid, or a new one."""
        until, found = self._kept.pop(asked, (0.0, []))
        if until <= self._now():
            found = ask()
            until = self._now() + len(self._fleet) / MANY
        if len(self._fleet) > MANY:
            self._kept[asked] = until, found
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        return found
