"""The command line in this process, and as a program of its own."""

import gzip
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibrant.cli import app, console

PROGRAM = str(Path(sys.executable).parent / "calibrant")


@pytest.fixture
def attempt(monkeypatch):
    """Run the command line here; return its result with `stdout`, `stderr` and `exit_code`."""
    # Not by COLUMNS: the environment may have set that before the consoles were made.
    monkeypatch.setattr(console.out, "width", 200)
    monkeypatch.setattr(console.err, "width", 200)

    def invoke(*arguments, stdin=None):
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
        # Anything but an exit is a traceback that a user would have seen.
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return result

    return invoke


@pytest.fixture
def calibrant(attempt):
    """Run the command line here, without an error; return its result."""

    def invoke(*arguments, stdin=None):
        result = attempt(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result

    return invoke


@pytest.fixture(autouse=True)
def figures(request):
    """Leave pages without figures, unless a test asks for them by `drawn`."""
    if "drawn" not in request.fixturenames:
        request.getfixturevalue("undrawn")


@pytest.fixture
def drawn():
    """Ask for pages with figures."""


@pytest.fixture
def program(tmp_path):
    """Start the installed program, with pipes, in an empty folder."""

    def start(*arguments, **options):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)], cwd=tmp_path,
            **{**pipes, "env": {**os.environ, "COLUMNS": "200"}, **options},
        )  # fmt: skip

    return start


@pytest.fixture(scope="session")
def first_flights(tmp_path_factory, pytestconfig):
    """A file of the first flights, and their number; tests/test_examples.py plays all."""
    bundled = pytestconfig.rootpath / "src" / "calibrant" / "data" / "nycflights.csv.gz"
    path, count = tmp_path_factory.mktemp("flights") / "nycflights.csv", 30_000
    with gzip.open(bundled, "rt") as rows:
        path.write_text("".join(itertools.islice(rows, 1 + count)))
    return path, count


@pytest.fixture
def events(tmp_path):
    """A small file of outcomes."""
    path = tmp_path / "events.csv"
    path.write_text("day,outcome\n" + "".join(f"{t},{(t * t) % 3 % 2}\n" for t in range(300)))
    return path
