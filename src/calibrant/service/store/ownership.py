"""Which processes share a PostgreSQL database, and which of them owns each stream.

It all rests on advisory locks of the connection that writes. A process is present as long as it
holds the lock of its number, and owns a stream as long as it holds the lock of the stream. The
database releases them when the connection ends: who can still commit still has its locks.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, LiteralString, NamedTuple

#: The classes of the locks: of processes and of streams, each with a number. The others have none:
#: of all who share the database or of one that has it alone, of the one that makes the tables, and
#: of the one that writes events, so that these are numbered in the order in which they can be seen.
PROCESSES, STREAMS = 0x63616C, 0x63616D
EVERYBODY, MAKERS, TELLERS = 0x63616C6962, 0x63616C6963, 0x63616C6964

TABLES: tuple[LiteralString, ...] = (
    """CREATE TABLE IF NOT EXISTS processes (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url TEXT NOT NULL)""",
    # The last summary of each stream by its owner, as JSON, for the list of all streams.
    """CREATE TABLE IF NOT EXISTS summaries (
        stream TEXT PRIMARY KEY, changed BIGINT NOT NULL, body TEXT NOT NULL)""",
    "CREATE SEQUENCE IF NOT EXISTS changes",
)
LOCKS: LiteralString = """locks AS (
    SELECT classid::bigint AS class, objid::bigint AS number, pid FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
HERE: LiteralString = f"""WITH {LOCKS}
    SELECT p.url FROM processes p JOIN locks l ON l.class = {PROCESSES} AND l.number = p.number
    ORDER BY p.number"""
HELD: LiteralString = f"""WITH {LOCKS}
    SELECT s.number, s.name, s.settings, s.created, p.url FROM streams s
    LEFT JOIN locks l ON l.class = {STREAMS} AND l.number = s.number
    LEFT JOIN locks o ON o.class = {PROCESSES} AND o.pid = l.pid
    LEFT JOIN processes p ON p.number = o.number ORDER BY s.number"""
FORGET: LiteralString = f"""WITH {LOCKS}
    DELETE FROM processes
    WHERE number NOT IN (SELECT number FROM locks WHERE class = {PROCESSES})"""
JOIN: LiteralString = "INSERT INTO processes (url) VALUES (%s) RETURNING number"
LOCK: LiteralString = "SELECT pg_advisory_lock(%s, %s)"
TRY: LiteralString = "SELECT pg_try_advisory_lock(%s, %s)"
UNLOCK: LiteralString = "SELECT pg_advisory_unlock(%s, %s)"
POST: LiteralString = """INSERT INTO summaries (stream, changed, body)
    VALUES (%s, nextval('changes'), %s) ON CONFLICT (stream)
    DO UPDATE SET changed = excluded.changed, body = excluded.body"""
POSTED: LiteralString = """SELECT stream, changed, body FROM summaries
    JOIN streams ON streams.name = summaries.stream WHERE changed > %s"""


class OwnedStream(NamedTuple):
    """A stream, and where its owner is; None if it has none."""

    number: int
    name: str
    settings: str
    created: float
    url: str | None


def chosen(stream: str, urls: list[str]) -> str | None:
    """Return which of the processes is to own a stream: the same for all who ask.

    Each pair has a number of its own, and the highest is chosen. So when a process comes or goes,
    only streams move that it gets or had.

    Examples
    --------
    >>> urls = ["http://a:1", "http://b:1", "http://c:1"]
    >>> before = [chosen(f"stream {n}", urls) for n in range(9)]
    >>> after = [chosen(f"stream {n}", urls[:2]) for n in range(9)]
    >>> all(new == old for old, new in zip(before, after) if old != urls[2])
    True
    """
    return max(urls, key=lambda url: sha256(f"{url} {stream}".encode()).digest(), default=None)


def one(row: tuple[Any, ...] | None) -> Any:
    """Return the only value of a row."""
    assert row is not None
    return row[0]
