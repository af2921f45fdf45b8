"""Sweeps: the same bytes whoever plays, however often they stop; clear refusals before any work."""

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant.experiments import journal, results
from calibrant.experiments.cells import Cell, plan, play
from calibrant.experiments.engines import batches, local
from calibrant.experiments.sweep import Progress, SweepError, count_kept, sweep
from calibrant.tables import Table, frames, write

FORECASTERS = ["zoom", "foster-hart:horizon=T", "swap:intervals=5"]
STREAMS = ["drift", "iid:mean=0.3", "chaser", "quakes6h"]
CELLS = plan(FORECASTERS, STREAMS, [200, 500], seeds=3)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The results of a sweep that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(CELLS, folder, workers=1)
    return (folder / results.NAME).read_bytes()


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def stop_after(cells):
    """Return a callback that interrupts a sweep once so many cells are finished."""

    def advance(progress):
        if progress.cells >= cells:
            raise KeyboardInterrupt

    return advance


def test_the_results_are_what_the_cells_give(undisturbed, tmp_path):
    (tmp_path / results.NAME).write_bytes(undisturbed)
    rows = results.read(tmp_path)
    assert list(rows[0]) == list(results.COLUMNS)
    assert len(rows) == 7 * len(CELLS)
    keys = [tuple(row[name] for name in list(results.COLUMNS)[:6]) for row in rows]
    assert keys == sorted(keys)
    for row in rows[::50]:
        name, parameters = row["forecaster"], json.loads(row["forecaster_parameters"])
        spec = name + "".join(f":{key}={value}" for key, value in parameters.items())
        stream, parameters = row["stream"], json.loads(row["stream_parameters"])
        stream += "".join(f":{key}={value}" for key, value in parameters.items())
        values = play(Cell(spec, stream, row["rounds"], row["seed"]))
        assert row["value"] == values[row["measure"]]
        assert row["deviation"] == values.get("deviation")
        assert row["segments"] == values.get("segments")
    # Foster-Hart predicts 0 and 1, which some outcome belies: an infinite error stays one.
    assert any(math.isinf(row["value"]) for row in rows if row["measure"] == "klcal")


def test_the_number_of_workers_changes_nothing(undisturbed, tmp_path):
    seen = []
    sweep(reversed(CELLS), tmp_path, workers=2, advance=seen.append)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [results.NAME]
    assert seen[0] == Progress(0, len(CELLS), 0.0, None)
    assert seen[-1].cells == seen[-1].of == len(CELLS)
    assert seen[-1].work == 1.0
    counts = [progress.cells for progress in seen]
    assert counts == sorted(counts)
    assert len(counts) > 8


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_sweep_continues(undisturbed, tmp_path, workers, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=workers, advance=stop_after(20))
    assert files_of(tmp_path) == [journal.NAME]
    lines = (tmp_path / journal.NAME).read_bytes().splitlines()
    assert 20 <= len(lines) < len(CELLS)
    assert not multiprocessing.active_children()
    played = []
    monkeypatch.setattr(batches, "play", lambda cell, m: played.append(cell) or play(cell, m))
    sweep(CELLS, tmp_path, workers=1)
    assert len(played) == len(CELLS) - len(lines)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [results.NAME]


def test_damaged_lines_are_played_again(undisturbed, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(20))
    path = tmp_path / journal.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"0x1.", b"0x2.", 1)  # a wrong number, in a whole line
    lines[5] = b"\n"
    lines[6] = b'{"checksum": 7}\n'
    lines[-1] = lines[-1][: len(lines[-1]) // 2]  # cut short
    path.write_bytes(b"".join(lines))
    with path.open("rb") as file:
        finished, damaged, whole = journal.read(file)
    assert (len(finished), damaged) == (len(lines) - 4, 4)
    assert whole == sum(map(len, lines[:-1]))
    sweep(CELLS, tmp_path, workers=1)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_what_follows_a_line_cut_short_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(5))
    path = tmp_path / journal.NAME
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(20))
    with path.open("rb") as file:
        finished, damaged, _ = journal.read(file)
    assert damaged == 0
    assert len(finished) >= 20


