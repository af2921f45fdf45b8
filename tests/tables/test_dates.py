"""Times read a column at once are those that are read cell by cell."""

import datetime
import math
from itertools import product

import numpy as np
import pytest

from calibrant.tables import Cells, InputError
from calibrant.tables.cells import dates_at_once, read_tick

YEARS = (1, 1684, 1685, 1969, 1970, 2013, 2255, 2256, 9999)
FORMS = ("minutes", "seconds", "milliseconds", "microseconds")
#: Each is right or wrong, and none may be read in another way at once than alone.
ODD = (
    "", "NA", " nan ", None, "-" * 10, " " * 16, "2013-02-29", "2013-02-29T12:09", "0000-01-01",
    "2013-01-01T24:00", "2013-01-01T00:60", "2013-01-01T00:00:60", "2013-01-01t00:00",
    "2013-01-01T00:00+01:00", "2013-01-01T00:00-00:00", "2013-01-01T00:00+00:00", "2013-01-01Z",
    "2013-01-01T00:00:00,123", "2013-01-01T00", "20130101", "2013-W01-2", " 2013-01-01",
    "2013-01- 1", "+013-01-01", "2013T01T01", "２０１３-01-01", "2013-01-01\0", "today", "NaT",
    "0" * 10, "7", "1.5", " 7 ", "1e400", "inf", "0_1", "1,5", 7, 2**60 + 1, 10**400, 1.5, True,
    math.nan, math.inf, [1], datetime.date(2013, 1, 1),
)  # fmt: skip


def times(year):
    """Return times of one year, on and beside whole seconds."""
    start = datetime.datetime(year, 2, 28, 23, 59, 58)
    return [start, *(start + datetime.timedelta(microseconds=n) for n in (1, 999_999, 1_001_000))]


def one_by_one(cells):
    return [math.nan if cell in ("", None) else read_tick(cell)[0] for cell in cells]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_the_usual_ways_give_the_same_bits(form, zone):
    for year in YEARS:
        cells = [time.isoformat(mark, form) + zone for time in times(year) for mark in "T "]
        cells += ["", None]
        found = dates_at_once(cells)
        if found is None:  # a float64 rounds such microseconds, which is done one by one
            assert form in ("milliseconds", "microseconds")
            assert not 1685 <= year <= 2254
            continue
        np.testing.assert_array_equal(found[0], one_by_one(cells))
        assert found[1] == f"times with{'' if zone else 'out'} a zone"


def test_forms_of_different_lengths_may_be_mixed():
    cells = ["2013-03-18", *(time.isoformat() for time in times(2013)), "", "2013-03-18 12:09"]
    ticks, sort = dates_at_once(cells)
    np.testing.assert_array_equal(ticks, one_by_one(cells))
    assert sort == "times without a zone"
    assert dates_at_once(["2013-03-18T12:09Z", "2013-03-18T12:09"]) is None


def test_a_column_without_a_time_has_no_sort():
    for cells in ([], [None], ["", "NA"], [None, " "]):
        clock = Cells("t", cells).clock()
        assert clock.sort is None
        assert np.isnan(clock.ticks).all()


def read_by(read, *args):
    """Return what a way of reading gives, or says."""
    try:
        ticks, sort = read(*args)
    except InputError as error:
        return str(error)
    return ticks.tobytes(), sort


@pytest.mark.parametrize("usual", [["2013-03-18"], ["2013-03-18T12:09Z"], ["7"], [7, 1.5], []])
def test_an_odd_cell_is_read_or_refused_as_alone(usual):
    for odd, last in product(ODD, (False, True)):
        cells = Cells("t", [*usual, odd] if last else [odd, *usual])

        def at_once(cells=cells):
            clock = cells.clock()
            return clock.ticks, clock.sort

        assert read_by(at_once) == read_by(cells._ticks_one_by_one, cells.raw), cells.raw


@pytest.mark.parametrize("cells", [["7", "", "1e3", " 5 "], [7, None, 1.5], ["7", 2**60 + 1]])
def test_numbers_are_read_at_once(cells, monkeypatch):
    column = Cells("t", cells)
    with monkeypatch.context() as patched:
        patched.setattr(Cells, "_ticks_one_by_one", None)
        clock = column.clock()
    np.testing.assert_array_equal(clock.ticks, column._ticks_one_by_one(cells)[0])
    assert clock.sort == "numbers"


def test_a_clock_may_have_decimal_commas():
    """As every column of its file has them; beside a word, too, which is what is named."""
    clock = Cells("t", ["1,5", "", "2,25"], decimal=",").clock()
    np.testing.assert_array_equal(clock.ticks, [1.5, math.nan, 2.25])
    assert clock.sort == "numbers"
    with pytest.raises(InputError, match="position 1, column 't': got 'soon'"):
        Cells("t", ["1,5", "soon"], decimal=",").clock()
