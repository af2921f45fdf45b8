"""A store in one SQLite file: nothing to install, and nothing lost when the power fails."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from calibrant import __version__
from calibrant.service.store import statements as sql
from calibrant.service.store.base import Query, Rows, Store
from calibrant.service.store.records import EventRow, Group, StoreError

try:
    import fcntl
except ImportError:  # Windows, where an open file can be neither deleted nor replaced
    fcntl = None  # type: ignore[assignment]

#: Seconds to wait for another process's transaction, such as that of ``calibrant token``.
PATIENCE = 10.0
#: What is committed is on the disk: it survives a loss of power.
SYNCHRONOUS = "FULL"
#: Pages of the write-ahead log before they are written to the file.
WAL_PAGES = 4000


class SqliteStore(Store):
    """The store of one process. One thread writes; any thread reads, with a connection of its own.

    Write-ahead log and ``synchronous=FULL``: what was committed survives a loss of power.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)
        self._lock: sqlite3.Connection | None = None
        self._file: int | None = None  # open as long as the store, and locked if it is ours alone
        self._beside: int | None = None

    def __str__(self) -> str:
        return str(self.path)

    def open(self, *, alone: bool = True) -> None:
        """Open the file for writing; `alone` refuses if another service uses it."""
        if alone:
            self._lock = self._only_one()
        try:
            self._file = self._opened(alone)
        except StoreError:
            self.close()
            raise
        with self._errors("opened"):
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            self._writer.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        with self._transaction("opened"):
            for table in sql.TABLES:
                self._writer.execute(table.format(**sql.SQLITE._asdict()))
            if not self._has_layout(self._writer.execute(sql.LAYOUT_OF)):
                self._writer.execute(sql.SET_LAYOUT, (sql.LAYOUT,))
            self._writer.execute(sql.SET_OPENED, (__version__,))

    def close(self) -> None:
        """Close the file."""
        for connection in (*self._readers, self._writer, self._lock):
            if connection is not None:
                connection.close()
        if self._beside is not None:
            os.close(self._beside)
        if self._file is not None:
            os.close(self._file)  # after SQLite: its own locks of the file would go with it
        self._writer = self._lock = self._file = self._beside = None
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

    def _opened(self, alone: bool) -> int:
        """Open the file itself; `alone` locks it, whatever names and links lead to it."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from None
        try:
            if alone and fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise StoreError(
                f"{self.path} is in use by another calibrant serve, perhaps under another name; "
                "one process at a time owns an SQLite store"
            ) from None
        return file

    def lost(self) -> str | None:
        """Return why the file's name no longer leads to it; None if it does."""
        if self._file is None or os.name != "posix":
            return None
        try:
            found, opened = self.path.stat(), os.fstat(self._file)
        except OSError as error:
            return f"{self.path} is gone ({error.strerror}): restart the service with its store"
        if (found.st_ino, found.st_dev) != (opened.st_ino, opened.st_dev):
            return f"{self.path} was replaced by another file: restart the service"
        return None

    # -- the last row of each stream --------------------------------------------------------------

    @property
    def _last_rows(self) -> Path:
        """The file beside the store that has the sequence of each stream's last row.

        Eight bytes a stream, at its number. It has no log that could be cut.
        """
        return self.path.with_name(self.path.name + ".rows")

    def write(self, group: Group) -> list[EventRow]:
        """Store a group, and keep beside the file how far its streams are.

        That is not waited for until it is on the disk: after a loss of power it may be too low.
        """
        events = super().write(group)
        last = {row[0]: row[1] for rows in (group.predictions, group.outcomes) for row in rows}
        with suppress(OSError):
            if self._beside is None and last:
                self._beside = os.open(self._last_rows, os.O_RDWR | os.O_CREAT, 0o666)
            for stream, sequence in last.items():
                assert self._beside is not None
                os.pwrite(self._beside, sequence.to_bytes(8, "little"), 8 * stream)
        return events

    def _missing_rows(self) -> list[str]:
        """Return which streams lack rows that were acknowledged, in sentences."""
        try:
            kept = self._last_rows.read_bytes()
        except OSError:  # a copy of a store has no such file
            return []
        found, (most,) = [], self._rows(sql.MOST_STREAMS)[0] if self.streams() else (0,)
        if any(kept[8 * (most + 1) :]):
            found.append("a stream is missing")
        for row in self.streams():
            wanted = int.from_bytes(kept[8 * row.number : 8 * (row.number + 1)], "little")
            newest = max((each for (each,) in self._rows(sql.SNAPSHOTS, row.number)), default=0)
            last = max(self.last_sequence(row.number), newest)  # rows before it may be erased
            if last < wanted:
                found.append(f"stream {row.name} ends at row {last:,}, and had {wanted:,}")
        return [
            f"{self.path}: {each}: its write-ahead log was cut, or the file is an older copy"
            for each in found
        ]

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours, which name the file; refuse one that is lost.

        It is looked for twice: what was written to a file without a name is not stored.
        """
        try:
            for is_over in (False, True):
                if (lost := self.lost()) is not None:
                    raise StoreError(lost)
                if not is_over:
                    yield
        except sqlite3.Error as error:
            hint = ""
            if "malformed" in str(error) or "not a database" in str(error):
                hint = f"; it is damaged: calibrant serve --check --store {self.path} says how far"
            raise StoreError(f"{self.path} cannot be {what}: {error}{hint}") from error

    @contextmanager
    def _transaction(self, what: str = "written") -> Iterator[None]:
        writer = self._writer
        if writer is None:
            raise StoreError(f"{self.path} is closed")
        with self._errors(what):
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    def _execute(self, statement: str, parameters: Sequence[Any]) -> Any:
        return self._writer.execute(statement, parameters)

    def _insert(self, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        places = ", ".join("?" * len(rows[0]))
        self._writer.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)

    def _rows(self, statement: str, *parameters: Any) -> Rows:
        with self._errors("read"):
            reader = getattr(self._own, "reader", None)
            if reader is None:
                reader = self._own.reader = self._connect(mode="ro")
                self._readers.append(reader)
            found: Rows = reader.execute(statement, parameters).fetchall()
            return found

    @contextmanager
    def _one_view(self, size: int, *queries: Query) -> Iterator[list[Iterator[Rows]]]:
        with self._errors("read"), closing(self._connect(mode="ro")) as reader:
            reader.execute("BEGIN")
            yield [portions(reader.execute(*query), size) for query in queries]

    def _lock_new_stream(self, number: int) -> None:
        """Do nothing: this is the only process."""

    def _lock_events(self) -> None:
        """Do nothing: this is the only process."""

    def check(self) -> list[str]:
        """Read every page of the file; return what is wrong, in sentences."""
        try:
            rows = self._rows("PRAGMA integrity_check(20)")
            if rows == [("ok",)]:
                self._has_layout(self._rows(sql.LAYOUT_OF))
                return self._missing_rows()
        except StoreError as error:
            return [str(error)]
        return [f"{self.path}: {row[0]}" for row in rows if row[0] != "ok"]

    def backup(self, path: str) -> None:
        """Copy the file into a new one while it is in use."""
        if Path(path).exists():
            raise StoreError(f"{path} exists already; a backup goes to a new file")
        with (
            self._errors("copied"),
            closing(self._connect(mode="ro")) as source,
            closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)  # in one step: a reader does not stop the writer


def portions(cursor: sqlite3.Cursor, size: int) -> Iterator[Rows]:
    """Return the rows of a cursor, many at a time."""
    return iter(lambda: cursor.fetchmany(size), [])
