"""Sweeps: the same bytes whoever runs them, however often they stop; refusals before any work."""

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from calibrant.experiments import (
    Progress,
    SweepError,
    Task,
    journal,
    measure_task,
    parquet,
    plan,
    read_results,
    sweep,
)
from calibrant.experiments.engines import batches, local
from calibrant.experiments.sweeps import Pace, count_finished
from calibrant.experiments.tasks import Identity, run_task
from calibrant.tables import Table, frames, write
from experiments.cases import TASKS, files_of, rows_of, stop_after


def test_the_results_are_what_the_tasks_give(undisturbed, tmp_path):
    (tmp_path / parquet.NAME).write_bytes(undisturbed)
    rows = rows_of(tmp_path)
    assert list(rows[0]) == list(parquet.COLUMNS)
    assert len(rows) == 7 * len(TASKS)
    keys = [tuple(row[name] for name in list(parquet.COLUMNS)[:6]) for row in rows]
    assert keys == sorted(keys)
    for row in rows[::50]:
        name, parameters = row["forecaster"], json.loads(row["forecaster_parameters"])
        spec = name + "".join(f":{key}={value}" for key, value in parameters.items())
        stream, parameters = row["stream"], json.loads(row["stream_parameters"])
        stream += "".join(f":{key}={value}" for key, value in parameters.items())
        result = measure_task(Task(spec, stream, row["rounds"], row["seed"]))
        assert row["value"] == result.values[row["measure"]]
        assert row["deviation"] == result.deviation
        assert row["segments"] == result.segments
        assert result in read_results(tmp_path).all
    # Foster-Hart predicts 0 and 1, which some outcome belies: an infinite error stays one.
    assert any(math.isinf(row["value"]) for row in rows if row["measure"] == "klcal")


def test_the_number_of_workers_changes_nothing(undisturbed, tmp_path):
    seen = []
    sweep(reversed(TASKS), tmp_path, workers=2, advance=seen.append)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [parquet.NAME]
    assert seen[0] == Progress(0, len(TASKS), 0.0, None)
    assert seen[-1].tasks == seen[-1].of == len(TASKS)
    assert seen[-1].work == 1.0
    counts = [progress.tasks for progress in seen]
    assert counts == sorted(counts)
    assert len(counts) > 8


def watch_tasks(monkeypatch):
    """Return a list that will hold the tasks that run."""
    ran = []
    monkeypatch.setattr(
        batches, "run_task", lambda task, of: ran.append(task) or run_task(task, of)
    )
    return ran


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_sweep_continues(undisturbed, tmp_path, workers, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, workers=workers, advance=stop_after(20))
    assert files_of(tmp_path) == [journal.NAME]
    kept = count_finished(tmp_path)
    assert 20 <= kept < len(TASKS)
    assert not multiprocessing.active_children()
    ran = watch_tasks(monkeypatch)
    sweep(TASKS, tmp_path, workers=1)
    assert len(ran) == len(TASKS) - kept
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [parquet.NAME]


def test_a_finished_sweep_is_left_alone(undisturbed, tmp_path, monkeypatch):
    (tmp_path / parquet.NAME).write_bytes(undisturbed)
    before = (tmp_path / parquet.NAME).stat()
    monkeypatch.setattr(batches, "run_task", None)
    seen = []
    sweep(TASKS, tmp_path, workers=1, advance=seen.append)
    assert seen == [Progress(len(TASKS), len(TASKS), 1.0, 0.0)]
    assert (tmp_path / parquet.NAME).stat().st_mtime_ns == before.st_mtime_ns


