"""The SQL statements that SQLite and PostgreSQL share.

``?`` stands for a value. What the two call differently is in a `Dialect`.
"""

from __future__ import annotations

from typing import NamedTuple

from calibrant.service.store.records import LoggedOutcomes, LoggedPredictions

#: The layout of tables, log and snapshots. A store of another layout is refused.
LAYOUT = "4"
#: Ids that one statement asks for; shorter lists are filled up, so that few texts are prepared.
ASKED = (1, 16, 256)


class Dialect(NamedTuple):
    """The names that one database has for things."""

    value: str  # stands for a value
    integer: str  # 64 bits
    real: str  # a double, every bit of it
    blob: str
    counted: str  # an integer that the database counts up itself
    clustered: str  # after a table that is kept in the order of its primary key


SQLITE = Dialect(
    "?", "INTEGER", "REAL", "BLOB", "INTEGER PRIMARY KEY AUTOINCREMENT", "WITHOUT ROWID"
)
POSTGRESQL = Dialect(
    "%s", "BIGINT", "DOUBLE PRECISION", "BYTEA",
    "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "",
)  # fmt: skip

TABLES = (
    """CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS streams (
        number {counted}, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL,
        created {real} NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS predictions (
        stream {integer} NOT NULL, sequence {integer} NOT NULL, batch {integer} NOT NULL,
        id TEXT NOT NULL, score {real}, "by" TEXT, key TEXT, at {real} NOT NULL,
        due {real}, deadline {real}, probability {real}, smooth {real}, predicted {blob},
        given {blob}, PRIMARY KEY (stream, sequence)) {clustered}""",
    """CREATE UNIQUE INDEX IF NOT EXISTS prediction_ids ON predictions (stream, id)""",
    """CREATE TABLE IF NOT EXISTS outcomes (
        stream {integer} NOT NULL, sequence {integer} NOT NULL, batch {integer} NOT NULL,
        id TEXT NOT NULL, outcome {real} NOT NULL, at {real} NOT NULL,
        PRIMARY KEY (stream, sequence)) {clustered}""",
    """CREATE UNIQUE INDEX IF NOT EXISTS outcome_ids ON outcomes (stream, id)""",
    """CREATE TABLE IF NOT EXISTS snapshots (
        stream {integer} NOT NULL, sequence {integer} NOT NULL, at {real} NOT NULL,
        blob {blob} NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (stream, sequence))""",
    """CREATE TABLE IF NOT EXISTS snapshot_pieces (
        stream {integer} NOT NULL, sequence {integer} NOT NULL, number {integer} NOT NULL,
        blob {blob} NOT NULL, PRIMARY KEY (stream, sequence, number))""",
    """CREATE TABLE IF NOT EXISTS events (
        number {counted}, stream TEXT NOT NULL, at {real} NOT NULL, kind TEXT NOT NULL,
        body TEXT NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS events_of_streams ON events (stream, number)""",
    """CREATE TABLE IF NOT EXISTS deliveries (
        webhook TEXT NOT NULL, stream TEXT NOT NULL, position {integer} NOT NULL,
        alarms TEXT NOT NULL, PRIMARY KEY (webhook, stream))""",
    # Streams that were deleted, whose rows are deleted bit by bit.
    """CREATE TABLE IF NOT EXISTS dropped_streams (number {integer} PRIMARY KEY)""",
    """CREATE TABLE IF NOT EXISTS tokens (
        name TEXT PRIMARY KEY, hash TEXT NOT NULL, scope TEXT NOT NULL, stream TEXT NOT NULL,
        created {real} NOT NULL, expires {real})""",
)

PREDICTION = (
    'stream, sequence, batch, id, score, "by", key, at, due, deadline, probability, smooth, '
    "predicted, given"
)
OUTCOME = "stream, sequence, batch, id, outcome, at"
SNAPSHOT = "stream, sequence, at, blob, checksum"
TOKEN = "name, hash, scope, stream, created, expires"


