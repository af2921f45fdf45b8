"""The clients of docs/clients.md work as they stand there."""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from calibrant.service import Client

PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
ADDRESS = "http://127.0.0.1:8042"


def blocks(language, url):
    text = PAGE.read_text().replace(ADDRESS, url)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_curl(running):
    (script,) = blocks("sh", running.url)
    done = subprocess.run(
        ["sh", "-e"], input=script, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "problem" not in done.stdout
    assert running.service.owner.streams["fraud"].sequence == 5


def test_python(running, capsys):
    exec(blocks("python", running.url)[0], {})
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.endswith(" applied")
    assert rest == ["applied", "1"]


def test_java(running, tmp_path):
    (program,) = blocks("java", running.url)
    (tmp_path / "Ask.java").write_text(program)
    if shutil.which("javac") is None:
        pytest.skip("a Java compiler is not there")
    done = subprocess.run(
        ["java", "Ask.java", running.url],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"answer":"applied"') == 2


def write_history(path, rows=60):
    """Write a history whose outcomes are known an hour later, the last of them not yet."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score", "at", "outcome", "known_at"])
        for number in range(rows):
            at = f"2026-03-{1 + number // 20:02}T{number % 20:02}:00:00Z"
            known = at.replace(":00:00Z", ":59:00Z")
            outcome = "" if number >= rows - 20 else str(int(number % 3 == 0))
            writer.writerow([f"row {number}", number % 10 / 10, at, outcome, known])


def test_a_history(running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_history(tmp_path / "history.csv")
    program = blocks("python", running.url)[1]
    exec(program, {})
    stream, state = running.service.owner.streams["history"], running.state("history")
    with Client(running.url) as client:
        seen = client.stream("history")
    assert (seen["predictions"], seen["settled"], seen["waiting"]) == (60, 40, 20)
    assert stream.engine.book.rule.rounds == 60
    exec(program, {})  # again: nothing changes
    assert running.state("history") == state
