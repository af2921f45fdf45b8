"""A file cut anywhere, or read some rows at a time, is the file."""

import csv
import gzip
import json
import re
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from calibrant import Fleet, Recalibrator
from calibrant.measures import brier
from calibrant.tables import chunks
from calibrant.tables.atomic import locked_file
from cli.files import written

COMMAND = import_module("calibrant.cli.recalibrate")

SIZE = 300
NAMES = ("--score", "s", "--outcome", "y", "--time", "t", "--available", "known")
POLICIES = {
    "at once": (),
    "after": ("--silence", "0", "--after", "9"),
    "due": ("--silence", "1", "--due", "due"),
    "hold": ("--hold", "12"),
}


@pytest.fixture(scope="module")
def rows():
    """Rows with clocks that tick coarsely: several happen at once, and some never become known."""
    random = np.random.default_rng(3)
    made = np.sort(random.integers(0, SIZE // 2, SIZE)).astype(float)
    known = made + random.choice([0, 1, 4, 9, 30], SIZE)
    known[random.random(SIZE) < 0.1] = np.nan
    score = random.random(SIZE).round(3)
    return pd.DataFrame(
        {
            "k": [f"key {row % 7}" for row in range(SIZE)], "t": made, "known": known,
            "due": made + random.integers(1, 20, SIZE), "s": score,
            "y": (random.random(SIZE) < score**2).astype(int),
            "id": [f"row {row}" for row in range(SIZE)],
        }
    )  # fmt: skip


def said_in(path):
    return [row["calibrated"] for row in csv.DictReader(path.read_text().splitlines())]


@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("key", [(), ("--key", "k"), ("--key", "k", "--id", "id")], ids=str)
def test_a_file_cut_anywhere_goes_on_in_its_state(calibrant, rows, tmp_path, options, key):
    if "--id" in key and not options:
        pytest.skip("in a log with keys, outcomes by id come in rows of their own")

    def run(part, state, out):
        source = written(part, tmp_path / "in.csv")
        calibrant("recalibrate", source, *NAMES, *options, *key, "--state", state, "--out", out)
        return said_in(out)

    kind = Fleet if key else Recalibrator
    expected = run(rows, tmp_path / "whole", tmp_path / "whole.csv")
    state = kind.load(tmp_path / "whole").to_bytes()
    for cut in np.random.default_rng(len(options)).permutation(SIZE - 1)[:3].tolist():
        half, out = tmp_path / f"half {cut}", tmp_path / "half.csv"
        found = [
            each for part in (rows[: cut + 1], rows[cut + 1 :]) for each in run(part, half, out)
        ]
        assert found == expected
        assert kind.load(half).to_bytes() == state


@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
def test_a_large_file_is_the_file(calibrant, rows, tmp_path, monkeypatch, options):
    source, out = written(rows, tmp_path / "in.csv"), tmp_path / "out.csv"
    asked = ("recalibrate", source, *NAMES, *options)
    measures = json.loads(calibrant(*asked, "--json").stdout)
    whole = calibrant(*asked, "--out", out, "--smooth", "fine", "--state", tmp_path / "whole")
    expected = out.read_bytes()
    monkeypatch.setattr(COMMAND, "LARGE", 1000)
    monkeypatch.setattr(chunks, "BLOCK", 900)
    large = calibrant(*asked, "--out", out, "--smooth", "fine", "--state", tmp_path / "large")
    assert "large file" in large.stderr
    assert "the file is large" not in whole.stderr
    assert out.read_bytes() == expected
    states = [Recalibrator.load(tmp_path / name).to_bytes() for name in ("whole", "large")]
    assert states[0] == states[1]
    told = next(line for line in large.stdout.splitlines() if line.startswith("Brier"))
    assert told in whole.stdout
    assert float(told.split()[2]) == pytest.approx(measures["raw"]["brier"], abs=1e-4)
    assert float(told.split()[3]) == pytest.approx(measures["calibrated"]["brier"], abs=1e-4)
    assert f"(mean {measures['mean_outcome']:.4f})" in large.stdout
    # The losses; their interval comes from neighbours, in the order in which rows are settled.
    figures = re.findall(r"0\.\d{4}", measures["findings"][0].split(" (")[0])
    assert len(figures) == 2
    assert all(figure in large.stdout for figure in figures)
    for line in large.stdout.splitlines():
        if line.startswith("outcomes that arrived after their deadline"):
            assert line in whole.stdout


def test_a_packed_file_is_as_large_as_what_it_holds(calibrant, tmp_path, monkeypatch):
    monkeypatch.setattr(COMMAND, "LARGE", 100_000)
    source = tmp_path / "in.csv.gz"
    source.write_bytes(gzip.compress(b"s,y\n" + b"0.5,1\n0.5,0\n" * 20_000))
    assert source.stat().st_size < 2000
    result = calibrant("recalibrate", source, "--score", "s", "--outcome", "y")
    assert "large file" in result.stderr


def test_a_large_file_without_times(calibrant, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(COMMAND, "LARGE", 1000)
    monkeypatch.setattr(chunks, "BLOCK", 900)
    rows = rows.assign(y=rows["y"].where(rows.index % 5 > 0))
    source, out = written(rows, tmp_path / "in.csv"), tmp_path / "out.csv"
    result = calibrant("recalibrate", source, "--score", "s", "--outcome", "y", "--out", out)
    said = np.array(said_in(out), dtype=float)
    assert said.tolist() == Recalibrator().run(rows["s"], rows["y"]).tolist()
    has = rows["y"].notna()
    assert f"{brier(said[has], rows['y'][has]):.4f}" in result.stdout
    assert "rows without an outcome: 60" in result.stdout


@pytest.mark.parametrize(
    "options", [("--json",), ("--by", "k"), ("--id", "k"), ("--report", "r.html")], ids=str
)
def test_what_needs_all_rows_reads_all_rows(calibrant, rows, tmp_path, monkeypatch, options):
    monkeypatch.setattr(COMMAND, "LARGE", 1000)
    monkeypatch.chdir(tmp_path)
    rows = rows.assign(k=rows.index) if "--id" in options else rows
    result = calibrant("recalibrate", written(rows, tmp_path / "in.csv"), *NAMES, *options)
    assert "large" not in result.stderr


def test_a_bad_row_of_a_large_file_is_named_by_its_line(attempt, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(COMMAND, "LARGE", 1000)
    monkeypatch.setattr(chunks, "BLOCK", 900)
    rows = rows.copy()
    rows.loc[250, "s"] = 1.5
    out = tmp_path / "out.csv"
    result = attempt("recalibrate", written(rows, tmp_path / "in.csv"), *NAMES, "--out", out)
    assert result.exit_code == 2
    assert "line 252, column 's': got 1.5" in result.stderr
    rows.loc[250, ["s", "t"]] = 0.5, 0.0
    result = attempt("recalibrate", written(rows, tmp_path / "in.csv"), *NAMES, "--out", out)
    assert "line 252, column 't': " in result.stderr
    assert not out.exists()


def test_a_state_belongs_to_one_process_at_a_time(attempt, rows, tmp_path):
    state = tmp_path / "state"
    asked = ("recalibrate", written(rows, tmp_path / "in.csv"), *NAMES, "--state", state)
    with locked_file(state):
        refused = attempt(*asked)
    assert refused.exit_code == 2
    assert "is in use by another process" in refused.stderr.replace("\n", " ")
    assert not state.exists()
    attempt(*asked)
    kept = state.read_bytes()
    with locked_file(state):
        assert attempt(*asked).exit_code == 2
    assert state.read_bytes() == kept
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.csv", "state"]


@pytest.mark.parametrize("other", ["--out", "--report", None])
def test_a_state_has_a_name_of_its_own(attempt, rows, tmp_path, other):
    source, same = written(rows, tmp_path / "in.csv"), tmp_path / "same.html"
    state = source if other is None else same
    outs = () if other is None else (other, same)
    if other == "--out":
        outs, state = ("--out", tmp_path / "same.csv"), tmp_path / "same.csv"
    refused = attempt("recalibrate", source, *NAMES, "--state", state, *outs)
    assert refused.exit_code == 2
    told = "is also the input file" if other is None else f"{other} and --state are the same file"
    assert told in refused.stderr.replace("\n", " ")
