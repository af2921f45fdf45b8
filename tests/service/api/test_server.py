"""The service as a process: killed at any moment, stopped, checked and copied while it runs."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
from typer.testing import CliRunner

from calibrant.cli import app
from calibrant.service.settings import Settings
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.verification import check_store
from service.stores import query

COMMAND = [sys.executable, "-m", "calibrant"]
# Buffered, as where a user starts it: with PYTHONUNBUFFERED nothing is left to fail at the exit.
ENVIRONMENT = {**os.environ, "COLUMNS": "200"}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)


def run(*arguments):
    """Run the command line in this process, beside a service in another."""
    return CliRunner().invoke(app, [*map(str, arguments)])


class Process:
    """``calibrant serve`` on a free port."""

    def __init__(self, path, stdout=None):
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--store", str(path), "--port", "0"],
            stdout=stdout, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        self.said = []
        for line in self.process.stderr:
            self.said.append(line.strip())
            if line.startswith("http://"):
                break
        else:
            raise AssertionError(self.said)
        self.url = self.said[-1].rstrip("/")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=30)
        return self.process.returncode, rest


@pytest.fixture
def serve(path):
    processes = []

    def begin(stdout=None):
        processes.append(Process(path, stdout))
        return processes[-1]

    yield begin
    for each in processes:
        each.process.kill()
        each.process.wait()
        each.process.stderr.close()


def client(url, number, counter, seen):
    """Predict and bring outcomes, repeatedly and in conflict, until the service is gone."""
    chance = random.Random(number)
    mine = []
    with httpx.Client(base_url=f"{url}/v1/streams/s", timeout=20) as http:
        while True:
            ids = [f"c{number}-{next(counter)}" for _ in range(chance.choice((1, 20)))]
            ids += chance.sample(mine, min(3, len(mine)))
            mine += ids
            rows = [{"id": id_, "score": hash(id_) % 1000 / 1000} for id_ in dict.fromkeys(ids)]
            told = [
                {"id": id_, "outcome": chance.randint(0, 1)} for id_ in chance.choices(mine, k=8)
            ]
            try:
                said = http.post("/predictions", json=rows).raise_for_status().json()
                for row in said:
                    seen["predictions"].append((row["id"], row["probability"], row["sequence"]))
                learned = http.post("/outcomes", json=told).raise_for_status().json()
                for row, answer in zip(told, learned, strict=True):
                    if answer["answer"] == "applied":
                        seen["outcomes"].append((row["id"], row["outcome"]))
            except httpx.HTTPError:
                return


@pytest.mark.slow
def test_every_answer_survives_kills(serve, path, sql):
    """Three kills under load: whatever was answered is there, once, and the log gives the state."""
    seen = {"predictions": [], "outcomes": []}
    counter = itertools.count()
    chance = random.Random(5)
    for kill in range(3):
        service = serve()
        httpx.put(f"{service.url}/v1/streams/s", json={"seed": 3}).raise_for_status()
        threads = [
            threading.Thread(target=client, args=(service.url, 10 * kill + n, counter, seen))
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.3, 1.0))
        service.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
    assert len(seen["predictions"]) > 50
    rows = sql("SELECT id, probability, sequence FROM predictions")
    stored = {id_: answer for id_, *answer in rows}
    outcomes = dict(sql("SELECT id, outcome FROM outcomes"))
    for id_, *answer in seen["predictions"]:
        assert stored[id_] == answer
    for id_, outcome in seen["outcomes"]:
        assert outcomes[id_] == outcome
    assert check_store(SqliteStore(path), lambda _: None) == []
    assert any("replayed" in line for line in serve().said)


def test_a_stop_is_graceful_and_quick(serve, sql):
    service = serve()
    httpx.put(f"{service.url}/v1/streams/s", json={}).raise_for_status()
    httpx.post(f"{service.url}/v1/streams/s/predictions", json={"id": "a", "score": 0.5})
    with httpx.stream("GET", f"{service.url}/v1/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        begun = time.monotonic()
        code, rest = service.end()
        assert time.monotonic() - begun < 5
        list(lines)
    assert code == 0
    assert '"event": "stopped"' in rest
    assert "Traceback" not in rest
    assert sql("SELECT COUNT(*) FROM snapshots") == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_needs_nobody_who_reads_the_log(serve, sql, number):
    service = serve(stdout=subprocess.PIPE)
    httpx.put(f"{service.url}/v1/streams/s", json={}).raise_for_status()
    httpx.post(f"{service.url}/v1/streams/s/predictions", json={"id": "a", "score": 0.5})
    service.process.stdout.close()
    service.process.stderr.close()
    service.process.send_signal(number)
    assert service.process.wait(timeout=30) == 0
    assert sql("SELECT COUNT(*) FROM snapshots") == [(1,)]


def test_a_line_of_the_log_is_written_at_once(serve):
    """It is there while the service still waits for a request to end."""
    service = serve()
    with httpx.Client(base_url=service.url) as http:
        http.put("/v1/streams/s", json={}).raise_for_status()
        service.process.terminate()
        assert '"event": "stopping"' in service.process.stderr.readline()


def test_a_second_server_is_refused_and_a_backup_taken_while_one_runs(serve, path, tmp_path):
    service = serve()
    httpx.put(f"{service.url}/v1/streams/s", json={}).raise_for_status()
    httpx.post(f"{service.url}/v1/streams/s/predictions", json={"id": "a", "score": 0.5})
    second = run("serve", "--store", path, "--port", 0)
    assert second.exit_code == 2
    assert "is in use by another calibrant serve" in second.stderr.replace("\n", " ")
    copy = tmp_path / "copy.db"
    assert run("serve", "--store", path, "--backup", copy).exit_code == 0
    assert run("serve", "--store", path, "--backup", copy).exit_code == 2  # it is there already
    checked = run("serve", "--store", copy, "--check")
    assert (checked.exit_code, "no problems found" in checked.stdout) == (0, True)
    assert run("serve", "--store", tmp_path / "none.db", "--check").exit_code == 2
    query(copy, "UPDATE predictions SET probability = 0.25")
    damaged = run("serve", "--store", copy, "--check")
    assert damaged.exit_code == 3
    assert "does not give what was answered" in damaged.stdout.replace("\n", " ")


def test_tokens_from_the_command_line(serve, path):
    made = run("token", "new", "--store", path, "--scope", "write", "--stream", "s")
    token = made.stdout.splitlines()[-1]
    admin = run("token", "new", "--store", path, "--scope", "admin").stdout.splitlines()[-1]
    service = serve()

    def status(bearer):
        headers = {"authorization": f"Bearer {bearer}"}
        return httpx.get(f"{service.url}/v1/streams/s", headers=headers).status_code

    made = {"authorization": f"Bearer {admin}"}
    httpx.put(f"{service.url}/v1/streams/s", json={}, headers=made).raise_for_status()
    name = token.split("_")[1]
    assert status(token) == 200
    listed = run("token", "list", "--store", path).stdout
    assert f"{name}  write  s" in listed
    assert token.split("_", 2)[2] not in listed
    rotated = run("token", "rotate", name, "--store", path, "--grace", "1h")
    time.sleep(1.1)  # tokens are read again every second
    assert status(rotated.stdout.splitlines()[-1]) == 200
    assert run("token", "revoke", name, "--store", path).exit_code == 0
    time.sleep(1.1)
    assert status(token) == 401
    assert run("token", "revoke", "nobody", "--store", path).exit_code == 2
    assert run("token", "new", "--store", path, "--scope", "all").exit_code == 2
    _, rest = service.end()
    assert token.split("_", 2)[2] not in "\n".join([*service.said, rest])


def test_flags_before_environment_before_file(tmp_path):
    file = tmp_path / "calibrant.toml"
    file.write_text('port = 1\nhost = "::1"\nstore = "file.db"\n')
    environment = {"CALIBRANT_PORT": "2", "CALIBRANT_HOST": "localhost"}
    settings, sources = Settings.read({"port": 3, "host": None}, environment, file)
    assert (settings.port, settings.host, settings.store) == (3, "localhost", "file.db")
    assert [sources[name] for name in ("port", "host", "store", "log_level")] == [
        "flag", "CALIBRANT_HOST", str(file), "default",
    ]  # fmt: skip
    lines = settings.lines(sources)
    assert lines[1] == "host = localhost (CALIBRANT_HOST)"
    told = Settings(store="postgresql://me:secret@db/x").lines(sources)
    assert "secret" not in told[0]
    for bad in ("ports = 1", "port = 70000", "port = true", "host = 5", 'log_level = "loud"', "="):
        file.write_text(bad)
        with pytest.raises(ValueError, match=r"port|host|log_level|cannot be read"):
            Settings.read({}, {}, file)
