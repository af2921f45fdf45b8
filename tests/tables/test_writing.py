"""Writing: what was read comes back, and a file appears whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from calibrant.tables import InputError, Table, read, replacing, write
from calibrant.tables.atomic import is_same_file

TEXT = Table(
    "memory",
    {
        "note": ["plain", 'with "quotes", a comma', "two\nlines", "ünï"],
        "id": ["007", "1", "2", "3"],
        "count": ["1", "-2", "", "3"],
        "x": ["0.10", "1e-3", "", "2"],
        "y": ["1", "0", "true", "0.5"],
    },
)
PREDICTIONS = [0.1, 1 / 3, 5e-324, 1.0]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


NAMES = [
    "out.csv", "out.csv.gz", "out.tsv", "out.csv.bz2", "out.csv.xz", "out.json", "out.jsonl",
    "out.jsonl.gz", "out.parquet",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(tmp_path, name):
    path = tmp_path / name
    write(path, TEXT.with_column("prediction", PREDICTIONS))
    again = read(path)
    assert list(again.columns) == [*TEXT.columns, "prediction"]
    assert list(again.columns["note"]) == TEXT.columns["note"]
    assert list(again.columns["id"]) == TEXT.columns["id"]
    # Bit for bit: the shortest decimal that reads back as the same number.
    assert again.take("prediction").values.tolist() == PREDICTIONS
    assert again.take("outcome").values.tolist() == [1.0, 0.0, 1.0, 0.5]
    assert files(tmp_path) == [name]


def test_text_stays_as_it_was_in_csv(tmp_path):
    path = tmp_path / "out.csv"
    write(path, TEXT)
    assert {name: list(cells) for name, cells in read(path).columns.items()} == TEXT.columns


def test_numbers_become_numbers_where_there_are_types(tmp_path):
    write(tmp_path / "out.jsonl", TEXT)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["count"] for row in rows] == [1, -2, None, 3]
    assert [row["x"] for row in rows] == [0.1, 0.001, None, 2.0]
    assert [row["id"] for row in rows] == ["007", "1", "2", "3"]
    write(tmp_path / "out.parquet", TEXT)
    types = {f.name: str(f.type) for f in pyarrow.parquet.read_schema(tmp_path / "out.parquet")}
    assert types == {
        "note": "string",
        "id": "string",
        "count": "int64",
        "x": "double",
        "y": "string",
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_frames_round_trip(tmp_path, make, name):
    path = tmp_path / name
    frame = make({"day": ["a", "b"], "n": [1, 2], "ok": [True, False], "x": [0.5, None]})
    write(path, read(frame).with_column("prediction", [0.25, 0.75]))
    again = read(path)
    assert list(again.columns["day"]) == ["a", "b"]
    assert again.take("outcome", "ok").values.tolist() == [1.0, 0.0]
    assert again.take("prediction").values.tolist() == [0.25, 0.75]


def test_parquet_keeps_its_types(tmp_path):
    table = pyarrow.table(
        {
            "when": pyarrow.array([0, 1], pyarrow.timestamp("us", "UTC")),
            "small": pyarrow.array([1, None], pyarrow.int8()),
            "y": pyarrow.array([True, False]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    write(tmp_path / "out.parquet", read(tmp_path / "in.parquet").with_column("p", [0.5, 0.5]))
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").drop_columns("p").equals(table)


def test_json_values_survive(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"y": true, "a": {"b": [1, null]}}\n{"y": 0, "a": NaN}\n')
    table = read(tmp_path / "in.jsonl")
    write(tmp_path / "out.jsonl", table)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [{"y": True, "a": {"b": [1, None]}}, {"y": 0, "a": None}]
    write(tmp_path / "out.csv", table)
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == 'true,"{""b"": [1, null]}"'


def test_equal_tables_give_equal_files(tmp_path):
    write(tmp_path / "a.csv.gz", TEXT)
    write(tmp_path / "b.csv.gz", TEXT)
    packed = (tmp_path / "a.csv.gz").read_bytes()
    assert packed == (tmp_path / "b.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # where gzip puts the time
    write(tmp_path / "a.csv", TEXT)
    assert gzip.decompress(packed) == (tmp_path / "a.csv").read_bytes()


def test_names_and_kinds(tmp_path):
    with pytest.raises(
        InputError, match=r"the name must end in one of \.csv, \.tsv, \.json, \.jsonl"
    ):
        write(tmp_path / "out.xlsx", TEXT)
    write(tmp_path / "out.dat", TEXT, kind="csv")
    assert len(read(tmp_path / "out.dat")) == 4
    with pytest.raises(ValueError, match="kind must be one of"):
        write(tmp_path / "out.dat", TEXT, kind="xls")
    with pytest.raises(ValueError, match="table must be a Table"):
        write(tmp_path / "out.csv", {"y": [1]})
    with pytest.raises(InputError, match="column 'a': cannot be written as Parquet"):
        write(tmp_path / "out.parquet", Table("m", {"a": [1, "x", {}]}))
    assert files(tmp_path) == ["out.dat"]


# -- whole or not at all ------------------------------------------------------------------------


class Unwritable:
    """A cell that fails when it is written, after others were."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error("in the middle")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.jsonl"])
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, name, error, before):
    path = tmp_path / name
    if before is not None:
        path.write_bytes(before)
    rows = [f"row {i}" for i in range(20_000)]
    with pytest.raises(error, match="in the middle"):
        write(path, Table("memory", {"a": [*rows, Unwritable(error)]}))
    assert files(tmp_path) == ([] if before is None else [name])
    if before is not None:
        assert path.read_bytes() == before


