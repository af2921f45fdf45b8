"""When the store fails: a clear refusal, and memory never runs ahead of the log."""

import json
import re
import sqlite3
import time

import pytest

from calibrant.service.service import Service
from calibrant.service.store.records import StoreError
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.owner import Owner
from calibrant.service.stream.snapshots import Snapshots
from calibrant.service.stream.verification import check_store


class FullDisk(SqliteStore):
    """A store whose disk is full as long as `is_full` says so; it notices at the commit."""

    is_full = False

    def write(self, group):
        if not self.is_full:
            return super().write(group)
        with self._transaction():
            for row in group.predictions:
                self._writer.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, 0, 0)", row[:4])
            raise sqlite3.OperationalError("database or disk is full")


@pytest.fixture
def on_a_full_disk(start, path):
    running = start(FullDisk(path))
    running.stream()
    running.predict([{"id": id_, "score": 0.4} for id_ in "abc"])
    running.service.store.is_full = True
    return running


def test_what_cannot_be_stored_never_happened(on_a_full_disk):
    running = on_a_full_disk
    before = running.state()
    refused = running.predict([{"id": "d", "score": 0.7}])
    assert refused.status_code == 503
    assert "disk is full" in refused.json()["detail"]
    assert refused.headers["content-type"] == "application/problem+json"
    assert running.learn({"id": "a", "outcome": 1}).status_code == 503
    assert running.http.get("/readyz").status_code == 503
    assert running.state() == before
    assert running.http.get("/v1/streams/s").json()["predictions"] == 3


def test_it_goes_on_when_there_is_room_again(on_a_full_disk):
    running = on_a_full_disk
    running.predict([{"id": "d", "score": 0.7}])
    running.service.store.is_full = False
    assert running.words([{"id": "d", "outcome": 1}]) == ["unknown"]
    assert running.predict({"id": "d", "score": 0.7}).json()["answer"] == "applied"
    assert running.words([{"id": "d", "outcome": 1}]) == ["applied"]
    assert running.http.get("/readyz").status_code == 200


def test_a_repeated_answer_needs_no_room(on_a_full_disk):
    assert on_a_full_disk.predict({"id": "a", "score": 0.4}).json()["answer"] == "repeated"


def test_a_stream_whose_state_is_lost_is_closed_and_the_others_go_on(on_a_full_disk, monkeypatch):
    running = on_a_full_disk
    running.service.store.is_full = False
    running.stream("other")
    running.service.store.is_full = True
    monkeypatch.setattr(SqliteStore, "log", lambda *_: (_ for _ in ()).throw(StoreError("gone")))
    assert running.predict([{"id": "d", "score": 0.7}]).status_code == 503
    running.service.store.is_full = False
    closed = running.predict([{"id": "d", "score": 0.7}])
    assert closed.status_code == 503
    assert "is closed: gone" in closed.json()["detail"]
    assert running.predict({"id": "d", "score": 0.7}, "other").status_code == 200


def test_one_service_at_a_time_owns_a_file(start, path):
    start()
    with pytest.raises(StoreError, match="is in use by another calibrant serve"):
        Service(SqliteStore(path)).start()


def test_a_service_that_stopped_leaves_no_lock(start):
    one = start()
    one.stop()
    assert start().http.get("/healthz").status_code == 200


class ReadOnly(SqliteStore):
    """A store on a disk that is mounted to be read only."""

    def _connect(self, **_):
        return super()._connect(mode="ro")


def test_a_store_that_may_not_be_written_is_refused(start, path):
    start().stop()
    with pytest.raises(StoreError, match="readonly"):
        Service(ReadOnly(path)).start()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be"):
        Service(SqliteStore(tmp_path / "nowhere" / "store.db")).start()


