"""Files as people have them: each is read right, or refused with a message that names the cure."""

from __future__ import annotations

import bz2
import lzma

import numpy as np
import pytest

from calibrant.tables import InputError, read, take_scored
from corpus import BAD, COMMAS, GOOD, PLAIN, outcomes, packed_zstd, written


def test_there_are_enough():
    assert len(GOOD) + len(BAD) >= 60


@pytest.mark.parametrize("name", GOOD)
def test_read_right(tmp_path, name):
    good = GOOD[name]
    table = read(written(tmp_path, name, good.content), delimiter=good.delimiter)
    rows = take_scored(table, score="score", outcome="y", kind=good.kind, positive=good.positive)
    assert rows.scores.tolist() == good.scores
    assert np.array_equal(rows.outcomes, good.outcomes, equal_nan=True)


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_cure(tmp_path, name):
    content, cure = BAD[name]
    path = written(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        take_scored(read(path), score="score", outcome="y", kind="margin")
    assert str(caught.value).startswith(str(path))
    assert cure in str(caught.value)
    assert "\n" not in str(caught.value)


def test_zstd_without_its_extra_names_the_cure(tmp_path, monkeypatch):
    def missing():
        raise ImportError("pyarrow")

    monkeypatch.setattr("calibrant.tables.reading.import_pyarrow", missing)
    with pytest.raises(InputError, match=r"pip install 'calibrant\[parquet\]'.* zstd -d"):
        read(written(tmp_path, "a.csv.zst", packed_zstd(PLAIN)))


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_every_cut_is_noticed(tmp_path, pack):
    packed = pack(PLAIN.encode())
    for length in range(12, len(packed)):
        with pytest.raises(InputError, match=r"cut short|damaged"):
            read(written(tmp_path, "a.csv", packed[:length]))


def test_what_was_found_is_said(tmp_path):
    assert read(written(tmp_path, "a.csv", PLAIN)).note is None
    path = written(tmp_path, "b.csv", PLAIN.replace(",", "\t"))
    assert read(path).note == f"{path}: columns are separated by a tab"
    path = written(tmp_path, "c.csv", COMMAS)
    assert read(path).note == f"{path}: columns are separated by ';', numbers have decimal commas"


def test_a_positive_value_that_is_not_there(tmp_path):
    table = read(written(tmp_path, "a.csv", outcomes("fraud", "fine", "NA")))
    with pytest.raises(InputError, match=r"no value is 'Fraud', .* there are 'fraud', 'fine'"):
        table.take("outcome", "y", positive="Fraud", missing=True)
    with pytest.raises(InputError, match="line 4, column 'y': the value is missing"):
        table.take("outcome", "y", positive="fraud")


@pytest.mark.parametrize("delimiter", ["", ";;", "x", "1", '"', "\n", ".", 7])
def test_what_is_no_delimiter(tmp_path, delimiter):
    with pytest.raises(ValueError, match="delimiter must be one character"):
        read(written(tmp_path, "a.csv", PLAIN), delimiter=delimiter)