def test_the_name_appears_last(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        assert len(files(tmp_path)) == 1  # in the same folder, so that moving is one step
    assert path.read_bytes() == b"half"
    assert files(tmp_path) == ["a.txt"]


def test_a_move_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError("no move")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no move"), replacing(tmp_path / "a.txt") as file:
        file.write(b"x")
    assert files(tmp_path) == []


def test_the_mode_is_that_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    with replacing(tmp_path / "ours"):
        pass
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "usual").stat().st_mode
    )


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write(tmp_path / "link.csv", TEXT)
    assert (tmp_path / "link.csv").is_symlink()
    assert len(read(tmp_path / "real.csv")) == 4


def test_a_device_is_not_replaced():
    with replacing(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="is a folder, must be a file"):
        write(tmp_path, TEXT, kind="csv")
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        write(tmp_path / "nowhere" / "out.csv", TEXT)
    assert files(tmp_path) == []


def test_a_replaced_file_keeps_its_mode(tmp_path):
    """It was left readable by all, and was so while it was written."""
    path = tmp_path / "secret.csv"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"half")
        file.flush()
        (part,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    assert path.read_bytes() == b"half"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    name = "n" * 251 + ".csv"
    write(tmp_path / name, TEXT)
    assert files(tmp_path) == [name]


def test_links_of_either_sort_are_one_file(tmp_path):
    real, soft, hard, other = (tmp_path / name for name in ("real", "soft", "hard", "other"))
    real.write_text("")
    other.write_text("")
    soft.symlink_to(real)
    hard.hardlink_to(real)
    assert all(is_same_file(real, each) for each in (real, soft, hard))
    assert is_same_file(soft, hard)
    assert not is_same_file(real, other)
    (tmp_path / "nowhere").symlink_to(tmp_path / "later")
    assert is_same_file(tmp_path / "nowhere", tmp_path / "later")
    assert not is_same_file(tmp_path / "later", real)


def test_csv_keeps_its_delimiter_and_its_commas(tmp_path):
    (tmp_path / "in.csv").write_text("note;s;y\na,b;0,5;1\nc;0,25;0\n")
    table = read(tmp_path / "in.csv").with_column("p", [0.125, 1e-20])
    write(tmp_path / "out.csv", table)
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "note;s;y;p", "a,b;0,5;1;0,125", "c;0,25;0;1e-20"
    ]  # fmt: skip
    write(tmp_path / "out.json", table)
    assert json.loads((tmp_path / "out.json").read_text()) == [
        {"note": "a,b", "s": 0.5, "y": 1, "p": 0.125},
        {"note": "c", "s": 0.25, "y": 0, "p": 1e-20},
    ]
    for name in ("out.csv", "out.tsv", "out.json", "out.parquet"):
        write(tmp_path / name, table)
        again = read(tmp_path / name)
        assert again.take("prediction", "p").values.tolist() == [0.125, 1e-20]
        assert again.take("prediction", "s").values.tolist() == [0.5, 0.25]


def test_zstd_is_not_written(tmp_path):
    with pytest.raises(InputError, match=r"cannot be packed with zstd; \.gz, \.bz2 and \.xz can"):
        write(tmp_path / "out.csv.zst", TEXT)
    assert files(tmp_path) == []