def test_what_is_reported_is_in_the_file(tmp_path):
    path = tmp_path / journal.NAME
    reported = []

    def look(progress):
        assert path.read_bytes().count(b"\n") == progress.cells == count_kept(tmp_path)
        reported.append(progress.cells)

    sweep(CELLS, tmp_path, workers=1, advance=look)
    assert reported[-1] == len(CELLS)
    assert count_kept(tmp_path) == len(CELLS)


def test_a_journal_that_outlived_its_results_is_removed(undisturbed, tmp_path):
    """Killed after the results were written, before the journal was removed."""
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(len(CELLS)))
    (tmp_path / results.NAME).write_bytes(undisturbed)
    sweep(CELLS, tmp_path, workers=1, advance=None)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [results.NAME]


def test_stopped_while_the_results_are_written(undisturbed, tmp_path, monkeypatch):
    """The journal goes last, and half of the results is never there under their name."""

    def write_half(_table, file, **_options):
        file.write(undisturbed[: len(undisturbed) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", write_half)
        with pytest.raises(KeyboardInterrupt):
            sweep(CELLS, tmp_path, workers=1)
    assert files_of(tmp_path) == [journal.NAME]
    assert count_kept(tmp_path) == len(CELLS)
    (tmp_path / f".{results.NAME}.0123abcd.part").touch()  # what a kill would have left
    monkeypatch.setattr(batches, "play", None)  # nothing is left to play
    sweep(CELLS, tmp_path, workers=1)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [results.NAME]


def test_a_finished_sweep_is_left_alone(undisturbed, tmp_path, monkeypatch):
    (tmp_path / results.NAME).write_bytes(undisturbed)
    before = (tmp_path / results.NAME).stat()
    monkeypatch.setattr(batches, "play", None)
    seen = []
    sweep(CELLS, tmp_path, workers=1, advance=seen.append)
    assert seen == [Progress(len(CELLS), len(CELLS), 1.0, 0.0)]
    assert (tmp_path / results.NAME).stat().st_mtime_ns == before.st_mtime_ns


def test_a_plan_may_grow(undisturbed, tmp_path, monkeypatch):
    fewer = [cell for cell in CELLS if cell.seed < 2]
    sweep(fewer, tmp_path, workers=1)
    played = []
    monkeypatch.setattr(batches, "play", lambda cell, m: played.append(cell) or play(cell, m))
    with pytest.raises(KeyboardInterrupt):  # and be interrupted while it does
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(len(fewer) + 2))
    assert files_of(tmp_path) == [journal.NAME, results.NAME]
    sweep(CELLS, tmp_path, workers=1)
    assert len(played) == len(set(played)) == len(CELLS) - len(fewer)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_another_plan_is_refused(undisturbed, tmp_path):
    (tmp_path / results.NAME).write_bytes(undisturbed)
    with pytest.raises(ValueError, match="finished cells of another plan, for instance") as caught:
        sweep([cell for cell in CELLS if cell.seed < 2], tmp_path, workers=1)
    assert f"{len(CELLS) // 3} finished cells" in str(caught.value)
    assert "seed 2" in str(caught.value)
    with pytest.raises(ValueError, match=r"another plan.*\(measures"):
        sweep(CELLS, tmp_path, workers=1, measures=["cal1"])
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_an_interrupted_sweep_of_another_version_is_refused(tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, tmp_path, workers=1, advance=stop_after(5))
    monkeypatch.setattr("calibrant.__version__", "9.9.9")
    with pytest.raises(ValueError, match=r"another plan.*\(calibrant .*, now 9\.9\.9\)"):
        sweep(CELLS, tmp_path, workers=1)
    assert files_of(tmp_path) == [journal.NAME]


def test_a_file_that_changed_is_not_mixed_with_what_it_was(tmp_path):
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    data.write_text("y\n" + "1\n0\n" * 50)
    cells = plan(["zoom", "epoch"], [f"file:{data}#y"], [100], seeds=2)
    sweep(cells, folder, workers=1)
    data.write_text("y\n" + "1\n1\n" * 50)
    with pytest.raises(ValueError, match=r"another plan.*\(the file has changed\)"):
        sweep(cells, folder, workers=1)


def test_a_file_that_changes_meanwhile_fails_its_cells(tmp_path):
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    data.write_text("y\n" + "1\n0\n" * 50)
    cells = plan(["zoom", "epoch"], [f"file:{data}#y", "drift"], [100], seeds=1)

    def change(_progress):
        data.write_text("y\n" + "1\n1\n" * 50)

    with pytest.raises(SweepError, match=r"2 of 4 cells failed.*\n.*changed while"):
        sweep(cells, folder, workers=1, advance=change)


def test_a_failed_cell_is_named_and_the_others_are_kept(undisturbed, tmp_path, monkeypatch):
    def fail(cell, measures):
        if cell.forecaster == "zoom" and cell.stream == "drift" and cell.seed == 1:
            raise ZeroDivisionError("no luck")
        return play(cell, measures)

    with monkeypatch.context() as patch:
        patch.setattr(batches, "play", fail)
        with pytest.raises(SweepError) as caught:
            sweep(CELLS, tmp_path, workers=1)
    assert "2 of 72 cells failed" in str(caught.value)
    assert "zoom on drift, 200 rounds, seed 1: ZeroDivisionError: no luck" in str(caught.value)
    assert len((tmp_path / journal.NAME).read_bytes().splitlines()) == len(CELLS) - 2
    sweep(CELLS, tmp_path, workers=1)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_a_worker_that_is_killed_is_replaced(undisturbed, tmp_path):
    killed = []

    def kill(progress):
        if progress.cells and len(killed) < 2:
            worker = multiprocessing.active_children()[0]
            os.kill(worker.pid, signal.SIGKILL)
            killed.append(worker.pid)

    sweep(CELLS, tmp_path, workers=2, advance=kill)
    assert len(killed) == 2
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


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
        if any(task.cell.seed == 2 and task.cell.forecaster == "zoom" for task in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send(batches.play_batch(batch))


def test_a_cell_that_kills_its_workers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "work", deadly)
    cells = plan(["zoom", "epoch"], ["drift"], [100], seeds=4)
    with pytest.raises(SweepError) as caught:
        sweep(cells, tmp_path, workers=2)
    assert "1 of 8 cells failed" in str(caught.value)
    assert "zoom on drift, 100 rounds, seed 2: the process died of it (exit code -9)" in str(
        caught.value
    )
    assert not multiprocessing.active_children()


def test_a_script_that_cannot_be_imported(tmp_path):
    """Each worker runs the script again and fails; after three the sweep says why."""
    script = tmp_path / "script.py"
    script.write_text(
        "from calibrant.experiments.cells import plan\n"
        "from calibrant.experiments.sweep import sweep\n"
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
    def intrude(progress):
        if progress.cells:
            with pytest.raises(ValueError, match="another sweep is writing to"):
                sweep(CELLS, tmp_path, workers=1)

    sweep(CELLS, tmp_path, workers=1, advance=intrude)
    assert (tmp_path / results.NAME).read_bytes() == undisturbed


def test_cells_that_are_the_same_are_played_once(tmp_path):
    twice = [Cell("zoom", f"iid:mean={mean}", 100) for mean in ("0.5", ".50", "5e-1")]
    sweep([*twice, *twice], tmp_path, workers=1, measures=["cal1", "cal1"])
    (row,) = results.read(tmp_path)
    assert row["stream_parameters"] == '{"mean": 0.5}'
    assert (row["measure"], row["rounds"], row["segments"]) == ("cal1", 100, 1)


@pytest.mark.parametrize(
    ("cells", "options", "word"),
    [
        ([], {}, "cells must not be empty"),
        ([("zoom", "drift", 10, 0)], {}, "cells must be Cells"),
        ([Cell("zom", "drift", 10)], {}, "forecaster must be one of"),
        ([Cell("zoom", "drft", 10)], {}, "stream must be one of"),
        ([Cell("zoom", "iid:mean=3", 10)], {}, "mean must be a number"),
        ([Cell("zoom", "corrupted:budget=90", n) for n in (1000, 100)], {}, "budget must be"),
        ([Cell("foster-hart:gaps=0", "drift", 10)], {}, "gaps must be an integer"),
        ([Cell("refined:deviation=C", "chaser", 10)], {}, "needs C"),
        ([Cell("refined:deviation=C", "quakes6h", 10)], {}, "needs C"),
        ([Cell("zoom", "quakes6h", 10**6)], {}, "'quakes6h' has 15838 rounds, not 1000000"),
        ([Cell("zoom", "drift", 10)], {"measures": []}, "measures must not be empty"),
        ([Cell("zoom", "drift", 10)], {"measures": ["cal3"]}, "measures must be one of"),
        ([Cell("zoom", "drift", 10)], {"engine": "spark"}, "engine must be one of"),
        ([Cell("zoom", "drift", 10)], {"workers": 0}, "workers must be an integer"),
    ],
)
def test_nothing_is_played_or_made_for_a_bad_plan(tmp_path, monkeypatch, cells, options, word):
    monkeypatch.setattr(batches, "play", None)
    with pytest.raises(ValueError, match=word):
        sweep(cells, tmp_path / "out", **{"workers": 1, **options})
    assert not (tmp_path / "out").exists()


def test_a_missing_pyarrow_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "play", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"calibrant\[parquet\]"):
        frames.import_pyarrow()
    with pytest.raises(ImportError, match=r"calibrant\[parquet\]"):
        sweep(CELLS, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_a_strange_results_file_is_refused(tmp_path):
    (tmp_path / results.NAME).write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"not the results of a sweep, or damaged.* remove it"):
        sweep(CELLS, tmp_path, workers=1)
    write(tmp_path / results.NAME, Table("memory", {"y": ["1", "0"]}))
    with pytest.raises(ValueError, match="other columns"):
        sweep(CELLS, tmp_path, workers=1)
    (tmp_path / results.NAME).unlink()
    with pytest.raises(ValueError, match="there are no results"):
        results.read(tmp_path)


def test_results_with_a_changed_byte_are_refused(undisturbed, tmp_path):
    """Some bytes say nothing; none may change what is read."""
    path = tmp_path / results.NAME
    path.write_bytes(undisturbed)
    rows = results.read(tmp_path)
    refused = 0
    for at in range(10, len(undisturbed), len(undisturbed) // 50):
        damaged = bytearray(undisturbed)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        try:
            found = results.read(tmp_path)
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
            sweep(CELLS, folder, workers=1)
    assert path.read_text() == "something"


def test_long_cells_first_and_short_ones_together():
    cells = [*plan(["zoom"], ["drift"], [100], 300), *plan(["swap", "zoom"], ["iid"], [10**6], 2)]
    tasks = [batches.Task(n, cell, ("cal1",), None) for n, cell in enumerate(cells)]
    found = batches.batches_of(tasks, workers=2)
    assert sorted(task.number for batch in found for task in batch) == list(range(len(tasks)))
    assert [batch[0].cell.forecaster for batch in found[:4]] == ["swap", "swap", "zoom", "zoom"]
    assert all(len(batch) == 1 for batch in found[:4])
    assert len(found) == 5  # 300 cells of 100 rounds are a fraction of a second
