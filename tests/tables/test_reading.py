"""Reading: every format gives the same table."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from calibrant.tables import InputError, Table, read
from tables.made import CSV, DAYS, FRAME, JSONL, OUTCOMES, SCORES, parquet_bytes


def check_same(table: Table) -> None:
    assert list(table.columns) == ["day", "score", "outcome"]
    assert len(table) == 3
    assert list(table.columns["day"]) == DAYS
    assert table.take("outcome").values.tolist() == OUTCOMES
    assert table.take("prediction").values.tolist() == SCORES
    assert table.take("outcome", "outcome").note is None


GOOD_FILES = {
    "a.csv": CSV.encode(),
    "upper.CSV": CSV.encode(),
    "mark.csv": b"\xef\xbb\xbf" + CSV.encode(),
    "windows.csv": CSV.replace("\n", "\r\n").encode(),
    "no end.csv": CSV.rstrip("\n").encode(),
    "blank lines.csv": ("\n" + CSV.replace("\n", "\n\n") + "  \n").encode(),
    "quoted.csv": b'"day","score","outcome"\n"mon","0.25","1"\n"tue",0.5,"0"\nwed,1.0,1\n',
    "spaces.csv": b"day , score, outcome\nmon, 0.25 ,1\ntue,0.5, 0\nwed,1.0,1 \n",
    "a.csv.gz": gzip.compress(CSV.encode()),
    "in two parts.csv.gz": gzip.compress(CSV[:20].encode()) + gzip.compress(CSV[20:].encode()),
    "packed though not named so.csv": gzip.compress(CSV.encode()),
    "a.jsonl": JSONL.encode(),
    "a.ndjson": JSONL.encode(),
    "a.jsonl.gz": gzip.compress(JSONL.encode()),
    "blank lines.jsonl": b"\xef\xbb\xbf\r\n" + JSONL.replace("\n", "\r\n\r\n").encode(),
    "a.parquet": parquet_bytes(),
    "a.pq": parquet_bytes(),
    "a.parquet.gz": gzip.compress(parquet_bytes()),
    "csv without suffix": CSV.encode(),
    "json.data": JSONL.encode(),
    "parquet.data": parquet_bytes(),
}


@pytest.mark.parametrize("name", GOOD_FILES)
def test_every_format_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(GOOD_FILES[name])
    check_same(read(path))
    check_same(read(str(path)))


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame(FRAME),
        pandas.DataFrame(FRAME, index=[7, 7, 7]),
        pandas.DataFrame(FRAME).convert_dtypes(),
        polars.DataFrame(FRAME),
        pyarrow.table(FRAME),
    ],
    ids=["pandas", "pandas index", "pandas nullable", "polars", "pyarrow"],
)
def test_every_data_frame_gives_the_same_table(frame):
    check_same(read(frame))


@pytest.mark.parametrize(
    "data",
    [CSV.encode(), JSONL.encode(), gzip.compress(CSV.encode()), parquet_bytes()],
    ids=["csv", "jsonl", "gzip", "parquet"],
)
def test_standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    table = read("-")
    check_same(table)
    assert table.source == "standard input"


def test_kind_may_be_said(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(JSONL)
    check_same(read(path, kind="jsonl"))
    with pytest.raises(
        ValueError,
        match="kind must be one of 'csv', 'tsv', 'json', 'jsonl', 'parquet', got 'xls'",
    ):
        read(path, kind="xls")


@pytest.mark.parametrize("module", [pandas, polars], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    "outcomes",
    [[True, False, True], ["true", "False", "1"], [1, 0, 1], [1.0, 0.0, 1.0]],
    ids=["bool", "text", "int", "float"],
)
def test_dtypes_of_outcomes_in_frames(module, outcomes):
    assert read(module.DataFrame({"y": outcomes})).take("outcome").values.tolist() == [
        1.0,
        0.0,
        1.0,
    ]


def test_dtypes_of_outcomes_in_arrow():
    for array in (
        pyarrow.array([1, 0, 1], pyarrow.uint8()),
        pyarrow.array([1, 0, 1], pyarrow.float32()),
        pyarrow.array([True, False, True]),
        pyarrow.array(["1", "0", "1"]).dictionary_encode(),
    ):
        table = read(pyarrow.table({"y": array}))
        assert table.take("outcome").values.tolist() == [1.0, 0.0, 1.0]


def test_words_and_numbers_are_outcomes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y\ntrue\nFALSE\nTrue\n 0.5 \n1e-3\n1.\n.25\n+1\n")
    assert read(path).take("outcome").values.tolist() == [1, 0, 1, 0.5, 0.001, 1, 0.25, 1]
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": true}\n{"y": 0}\n{"y": "1"}\n{"y": 0.5}\n')
    assert read(path).take("outcome").values.tolist() == [1, 0, 1, 0.5]


def test_bare_numbers_need_no_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1\n0\n0.5\n")
    table = read(path)
    assert table.take("outcome").values.tolist() == [1, 0, 0.5]
    assert list(table.lines) == [1, 2, 3]


def test_quoted_cells_keep_what_they_hold(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('note,y\n"a, ""b""\nc",1\nd,0\n"e\n\nf",x\n')
    table = read(path)
    assert table.columns["note"] == ['a, "b"\nc', "d", "e\n\nf"]
    assert list(table.lines) == [2, 4, 5]
    with pytest.raises(InputError, match="line 5, column 'y': got 'x'"):
        table.take("outcome")


def test_json_rows_may_lack_keys_that_are_not_needed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": 1}\n{"y": 0, "why": {"a": [1]}}\n')
    table = read(path)
    assert table.columns["why"] == [None, {"a": [1]}]
    assert table.take("outcome").values.tolist() == [1, 0]


def test_nobody_pays_for_what_is_not_used():
    code = (
        "import sys, calibrant.streams\n"
        "heavy = {'narwhals', 'pyarrow', 'pandas', 'polars', 'scipy', 'typer', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_path_may_be_any_path_like(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)

    class Somewhere(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(path)

    check_same(read(Somewhere()))
