"""Sweeps on a real Ray instance of this machine."""

import os
import signal
import sys
from functools import cache

import pytest

from calibrant.experiments import SweepError, parquet, plan, sweep
from calibrant.experiments.engines import batches
from calibrant.experiments.engines import ray as engine
from calibrant.experiments.sweeps import count_finished

TASKS = plan(["zoom", "swap:intervals=5", "epoch"], ["drift", "chaser"], [300, 1000], seeds=10)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    sweep(TASKS, folder, workers=1)
    return (folder / parquet.NAME).read_bytes()


@pytest.fixture(scope="module", autouse=True)
def nothing_else_runs():
    """Hide the Ray instances of other users and test runs: Ray joins any that it finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setattr("ray._private.services.find_gcs_addresses", cache(set))
        yield


@pytest.fixture(scope="module")
def cluster():
    """A Ray instance that the sweeps find running."""
    ray = engine.import_ray()
    engine.connect(ray, 2)
    yield ray
    ray.shutdown()


def test_a_worker_killed_in_the_middle(cluster, undisturbed, tmp_path, monkeypatch):
    """Three batches each lose their worker once, after half of their tasks; nothing is lost."""
    marks = tmp_path / "killed"
    marks.mkdir()
    run_batch = batches.run_batch

    def deadly(batch):  # inside the test, so that Ray takes it along
        mark = marks / str(TASKS.index(batch[0].task))
        if len(list(marks.iterdir())) < 3 and not mark.exists():
            mark.touch()
            run_batch(batch[: len(batch) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return run_batch(batch)

    monkeypatch.setattr(engine, "run_batch", deadly)
    seen = []
    sweep(TASKS, tmp_path / "out", engine="ray", workers=2, advance=seen.append)
    assert len(list(marks.iterdir())) >= 3
    assert seen[-1].tasks == len(TASKS)
    assert len({progress.tasks for progress in seen}) == len(seen)  # nothing counted twice
    assert (tmp_path / "out" / parquet.NAME).read_bytes() == undisturbed
    assert [path.name for path in (tmp_path / "out").iterdir()] == [parquet.NAME]
    assert cluster.is_initialized()  # who brought the connection keeps it


def test_a_task_that_kills_every_worker_fails_and_the_rest_is_kept(
    cluster, undisturbed, tmp_path, monkeypatch
):
    assert cluster.is_initialized()
    run_batch = batches.run_batch

    def deadly(batch):
        if any(job.task == TASKS[7] for job in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        return run_batch(batch)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "run_batch", deadly)
        patch.setattr(engine, "RETRIES", 1)
        with pytest.raises(SweepError, match="tasks failed; the others are kept"):
            sweep(TASKS, tmp_path, engine="ray")
    kept = count_finished(tmp_path)
    assert len(TASKS) // 2 < kept < len(TASKS)
    # Another engine continues with what this one has finished.
    sweep(TASKS, tmp_path, engine="local", workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def test_an_instance_of_its_own_is_ended(undisturbed, tmp_path):
    ray = engine.import_ray()
    ray.shutdown()
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, engine="ray", workers=1, advance=interrupt)
    assert not ray.is_initialized()
    kept = count_finished(tmp_path)
    assert 0 < kept < len(TASKS)
    sweep(TASKS, tmp_path, engine="local", workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


def interrupt(progress):
    if progress.tasks:
        raise KeyboardInterrupt


def test_an_address_without_a_cluster(tmp_path, monkeypatch):
    engine.import_ray().shutdown()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ValueError, match=r"no Ray cluster at RAY_ADDRESS=127\.0\.0\.1:1"):
        sweep(TASKS, tmp_path / "out", engine="ray")


def test_a_missing_ray_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"calibrant\[ray\]"):
        sweep(TASKS, tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()
