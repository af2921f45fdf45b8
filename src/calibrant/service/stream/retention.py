"""Rows that are deleted bit by bit: those of deleted streams, and finished ones that are too old.

A row may be deleted once no snapshot needs it: a start continues from the newest snapshot, or from
the one before if that is damaged, and replays the log after it. So only rows up to the older of the
two are deleted, with their outcomes, and no pending rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from calibrant.service.store.base import Store
from calibrant.service.store.records import StoreError
from calibrant.service.stream.stream import Stream

#: Rows that are looked at, or deleted, between two groups; and seconds between two looks at a
#: stream.
PORTION, PERIOD = 2000, 60.0


class Retention:
    """What is to be deleted in all streams, a portion at a time in the owner's thread."""

    def __init__(self, store: Store, log_failure: Callable[[str], None]) -> None:
        self.store, self.log_failure = store, log_failure
        #: Whether there may be rows of streams that were deleted; None until the first look.
        self.has_dropped: bool | None = None
        self._looked: dict[int, float] = {}
        self._rests_until = -math.inf
        self._trimming: tuple[Stream, Iterator[None]] | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether there is more to do at once."""
        is_busy = bool(self.has_dropped) or self._trimming is not None
        return is_busy and self._rests_until == -math.inf

    def forget(self, stream: Stream) -> None:
        """Skip a stream that is being changed, or no longer exists."""
        if self._trimming is not None and self._trimming[0] is stream:
            self._trimming = None

    def step(self, streams: Iterable[Stream], now: float) -> None:
        """Delete a portion; if the store fails, it is tried again later."""
        if now < self._rests_until:
            return
        self._rests_until = -math.inf
        try:
            self._delete(streams, now)
        except StoreError as error:
            self._trimming, self._rests_until = None, now + PERIOD
            self.log_failure(f"old rows could not be deleted: {error}")

    def _delete(self, streams: Iterable[Stream], now: float) -> None:
        if self.has_dropped is not False:
            self.has_dropped = self.store.purge(PORTION)
        if self._trimming is None:
            for stream in streams:
                is_kept = stream.definition.retention_seconds is None
                if not is_kept and now - self._looked.get(stream.number, -PERIOD) >= PERIOD:
                    self._looked[stream.number] = now
                    self._trimming = stream, self._trim(stream, now)
                    break
        if self._trimming is not None and next(self._trimming[1], self) is self:
            self._trimming = None

    def _trim(self, stream: Stream, now: float) -> Iterator[None]:
        """Delete what is finished and too old, a portion at each step."""
        snapshots = self.store.snapshot_sequences(stream.number)
        last = stream.engine.tallies.last_prediction
        if stream.definition.clock == "client" and last is not None:
            now = last  # what is old depends on the clients' clock too
        if len(snapshots) < 2 or stream.definition.retention_seconds is None:
            return
        end, before = snapshots[1], now - stream.definition.retention_seconds
        reached, known = 0, stream.engine.book.known
        while rows := self.store.finished(stream.number, reached, end, PORTION):
            reached = rows[-1][0]
            old = [
                id_
                for _, id_, at, came in rows
                if at < before and (came is None or came <= end) and id_ not in known
            ]
            if old:
                trimmed = max(end, stream.trimmed)
                self.store.rewrite(stream.row(trimmed=trimmed), old)
                stream.trim(trimmed)
            elif all(at >= before for _, _, at, _ in rows):
                return
            yield
