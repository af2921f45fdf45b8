"""One reading of a column, whatever holds it."""

import datetime
import math

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from calibrant.tables import Cells, InputError

MAKE = {
    "list": list,
    "text": lambda cells: ["" if cell is None else str(cell) for cell in cells],
    "pandas": lambda cells: nw.from_native(pandas.Series(cells), series_only=True),
    "polars": lambda cells: nw.from_native(polars.Series(cells), series_only=True),
    "pyarrow": lambda cells: nw.from_native(pyarrow.chunked_array([cells]), series_only=True),
}


@pytest.fixture(params=MAKE)
def make(request):
    """Hold cells in one of the ways in which a table holds a column."""
    return MAKE[request.param]


def test_every_holder_gives_the_same_numbers(make):
    for cells in ([0.25, 0.5, 1.0], [1, 0, 1], [True, False, True]):
        assert Cells("y", make(cells)).probabilities().tolist() == cells
    assert Cells("s", make([-3.5, 2.0])).numbers().tolist() == [-3.5, 2.0]
    assert Cells("s", np.array([0.5, 7.0])).numbers().tolist() == [0.5, 7.0]


def test_what_is_missing_is_nan_where_it_may_be(make):
    for cells in ([0.25, None, 1.0], [True, None, True]):
        numbers = Cells("y", make(cells)).probabilities(missing=True)
        assert np.isnan(numbers).tolist() == [False, True, False]
        assert numbers[[0, 2]].tolist() == [cells[0], cells[2]]
        with pytest.raises(InputError, match="position 1, column 'y': the value is missing"):
            Cells("y", make(cells)).probabilities()
    with pytest.raises(InputError, match="position 0, column 's': the value is missing"):
        Cells("s", make([None, 0.5])).numbers()


def test_a_number_outside_is_named_as_python_writes_it(make):
    with pytest.raises(InputError, match=r"position 1, column 'y': got '?1\.5'?, must be a number"):
        Cells("y", make([0.5, 1.5])).probabilities()
    with pytest.raises(InputError, match=r"position 1, column 'y': got '?1\.5'?, must be a number"):
        Cells("y", make([None, 1.5])).probabilities(missing=True)
    with pytest.raises(InputError, match=r"position 0, column 's': got '?inf'?, must be a finite"):
        Cells("s", make([math.inf, 1.5])).numbers()


def test_text_stands_for_numbers_only_where_it_may():
    assert Cells("y", ["1", "0.5"]).probabilities().tolist() == [1.0, 0.5]
    for number in (
        Cells("y", [1, "0.5"], text=False).numbers,
        Cells("y", [1, "true"], text=False).probabilities,
    ):
        with pytest.raises(
            InputError, match=r"position 1, column 'y': got .* \(str\), must be a num"
        ):
            number()
    # True and false are outcomes; a score is a number.
    assert Cells("y", ["True", "false"]).probabilities().tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="got 'true', must be a finite number"):
        Cells("s", ["true"]).numbers()


def test_values_are_pythons_own_with_none_for_what_is_missing():
    for cells in ([7, 8], ["a", None], [None, "b"]):
        for name in ("list", "pandas", "polars", "pyarrow"):
            values = list(Cells("g", MAKE[name](cells)).values())
            assert values == cells
            assert [type(value) for value in values] == [type(cell) for cell in cells]
    assert Cells("g", np.array([7, 8])).values() == [7, 8]


@pytest.mark.parametrize("zone", [None, datetime.UTC])
def test_typed_times_and_their_text_are_the_same_clock(make, zone):
    start = datetime.datetime(2024, 3, 1, 12, tzinfo=zone)
    times = [start, None, start + datetime.timedelta(microseconds=1)]
    clock = Cells("t", make(times)).clock()
    expected = Cells("t", ["" if time is None else time.isoformat() for time in times]).clock()
    assert clock.sort == expected.sort == f"times with{'out' if zone is None else ''} a zone"
    assert clock.ticks[[0, 2]].tolist() == expected.ticks[[0, 2]].tolist()
    assert math.isnan(clock.ticks[1])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2, "x"], "position 2, column 't': got 'x' .*must be a number or an ISO date"),
        ([1, True], "position 1, column 't': got True"),
        ([1, math.nan], "position 1, column 't': got nan"),
        ([1, math.inf], "position 1, column 't': got inf"),
        (["1", "inf"], "position 1, column 't': got 'inf'"),
        (["1", "0_1"], "position 1, column 't': got '0_1'"),
        ([1, [2]], "position 1"),
        (["2024-01-01", "7"], "position 1, column 't': got 7: numbers among times without a zone"),
        (["2024-01-01T00Z", "2024-01-01"], "times without a zone among times with a zone"),
        (["2024-13-01"], "got '2024-13-01'"),
    ],
)
def test_cells_that_are_no_times(cells, message):
    with pytest.raises(InputError, match=message):
        Cells("t", cells).clock()
