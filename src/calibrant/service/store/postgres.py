"""A store in a PostgreSQL database, which several processes share: each stream has one owner.

The owner's advisory locks live on the connection that writes. Whoever can commit has its locks, and
a process that has lost its connection can write nothing until it has them anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from calibrant.service.store.base import ReadableStore
from calibrant.service.store.interface import (
    DeliveryRow,
    EventRow,
    Group,
    LoggedOutcomes,
    LoggedPredictions,
    StoreError,
    StoreTakenError,
    StreamRow,
    TokenRow,
)
from calibrant.service.store.log import merged

#: Rows fetched at once.
FETCHED = 5000
#: Above any sequence.
NO_END = 2**62
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


def spoken(statement: str) -> LiteralString:
    """Return a shared statement in PostgreSQL's words."""
    if "{" in statement:
        return statement.format(**sql.POSTGRESQL._asdict())
    return statement.replace("?", sql.POSTGRESQL.value)


class PostgresStore(ReadableStore):
    """The store of several processes. One thread of each writes; any thread reads."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._writer: Connection | None = None
        self._own = threading.local()
        self._readers: list[Connection] = []

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
            with self._saying("opened"):
                if self._writer is not None:
                    self._writer.close()
                self._writer = writer = self._connect()
                writer.execute("SET synchronous_commit = on")
                taken = lock and writer.execute(lock, (ownership.EVERYBODY,)).fetchone()
                if lock is not None and not ownership.one(taken):
                    raise StoreTakenError(f"{self} is in use by another calibrant serve")
                self._make_tables(writer)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the database go, and the locks with it."""
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
            with self._saying("asked"):
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
                writer.execute(spoken(table))
            for table in ownership.TABLES:
                writer.execute(table)
            if not self._has_layout(writer.execute(spoken(sql.LAYOUT_OF))):
                writer.execute(spoken(sql.SET_LAYOUT), (sql.LAYOUT,))
            writer.execute(spoken(sql.SET_OPENED), (__version__,))

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        """Turn the database's errors into ours, which name the store."""
        try:
            yield
        except (psycopg.Error, psycopg.Warning) as error:
            told = " ".join(str(error).split())
            raise StoreError(f"{self} cannot be {what}: {told}") from error

    def _read(self, query: Callable[[Connection], T]) -> T:
        """Read with this thread's own connection; one that was lost is made anew."""
        with self._saying("read"):
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

    def _rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._read(lambda reader: reader.execute(spoken(statement), parameters).fetchall())

    def _seen_by_writer(self, statement: str, parameters: Sequence[Any]) -> Iterable[Any]:
        assert self._writer is not None
        return self._writer.execute(spoken(statement), parameters)

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
            number = one_number(writer, sql.ADD_STREAM, (name, settings, created))
            writer.execute(ownership.LOCK, (ownership.STREAMS, number))  # before any other sees it
            for piece, blob in enumerate(origin[:-1]):
                writer.execute(spoken(sql.ADD_PIECE), (number, 0, piece, blob))
            for blob in origin[-1:]:
                writer.execute(spoken(sql.ADD_SNAPSHOT), (number, 0, created, blob, checksum))
        return StreamRow(number, name, settings, created)

    def write(self, group: Group) -> list[EventRow]:
        """Keep a group, all of it or nothing, on the disk; return its events with numbers."""
        events = []
        with self._transaction() as writer:
            copy_rows(writer, "predictions", sql.PREDICTION, group.predictions)
            copy_rows(writer, "outcomes", sql.OUTCOME, group.outcomes)
            if group.events:
                writer.execute("SELECT pg_advisory_xact_lock(%s)", (ownership.TELLERS,))
            for event in group.events:
                number = one_number(writer, sql.ADD_EVENT, event[1:])
                events.append(event._replace(number=number))
            for piece in group.pieces:
                writer.execute(spoken(sql.ADD_PIECE), piece)
            for snapshot in group.snapshots:
                writer.execute(spoken(sql.ADD_SNAPSHOT), snapshot)
                writer.execute(spoken(sql.DROP_SNAPSHOTS), (snapshot.stream, snapshot.stream))
        return events

    def drop_piece(self, stream: int) -> bool:
        """Delete a piece that belongs to no snapshot; return whether there was one."""
        with self._transaction() as writer:
            loose = writer.execute(spoken(sql.LOOSE_PIECE), (stream, stream)).fetchone()
            if loose is not None:
                writer.execute(spoken(sql.DROP_PIECE), (stream, *loose))
        return loose is not None

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._saying("written"):
            writer = self._writer
            if writer is None:
                raise StoreError(f"{self} is closed")
            with writer.transaction():
                yield writer

    def log(
        self, stream: int, after: int, until: int | None = None
    ) -> Iterator[LoggedPredictions | LoggedOutcomes]:
        """Return the batches with a `sequence` above `after`, in the order of the log."""
        span = (stream, after, NO_END if until is None else until)
        with self._saying("read"), closing(self._connect()) as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")  # one view of both
            yield from merged(
                portions(reader, "predictions", sql.LOGGED_PREDICTIONS, span),
                portions(reader, "outcomes", sql.LOGGED_OUTCOMES, span),
            )

    def export(self, stream: int, portion: int) -> Iterator[list[tuple[Any, ...]]]:
        """Return all predictions with what became of them, in order, so many at a time."""
        with self._saying("read"), closing(self._connect()) as reader:
            reader.execute("BEGIN READ ONLY")
            with reader.cursor("export") as rows:
                rows.execute(spoken(sql.EXPORT), (stream,))
                while portion_of := rows.fetchmany(portion):
                    yield portion_of

    # -- ownership the streams --------------------------------------------------------------------

    def join(self, url: str) -> None:
        """Let the other processes know that this one is there, and where."""
        with self._transaction() as writer:
            writer.execute(ownership.FORGET)
            number = ownership.one(writer.execute(ownership.JOIN, (url,)).fetchone())
            writer.execute(ownership.LOCK, (ownership.PROCESSES, number))

    def processes(self) -> list[str]:
        """Return where the processes are that serve this database."""
        return [row[0] for row in self._rows(ownership.HERE)]

    def held(self) -> list[ownership.Held]:
        """Return all streams and where their owners are."""
        return [ownership.Held(*row) for row in self._rows(ownership.HELD)]

    def take(self, stream: int) -> bool:
        """Try to become the owner of a stream, and return whether that is so."""
        return self._lock(ownership.TRY, stream)

    def release(self, stream: int) -> None:
        """Be a stream's owner no longer."""
        self._lock(ownership.UNLOCK, stream)

    def _lock(self, statement: LiteralString, stream: int) -> bool:
        with self._transaction() as writer:
            return bool(
                ownership.one(writer.execute(statement, (ownership.STREAMS, stream)).fetchone())
            )

    def post(self, summaries: dict[str, str]) -> None:
        """Let the other processes know how streams go."""
        self._read(lambda reader: reader.cursor().executemany(ownership.POST, [*summaries.items()]))

    def posted(self, after: int) -> list[tuple[str, int, str]]:
        """Return what was posted since a change: stream, the number of the change, summary."""
        return [(name, change, body) for name, change, body in self._rows(ownership.POSTED, after)]

    # -- webhooks -------------------------------------------------------------------------------

    def keep_delivery(self, row: DeliveryRow) -> None:
        """Keep what a webhook has received of a stream."""
        with self._transaction() as writer:
            writer.execute(spoken(sql.KEEP_DELIVERY), row)

    # -- tokens ---------------------------------------------------------------------------------

    def add_token(self, token: TokenRow) -> None:
        """Keep a new token."""
        with self._transaction() as writer:
            writer.execute(spoken(sql.ADD_TOKEN), token)

    def end_token(self, name: str, at: float) -> bool:
        """Let a token end at a time, unless it ends before; return whether there is such a one."""
        with self._transaction() as writer:
            writer.execute(spoken(sql.END_TOKEN), (at, name, at))
            return writer.execute(spoken(sql.FIND_TOKEN), (name,)).fetchone() is not None

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


def one_number(writer: Connection, statement: str, values: Sequence[Any]) -> int:
    """Insert a row and return the number that the database gave it."""
    row = writer.execute(spoken(statement), values).fetchone()
    assert row is not None
    return int(row[0])


def copy_rows(writer: Connection, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows the way that is fast for many; a key that is there already is an error."""
    if not rows:
        return
    statement: LiteralString = f"COPY {name} ({columns}) FROM STDIN"
    with writer.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def portions(
    reader: Connection, name: str, statement: str, values: Sequence[Any]
) -> Iterator[list[tuple[Any, ...]]]:
    """Return the rows of a statement, many at a time."""
    with reader.cursor(name) as cursor:
        cursor.execute(spoken(statement), values)
        while rows := cursor.fetchmany(FETCHED):
            yield rows
