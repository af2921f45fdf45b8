"""Sweeps on a real Ray instance of this machine."""

import os
import signal
import sys

import pytest

from calibrant.experiments import journal, results
from calibrant.experiments.cells import plan
from calibrant.experiments.engines import batches
from calibrant.experiments.engines import ray as engine
from calibrant.experiments.sweep import SweepError, sweep

CELLS = plan(["zoom", "swap:intervals=5", "epoch"], ["drift", "chaser"], [300, 1000], seeds=10)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    sweep(CELLS, folder, workers=1)
    return (folder / results.NAME).read_bytes()


@pytest.fixture(scope="module")
def cluster():
    """A Ray instance that the sweeps find running."""
    ray = engine.import_ray()
    engine.connect(ray, 2)
    yield ray
    ray.shutdown()


def test_a_worker_killed_in_the_middle(cluster, undisturbed, tmp_path, monkeypatch):
    """Three batches each lose their worker once, after half of their cells; nothing is lost."""
    marks = tmp_path / "killed"
    marks.mkdir()
    play_batch = batches.play_batch

    def deadly(batch):  # inside the test, so that Ray takes it along
        mark = marks / str(batch[0].number)
        if len(list(marks.iterdir())) < 3 and not mark.exists():
            mark.touch()
            play_batch(batch[: len(batch) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return play_batch(batch)

    monkeypatch.setattr(engine, "play_batch", deadly)
    seen = []
    sweep(CELLS, tmp_path / "out", engine="ray", workers=2, advance=seen.append)
    assert len(list(marks.iterdir())) >= 3
    assert seen[-1].cells == len(CELLS)
    assert len({progress.cells for progress in seen}) == len(seen)  # nothing counted twice
    assert (tmp_path / "out" / results.NAME).read_bytes() == undisturbed
    assert [path.name for path in (tmp_path / "out").iterdir()] == [results.NAME]
    assert cluster.is_initialized()  # who brought the connection keeps it


def test_a_cell_that_kills_every_worker_fails_and_the_rest_is_kept(
    cluster, undisturbed, tmp_path, monkeypatch
):
    assert cluster.is_initialized()
    play_batch = batches.play_batch

    def deadly(batch):
        if any(task.number == 7 for task in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        return play_batch(batch)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "play_batch", deadly)
        patch.setattr(engine, "RETRIES", 1)
        with pytest.raises(SweepError, match="cells failed; the others are kept"):
            sweep(CELLS, tmp_path, engine="ray")
    kept = len((tmp_path / journal.NAME).read_bytes().splitlines())
    assert len(CELLS) // 2 < kept < len(CELLS)
    # Another engine goes on with what this one has finished.
    sweep(CELLS, tmp_path, engine="local", workers=1)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_an_instance_of_its_own_is_ended(undisturbed, tmp_path, monkeypatch):
    ray = engine.import_ray()
    ray.shutdown()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, engine="ray", workers=1, advance=interrupt)
    assert not ray.is_initialized()
    kept = len((tmp_path / journal.NAME).read_bytes().splitlines())
    assert 0 < kept < len(CELLS)
    sweep(CELLS, tmp_path, engine="local", workers=1)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def interrupt(progress):
    if progress.cells:
        raise KeyboardInterrupt


def test_an_address_without_a_cluster(tmp_path, monkeypatch):
    engine.import_ray().shutdown()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ValueError, match=r"no Ray cluster at RAY_ADDRESS=127\.0\.0\.1:1"):
        sweep(CELLS, tmp_path / "out", engine="ray")


def test_a_missing_ray_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"calibrant\[ray\]"):
        sweep(CELLS, tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()
