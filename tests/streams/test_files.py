"""Reading: every format gives the same table, and every bad file a message that says where."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from calibrant.streams import InputError, Table, read

DAYS, SCORES, OUTCOMES = ["mon", "tue", "wed"], [0.25, 0.5, 1.0], [1, 0, 1]
CSV = "day,score,outcome\nmon,0.25,1\ntue,0.5,0\nwed,1.0,1\n"
JSONL = "".join(
    json.dumps({"day": d, "score": s, "outcome": y}) + "\n"
    for d, s, y in zip(DAYS, SCORES, OUTCOMES, strict=True)
)
FRAME = {"day": DAYS, "score": SCORES, "outcome": OUTCOMES}


def parquet_bytes(columns: dict[str, list[object]] = FRAME) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


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
    "data", [CSV.encode(), JSONL.encode(), gzip.compress(CSV.encode()), parquet_bytes()]
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
        ValueError, match="kind must be one of 'csv', 'jsonl', 'parquet', got 'xls'"
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


# -- bad cells --------------------------------------------------------------------------------

BAD_CELLS = {
    "nan": "got 'nan', must be a number in [0, 1], or true or false",
    "NaN": "got 'NaN'",
    "inf": "got 'inf'",
    "-inf": "got '-inf'",
    "-0.1": "got '-0.1'",
    "1.1": "got '1.1'",
    "1e999": "got '1e999'",
    "abc": "got 'abc', must be a number in [0, 1], or true or false",
    "yes": "got 'yes'",
    "0,5": "got '0,5'",
    "0x1": "got '0x1'",
    "": "the value is missing; must be a number in [0, 1], or true or false",
    "  ": "the value is missing",
}


@pytest.mark.parametrize("cell", BAD_CELLS)
@pytest.mark.parametrize("blank_lines", [0, 2])
def test_bad_cells_in_csv(tmp_path, cell, blank_lines):
    path = tmp_path / "a.csv"
    gap = "\n" * blank_lines
    path.write_text(f'day,y\n{gap}mon,1\ntue,"{cell}"\nwed,7\n')
    with pytest.raises(InputError) as caught:
        read(path).take("outcome")
    assert str(caught.value).startswith(f"{path}, line {3 + blank_lines}, column 'y': ")
    assert BAD_CELLS[cell] in str(caught.value)
    error = caught.value
    assert (error.source, error.row, error.column, error.value) == (
        str(path),
        3 + blank_lines,
        "y",
        cell,
    )


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("NaN", "got nan"),
        ("Infinity", "got inf"),
        ("-0.1", "got -0.1"),
        ("1.1", "got 1.1"),
        ("2", "got 2,"),
        (f"1{'0' * 400}", "got 1000"),
        ('"abc"', "got 'abc'"),
        ("null", "the value is missing"),
        ("[1]", r"got \[1\] \(list\)"),
        ('{"a": 1}', "got {'a': 1}"),
    ],
)
def test_bad_cells_in_json(tmp_path, cell, problem):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"y": 1}}\n\n{{"y": {cell}}}\n')
    with pytest.raises(InputError, match=f"line 3, column 'y': {problem}"):
        read(path).take("outcome")


def test_a_missing_key_is_a_missing_value(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": 1}\n{"z": 1}\n')
    with pytest.raises(InputError, match="line 2, column 'y': the value is missing"):
        read(path).take("outcome")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1, 1.1, None])
@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_bad_cells_in_frames(make, bad):
    with pytest.raises(InputError, match=r"data frame, row 2, column 'y': (got|the value)"):
        read(make({"y": [1.0, bad, 0.0]})).take("outcome")


def test_missing_values_of_every_library():
    for frame in (
        pandas.DataFrame({"y": [1, None]}).convert_dtypes(),
        pandas.DataFrame({"y": ["1", None]}),
        pandas.DataFrame({"y": [True, pandas.NA]}, dtype="boolean"),
        polars.DataFrame({"y": [True, None]}),
        pyarrow.table({"y": ["1", None]}),
    ):
        with pytest.raises(InputError, match="row 2, column 'y': the value is missing"):
            read(frame).take("outcome")


def test_bad_cells_in_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet_bytes({"y": ["1", "0", "maybe"]}))
    with pytest.raises(InputError, match=r"a\.parquet, row 3, column 'y': got 'maybe'"):
        read(path).take("outcome")


# -- bad files --------------------------------------------------------------------------------

PACKED = gzip.compress(CSV.encode() * 50)
BAD_FILES = {
    "empty.csv": (b"", "the file is empty"),
    "blank.csv": (b"\n \n\r\n", "the file is empty"),
    "only a mark.csv": (b"\xef\xbb\xbf", "the file is empty"),
    "empty.jsonl": (b"\n", "the file is empty"),
    "empty.csv.gz": (gzip.compress(b""), "the file is empty"),
    "nothing.csv.gz": (b"", "the file is empty"),
    "header.csv": (b"a,y\n", "there are no rows below the columns 'a', 'y'"),
    "twice.csv": (b"y,a,y\n1,2,3\n", "line 1: every column needs a name of its own, but 'y' comes"),
    "twice blank.csv": (b"y, y\n1,2\n", "'y' comes more than once"),
    "numbers.csv": (b"1,0\n0,1\n", "line 1: must hold the names of the columns, got 1, 0"),
    "cut.csv": (
        CSV[:-6].encode(),
        "line 4: has 2 fields, must have 3 ('day', 'score', 'outcome'); is the file cut short?",
    ),
    "few.csv": (b"a,y\n1,1\n1\n1,0\n", "line 3: has 1 field, must have 2 ('a', 'y')"),
    "many.csv": (b"a,y\n1,1\n\n1,0,1\n", "line 4: has 3 fields, must have 2"),
    "open quote.csv": (b'a,y\n1,1\n"1,0\n', "line 3: is not CSV: unexpected end of data"),
    "early open quote.csv": (b'a,y\n"1,0\n1,1\n1,0\n', "line 2: is not CSV: unexpected end"),
    "text after quote.csv": (b'a,y\n"1"x,1\n', "line 2: is not CSV"),
    "latin.csv": (b"a,y\n1,1\nd\xe9j\xe0,1\n", "line 3: must be UTF-8 text, got the byte 0xe9"),
    "utf16.csv": (CSV.encode("utf-16"), "line 1: must be UTF-8 text, got the byte 0xff"),
    "cut.csv.gz": (PACKED[:-20], "the gzip data end too early: the file is cut short"),
    "cut at the start.csv.gz": (PACKED[:5], "the gzip data end too early"),
    "no sum.csv.gz": (PACKED[:-4], "the gzip data end too early"),
    "damaged.csv.gz": (PACKED[:-8] + bytes(8), "the gzip data are damaged"),
    "noise.csv.gz": (PACKED[:12] + b"\xff" * 30 + PACKED[42:], "the gzip data are damaged"),
    "plain.csv.gz": (CSV.encode(), "the name says gzip, but the content is not gzip"),
    "cut.jsonl": (JSONL[:-9].encode(), "line 3: is not a whole JSON value"),
    "bare.jsonl": (b"1\n", "line 1: must be a JSON object, got 1 (int)"),
    "twice.jsonl": (b'{"y": 1}\n{"y": 1, "y": 0}\n', "line 2: every key must come once, but 'y'"),
    "deep.jsonl": (b"[" * 100_000 + b"\n", "line 1: is not a whole JSON value"),
    "cut.parquet": (parquet_bytes()[:-30], "is not a whole Parquet file"),
    "text.parquet": (CSV.encode(), "is not a whole Parquet file"),
    "no rows.parquet": (parquet_bytes({"y": []}), "there are no rows; the columns are 'y'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, name):
    data, problem = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_cut_of_a_gzip_is_noticed(tmp_path):
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(CSV.encode())
    for length in range(1, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match="gzip"):
            read(path)


def test_twice_the_same_column_in_frames(tmp_path):
    table = pyarrow.table([pyarrow.array([1]), pyarrow.array([0])], names=["y", "y"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for source in (
        pandas.DataFrame([[1, 0]], columns=["y", "y"]),
        table,
        tmp_path / "a.parquet",
    ):
        with pytest.raises(InputError, match="unique column names, got: - 'y' 2 times"):
            read(source)
    with pytest.raises(InputError, match="'0' comes more than once"):
        read(pandas.DataFrame([[1, 0]], columns=[0, "0"]))


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv: there is no such file"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder, must be a file"):
        read(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read("a\0b.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read(str(tmp_path / ("n" * 300)))


def test_a_file_without_permission(tmp_path, monkeypatch):
    # Said by the system and not by the mode of a file, which does not bind every user.
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match="may not be read"):
        read(tmp_path / "a.csv")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet_bytes())
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[parquet\]'"):
        read(path)


def test_nobody_pays_for_what_is_not_used():
    code = (
        "import sys, calibrant.streams\n"
        "heavy = {'narwhals', 'pyarrow', 'pandas', 'polars', 'scipy', 'typer', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_things_that_are_no_source():
    for thing in (3, None, [1, 0, 1], np.array([1.0])):
        with pytest.raises(ValueError, match="source must be a path, '-' for standard input"):
            read(thing)
    with pytest.raises(ValueError, match="held in memory"):
        read(polars.DataFrame(FRAME).lazy())


def test_a_path_may_be_any_path_like(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)

    class Somewhere(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(path)

    check_same(read(Somewhere()))
