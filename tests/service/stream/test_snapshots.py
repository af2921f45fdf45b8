"""Large snapshots are written in pieces while requests are answered, and count once whole."""

import pytest

from calibrant.service.api.rows import predictions_of
from calibrant.service.store.records import Group, Known, StoreError
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream import snapshots
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.stream import Stream
from calibrant.service.stream.verification import check_store


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Let every state of a fleet be large, and due after every row."""
    monkeypatch.setattr(snapshots, "PIECE", 5000)
    monkeypatch.setattr(snapshots, "LARGE", 1)
    monkeypatch.setattr(snapshots, "SNAPSHOT_ROWS", 0)


def rows_between(start, end):
    return [{"id": n, "score": 0.5, "key": n % 300} for n in range(start, end)]


def play(running, start, end):
    for first in range(start, end, 100):
        assert running.predict(rows_between(first, first + 100)).status_code == 200
        running.words([{"id": n, "outcome": n % 2} for n in range(first, first + 100)])


@pytest.fixture
def count(sql):
    def counted(table="snapshot_pieces"):
        return dict(sql(f"SELECT sequence, COUNT(*) FROM {table} GROUP BY 1"))

    return counted


def test_the_last_two_are_kept_and_a_restart_reads_the_pieces(start, path, sql, count):
    one = start()
    one.stream(keyed=True)
    play(one, 0, 3000)
    one.stop()
    kept, pieces = count("snapshots"), count()
    assert len(kept) == 2
    assert max(kept) == 6000
    assert pieces.keys() == kept.keys()  # nothing is left of those before
    assert min(pieces.values()) > 10
    two = start()
    assert two.said == ["s: 6,000 rows, 0 of them replayed"]
    again = two.state()
    two.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []
    sql("DELETE FROM snapshots")
    assert start().state() == again


def test_rows_go_on_between_two_pieces(path):
    """A snapshot is of the moment at which it was begun, whatever comes meanwhile."""
    store = SqliteStore(path)
    store.open()
    row = store.add_stream("s", Definition(keyed=True).as_text(), 0.0)
    stream, keeper = Stream(row, 0.0), snapshots.Snapshots(store, pytest.fail)
    begun, steps = None, 0
    while begun is None or stream.kept == 0:
        group, first = Group(), 10 * steps
        rows = predictions_of(rows_between(first, first + 10), stream.definition, 0.0)
        stream.predict(rows, Known({}, {}), group)
        store.write(group)
        keeper.step([stream], 0.0)
        begun = begun or stream.sequence
        steps += 1
    assert stream.kept == begun == 10
    assert stream.sequence == 10 * steps > 50
    keeper.finish([stream], 0.0)
    assert stream.kept == stream.sequence
    store.close()
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_one_that_was_cut_short_is_no_snapshot_and_goes_away(start, path, sql, count, monkeypatch):
    one = start()
    one.stream(keyed=True)
    play(one, 0, 500)
    state = one.state()
    one.stop()
    sequence = max(count("snapshots"))
    sql("DELETE FROM snapshots")  # as after a kill before the last piece
    assert sum(count().values()) > 10
    monkeypatch.setattr(snapshots, "SNAPSHOT_ROWS", 10**9)  # none before the end
    two = start()
    assert two.said == ["s: 1,000 rows, 1,000 of them replayed"]
    assert two.state() == state
    two.predict(rows_between(500, 501))
    two.stop()
    assert count().keys() == count("snapshots").keys() == {sequence + 1}
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_a_piece_that_is_missing_or_damaged_is_noticed(start, path, sql, count):
    one = start()
    one.stream(keyed=True)
    play(one, 0, 500)
    state = one.state()
    one.stop()
    newest = max(count("snapshots"))
    damage = "UPDATE snapshot_pieces SET blob = ? WHERE sequence = ? AND number = 3"
    sql(damage, b"x" * 5000, newest)
    (found,) = check_store(SqliteStore(path), lambda _: None)
    assert f"the snapshot at row {newest:,} is damaged" in found
    two = start()
    assert two.said != ["s: 1,000 rows, 0 of them replayed"]  # from the snapshot before, or all
    assert two.state() == state
    two.stop()  # the same state again, where the damaged one stood
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_a_store_that_fails_meanwhile_costs_the_snapshot_only(start):
    one = start()
    one.stream(keyed=True)
    play(one, 0, 300)
    store = one.service.store
    write = store.write

    def full(group):
        if group.pieces and group.pieces[0].number == 5:
            raise StoreError("the disk is full")
        return write(group)

    store.write = full
    play(one, 300, 800)
    store.write = write
    play(one, 800, 1000)
    state = one.state()
    one.stop()
    assert start().state() == state


def test_an_end_does_not_wait_for_a_snapshot(start, count, monkeypatch):
    one = start()
    one.stream(keyed=True)
    play(one, 0, 500)
    state = one.state()
    monkeypatch.setattr(snapshots, "LAST", -1.0)
    monkeypatch.setattr(snapshots, "SNAPSHOT_ROWS", 10**9)
    one.predict(rows_between(500, 510))
    state = one.state()
    one.stop()
    assert max(count("snapshots"), default=0) < 1010
    assert start().state() == state