def test_a_plan_may_grow(undisturbed, tmp_path, monkeypatch):
    fewer = [task for task in TASKS if task.seed < 2]
    sweep(fewer, tmp_path, workers=1)
    ran = watch_tasks(monkeypatch)
    with pytest.raises(KeyboardInterrupt):  # and be interrupted while it does
        sweep(TASKS, tmp_path, workers=1, advance=stop_after(len(fewer) + 2))
    assert files_of(tmp_path) == [journal.NAME, parquet.NAME]
    sweep(TASKS, tmp_path, workers=1)
    assert len(ran) == len(set(ran)) == len(TASKS) - len(fewer)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def test_another_plan_is_refused(undisturbed, tmp_path):
    (tmp_path / parquet.NAME).write_bytes(undisturbed)
    with pytest.raises(ValueError, match="finished tasks of another plan, for instance") as caught:
        sweep([task for task in TASKS if task.seed < 2], tmp_path, workers=1)
    assert f"{len(TASKS) // 3} finished tasks" in str(caught.value)
    assert "seed 2" in str(caught.value)
    with pytest.raises(ValueError, match=r"another plan.*\(measures"):
        sweep(TASKS, tmp_path, workers=1, measures=["cal1"])
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def test_an_interrupted_sweep_of_another_version_is_refused(tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, workers=1, advance=stop_after(5))
    monkeypatch.setattr("calibrant.__version__", "9.9.9")
    with pytest.raises(ValueError, match=r"another plan.*\(calibrant .*, now 9\.9\.9\)"):
        sweep(TASKS, tmp_path, workers=1)
    assert files_of(tmp_path) == [journal.NAME]


def test_a_file_that_changed_is_not_mixed_with_what_it_was(tmp_path):
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    data.write_text("y\n" + "1\n0\n" * 50)
    tasks = plan(["zoom", "epoch"], [f"file:{data}#y"], [100], seeds=2)
    sweep(tasks, folder, workers=1)
    data.write_text("y\n" + "1\n1\n" * 50)
    with pytest.raises(ValueError, match=r"another plan.*\(the file has changed\)"):
        sweep(tasks, folder, workers=1)


def test_a_file_that_changes_meanwhile_fails_its_tasks(tmp_path):
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    data.write_text("y\n" + "1\n0\n" * 50)
    tasks = plan(["zoom", "epoch"], [f"file:{data}#y", "drift"], [100], seeds=1)

    def change(_progress):
        data.write_text("y\n" + "1\n1\n" * 50)

    with pytest.raises(SweepError, match=r"2 of 4 tasks failed.*\n.*changed while"):
        sweep(tasks, folder, workers=1, advance=change)


def test_a_failed_task_is_named_and_the_others_are_kept(undisturbed, tmp_path, monkeypatch):
    def fail(task, identity):
        if task.forecaster == "zoom" and task.stream == "drift" and task.seed == 1:
            raise ZeroDivisionError("no luck")
        return run_task(task, identity)

    with monkeypatch.context() as patch:
        patch.setattr(batches, "run_task", fail)
        with pytest.raises(SweepError) as caught:
            sweep(TASKS, tmp_path, workers=1)
    assert "2 of 72 tasks failed" in str(caught.value)
    assert "zoom on drift, 200 rounds, seed 1: ZeroDivisionError: no luck" in str(caught.value)
    assert count_finished(tmp_path) == len(TASKS) - 2
    sweep(TASKS, tmp_path, workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def test_a_worker_that_is_killed_is_replaced(undisturbed, tmp_path):
    killed = []

    def kill(progress):
        if progress.tasks and len(killed) < 2:
            worker = multiprocessing.active_children()[0]
            os.kill(worker.pid, signal.SIGKILL)
            killed.append(worker.pid)

    sweep(TASKS, tmp_path, workers=2, advance=kill)
    assert len(killed) == 2
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_worker_ignores_ctrl_c_from_its_first_moment():
    """The mask of ignored signals, as the process starts and before it has imported anything."""
    worker = local.Worker()
    try:
        (child,) = multiprocessing.active_children()
        status = Path(f"/proc/{child.pid}/status").read_text()
        ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.M)[1], 16)
        assert ignored & 1 << (signal.SIGINT - 1)
    finally:
        worker.stop()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def deadly(pipe):
    """A worker that dies of one seed."""
    pipe.send([])
    while True:
        batch = pipe.recv()
        if any(job.task.seed == 2 and job.task.forecaster == "zoom" for job in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send(batches.run_batch(batch))


def test_a_task_that_kills_its_workers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "work", deadly)
    tasks = plan(["zoom", "epoch"], ["drift"], [100], seeds=4)
    with pytest.raises(SweepError) as caught:
        sweep(tasks, tmp_path, workers=2)
    assert "1 of 8 tasks failed" in str(caught.value)
    assert "zoom on drift, 100 rounds, seed 2: the process died of it (exit code -9)" in str(
        caught.value
    )
    assert not multiprocessing.active_children()


