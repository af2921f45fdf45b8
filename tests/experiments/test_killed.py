"""A real sweep in a separate process, killed and interrupted at random moments."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from calibrant.experiments import journal, parquet
from calibrant.experiments.sweeps import count_finished

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).parent / "calibrant"
# About two seconds of work for one worker, in some thirty batches.
ARGUMENTS = (
    "compare", "--forecasters", "zoom,swap:intervals=20,refined", "--streams", "drift,iid:mean=0.3",
    "--horizons", "1000,3000", "--seeds", "100",
)  # fmt: skip
TASKS = 3 * 2 * 2 * 100


def start(folder, workers):
    """Start a sweep in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [PROGRAM, *ARGUMENTS, "--workers", str(workers), "--out", folder],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


def would_be_kept(folder):
    """Return how many tasks would be kept if the sweep were killed now: those in a copy."""
    with tempfile.TemporaryDirectory() as copy:
        # What is in the log but not yet in the table must come along: the log goes first.
        for name in (f"{journal.NAME}-wal", journal.NAME):
            if (folder / name).exists():
                shutil.copy(folder / name, copy)
        return count_finished(copy)


def wait_for_tasks(process, folder, tasks):
    """Wait until the journal holds so many tasks, or the process has ended."""
    while process.poll() is None and would_be_kept(folder) < tasks:
        time.sleep(0.002)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = start(folder, 1)
    _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    return (folder / parquet.NAME).read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_random_moments(undisturbed, tmp_path, workers):
    rng = random.Random(workers)
    kept = kills = 0
    while kills < 4:
        process = start(tmp_path, workers)
        wait_for_tasks(process, tmp_path, kept + rng.randint(1, TASKS // 6))
        time.sleep(rng.uniform(0.0, 0.05))  # in the middle of whatever it does
        process.kill()
        process.communicate()
        if process.returncode == 0 and kills:
            break  # on a busy machine the sweep may be done before it is killed once more
        assert process.returncode == -signal.SIGKILL
        kills += 1
        assert not (tmp_path / parquet.NAME).exists()
        assert count_finished(tmp_path) > kept
        kept = count_finished(tmp_path)
    if kills == 4:
        process = start(tmp_path, workers)
        _, stderr = process.communicate()
        assert process.returncode == 0, stderr
        shown = re.search(r"([\d,]+) of 1,200 tasks", stderr)
        # Where every task was kept, there is nothing to continue with, and nothing to say.
        assert (int(shown[1].replace(",", "")) if shown else TASKS) == kept
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == [parquet.NAME]


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_finished(undisturbed, tmp_path, workers):
    process = start(tmp_path, workers)
    wait_for_tasks(process, tmp_path, 30)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    assert process.returncode == 130
    kept = int(re.search(r"([\d,]+) of 1,200 tasks are saved in", stderr)[1].replace(",", ""))
    assert kept == count_finished(tmp_path) >= 30
    assert "the same command continues from there" in stderr
    assert "Traceback" not in stderr
    assert not stdout
    process = start(tmp_path, workers)
    _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert f"{kept:,} of 1,200 tasks" in stderr
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
