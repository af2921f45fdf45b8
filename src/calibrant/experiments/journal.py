"""The journal of an unfinished sweep: an SQLite table with a row for every result.

SQLite does the rest: committed rows survive a kill, incomplete writes are rolled back when
the file is opened again, and the lock excludes a second sweep.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from calibrant.experiments.tasks import Identity, Result
from calibrant.tables.errors import InputError

#: The name of the file in its folder.
NAME = "journal.sqlite"
TABLE = "CREATE TABLE IF NOT EXISTS results (result BLOB NOT NULL, checksum INTEGER NOT NULL)"
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class Journal:
    """The results of a sweep so far; the file is locked as long as it is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with plain_errors(path):
            self._connection = sqlite3.connect(path, timeout=0.0)
        try:
            with plain_errors(path):
                # In this order: then the lock is held from here until the file is closed.
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("PRAGMA journal_mode = WAL")
                # No fsync at each commit, which would take milliseconds: surviving a kill needs
                # none.
                self._connection.execute("PRAGMA synchronous = NORMAL")
                with self._connection:
                    self._connection.execute(TABLE)
                self.finished = read_rows(self._connection)
        except BaseException:
            self.close()
            raise

    def add(self, results: Iterable[Result]) -> None:
        """Add results; they survive a kill. A power failure may lose those of the last seconds."""
        results = list(results)
        rows = [(row, crc32(row)) for row in map(as_bytes, results)]
        with plain_errors(self._path), self._connection:
            self._connection.executemany("INSERT INTO results VALUES (?, ?)", rows)
        self.finished |= {result.identity: result for result in results}

    def remove(self) -> None:
        """Remove the file, once the results are written."""
        with plain_errors(self._path):
            self._connection.execute("PRAGMA journal_mode = DELETE")  # which removes the WAL file
        try:
            self._path.unlink()  # while it is locked: no other sweep has begun to use it
        except PermissionError:  # on Windows, where an open file stays
            self.close()
            self._path.unlink()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@contextmanager
def opened(folder: Path) -> Iterator[Journal]:
    """Open the journal of a folder for one sweep; refuse a second one."""
    path = folder / NAME
    journal = Journal(path)
    if not path.exists():  # the sweep before has removed it since it was opened
        journal.close()
        journal = Journal(path)
    try:
        yield journal
    finally:
        if not journal.finished and path.exists():
            journal.remove()
        journal.close()


def read(folder: Path) -> dict[Identity, Result]:
    """Return the results in the journal of a folder, if there is one."""
    if not (folder / NAME).exists():
        return {}
    with opened(folder) as journal:
        return journal.finished


def read_rows(connection: sqlite3.Connection) -> dict[Identity, Result]:
    """Return the results of a journal without damaged rows, whose tasks are run again.

    SQLite detects a damaged structure; a changed byte in a row is detected by the checksum only.
    """
    rows = connection.execute("SELECT result, checksum FROM results")
    whole = (row for row, checksum in rows if isinstance(row, bytes) and crc32(row) == checksum)
    return {result.identity: result for result in map(from_bytes, whole)}


def as_bytes(result: Result) -> bytes:
    """Return a result as JSON, in which Python preserves all digits, infinities and NaN."""
    fields = [result.identity, dict(result.values), result.deviation, result.segments]
    return json.dumps(fields).encode()


def from_bytes(row: bytes) -> Result:
    """Return the result that `as_bytes` wrote."""
    identity, *rest = json.loads(row)
    columns = dict(zip(Identity._fields, identity, strict=True))
    return Result(Identity(**columns | {"measures": tuple(columns["measures"])}), *rest)


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Replace an error of SQLite by a message that says what is wrong and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise ValueError(
                f"another sweep is writing to {path.parent}; wait for it, or choose another folder"
            ) from None
        if code in DAMAGED:
            raise InputError(
                f"is no journal, or damaged ({error}); remove it, and its tasks are run again",
                source=str(path),
            ) from None
        raise OSError(f"{path}: cannot be used ({error})") from None
