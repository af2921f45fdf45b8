"""How commands end: quietly on closed streams, without partial files after a signal."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NAME = shlex.quote(str(Path(sys.executable).parent / "calibrant"))


@pytest.fixture
def shell(tmp_path, events):  # noqa: ARG001 - the file is there
    """Run a line of shell; return its exit code, standard output and standard error."""

    def run(line, **environment):
        done = subprocess.run(
            ["bash", "-c", line.replace("calibrant", NAME)],
            cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.mark.parametrize("both", ["", "2>&1"])
def test_a_reader_that_goes_away_is_no_error(shell, both):
    """With enough to say that the pipe breaks while it is said: rich ended this with 1."""
    done = shell(f"calibrant forecast events.csv {both} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "" if both else done.stderr)
    assert shell(f"calibrant forecast events.csv {both} | head -1; exit ${{PIPESTATUS[0]}}").stdout


def test_remarks_that_nobody_reads_do_not_stop_the_work(shell, tmp_path):
    done = shell("calibrant forecast events.csv --out out.csv 2> >(true)")
    assert done.returncode == 0
    assert (tmp_path / "out.csv").exists()


def test_no_columns_are_as_no_terminal(shell):
    for columns in ("0", "00", ""):
        assert "Cal1, sum" in shell("calibrant forecast events.csv", COLUMNS=columns).stdout
        assert "Usage: calibrant" in shell("calibrant --help", COLUMNS=columns).stdout


def test_closed_streams(shell, tmp_path):
    assert shell("calibrant forecast events.csv --out a.csv >&-").returncode == 0
    assert (tmp_path / "a.csv").read_text().startswith("day,outcome,prediction\n0,0,0.5\n")
    assert shell("calibrant forecast events.csv --out b.csv >&- 2>&- <&-").returncode == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert shell("printf '1\\n0\\n' | calibrant forecast - >&-").returncode == 0
    for command in ("forecast -", "recalibrate - --score s", "measure -", "inspect -"):
        done = shell(f"calibrant {command} <&-")
        assert done.returncode == 2
        assert "standard input: is closed; give a file, or a pipe" in done.stderr


def test_no_command_is_answered_with_help(shell):
    for line in ("calibrant", "calibrant --"):
        done = shell(line)
        assert done.returncode == 2
        assert "Usage: calibrant" in done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_half_written(program, tmp_path, number):
    """The report is opened before the work, so its half is there while rows are read and made."""
    rows = "".join(f"{t % 97 / 97},{t % 2}\n" for t in range(300_000))
    (tmp_path / "in.csv").write_text("score,y\n" + rows)
    # Under nohup the tests ignore SIGHUP, and so would the program, as it should.
    before = signal.signal(number, signal.SIG_DFL)
    process = program(
        "recalibrate", "in.csv", "--score", "score", "--report", "r.html", "--out", "o.csv"
    )
    signal.signal(number, before)
    while not list(tmp_path.glob(".*.part")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, stderr = process.communicate()
    assert process.returncode == 128 + number
    assert number.name.encode() in stderr
    assert b"Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_signal_that_is_ignored_stays_ignored(shell):
    """As with nohup."""
    done = shell(
        "trap '' HUP; (sleep 1; printf '1\\n') | calibrant forecast - & sleep 0.8; "
        "kill -HUP $!; wait $!"
    )
    assert (done.returncode, done.stdout) == (0, "0.5\n")