def test_a_job_has_three_workers_before_it_is_given_up():
    """All jobs of a batch count as suspects, and are then run one by one."""
    losses, dead = local.Losses(), SimpleNamespace(begun=True, stop=lambda: -9)
    dead.batch = ("one", "other")
    assert losses.count(dead) == ([("one",), ("other",)], [])
    dead.batch = ("one",)
    assert losses.count(dead) == ([("one",)], [])
    again, (given_up,) = losses.count(dead)
    assert (again, given_up.job) == ([], "one")


def test_a_script_that_cannot_be_imported(tmp_path):
    """Each worker runs the script again and fails; after three the sweep says why."""
    script = tmp_path / "script.py"
    script.write_text(
        "from calibrant.experiments import plan, sweep\n"
        "sweep(plan(['zoom'], ['drift'], [100], seeds=50), 'out', workers=2)\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "under if __name__ == '__main__':" in done.stderr.splitlines()[-1]
    assert done.stderr.count("Traceback") <= 5
    assert files_of(tmp_path / "out") == []


def test_two_sweeps_in_one_folder(undisturbed, tmp_path):
    """The second is refused at any time, and the first one goes on."""

    def intrude(progress):
        if progress.tasks < len(TASKS):
            with pytest.raises(ValueError, match="another sweep is writing to"):
                sweep(TASKS, tmp_path, workers=1)

    sweep(TASKS, tmp_path, workers=1, advance=intrude)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def test_tasks_that_are_the_same_run_once(tmp_path):
    twice = [Task("zoom", f"iid:mean={mean}", 100) for mean in ("0.5", ".50", "5e-1")]
    sweep([*twice, *twice], tmp_path, workers=1, measures=["cal1", "cal1"])
    (row,) = rows_of(tmp_path)
    assert row["stream_parameters"] == '{"mean": 0.5}'
    assert (row["measure"], row["rounds"], row["segments"]) == ("cal1", 100, 1)


@pytest.mark.parametrize(
    ("tasks", "options", "word"),
    [
        ([], {}, "tasks must not be empty"),
        ([("zoom", "drift", 10, 0)], {}, "tasks must be Tasks"),
        ([Task("zom", "drift", 10)], {}, "forecaster must be one of"),
        ([Task("zoom", "drft", 10)], {}, "stream must be one of"),
        ([Task("zoom", "iid:mean=3", 10)], {}, "mean must be a number"),
        ([Task("zoom", "corrupted:budget=90", n) for n in (1000, 100)], {}, "budget must be"),
        ([Task("foster-hart:gaps=0", "drift", 10)], {}, "gaps must be an integer"),
        ([Task("refined:deviation=C", "chaser", 10)], {}, "needs C"),
        ([Task("refined:deviation=C", "quakes6h", 10)], {}, "needs C"),
        ([Task("zoom", "quakes6h", 10**6)], {}, "'quakes6h' has 15838 rounds, not 1000000"),
        ([Task("zoom", "drift", 10)], {"measures": []}, "measures must not be empty"),
        ([Task("zoom", "drift", 10)], {"measures": ["cal3"]}, "measures must be one of"),
        ([Task("zoom", "drift", 10)], {"engine": "spark"}, "engine must be one of"),
        ([Task("zoom", "drift", 10)], {"workers": 0}, "workers must be an integer"),
    ],
)
def test_nothing_runs_or_is_made_for_a_bad_plan(tmp_path, monkeypatch, tasks, options, word):
    monkeypatch.setattr(batches, "run_task", None)
    with pytest.raises(ValueError, match=word):
        sweep(tasks, tmp_path / "out", **{"workers": 1, **options})
    assert not (tmp_path / "out").exists()


def test_a_missing_pyarrow_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "run_task", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"calibrant\[parquet\]"):
        frames.import_pyarrow()
    with pytest.raises(ImportError, match=r"calibrant\[parquet\]"):
        sweep(TASKS, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_a_strange_results_file_is_refused(tmp_path):
    (tmp_path / parquet.NAME).write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"is not a whole Parquet file.* remove it"):
        sweep(TASKS, tmp_path, workers=1)
    write(tmp_path / parquet.NAME, Table("memory", {"y": ["1", "0"]}))
    with pytest.raises(ValueError, match="lacks the columns forecaster"):
        sweep(TASKS, tmp_path, workers=1)
    (tmp_path / parquet.NAME).unlink()
    with pytest.raises(ValueError, match=r"results\.parquet: is not there"):
        read_results(tmp_path)