def test_a_file_that_is_no_store_is_refused(path):
    path.write_bytes(b"timestamp,score\n" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        Service(SqliteStore(path)).start()


@pytest.mark.parametrize("layout", [2, 99])
def test_a_store_of_another_layout_is_refused(start, path, sql, layout):
    """A log of layout 2 has settings that are called otherwise now."""
    start().stop()
    sql("UPDATE meta SET value = ? WHERE name = 'layout'", str(layout))
    words = f"has layout {layout}, and this version of calibrant reads 4: start a new store, or use"
    with pytest.raises(StoreError, match=words):
        Service(SqliteStore(path)).start()
    (found,) = check_store(SqliteStore(path), lambda _: None)
    assert words in found


def test_a_damaged_page_is_refused_and_said(start, path, sql):
    one = start()
    one.stream()
    for at in range(0, 6000, 1000):
        one.predict([{"id": f"r{n}", "score": 0.5} for n in range(at, at + 1000)])
    one.stop()
    sql("DELETE FROM snapshots")
    ((size,),) = sql("PRAGMA page_size")
    ((root,),) = sql("SELECT rootpage FROM sqlite_schema WHERE name = 'predictions'")
    sql("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises(StoreError, match=r"malformed; it is damaged: calibrant serve --check"):
        Service(SqliteStore(path)).start()
    assert SqliteStore(path).check()


def test_too_many_rows_are_asked_to_come_again(running, monkeypatch):
    running.stream()
    monkeypatch.setattr("calibrant.service.stream.owner.MOST_QUEUED", 0)
    refused = running.predict({"id": "a", "score": 0.5})
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"


def test_an_error_of_the_service_is_no_traceback(running, monkeypatch):
    running.stream()

    def fail(*_):
        raise RuntimeError("secret words")

    monkeypatch.setattr("calibrant.service.stream.stream.Stream.predict", fail)
    refused = running.predict({"id": "a", "score": 0.5})
    assert refused.status_code == 500
    assert "secret" not in refused.text
    monkeypatch.setattr(Owner, "submit", fail)
    refused = running.http.get("/v1/streams")
    assert refused.status_code == 500
    assert refused.json()["detail"] == "internal error; see the log of the service"


def test_the_clock_of_the_service_does_not_jump(running, monkeypatch):
    running.stream(silence=0, after="1h")
    running.predict({"id": "a", "score": 0.5})
    a_year_later = time.time() + 365 * 86400
    monkeypatch.setattr("calibrant.service.clock.time.time", lambda: a_year_later)
    assert running.words([{"id": "a", "outcome": 1}]) == ["applied"]  # no deadline has passed
    ahead = re.search(
        r"calibrant_clock_ahead_seconds ([\d.e+]+)", running.http.get("/metrics").text
    )
    assert float(ahead[1]) == pytest.approx(365 * 86400, abs=60)


def test_the_owner_survives_an_error_of_its_own(running, monkeypatch):
    running.stream()

    def fail(*_):
        raise RuntimeError("nobody thought of it")

    with monkeypatch.context() as broken:
        broken.setattr(Owner, "_answer", fail)
        assert running.predict({"id": "a", "score": 0.5}).status_code == 500
    assert running.predict({"id": "a", "score": 0.5}).json()["answer"] == "applied"


@pytest.mark.parametrize("keyed", [False, True])
def test_events_that_a_crash_prevented_are_stored_at_the_next_start(start, tmp_path, keyed):
    """Events are stored after the answer: a kill in between loses none, and repeats none."""
    settings = {"tolerance": 0.0, "every": 100, "keyed": keyed, "watch_keys": keyed}

    def feed(running, first, last):
        for begin in range(first, last, 10):
            ids = range(begin, begin + 10)
            rows = [{"id": n, "score": 0.9, "at": 60.0 * n} for n in ids]
            if keyed:
                rows = [{**row, "key": row["id"] % 2} for row in rows]
            running.predict(rows).raise_for_status()
            told = [{"id": n, "outcome": int(150 <= n < 400), "at": 60.0 * n + 1} for n in ids]
            running.learn(told).raise_for_status()

    def events(running):
        found = running.http.get("/v1/events?format=json&limit=1000").json()["events"]
        shown = [{k: v for k, v in each.items() if k not in ("at", "number")} for each in found]
        return sorted(map(json.dumps, shown))

    sound = start(SqliteStore(tmp_path / "sound.db"))
    sound.stream(**settings)
    feed(sound, 0, 500)
    killed = start(SqliteStore(tmp_path / "killed.db"))
    killed.stream(**settings)
    feed(killed, 0, 100)
    with pytest.MonkeyPatch.context() as crash:  # neither events nor snapshots from here on
        crash.setattr(Owner, "measure", lambda *_: None)
        crash.setattr(Snapshots, "step", lambda *_: None)
        crash.setattr(Snapshots, "finish", lambda *_: None)
        feed(killed, 100, 500)
        assert len(events(killed)) < len(events(sound))
        killed.stop()
    again = start(SqliteStore(tmp_path / "killed.db"))
    assert events(again) == events(sound)
    again.stop()
    assert events(start(SqliteStore(tmp_path / "killed.db"))) == events(sound)
    assert len(events(sound)) > 3
