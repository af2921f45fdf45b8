"""Bad files and invalid cells: each gets a message that says where and what."""

from __future__ import annotations

import builtins
import bz2
import gzip
import lzma
import os
import time
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from calibrant.tables import InputError, chunks, read, reading
from tables.made import CSV, FRAME, JSONL, parquet_bytes

# -- invalid cells --------------------------------------------------------------------------------

BAD_CELLS = {
    "nan": "the value is missing ('nan'); must be a number in [0, 1], or true or false",
    "N/A": "the value is missing ('N/A')",
    "-": "the value is missing ('-')",
    "inf": "got 'inf'",
    "-inf": "got '-inf'",
    "-0.1": "got '-0.1'",
    "1.1": "got '1.1'",
    "1e999": "got '1e999'",
    "abc": "got 'abc', must be a number in [0, 1], or true or false",
    "ja": "got 'ja'",
    "0_1": "got '0_1'",
    "٠": "got '٠'",
    "0,5": "got '0,5', must be a number in [0, 1], or true or false; decimal commas need columns",
    "1,000": "; write numbers without marks between thousands",
    "25%": "; write 0.25 for 25%",
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
        ("NaN", "the value is missing"),
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
    "twice.csv": (b"y,a,y\n1,2,3\n", "line 1: column names must be unique, but 'y' occurs"),
    "twice blank.csv": (b"y, y\n1,2\n", "'y' occurs more than once"),
    "numbers.csv": (b"1,0\n0,1\n", "line 1: must hold the names of the columns, got 1, 0"),
    "cut.csv": (
        CSV[:-6].encode(),
        "line 4: has 2 fields, must have 3 ('day', 'score', 'outcome'), separated by ','; "
        "is the file cut short?",
    ),
    "few.csv": (b"a,y\n1,1\n1\n1,0\n", "line 3: has 1 field, must have 2 ('a', 'y')"),
    "many.csv": (b"a,y\n1,1\n\n1,0,1\n", "line 4: has 3 fields, must have 2"),
    "open quote.csv": (b'a,y\n1,1\n"1,0\n', "line 3: is not CSV: unexpected end of data"),
    "early open quote.csv": (b'a,y\n"1,0\n1,1\n1,0\n', "line 2: is not CSV: unexpected end"),
    "text after quote.csv": (b'a,y\n"1"x,1\n', "line 2: is not CSV"),
    "latin.csv": (b"a,y\n1,1\nd\xe9j\xe0,1\n", "line 3: must be UTF-8 text, got the byte 0xe9"),
    "utf16 without a mark.csv": (CSV.encode("utf-16-le"), "line 1: holds zero bytes"),
    "cut utf16.csv": (CSV.encode("utf-16")[:-1], "must be whole UTF-16 text"),
    "cut.csv.gz": (PACKED[:-20], "the gzip data end too early: the file is cut short"),
    "cut at the start.csv.gz": (PACKED[:5], "the gzip data end too early"),
    "no sum.csv.gz": (PACKED[:-4], "the gzip data end too early"),
    "damaged.csv.gz": (PACKED[:-8] + bytes(8), "the gzip data are damaged"),
    "noise.csv.gz": (PACKED[:12] + b"\xff" * 30 + PACKED[42:], "the gzip data are damaged"),
    "plain.csv.gz": (CSV.encode(), "the name says gzip, but the content is not gzip"),
    "cut.jsonl": (JSONL[:-9].encode(), "line 3: is not a whole JSON value"),
    "bare.jsonl": (b"1\n", "line 1: must be a JSON object, got 1 (int)"),
    "twice.jsonl": (b'{"y": 1}\n{"y": 1, "y": 0}\n', "line 2: duplicate key 'y'"),
    "deep.jsonl": (b"[" * 100_000 + b"\n", "is not a whole JSON array"),
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
    with pytest.raises(InputError, match="'0' occurs more than once"):
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
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
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


def test_things_that_are_no_source():
    for thing in (3, None, [1, 0, 1], np.array([1.0])):
        with pytest.raises(ValueError, match="source must be a path, '-' for standard input"):
            read(thing)
    with pytest.raises(ValueError, match="held in memory"):
        read(polars.DataFrame(FRAME).lazy())


def test_a_hundred_thousand_columns_are_read(tmp_path):
    names = [f"c{number}" for number in range(100_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join(["0.5"] * len(names)) + "\n")
    started = time.process_time()
    assert len(read(path).columns) == len(names)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ""])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(reading, "LONGEST_LINE", 2**21)
    monkeypatch.setattr(chunks, "LONGEST_LINE", 2**21)
    opened = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, "": open}[suffix]
    path = tmp_path / f"bomb.csv{suffix}"
    with opened(path, "wb") as file:
        file.write(b"a" * 2**24)
    for call in (lambda: read(path), lambda: list(chunks.chunks(path))):
        with pytest.raises(InputError, match="of more than 2,097,152 bytes"):
            call()


def test_more_than_is_read_at_once_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST", 2**21)
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"y\n" + b"1\n" * 2**21)
    with pytest.raises(InputError, match="holds more than 2,097,152 bytes"):
        read(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero")  # noqa: PTH110
def test_a_device_that_never_ends():
    with pytest.raises(InputError, match="has a line of more than"):
        read("/dev/zero")
