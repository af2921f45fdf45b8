"""The keys of a stream by rank. Of many keys, as they were some seconds ago.

To rank a million keys takes a fifth of a second of the thread that answers everybody, and a page
asks every second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from calibrant import Fleet
from calibrant.fleet import KnownKey

#: Keys for which a ranking is kept a second; fewer are ranked whenever somebody asks.
MANY = 100_000
#: Rankings that are kept.
MOST = 16

Ranking = list[tuple[int | str, KnownKey]]


class Rankings:
    """What was asked lately, and until when the answer is good."""

    def __init__(self, fleet: Fleet, now: Callable[[], float] = time.monotonic) -> None:
        self._fleet, self._now = fleet, now
        self._kept: dict[tuple[str, int, int], tuple[float, Ranking]] = {}

    def ranked(self, by: str, count: int, start: int) -> Ranking:
        """Return what `Fleet.ranked` returns, or returned up to some seconds ago."""
        asked = (by, count, start)
        until, found = self._kept.pop(asked, (0.0, []))
        if until <= self._now():
            found = self._fleet.ranked(by, count, start)
            until = self._now() + len(self._fleet) / MANY
        if len(self._fleet) > MANY:
            self._kept[asked] = until, found
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        return found
