"""The store: what SQLite and PostgreSQL share, which is all but connections and bulk inserts.

A store knows nothing of probabilities. It keeps rows under unique keys, a group of them in one
transaction, and returns them in the order in which they were written.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from calibrant.service.store import statements as sql
from calibrant.service.store.log import merged
from calibrant.service.store.records import (
    DeliveryRow,
    EventRow,
    Group,
    Known,
    LoggedOutcomes,
    LoggedPredictions,
    PredictionRow,
    SnapshotRow,
    StoreError,
    StreamRow,
    TokenRow,
)

#: Rows fetched at once.
FETCHED = 5000
#: Above any sequence.
NO_END = 2**62

Rows = list[tuple[Any, ...]]
#: A shared statement and its parameters.
Query = tuple[str, Sequence[Any]]


class Store(ABC):
    """Streams, their rows, events and tokens. One thread writes; any thread reads.

    Every method raises `StoreError` if it fails, and has then changed nothing.
    """

    def __init__(self) -> None:
        self._writer: Any = None
        self._readers: list[Any] = []
        self._own = threading.local()

    # -- what a database does its own way -------------------------------------------------------

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def open(self, *, alone: bool = True) -> None:
        """Open the store for writing; `alone` is the one service that owns all streams."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections, and release the locks."""

    @abstractmethod
    def check(self) -> list[str]:
        """Read the whole store; return what is wrong with it, in sentences."""

    def lost(self) -> str | None:
        """Return why a store is no longer where it was opened; None if it is."""
        return None

    @abstractmethod
    def backup(self, path: str) -> None:
        """Copy the store into a new file while it is in use."""

    @abstractmethod
    def _errors(self, what: str) -> AbstractContextManager[None]:
        """Turn errors of the database into a `StoreError` that says what could not be done."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Do what the writer does in the block in one transaction, on the disk at its end."""

    @abstractmethod
    def _execute(self, statement: str, parameters: Sequence[Any]) -> Any:
        """Execute a shared statement with the writer; return its cursor."""

    @abstractmethod
    def _insert(self, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows with the writer; a key that is there already is an error."""

    @abstractmethod
    def _rows(self, statement: str, *parameters: Any) -> Rows:
        """Return the rows of a shared statement, read with this thread's own connection."""

    @abstractmethod
    def _one_view(self, size: int, *queries: Query) -> AbstractContextManager[list[Iterator[Rows]]]:
        """Read the rows of shared statements, so many at a time, all as of one moment."""

    @abstractmethod
    def _lock_new_stream(self, number: int) -> None:
        """Own a stream before any other process can see it."""

    @abstractmethod
    def _lock_events(self) -> None:
        """Let events be numbered in the order in which they can be seen."""

    # -- writing --------------------------------------------------------------------------------

    def _has_layout(self, found: Iterable[tuple[Any, ...]]) -> bool:
        """Return whether a store says how it is laid out; refuse one that this cannot read."""
        layouts = [layout for (layout,) in found]
        if layouts not in ([], [sql.LAYOUT]):
            raise StoreError(
                f"{self} has layout {layouts[0]}, and this version of calibrant reads "
                f"{sql.LAYOUT}: start a new store, or use the version that wrote this one"
            )
        return bool(layouts)

    def add_stream(
        self,
        name: str,
        settings: str,
        created: float,
        origin: Sequence[bytes] = (),
        checksum: str = "",
    ) -> StreamRow:
        """Add a stream; one that was adopted with the state it begins with, in pieces."""
        with self._transaction():
            number = int(self._execute(sql.ADD_STREAM, (name, settings, created)).fetchone()[0])
            self._lock_new_stream(number)
            for piece, blob in enumerate(origin[:-1]):
                self._execute(sql.ADD_PIECE, (number, 0, piece, blob))
            for blob in origin[-1:]:
                self._execute(sql.ADD_SNAPSHOT, (number, 0, created, blob, checksum))
        return StreamRow(number, name, settings, created)

    def write(self, group: Group) -> list[EventRow]:
        """Store a group, all of it or nothing, on the disk; return its events with numbers."""
        events = []
        with self._transaction():
            if group.predictions:
                self._insert("predictions", sql.PREDICTION, group.predictions)
            if group.outcomes:
                self._insert("outcomes", sql.OUTCOME, group.outcomes)
            if group.events:
                self._lock_events()
            for event in group.events:
                number = int(self._execute(sql.ADD_EVENT, event[1:]).fetchone()[0])
                events.append(event._replace(number=number))
            for piece in group.pieces:
                self._execute(sql.ADD_PIECE, piece)
            for snapshot in group.snapshots:
                self._execute(sql.ADD_SNAPSHOT, snapshot)
                self._execute(sql.DROP_SNAPSHOTS, (snapshot.stream, snapshot.stream))
        return events

    def rewrite(
        self,
        stream: StreamRow,
        erased: Sequence[str] = (),
        origin: Sequence[bytes] = (),
        snapshot: SnapshotRow | None = None,
    ) -> None:
        """Change a stream as a whole: its name and settings, and delete the rows of some ids.

        A `snapshot`, whose first pieces are `origin`, takes the place of all others.
        """
        with self._transaction():
            old = self._execute(sql.NAME_OF, (stream.number,)).fetchone()[0]
            self._execute(sql.CHANGE_STREAM, (stream.name, stream.settings, stream.number))
            if old != stream.name:
                for statement in sql.RENAME:
                    self._execute(statement, (stream.name, old))
            for asked in asked_at_once(erased):
                for statement in sql.DROP_IDS[len(asked)]:
                    self._execute(statement, (stream.number, *asked))
            if snapshot is not None:
                self._execute(sql.DROP_ALL_SNAPSHOTS, (stream.number,))
                self._execute(sql.DROP_ALL_PIECES, (stream.number,))
                for number, piece in enumerate(origin):
                    self._execute(sql.ADD_PIECE, (stream.number, snapshot.sequence, number, piece))
                self._execute(sql.ADD_SNAPSHOT, snapshot)

    def drop_stream(self, stream: int, name: str, at: float) -> EventRow:
        """Delete a stream, and let its tokens end; return the event of that.

        Its rows are deleted by `purge`, bit by bit: there may be millions.
        """
        event = EventRow(0, name, at, "stream.deleted", "{}")
        with self._transaction():
            self._lock_events()
            self._execute(sql.DROP_STREAM, (stream,))
            for statement in sql.DROP_NAMED:
                self._execute(statement, (name,))
            self._execute(sql.END_TOKENS_OF, (at, name, at))
            self._execute(sql.ADD_DROPPED, (stream,))
            number = int(self._execute(sql.ADD_EVENT, event[1:]).fetchone()[0])
        return event._replace(number=number)

    def purge(self, portion: int) -> bool:
        """Delete some rows of streams that were dropped; return whether there may be more."""
        dropped = self._rows(sql.DROPPED)
        if not dropped:
            return False
        (number,) = dropped[0]
        with self._transaction():
            gone = sum(
                self._execute(each, (number, number, portion)).rowcount for each in sql.DROP_SOME
            )
            if not gone:
                self._execute(sql.END_DROPPED, (number,))
        return True

    def drop_piece(self, stream: int) -> bool:
        """Delete a piece that belongs to no snapshot; return whether there was one."""
        with self._transaction():
            loose = self._execute(sql.LOOSE_PIECE, (stream, stream)).fetchone()
            if loose is not None:
                self._execute(sql.DROP_PIECE, (stream, *loose))
        return loose is not None

    def keep_delivery(self, row: DeliveryRow) -> None:
        """Store what a webhook has received of a stream."""
        with self._transaction():
            self._execute(sql.KEEP_DELIVERY, row)

    def add_token(self, token: TokenRow) -> None:
        """Store a new token."""
        with self._transaction():
            self._execute(sql.ADD_TOKEN, token)

    def end_token(self, name: str, at: float) -> bool:
        """Let a token end at a time, unless it ends before; return whether it exists."""
        with self._transaction():
            self._execute(sql.END_TOKEN, (at, name, at))
            return self._execute(sql.FIND_TOKEN, (name,)).fetchone() is not None

    # -- reading --------------------------------------------------------------------------------

    def known(self, stream: int, ids: Sequence[str]) -> Known:
        """Return what is stored of these ids, the writer's open transaction included."""
        found = Known({}, {})
        if not ids:
            return found
        with self._errors("read"):
            for asked in asked_at_once(ids):
                for row in self._execute(sql.KNOWN_IDS[len(asked)], [*asked, stream]):
                    prediction = PredictionRow._make(row[:-1])
                    found.predictions[prediction.id] = prediction
                    if row[-1] is not None:
                        found.outcomes[prediction.id] = row[-1]
        return found

    def log(
        self, stream: int, after: int, until: int | None = None
    ) -> Iterator[LoggedPredictions | LoggedOutcomes]:
        """Return the batches with a `sequence` above `after`, in the order of the log."""
        span = (stream, after, NO_END if until is None else until)
        queries = (sql.LOGGED_PREDICTIONS, span), (sql.LOGGED_OUTCOMES, span)
        with self._one_view(FETCHED, *queries) as (predictions, outcomes):
            yield from merged(predictions, outcomes)

    def export(self, stream: int, portion: int) -> Iterator[Rows]:
        """Return all predictions with their outcomes, in order, so many at a time.

        The columns: sequence, id, score, by, key, at, due, deadline, probability, smooth, outcome,
        the outcome's time and sequence, and what is predicted, packed.
        """
        with self._one_view(portion, (sql.EXPORT, (stream,))) as (rows,):
            yield from rows

    def finished(
        self, stream: int, after: int, until: int, portion: int
    ) -> list[tuple[int, str, float, int | None]]:
        """Return predictions between two sequences: sequence, id, time, the outcome's sequence."""
        rows = self._rows(sql.FINISHED, stream, after, until, portion)
        return [(sequence, id_, at, came) for sequence, id_, at, came in rows]

    def snapshot_sequences(self, stream: int) -> list[int]:
        """Return after which rows there are snapshots, the newest first."""
        return [sequence for (sequence,) in self._rows(sql.SNAPSHOTS, stream)]

    def streams(self) -> list[StreamRow]:
        """Return all streams, the oldest first."""
        return [StreamRow(*row) for row in self._rows(sql.STREAMS)]

    def last_sequence(self, stream: int) -> int:
        """Return the sequence of the last row, 0 if there is none."""
        both = (self._rows(each, stream) for each in (sql.LAST_PREDICTION, sql.LAST_OUTCOME))
        return max(rows[0][0] or 0 for rows in both)

    def snapshots(self, stream: int) -> Iterator[SnapshotRow]:
        """Return the snapshots, whole, the newest first."""
        for (sequence,) in self._rows(sql.SNAPSHOTS, stream):
            pieces = [piece for (piece,) in self._rows(sql.PIECES, stream, sequence)]
            for found in self._rows(sql.ONE_SNAPSHOT, stream, sequence):
                row = SnapshotRow(*found)
                yield row._replace(blob=b"".join([*pieces, row.blob])) if pieces else row

    def events(self, after: int, stream: str | None, limit: int) -> list[EventRow]:
        """Return stored events above a number, the oldest first; of one stream, or of all."""
        if stream is None:
            rows = self._rows(sql.EVENTS, after, limit)
        else:
            rows = self._rows(sql.EVENTS_OF_STREAM, after, stream, limit)
        return [EventRow(*row) for row in rows]

    def last_event(self) -> int:
        """Return the number of the last event, 0 if there is none."""
        return self._rows(sql.LAST_EVENT)[0][0] or 0

    def last_event_of(self, stream: str, family: str) -> str | None:
        """Return the kind of a stream's last event of a family, such as "pending"."""
        rows = self._rows(sql.LAST_EVENT_OF, stream, f"{family}.%")
        return rows[0][0] if rows else None

    def count_changes(self, stream: str) -> int:
        """Return how many events of a stream are about episodes and miscalibrated keys."""
        count: int = self._rows(sql.COUNT_CHANGES, stream, "episode.%", "key.%")[0][0]
        return count

    def deliveries(self, webhook: str) -> list[DeliveryRow]:
        """Return what a webhook has received."""
        return [DeliveryRow(*row) for row in self._rows(sql.DELIVERIES, webhook)]

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, the oldest first."""
        return [TokenRow(*row) for row in self._rows(sql.TOKENS)]


def asked_at_once(ids: Sequence[str]) -> Iterator[list[str]]:
    """Return ids, as many at a time as a statement takes; the last ones are repeated to fill it."""
    for start in range(0, len(ids), sql.ASKED[-1]):
        asked = ids[start : start + sql.ASKED[-1]]
        size = sql.ASKED[bisect_left(sql.ASKED, len(asked))]
        yield [*asked, *[asked[0]] * (size - len(asked))]
