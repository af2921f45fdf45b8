"""One cell, and a whole column at once: numbers are C's and JSON's, and both read them alike."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.tables import Cells, InputError, Table, read, take_scored
from calibrant.tables.cells import finite_number, is_missing, number_in

# Letters that numbers, and things that look like numbers to Python alone, are made of.
ALMOST = st.text("0123456789.,_+-eE infax\u0660\u0665\u00a0\x1c\t", max_size=8)


@pytest.mark.parametrize(
    "cell",
    ["0_1", "1_000", "٠", "０.５", "0x1", "1f", "1d", "1,5", "1 2", "", ".", "e5", b"1", "nan"],
)
def test_what_only_some_languages_call_a_number(cell):
    assert number_in(cell) is None
    with pytest.raises(InputError):
        Cells("s", [cell, "0.5"]).numbers()
    with pytest.raises(InputError):
        Cells("s", [0.5, cell]).numbers()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_json_writes_is_read_bit_for_bit(number):
    assert number_in(json.dumps(number)) == number
    assert number_in(f"{number!r}".replace(".", ","), decimal=",") == number


@given(st.lists(ALMOST, min_size=1, max_size=4), st.sampled_from(".,"), st.booleans())
def test_a_column_is_read_as_its_cells_are(cells, decimal, missing):
    """The fast way through a column gives what one cell after the other gives, or both refuse."""
    commas = any("," in cell for cell in cells)
    points = any("." in cell for cell in cells)
    column = Cells("s", cells, decimal=decimal)
    try:
        expected = [
            math.nan if missing and is_missing(cell) else finite_number(cell, decimal)
            for cell in cells
        ]
    except InputError:
        with pytest.raises(InputError):
            column.numbers(missing=missing)
        return
    if decimal == "," and commas and points:
        with pytest.raises(InputError, match="not with both"):
            column.numbers(missing=missing)
        return
    assert np.array_equal(column.numbers(missing=missing), expected, equal_nan=True)


def test_0_1_in_a_file_is_refused(tmp_path):
    """It was read as 1.0."""
    (tmp_path / "a.csv").write_text("y\n1\n0_1\n")
    with pytest.raises(InputError, match="line 3, column 'y': got '0_1'"):
        read(tmp_path / "a.csv").take("outcome")
    (tmp_path / "a.jsonl").write_text('{"y": "0_1"}\n')
    with pytest.raises(InputError, match="line 1, column 'y': got '0_1'"):
        read(tmp_path / "a.jsonl").take("outcome")


def test_a_name_may_be_na_but_not_empty():
    columns = {"s": ["0.5"] * 3, "y": ["1"] * 3, "region": ["NA", "-", "None"]}
    rows = take_scored(Table("memory", columns), score="s", by="region")
    assert rows.groups == ["NA", "-", "None"]