def test_results_with_a_changed_byte_are_refused(undisturbed, tmp_path):
    """Some bytes say nothing; none may change what is read."""
    path = tmp_path / parquet.NAME
    path.write_bytes(undisturbed)
    rows = read_results(tmp_path)
    refused = 0
    for at in range(10, len(undisturbed), len(undisturbed) // 50):
        damaged = bytearray(undisturbed)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        try:
            found = read_results(tmp_path)
        except ValueError:
            refused += 1
        else:
            assert found == rows
    assert refused > 20


def test_a_file_in_the_place_of_the_folder(tmp_path):
    path = tmp_path / "taken"
    path.write_text("something")
    for folder in (path, path / "inside"):
        with pytest.raises(ValueError, match="folder must be a folder"):
            sweep(TASKS, folder, workers=1)
    assert path.read_text() == "something"


def test_long_tasks_first_and_short_ones_together():
    tasks = [*plan(["zoom"], ["drift"], [100], 90), *plan(["swap", "zoom"], ["iid"], [10**6], 2)]
    jobs = [batches.Job(Identity.of(task, ["cal1"]), task) for task in tasks]
    found = batches.batches_of(jobs, workers=2)
    assert sorted(job for batch in found for job in batch) == sorted(jobs)
    assert [batch[0].task.rounds for batch in found] == [10**6] * 4 + [100]
    assert all(len(batch) == 1 for batch in found[:4])
    many = batches.batches_of(jobs[:90], workers=2)
    assert len(many) >= 2 * batches.BATCHES_A_WORKER - 1  # or the last would leave a worker idle


def test_a_worker_of_another_version_gives_no_result():
    task = Task("zoom", "drift", 100)
    wanted = Identity.of(task, ["cal1"])._replace(calibrant="9.9.9")
    finished = batches.run_job(batches.Job(wanted, task))
    assert finished.result is None
    assert "the worker has calibrant " in finished.error
    assert "the sweep has 9.9.9" in finished.error


def test_the_time_left_is_judged_by_the_pace_of_each_forecaster():
    slow, fast = Task("swap", "drift", 1000), Task("zoom", "drift", 1000)
    pace = Pace([slow, slow, fast, fast])
    assert pace.progress(0, 4, 2) == Progress(0, 4, 0.0, None)
    pace.finish(slow, 9.0)
    # Nothing is known of the fast one yet: it counts as what has been seen.
    assert pace.progress(1, 4, 2) == Progress(1, 4, pytest.approx(1 / 4), pytest.approx(27 / 2))
    pace.finish(fast, 1.0)
    assert pace.progress(2, 4, 2) == Progress(2, 4, pytest.approx(1 / 2), pytest.approx(10 / 2))
    pace.finish(slow, 9.0)
    pace.finish(fast, 1.0)
    assert pace.progress(4, 4, 2) == Progress(4, 4, 1.0, 0.0)
