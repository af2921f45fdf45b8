"""A store in a PostgreSQL database, which several processes share: each stream has one owner.

The owner's advisory locks live on the connection that writes. A process that can commit has its
locks, and a process that has lost its connection can write nothing until it has them again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, LiteralString, TypeVar, cast

try:
    import psycopg
except ImportError as error:
    raise ImportError(
        "a PostgreSQL store needs psycopg: pip install 'calibrant[postgres]'"
    ) from error

from calibrant import __version__
from calibrant.service.settings import without_password
from calibrant.service.store import ownership
from calibrant.service.store import statements as sql
from calibrant.service.store.base import Query, Rows, Store
from calibrant.service.store.records import EventRow, StoreError, StoreTakenError

#: A peer that is gone is noticed within some seconds, here and by the database.
ALIVE = {
    "connect_timeout": 5,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "options": "-c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2",
}

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")


def translated(statement: str) -> LiteralString:
    """Return a shared statement as PostgreSQL has it."""
    if "{" in statement:
        return statement.format(**sql.POSTGRESQL._asdict())
    return statement.replace("?", sql.POSTGRESQL.value)


class PostgresStore(Store):
    """The store of several processes. One thread of each writes; any thread reads."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def __str__(self) -> str:
        return without_password(self.address)

    # -- open and close -------------------------------------------------------------------------

    def open(self, *, alone: bool = True) -> None:
        """Connect for writing; `alone` raises StoreTakenError if any other process serves it."""
        self._open("SELECT pg_try_advisory_lock(%s)" if alone else None)

    def open_shared(self) -> None:
        """Connect for writing as one of several processes, of which none may be alone."""
        self._open("SELECT pg_try_advisory_lock_shared(%s)")

    def _open(self, lock: LiteralString | None) -> None:
        try:
            with self._errors("opened"):
                if self._writer is not None:
                    self._writer.close()
                self._writer = writer = self._connect()
                writer.execute("SET synchronous_commit = on")
                if lock is not None and writer.execute(lock, (ownership.EVERYBODY,)).fetchone() != (
                    True,
                ):
                    raise StoreTakenError(f"{self} is in use by another calibrant serve")
                self._make_tables(writer)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections, and release the locks with them."""
        if self._writer is not None:
            with suppress(psycopg.Error):  # at once; the database would notice a little later
                self._writer.execute("SELECT pg_advisory_unlock_all()")
        for connection in (*self._readers, self._writer):
            if connection is not None:
                connection.close()
        self._writer, self._readers, self._own = None, [], threading.local()

    def still_owns(self) -> bool:
        """Ask the database whether the connection that writes is still there."""
        try:
            with self._errors("asked"):
                assert self._writer is not None
                self._writer.execute("SELECT 1")
        except StoreError:
            return False
        return True

    def _connect(self) -> Connection:
        return psycopg.connect(self.address, autocommit=True, **cast(Any, ALIVE))

    def _make_tables(self, writer: Connection) -> None:
        with writer.transaction():
            writer.execute("SELECT pg_advisory_xact_lock(%s)", (ownership.MAKERS,))
            writer.execute("SET LOCAL client_min_messages = warning")
            for table in sql.TABLES:
                writer.execute(translated(table))
            for table in ownership.TABLES:
                writer.execute(table)
            if not self._has_layout(writer.execute(translated(sql.LAYOUT_OF))):
                writer.execute(translated(sql.SET_LAYOUT), (sql.LAYOUT,))
            writer.execute(translated(sql.SET_OPENED), (__version__,))

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours, which name the store."""
        try:
            yield
        except (psycopg.Error, psycopg.Warning) as error:
            message = " ".join(str(error).split())
            raise StoreError(f"{self} cannot be {what}: {message}") from error

    def _read(self, query: Callable[[Connection], T]) -> T:
        """Read with this thread's own connection; one that was lost is replaced."""
        with self._errors("read"):
            reader = getattr(self._own, "reader", None)
            if reader is not None:
                try:
                    return query(reader)
                except psycopg.OperationalError:
                    if not reader.closed:
                        raise
                    self._readers.remove(reader)
                    self._own.reader = None
            reader = self._own.reader = self._connect()
            self._readers.append(reader)
            return query(reader)

    def _rows(self, statement: str, *parameters: Any) -> Rows:
        return self._read(
            lambda reader: reader.execute(translated(statement), parameters).fetchall()
        )

    def _execute(self, statement: str, parameters: Sequence[Any]) -> Any:
        return self._writer.execute(translated(statement), parameters)

    def _insert(self, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with (
            self._writer.cursor() as cursor,
            cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors("written"):
            if self._writer is None:
                raise StoreError(f"{self} is closed")
            with self._writer.transaction():
                yield

    @contextmanager
    def _one_view(self, size: int, *queries: Query) -> Iterator[list[Iterator[Rows]]]:
        with self._errors("read"), closing(self._connect()) as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield [
                portions(reader, f"query{number}", query, size)
                for number, query in enumerate(queries)
            ]

    def _lock_new_stream(self, number: int) -> None:
        self._writer.execute(ownership.LOCK, (ownership.STREAMS, number))

    def _lock_events(self) -> None:
        self._writer.execute("SELECT pg_advisory_xact_lock(%s)", (ownership.TELLERS,))

    # -- sharing the streams --------------------------------------------------------------------

    def join(self, url: str) -> None:
        """Let the other processes know that this one is there, and where."""
        with self._transaction():
            self._writer.execute(ownership.FORGET)
            number = ownership.one(self._writer.execute(ownership.JOIN, (url,)).fetchone())
            self._writer.execute(ownership.LOCK, (ownership.PROCESSES, number))

    def processes(self) -> list[str]:
        """Return where the processes are that serve this database."""
        return [row[0] for row in self._rows(ownership.HERE)]

    def held(self) -> list[ownership.OwnedStream]:
        """Return all streams and where their owners are."""
        return [ownership.OwnedStream(*row) for row in self._rows(ownership.HELD)]

    def take(self, stream: int) -> bool:
        """Try to become the owner of a stream, and return whether that is so."""
        return self._lock(ownership.TRY, stream)

    def release(self, stream: int) -> None:
        """Be a stream's owner no longer."""
        self._lock(ownership.UNLOCK, stream)

    def drop_stream(self, stream: int, name: str, at: float) -> EventRow:
        """Delete a stream, and own it no longer."""
        event = super().drop_stream(stream, name, at)
        self.release(stream)
        return event

    def _lock(self, statement: LiteralString, stream: int) -> bool:
        with self._transaction():
            cursor = self._writer.execute(statement, (ownership.STREAMS, stream))
            return bool(ownership.one(cursor.fetchone()))

    def post(self, summaries: dict[str, str]) -> None:
        """Let the other processes know how streams go."""
        self._read(lambda reader: reader.cursor().executemany(ownership.POST, [*summaries.items()]))

    def posted(self, after: int) -> list[tuple[str, int, str]]:
        """Return what was posted since a change: stream, the number of the change, summary."""
        return [(name, change, body) for name, change, body in self._rows(ownership.POSTED, after)]

    # -- care -----------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Read every row of the two tables; return what is wrong, in sentences."""
        try:
            self._has_layout(self._rows(sql.LAYOUT_OF))
            alone = self._rows(sql.ORPHANS)[0][0]
            self._rows("SELECT COUNT(smooth) FROM predictions")
        except StoreError as error:
            return [str(error)]
        return [f"{self}: {alone:,} outcomes have no prediction"] if alone else []

    def backup(self, path: str) -> None:
        """Refuse: the database has a tool for it."""
        raise StoreError(f"a PostgreSQL store is copied by pg_dump: pg_dump --file {path} {self}")


def portions(reader: Connection, name: str, query: Query, size: int) -> Iterator[Rows]:
    """Return the rows of a query, many at a time."""
    statement, values = query
    with reader.cursor(name) as cursor:
        cursor.execute(translated(statement), values)
        while rows := cursor.fetchmany(size):
            yield rows
