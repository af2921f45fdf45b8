"""A store in one SQLite file: nothing to install, and nothing lost when the power fails."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from calibrant import __version__
from calibrant.service.store import statements as sql
from calibrant.service.store.base import Query, Rows, Store
from calibrant.service.store.records import StoreError

#: Seconds to wait for another process's transaction, such as that of ``calibrant token``.
PATIENCE = 10.0
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

    def __str__(self) -> str:
        return str(self.path)

    def open(self, *, alone: bool = True) -> None:
        """Open the file for writing; `alone` refuses if another service uses it."""
        if alone:
            self._lock = self._only_one()
        with self._errors("opened"):
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")
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

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours, which name the file."""
        try:
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
