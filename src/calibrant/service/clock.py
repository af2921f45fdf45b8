"""The server's clock, which does not jump while the service runs."""

from __future__ import annotations

import time


class SteadyClock:
    """The time of day at the start, and the seconds since then by a clock that only goes forward.

    When the system clock is changed, this one continues as before until the service is restarted:
    a clock that is wrong for a minute cannot make the deadlines of a whole year pass.
    """

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._start + time.monotonic()

    def jump(self) -> float:
        """Return by how many seconds the system's clock is ahead."""
        return time.time() - self.now()
