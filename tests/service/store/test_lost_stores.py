"""A store that is deleted, replaced, linked or cut while it is in use."""

import os
import re
import shutil
import threading
import time

import pytest

from calibrant.service.service import Service
from calibrant.service.store.records import StoreError
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store
from calibrant.service.tokens import new_token

ROWS = [{"id": id_, "score": 0.4} for id_ in "abc"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_store_that_is_gone_is_not_answered_from(running, path, is_replaced):
    running.stream()
    assert running.predict(ROWS).status_code == 200
    path.unlink()
    if is_replaced:
        path.write_bytes(b"")
    assert running.predict([{"id": "d", "score": 0.4}]).status_code == 503
    assert running.http.get("/readyz").status_code == 503
    assert running.http.get("/healthz").status_code == 200
    ends = time.monotonic() + 3
    while running.http.get("/v1/streams/s").status_code == 200 and time.monotonic() < ends:
        time.sleep(0.1)
    answer = running.http.get("/v1/streams/s")
    assert answer.status_code == 503
    assert re.search("is gone|was replaced|cannot be read", answer.json()["detail"])


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_second_service_through_a_link_is_refused(start, path, link):
    one = start()
    one.stream()
    other = path.with_name("other.db")
    link(path, other)
    with pytest.raises(StoreError, match="in use by another calibrant serve"):
        Service(SqliteStore(other)).start()
    assert one.predict(ROWS).status_code == 200
    one.stop()
    other.unlink()
    assert start().predict(ROWS).status_code == 200


def test_a_log_that_was_cut_after_a_kill_is_found(running, path, tmp_path):
    running.stream()
    killed = tmp_path / "killed"
    killed.mkdir()
    for row in range(20):
        assert running.predict([{"id": f"row {row}", "score": 0.4}]).status_code == 200
    for name in (path.name, f"{path.name}-wal", f"{path.name}.rows"):
        shutil.copy(path.with_name(name), killed / name)  # what a kill leaves
    store = SqliteStore(killed / path.name)
    assert check_store(store, lambda _: None) == []
    store.close()
    for name in (f"{path.name}-shm", f"{path.name}-wal", path.name):
        (killed / name).unlink(missing_ok=True)
    shutil.copy(path, killed / path.name)
    wal = path.with_name(f"{path.name}-wal").read_bytes()
    (killed / f"{path.name}-wal").write_bytes(wal[: len(wal) // 2])
    store = SqliteStore(killed / path.name)
    (wrong,) = check_store(store, lambda _: None)
    assert re.search(r"stream s ends at row \d+, and had 20: its write-ahead log was cut", wrong)
    store.close()


def test_the_events_of_a_revoked_token_end_within_two_seconds(running):
    store = running.service.store
    token = new_token(store, "read", now=time.time())
    lines, ended = [], []

    def follow():
        headers = {"Authorization": f"Bearer {token}"}
        with running.http.stream("GET", "/v1/events", headers=headers, timeout=20) as answer:
            lines.append(answer.status_code)
            for line in answer.iter_lines():
                lines.append(line)
        ended.append(time.monotonic())

    time.sleep(1.1)  # the new token is read within a second
    thread = threading.Thread(target=follow)
    thread.start()
    ends = time.monotonic() + 5
    while len(lines) < 2 and time.monotonic() < ends:
        time.sleep(0.01)
    assert lines[0] == 200
    assert not ended
    store.end_token(token.split("_")[1], time.time())
    revoked = time.monotonic()
    thread.join(10)
    assert ended
    assert ended[0] - revoked < 2.5  # two, and what a busy machine takes