ADD_STREAM = "INSERT INTO streams (name, settings, created) VALUES (?, ?, ?) RETURNING number"
STREAMS = "SELECT number, name, settings, created FROM streams ORDER BY number"
NAME_OF = "SELECT name FROM streams WHERE number = ?"
CHANGE_STREAM = "UPDATE streams SET name = ?, settings = ? WHERE number = ?"
# What is stored by the name of a stream follows it.
RENAME = tuple(
    f"UPDATE {table} SET stream = ? WHERE stream = ?"
    for table in ("events", "deliveries", "tokens")
)
DROP_STREAM = "DELETE FROM streams WHERE number = ?"
DROP_NAMED = tuple(f"DELETE FROM {table} WHERE stream = ?" for table in ("events", "deliveries"))
ADD_DROPPED = "INSERT INTO dropped_streams (number) VALUES (?)"
DROPPED = "SELECT number FROM dropped_streams ORDER BY number LIMIT 1"
END_DROPPED = "DELETE FROM dropped_streams WHERE number = ?"
# A portion of the rows of a stream that was dropped.
DROP_SOME = tuple(
    f"""DELETE FROM {table} WHERE stream = ? AND sequence IN (
    SELECT sequence FROM {table} WHERE stream = ? ORDER BY sequence LIMIT ?)"""
    for table in ("predictions", "outcomes", "snapshots", "snapshot_pieces")
)
# A damaged snapshot is replaced by the same one, whole.
ADD_SNAPSHOT = f"""INSERT INTO snapshots ({SNAPSHOT}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (stream, sequence) DO UPDATE
    SET blob = excluded.blob, checksum = excluded.checksum"""
# The newest two are kept, and the state that a stream was adopted from.
DROP_SNAPSHOTS = """DELETE FROM snapshots WHERE stream = ? AND sequence > 0 AND sequence NOT IN (
    SELECT sequence FROM snapshots WHERE stream = ? ORDER BY sequence DESC LIMIT 2)"""
SNAPSHOTS = "SELECT sequence FROM snapshots WHERE stream = ? ORDER BY sequence DESC"
ONE_SNAPSHOT = f"SELECT {SNAPSHOT} FROM snapshots WHERE stream = ? AND sequence = ?"
ADD_PIECE = """INSERT INTO snapshot_pieces (stream, sequence, number, blob) VALUES (?, ?, ?, ?)
    ON CONFLICT (stream, sequence, number) DO UPDATE SET blob = excluded.blob"""
PIECES = """SELECT blob FROM snapshot_pieces WHERE stream = ? AND sequence = ? ORDER BY number"""
LOOSE_PIECE = """SELECT sequence, number FROM snapshot_pieces WHERE stream = ? AND sequence NOT IN (
    SELECT sequence FROM snapshots WHERE stream = ?) LIMIT 1"""
DROP_ALL_SNAPSHOTS = "DELETE FROM snapshots WHERE stream = ?"
DROP_ALL_PIECES = "DELETE FROM snapshot_pieces WHERE stream = ?"
DROP_PIECE = "DELETE FROM snapshot_pieces WHERE stream = ? AND sequence = ? AND number = ?"
# The ids asked for are a table of their own: for a list, SQLite would read the whole stream.
KNOWN = f"""WITH asked (id) AS (VALUES %s)
    SELECT {", ".join("p." + each.strip() for each in PREDICTION.split(","))}, o.outcome
    FROM asked JOIN predictions p ON p.stream = ? AND p.id = asked.id
    LEFT JOIN outcomes o ON o.stream = p.stream AND o.id = p.id"""
LOGGED_PREDICTIONS = f"""SELECT batch, {", ".join(map('"{}"'.format, LoggedPredictions._fields))}
    FROM predictions
    WHERE stream = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"""
LOGGED_OUTCOMES = f"""SELECT batch, {", ".join(LoggedOutcomes._fields)} FROM outcomes
    WHERE stream = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"""
