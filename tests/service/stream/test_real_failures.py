"""Failures as the system makes them: a disk with no room, and a clock that was set."""

import subprocess
import sys
import time

import httpx
import pytest

from benchmarks.kills import free_port
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store

DAY = 86_400.0


@pytest.fixture
def small_disk(path):
    """``calibrant serve`` on a disk with room for 400 kB, and its address."""
    port = free_port()
    serve = [sys.executable, "-m", "calibrant", "serve", "--store", path, "--port", str(port)]
    # No file may grow beyond 800 blocks: to the process, the disk is full.
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -f 800; exec "$@"', "sh", *serve],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            httpx.get(url + "/healthz")
            break
        except httpx.HTTPError:
            time.sleep(0.05)
    yield process, url
    process.kill()
    process.wait()


def test_a_disk_that_runs_full_loses_nothing_that_was_answered(small_disk, start, path):
    process, url = small_disk
    answered = {}
    with httpx.Client(base_url=url, timeout=30) as http:
        assert http.put("/v1/streams/s", json={}).status_code == 201
        for first in range(0, 20_000, 50):
            rows = [{"id": f"r{n}", "score": 0.4} for n in range(first, first + 50)]
            answer = http.post("/v1/streams/s/predictions", json=rows)
            if not answer.is_success:
                break
            answered |= {row["id"]: (row["probability"], row["sequence"]) for row in answer.json()}
        assert answer.status_code == 503
        assert "nothing was stored" in answer.json()["detail"]
        assert len(answered) > 500
        assert http.get("/readyz").status_code == 503
        assert http.get("/v1/streams/s").json()["predictions"] == len(answered)
        again = http.post("/v1/streams/s/predictions", json={"id": "r7", "score": 0.4}).json()
        assert (again["probability"], again["sequence"], again["answer"]) == (
            *answered["r7"],
            "repeated",
        )
    process.terminate()
    assert process.wait(timeout=20) == 0
    assert check_store(SqliteStore(path), lambda _: None) == []
    larger = start()  # there is room again
    rows = larger.predict([{"id": id_, "score": 0.4} for id_ in answered]).json()
    assert {row["id"]: (row["probability"], row["sequence"]) for row in rows} == answered
    assert {row["answer"] for row in rows} == {"repeated"}
    assert larger.predict({"id": "new", "score": 0.4}).json()["sequence"] == len(answered) + 1


def test_a_clock_that_was_set_back_between_two_starts(start, path, monkeypatch):
    """Time does not run backwards: deadlines count from the latest moment that was seen."""
    one = start()
    one.stream(silence=0, after="1h")
    one.predict([{"id": id_, "score": 0.5} for id_ in "ab"])
    one.stop()
    real = time.time
    monkeypatch.setattr("calibrant.service.clock.time.time", lambda: real() - DAY)
    two = start()
    two.predict({"id": "c", "score": 0.5})
    assert two.words([{"id": "a", "outcome": 1}, {"id": "c", "outcome": 1}]) == ["applied"] * 2
    assert two.http.get("/v1/streams/s").json()["settled"] == 0
    two.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []


def test_a_clock_that_was_set_ahead_between_two_starts(start, path, monkeypatch):
    """To a service that starts, a day has passed: silence has the last word, and says so."""
    one = start()
    one.stream(silence=0, after="1h")
    said = one.predict([{"id": id_, "score": 0.5} for id_ in "ab"]).json()
    assert one.words([{"id": "a", "outcome": 1}]) == ["applied"]
    one.stop()
    real = time.time
    monkeypatch.setattr("calibrant.service.clock.time.time", lambda: real() + DAY)
    two = start()
    assert two.words([{"id": "b", "outcome": 1}]) == ["conflict"]
    assert two.words([{"id": "a", "outcome": 1}]) == ["repeated"]
    again = two.predict([{"id": id_, "score": 0.5} for id_ in "ab"]).json()
    assert [row["probability"] for row in again] == [row["probability"] for row in said]
    two.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []
