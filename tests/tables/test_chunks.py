"""Files in chunks hold the rows of the whole file, and errors name its lines."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pytest

from calibrant.tables import InputError, read
from calibrant.tables import chunks as module
from calibrant.tables.chunks import chunks, writing

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TEXT = 'key;note;y\na;"one\nand ""two"" lines";1\n\nb;"";0\n' + "".join(
    f"k{i};{i},5;{i % 2}\n" for i in range(200)
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)
    monkeypatch.setattr(module, "ROWS", 7)


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n"), "\ufeff" + TEXT, "sep=;\n" + TEXT])
def test_csv_in_chunks_is_the_file(tmp_path, text, packing):
    path = tmp_path / f"a.csv{packing}"
    path.write_bytes(PACK[packing](text.encode()))
    whole, found = read(path), list(chunks(path))
    assert len(found) > 10
    for name in whole.columns:
        cells = [cell for chunk in found for cell in chunk.table.columns[name]]
        assert cells == list(whole.columns[name])
    assert [line for chunk in found for line in chunk.table.lines] == list(whole.lines)
    shares = [chunk.share for chunk in found]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [chunk.rows_before for chunk in found[:2]] == [0, len(found[0].table)]


@pytest.mark.parametrize("start", ["k;y\n", "\n\n'k';y\n", "\ufeffsep=;\n\nk;y\n"])
@pytest.mark.parametrize("then", ["\n" * 300, "\n" * 70 + " \n" * 50, "long" * 100 + ";0\n"])
def test_rows_that_begin_beyond_a_chunk_are_read(tmp_path, start, then):
    path = tmp_path / "a.csv"
    path.write_text(start + then + "".join(f"a{row};1\n\n" for row in range(30)), "utf-8")
    whole, found = read(path), list(chunks(path))
    for name in whole.columns:
        cells = [cell for chunk in found for cell in chunk.table.columns[name]]
        assert cells == list(whole.columns[name])
    assert [line for chunk in found for line in chunk.table.lines] == list(whole.lines)
    assert [chunk.rows_before for chunk in found[:2]] == [0, len(found[0].table)]


def test_parquet_in_chunks_is_the_file(tmp_path):
    frame = pd.DataFrame({"key": np.arange(40) + 2**60, "s": np.linspace(0, 1, 40)})
    frame.to_parquet(tmp_path / "a.parquet")
    found = list(chunks(tmp_path / "a.parquet"))
    assert [len(chunk.table) for chunk in found] == [7] * 5 + [5]
    keys = [key for chunk in found for key in chunk.table.columns["key"].to_list()]
    assert keys == frame["key"].tolist()
    assert found[-1].share == 1.0
    error = found[2].table.cells("s").refusal(3, "wrong")
    assert str(found[2].placed(error)).endswith("row 18, column 's': wrong")


#: The same bytes in every process, which a time in their header would prevent.
PACKED = gzip.compress(TEXT.encode(), mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"k,y\n" + b"a,1\n" * 50 + b"a\n" + b"a,1\n" * 9, "line 52: has 1 field, must"),
        ("a.csv", b"k,y\n" + b"a,1\n" * 50 + b'a,"1\n', "is not CSV"),
        ("a.csv", b"k,y\n" + b"a,1\n" * 50 + b"\xff,1\n", "line 52: must be UTF-8"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"k,y\n", "no rows below"),
        ("a.csv", b"k,y\n" + b"\n" * 200, "no rows below"),
        ("a.csv", b"k,y\n" + b"\n" * 200 + b"a,1\na\n", "line 203: has 1 field, must"),
        ("a.csv.gz", PACKED[:-9], "gzip data end too early"),
        ("a.csv.gz", PACKED[:-8] + bytes(8), "gzip data are damaged"),
        ("a.csv.gz", PACKED[:10] + b"\xff" * 30, "gzip data are damaged"),
        ("a.parquet", b"PAR1 nothing else", "not a whole Parquet"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        list(chunks(tmp_path / name))


def test_other_files_are_one_chunk(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"y": 1}\n{"y": 0}\n')
    assert [len(chunk.table) for chunk in chunks(tmp_path / "a.jsonl")] == [2]
    (tmp_path / "b.csv").write_bytes("k,y\na,1\n".encode("utf-16"))
    assert [len(chunk.table) for chunk in chunks(tmp_path / "b.csv")] == [1]
    with pytest.raises(InputError, match="no such file"):
        list(chunks(tmp_path / "absent.csv"))


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.parquet"])
def test_chunks_are_written_as_one_file(tmp_path, name):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    with writing(tmp_path / name) as write:
        for chunk in chunks(path):
            write(chunk.table)
        assert not (tmp_path / name).exists()
    back, whole = read(tmp_path / name), read(path)
    assert len(back) == len(whole)
    assert [str(v) for v in back.cells("y").values()] == whole.columns["y"]
    assert list(back.cells("key").values()) == whole.columns["key"]


def test_a_failure_leaves_no_file(tmp_path):
    one = read(pd.DataFrame({"a": [1]}))
    with (
        pytest.raises(InputError, match="no such file"),
        writing(tmp_path / "out.csv") as write,
    ):
        write(one) or list(chunks(tmp_path / "absent.csv"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="CSV or Parquet"), writing(tmp_path / "out.json"):
        pass
