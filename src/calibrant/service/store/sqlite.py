"""A store in one SQLite file: nothing to install, and nothing lost when the power goes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from calibrant import __version__
from calibrant.service.store import statements as sql
from calibrant.service.store.base import ReadableStore
from calibrant.service.store.interface import (
    DeliveryRow,
    EventRow,
    Group,
    LoggedOutcomes,
    LoggedPredictions,
    StoreError,
    StreamRow,
    TokenRow,
)
from calibrant.service.store.log import merged

#: Seconds to wait for another process's transaction, such as that of ``calibrant token``.
PATIENCE = 10.0
#: Rows fetched at once, and pages of the write-ahead log before they go to the file.
FETCHED, WAL_PAGES = 5000, 4000
#: Above any sequence.
NO_END = 2**62

T = TypeVar("T")


class SqliteStore(ReadableStore):
    """The store of one process. One thread writes; any thread reads, with a connection of its own.

    Write-ahead log and ``synchronous=FULL``: what was committed survives the loss of power.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._own = threading.local()
        self._readers: list[sqlite3.Connection] = []

    def __str__(self) -> str:
        return str(self.path)

    # -- open and close -------------------------------------------------------------------------

    def open(self, *, alone: bool = True) -> None:
        """Take the file for writing; `alone` refuses if another service has it."""
        if alone:
            self._lock = self._only_one()
        with self._saying("opened"):
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
            self._make_tables(self._writer)

    def close(self) -> None:
        """Let the file go."""
        for connection in (*self._readers, self._writer, self._lock):
            if connection is not None:
                connection.close()
        self._writer = self._lock = None
        self._own, self._readers = threading.local(), []

    def _connect(self, *, mode: str = "rwc") -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(
            address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )

    def _only_one(self) -> sqlite3.Connection:
        """Hold a lock beside the file for as long as this process lives."""
        beside = self.path.with_name(self.path.name + ".lock")
        lock: sqlite3.Connection | None = None
        try:
            lock = sqlite3.connect(
                beside, timeout=0.0, isolation_level=None, check_same_thread=False
            )
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if lock is not None:
                lock.close()
            if "locked" in str(error):
                raise StoreError(
                    f"{self.path} is in use by another calibrant serve; "
                    "one process at a time owns an SQLite store"
                ) from None
            raise StoreError(f"{beside} cannot be written: {error}") from None
        return lock

    def _make_tables(self, writer: sqlite3.Connection) -> None:
        writer.execute("BEGIN IMMEDIATE")
        try:
            for table in sql.TABLES:
                writer.execute(table.format(**sql.SQLITE._asdict()))
            if not self._has_layout(writer.execute(sql.LAYOUT_OF)):
                writer.execute(sql.SET_LAYOUT, (sql.LAYOUT,))
            writer.execute(sql.SET_OPENED, (__version__,))
        except BaseException:
            writer.execute("ROLLBACK")
            raise
        writer.execute("COMMIT")

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours, which name the file."""
        try:
            yield
        except sqlite3.Error as error:
            hint = ""
            if "malformed" in str(error) or "not a database" in str(error):
                hint = f"; it is damaged: calibrant serve --check --store {self.path} says how far"
            raise StoreError(f"{self.path} cannot be {what}: {error}{hint}") from error

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Read with this thread's own connection, which sees what is committed."""
        with self._saying("read"):
            reader = getattr(self._own, "reader", None)
            if reader is None:
                reader = self._own.reader = self._connect(mode="ro")
                self._readers.append(reader)
            return query(reader)

    def _rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._read(lambda reader: reader.execute(statement, parameters).fetchall())

    def _seen_by_writer(self, statement: str, parameters: Sequence[Any]) -> Iterable[Any]:
        assert self._writer is not None
        return self._writer.execute(statement, parameters)

    # -- streams and their rows -----------------------------------------------------------------

    def add_stream(
        self,
        name: str,
        settings: str,
        created: float,
        origin: Sequence[bytes] = (),
        checksum: str = "",
    ) -> StreamRow:
        """Keep a new stream; one that is adopted with the state it begins with, in pieces."""
        with self._transaction() as writer:
            number = writer.execute(sql.ADD_STREAM, (name, settings, created)).fetchone()[0]
            for piece, blob in enumerate(origin[:-1]):
                writer.execute(sql.ADD_PIECE, (number, 0, piece, blob))
            for blob in origin[-1:]:
                writer.execute(sql.ADD_SNAPSHOT, (number, 0, created, blob, checksum))
        return StreamRow(number, name, settings, created)

    def write(self, group: Group) -> list[EventRow]:
        """Keep a group, all of it or nothing, on the disk; return its events with numbers."""
        events = []
        with self._transaction() as writer:
            if group.predictions:
                writer.executemany(sql.ADD_PREDICTION, group.predictions)
            if group.outcomes:
                writer.executemany(sql.ADD_OUTCOME, group.outcomes)
            for event in group.events:
                number = writer.execute(sql.ADD_EVENT, event[1:]).fetchone()[0]
                events.append(event._replace(number=number))
            if group.pieces:
                writer.executemany(sql.ADD_PIECE, group.pieces)
            for snapshot in group.snapshots:
                writer.execute(sql.ADD_SNAPSHOT, snapshot)
                writer.execute(sql.DROP_SNAPSHOTS, (snapshot.stream, snapshot.stream))
        return events

    def drop_piece(self, stream: int) -> bool:
        """Delete a piece that belongs to no snapshot; return whether there was one."""
        with self._transaction() as writer:
            loose = writer.execute(sql.LOOSE_PIECE, (stream, stream)).fetchone()
            if loose is not None:
                writer.execute(sql.DROP_PIECE, (stream, *loose))
        return loose is not None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._saying("written"):
            writer = self._writer
            if writer is None:
                raise StoreError(f"{self.path} is closed")
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    def log(
        self, stream: int, after: int, until: int | None = None
    ) -> Iterator[LoggedPredictions | LoggedOutcomes]:
        """Return the batches with a `sequence` above `after`, in the order of the log."""
        with self._saying("read"), closing(self._connect(mode="ro")) as reader:
            reader.execute("BEGIN")  # one view of both tables
            span = (stream, after, NO_END if until is None else until)
            yield from merged(
                portions(reader.execute(sql.LOGGED_PREDICTIONS, span)),
                portions(reader.execute(sql.LOGGED_OUTCOMES, span)),
            )

    def export(self, stream: int, portion: int) -> Iterator[list[tuple[Any, ...]]]:
        """Return all predictions with what became of them, in order, so many at a time."""
        with self._saying("read"), closing(self._connect(mode="ro")) as reader:
            rows = reader.execute(sql.EXPORT, (stream,))
            while portion_of := rows.fetchmany(portion):
                yield portion_of

    # -- webhooks -------------------------------------------------------------------------------

    def keep_delivery(self, row: DeliveryRow) -> None:
        """Keep what a webhook has received of a stream."""
        with self._transaction() as writer:
            writer.execute(sql.KEEP_DELIVERY, row)

    # -- tokens ---------------------------------------------------------------------------------

    def add_token(self, token: TokenRow) -> None:
        """Keep a new token."""
        with self._transaction() as writer:
            writer.execute(sql.ADD_TOKEN, token)

    def end_token(self, name: str, at: float) -> bool:
        """Let a token end at a time, unless it ends before; return whether there is such a one."""
        with self._transaction() as writer:
            writer.execute(sql.END_TOKEN, (at, name, at))
            return writer.execute(sql.FIND_TOKEN, (name,)).fetchone() is not None

    # -- care -----------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Look at every page of the file; return what is wrong, in sentences."""
        try:
            rows = self._rows("PRAGMA integrity_check(20)")
            if rows == [("ok",)]:
                self._has_layout(self._rows(sql.LAYOUT_OF))
        except StoreError as error:
            return [str(error)]
        return [f"{self.path}: {row[0]}" for row in rows if row[0] != "ok"]

    def backup(self, path: str) -> None:
        """Copy the file into a new one while it is in use."""
        if Path(path).exists():
            raise StoreError(f"{path} is there already; a backup goes to a new file")
        with (
            self._saying("copied"),
            closing(self._connect(mode="ro")) as source,
            closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)  # at once: a reader does not stop the writer


def portions(cursor: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    """Return the rows of a cursor, many at a time."""
    return iter(lambda: cursor.fetchmany(FETCHED), [])
