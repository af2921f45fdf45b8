"""The journal of a sweep: nothing reported is lost, nothing damaged is used."""

import math
import shutil
import sqlite3
from contextlib import closing

import pytest

from calibrant.experiments import (
    Result,
    Task,
    journal,
    parquet,
    sweep,
)
from calibrant.experiments.engines import batches
from calibrant.experiments.sweeps import count_finished
from experiments.cases import TASKS, files_of, stop_after


def test_damaged_rows_are_run_again(undisturbed, tmp_path):
    """SQLite itself would not notice: the rows are whole, and hold something else."""
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, workers=1, advance=stop_after(20))
    kept = count_finished(tmp_path)
    with closing(sqlite3.connect(tmp_path / journal.NAME)) as connection, connection:
        row = connection.execute("SELECT result FROM results WHERE rowid = 3").fetchone()[0]
        at = row.index(b'"cal1": ') + 10
        wrong = row[:at] + bytes([row[at] ^ 1]) + row[at + 1 :]
        for number, damaged in ((3, wrong), (5, b""), (6, row[: len(row) // 2]), (7, 7), (8, "x")):
            connection.execute("UPDATE results SET result = ? WHERE rowid = ?", (damaged, number))
    assert count_finished(tmp_path) == kept - 5
    sweep(TASKS, tmp_path, workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed


@pytest.mark.parametrize("damage", ["foreign", "cut short", "overwritten"])
def test_a_journal_that_is_none_is_refused(tmp_path, damage):
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, workers=1, advance=stop_after(60))
    path = tmp_path / journal.NAME
    content = path.read_bytes()
    path.write_bytes(
        {
            "foreign": b"something else entirely " * 100,
            "cut short": content[: len(content) // 2],
            "overwritten": content[:4096] + bytes(len(content) - 4096),
        }[damage]
    )
    with pytest.raises(ValueError, match=r"journal\.sqlite: is no journal, or damaged.* remove it"):
        sweep(TASKS, tmp_path, workers=1)
    with pytest.raises(ValueError, match="is no journal, or damaged"):
        count_finished(tmp_path)


def test_a_journal_that_was_opened_and_no_more(undisturbed, tmp_path):
    """Killed before the table was made: an empty file."""
    (tmp_path / journal.NAME).touch()
    assert count_finished(tmp_path) == 0
    (tmp_path / journal.NAME).touch()
    sweep(TASKS, tmp_path, workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [parquet.NAME]


def test_a_journal_that_cannot_be_written(tmp_path):
    (tmp_path / journal.NAME).mkdir()
    with pytest.raises(OSError, match=r"journal\.sqlite: cannot be used \(unable to open"):
        sweep(TASKS, tmp_path, workers=1)


def test_the_journal_loses_nothing(tmp_path):
    values = {"cal1": 0.1 + 0.2, "cal2": math.inf, "ece": 5e-324, "brier": 0.0, "log_loss": 1e308}
    results = [
        Result.of(Task("zoom", "drift", 100), values, deviation=1 / 3, segments=7),
        Result.of(Task("zoom", "chaser", 100), values),
    ]
    with journal.opened(tmp_path) as first:
        first.add(results)
    with journal.opened(tmp_path) as second:
        assert list(second.finished.values()) == results
        assert str(list(second.finished.values())) == str(results)


def test_what_is_reported_is_in_the_file(tmp_path):
    """In a copy, which is what a kill would leave."""
    reported = []

    def look(progress):
        copy = tmp_path / f"copy{len(reported)}"
        shutil.copytree(tmp_path / "out", copy)
        assert count_finished(copy) == progress.tasks
        reported.append(progress.tasks)

    sweep(TASKS, tmp_path / "out", workers=1, advance=look)
    assert reported[-1] == len(TASKS)
    assert count_finished(tmp_path / "out") == len(TASKS)


def test_a_journal_that_outlived_its_results_is_removed(undisturbed, tmp_path):
    """Killed after the results were written, before the journal was removed."""
    with pytest.raises(KeyboardInterrupt):
        sweep(TASKS, tmp_path, workers=1, advance=stop_after(len(TASKS)))
    (tmp_path / parquet.NAME).write_bytes(undisturbed)
    sweep(TASKS, tmp_path, workers=1, advance=None)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [parquet.NAME]


def test_stopped_while_the_results_are_written(undisturbed, tmp_path, monkeypatch):
    """The journal goes last, and half of the results is never there under their name."""

    def write_half(_table, file, **_options):
        file.write(undisturbed[: len(undisturbed) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", write_half)
        with pytest.raises(KeyboardInterrupt):
            sweep(TASKS, tmp_path, workers=1)
    assert files_of(tmp_path) == [journal.NAME]
    assert count_finished(tmp_path) == len(TASKS)
    (tmp_path / f".{parquet.NAME}.0123abcd.part").touch()  # what a kill would have left
    monkeypatch.setattr(batches, "run_task", None)  # nothing is left to run
    sweep(TASKS, tmp_path, workers=1)
    assert (tmp_path / parquet.NAME).read_bytes() == undisturbed
    assert files_of(tmp_path) == [parquet.NAME]