EXPORT = """SELECT p.sequence, p.id, p.score, p."by", p.key, p.at, p.due, p.deadline,
    p.probability, p.smooth, o.outcome, o.at, o.sequence, p.predicted
    FROM predictions p LEFT JOIN outcomes o ON o.stream = p.stream AND o.id = p.id
    WHERE p.stream = ? ORDER BY p.sequence"""
# Rows in the order of the log, to see which are finished.
FINISHED = """SELECT p.sequence, p.id, p.at, o.sequence
    FROM predictions p LEFT JOIN outcomes o ON o.stream = p.stream AND o.id = p.id
    WHERE p.stream = ? AND p.sequence > ? AND p.sequence <= ? ORDER BY p.sequence LIMIT ?"""
LAST_PREDICTION = "SELECT MAX(sequence) FROM predictions WHERE stream = ?"
LAST_OUTCOME = "SELECT MAX(sequence) FROM outcomes WHERE stream = ?"
ADD_EVENT = "INSERT INTO events (stream, at, kind, body) VALUES (?, ?, ?, ?) RETURNING number"
EVENTS = """SELECT number, stream, at, kind, body FROM events
    WHERE number > ? ORDER BY number LIMIT ?"""
EVENTS_OF_STREAM = """SELECT number, stream, at, kind, body FROM events
    WHERE number > ? AND stream = ? ORDER BY number LIMIT ?"""
LAST_EVENT = "SELECT MAX(number) FROM events"
LAST_EVENT_OF = """SELECT kind FROM events WHERE stream = ? AND kind LIKE ?
    ORDER BY number DESC LIMIT 1"""
COUNT_CHANGES = """SELECT COUNT(*) FROM events
    WHERE stream = ? AND (kind LIKE ? OR kind LIKE ?)"""
DELIVERIES = "SELECT webhook, stream, position, alarms FROM deliveries WHERE webhook = ?"
# Where a webhook began, a row without a stream, is set once: by the first of several processes.
KEEP_DELIVERY = """INSERT INTO deliveries (webhook, stream, position, alarms) VALUES (?, ?, ?, ?)
    ON CONFLICT (webhook, stream) DO UPDATE SET position = excluded.position,
    alarms = excluded.alarms WHERE deliveries.stream <> ''"""
ADD_TOKEN = f"INSERT INTO tokens ({TOKEN}) VALUES (?, ?, ?, ?, ?, ?)"
TOKENS = f"SELECT {TOKEN} FROM tokens ORDER BY created, name"
END_TOKEN = """UPDATE tokens SET expires = ?
    WHERE name = ? AND (expires IS NULL OR expires > ?)"""
END_TOKENS_OF = """UPDATE tokens SET expires = ?
    WHERE stream = ? AND (expires IS NULL OR expires > ?)"""
FIND_TOKEN = "SELECT name FROM tokens WHERE name = ?"
LAYOUT_OF = "SELECT value FROM meta WHERE name = 'layout'"
# A store that cannot be written is noticed when it is opened, not with the first row.
SET_OPENED = """INSERT INTO meta (name, value) VALUES ('opened', ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
SET_LAYOUT = "INSERT INTO meta (name, value) VALUES ('layout', ?)"
# Of SQLite: the highest number that a stream ever had.
MOST_STREAMS = "SELECT seq FROM sqlite_sequence WHERE name = 'streams'"
ORPHANS = """SELECT COUNT(*) FROM outcomes o LEFT JOIN predictions p
    ON p.stream = o.stream AND p.id = o.id WHERE p.id IS NULL"""

#: The statement that looks for up to so many ids, by their number.
KNOWN_IDS = {size: KNOWN % ", ".join(["(CAST(? AS TEXT))"] * size) for size in ASKED}
#: The statements that delete the rows of up to so many ids of a stream.
DROP_IDS = {
    size: tuple(
        f"DELETE FROM {table} WHERE stream = ? AND id IN ({', '.join('?' * size)})"
        for table in ("predictions", "outcomes")
    )
    for size in ASKED
}
