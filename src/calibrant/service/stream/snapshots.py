"""Snapshots: when they are due, and how a large one is written while requests are answered.

A large state is copied at once, serialized in a thread of its own, and written piece by piece, each
in a transaction between two groups. It is valid once its last piece is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from hashlib import sha256

from calibrant.service.store.base import Store
from calibrant.service.store.records import Group, PieceRow, SnapshotRow, StoreError
from calibrant.service.stream.stream import Stream

#: A snapshot is taken after so many rows, or after so many seconds if there are any; of a state
#: that is `LARGE` times n, after n times as many.
SNAPSHOT_ROWS, SNAPSHOT_SECONDS, LARGE = 200_000, 300.0, 2**25
#: Bytes that are written between two groups.
PIECE = 2**22
#: Seconds that the last snapshots may take.
LAST = 3.0
#: Seconds to wait for requests: while there is nothing to do, and while a state is serialized.
IDLE, MAKING = 1.0, 0.02


class Snapshots:
    """The snapshots of all streams, taken one at a time in the owner's thread.

    Parameters
    ----------
    store : Store
        Where they are stored.
    log_failure : callable
        Called with what went wrong with the store.
    """

    def __init__(self, store: Store, log_failure: Callable[[str], None]) -> None:
        self.store, self.log_failure = store, log_failure
        self._maker = ThreadPoolExecutor(1, "calibrant-snapshot")
        #: The snapshot that is being taken, of a stream.
        self._taken: tuple[Stream, Iterator[int]] | None = None
        self._made: Future[bytes] | None = None

    @property
    def patience(self) -> float:
        """Seconds for which the owner may wait for requests before the next step."""
        if self._taken is None:
            return IDLE
        return MAKING if self._made is not None and not self._made.done() else 0.0

    def step(self, streams: Iterable[Stream], now: float) -> None:
        """Take snapshots of streams that are due: about a piece of them."""
        written = 0
        due = (each for each in streams if is_due(each, now))
        while written < PIECE and self._is_taking(due, now):
            written += self._advance(now)
            if self._made is not None and not self._made.done():
                return

    def finish(self, streams: Iterable[Stream], now: float) -> None:
        """Take the last snapshots before the end, as far as there is time."""
        self._take_all(streams, now)
        self._maker.shutdown(wait=False, cancel_futures=True)

    def release(self, stream: Stream, now: float) -> None:
        """Take the last snapshot of a stream that another process will own."""
        self._take_all([stream], now)
        self.forget(stream)

    def forget(self, stream: Stream) -> None:
        """Discard the snapshot that is being taken, if it is of this stream."""
        if self._taken is not None and self._taken[0] is stream:
            self._taken = self._made = None

    def _take_all(self, streams: Iterable[Stream], now: float) -> None:
        """Take snapshots of streams with new rows, as far as time permits.

        Without one, the next owner replays more of the log, to the same state.
        """
        end = time.monotonic() + LAST
        left = (each for each in streams if each.sequence > each.kept)
        while self._is_taking(left, now):
            if time.monotonic() > end:
                self.log_failure("there was no time for all snapshots: the next start replays more")
                break
            self._advance(now)
            if self._made is not None:
                wait([self._made], timeout=max(end - time.monotonic(), 0.0))

    def _is_taking(self, due: Iterator[Stream], now: float) -> bool:
        """Whether a snapshot is being taken: one that was begun, or of the next stream."""
        if self._taken is None and (stream := next(due, None)) is not None:
            self._taken = stream, self._take(stream, now)
        return self._taken is not None

    def _advance(self, now: float) -> int:
        """Do the next step of the snapshot that is being taken; return the bytes written."""
        assert self._taken is not None
        stream, taking = self._taken
        try:
            return next(taking)
        except StopIteration:
            pass
        except StoreError as error:
            self.log_failure(f"no snapshot of stream {stream.name}: {error}")
        self._taken = self._made = None
        stream.kept_at = now
        return 0

    def _take(self, stream: Stream, now: float) -> Iterator[int]:
        """Take a snapshot step by step; yields the bytes that each has written."""
        yield from self._sweep(stream)
        sequence, frozen = stream.sequence, stream.engine.frozen()
        if stream.engine.learner.nbytes < LARGE:
            blob = frozen()
        else:
            self._made = self._maker.submit(frozen)
            while not self._made.done():
                yield 0
            blob, self._made = self._made.result(), None
        start, checksum = 0, sha256()
        while start + PIECE < len(blob):
            piece = PieceRow(stream.number, sequence, start // PIECE, blob[start : start + PIECE])
            self.store.write(Group(pieces=[piece]))
            checksum.update(piece.blob)
            start += PIECE
            yield PIECE
        checksum.update(blob[start:])
        last = SnapshotRow(stream.number, sequence, now, blob[start:], checksum.hexdigest())
        self.store.write(Group(snapshots=[last]))
        stream.kept, stream.kept_bytes = sequence, len(blob)
        yield len(last.blob)
        yield from self._sweep(stream)

    def _sweep(self, stream: Stream) -> Iterator[int]:
        """Delete the pieces of snapshots that were replaced, or never finished."""
        while self.store.drop_piece(stream.number):
            yield PIECE


def is_due(stream: Stream, now: float) -> bool:
    """Whether it is time for a snapshot of a stream."""
    rows, times = stream.sequence - stream.kept, max(1.0, stream.kept_bytes / LARGE)
    seconds = now - stream.kept_at
    is_time = rows >= times * SNAPSHOT_ROWS or seconds >= times * SNAPSHOT_SECONDS
    return rows > 0 and is_time


def pieces(blob: bytes) -> Iterator[bytes]:
    """Return a state as it is stored."""
    for start in range(0, len(blob), PIECE):
        yield blob[start : start + PIECE]
