"""``calibrant serve --check``: check that a store is intact, and that its log gives the answers."""

from __future__ import annotations

from collections.abc import Callable

from calibrant.service.store.base import Store
from calibrant.service.store.records import StoreError, StreamRow
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.garbage import collection_paused
from calibrant.service.stream.stream import Stream, checksum_of

#: Rows between two reports of progress.
STEP = 200_000


def check_store(store: Store, say: Callable[[str], None]) -> list[str]:
    """Return the problems of a store that is not in use, as sentences.

    Every log is replayed from its first row: each probability must equal the one that was
    answered, and at each snapshot, the state must equal the snapshot, bit for bit.
    """
    say("checking the pages of the store")
    wrong = store.check()
    if wrong:
        return wrong
    for row in store.streams():
        try:
            with collection_paused():
                wrong += check_stream(store, row, say)
        except StoreError as error:
            wrong.append(str(error))
    return wrong


def check_stream(store: Store, row: StreamRow, say: Callable[[str], None]) -> list[str]:
    """Return the problems of one stream."""
    stream = Stream(row, 0.0)
    wrong, snapshots = [], {}
    for snapshot in store.snapshots(row.number):
        if checksum_of(snapshot.blob) != snapshot.checksum:
            wrong.append(
                f"stream {row.name}: the snapshot at row {snapshot.sequence:,} is damaged; "
                "a start uses the one before, or replays from the first row"
            )
        elif snapshot.sequence >= stream.trimmed:
            snapshots[snapshot.sequence] = snapshot.blob
    if stream.adopted is not None or stream.trimmed:
        # Without its first rows, a log is replayed from the oldest snapshot.
        base = min(snapshots, default=None)
        if base is None or (base and not stream.trimmed):
            what = "snapshot" if stream.trimmed else "state that it was adopted from"
            return [*wrong, f"stream {row.name}: the {what} is missing"]
        stream.engine = Engine.from_bytes(snapshots.pop(base), stream.definition_at(base))
        stream.sequence = base
    end, reported = stream.last_sequence(store), stream.sequence
    for batch in stream.logged(store):
        stream.replay(batch)
        stream.engine.measure(STEP)
        if stream.sequence - reported >= STEP:
            reported = stream.sequence
            say(f"{row.name}: {reported:,} of {end:,} rows")
        blob = snapshots.pop(stream.sequence, None)
        if blob is not None and blob != stream.engine.to_bytes():
            wrong.append(
                f"stream {row.name}: the snapshot at row {stream.sequence:,} is not what a replay "
                "of the log gives"
            )
    wrong += [
        f"stream {row.name}: the snapshot at row {sequence:,} is between or beyond the log's rows"
        for sequence in snapshots
    ]
    say(f"{row.name}: {stream.sequence:,} rows replayed, {len(wrong)} problems found")
    return wrong
