"""What a recalibration takes from a table, and which outcomes are known when."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given

from calibrant.forecasters.arrivals import by_clock
from calibrant.tables import Cells, InputError, Table, read, take_scored
from naive.arrivals import arrivals_of, known_outcomes, late_streams


@given(late_streams())
def test_the_order_of_events_is_what_asking_each_row_gives(stream):
    _, outcomes, times, available = stream
    arrivals = arrivals_of(times, available, outcomes)
    arrives = [not math.isnan(y) for y in outcomes]
    order = arrivals.order.tolist()
    for row in range(len(times)):
        known = known_outcomes(times, available, arrives, row)
        assert order[: arrivals.known[row]] == known
        assert all(other < row for other in known)
    never = sum(math.isnan(a) or math.isnan(y) for a, y in zip(available, outcomes, strict=True))
    assert len(order) == len(times) - never


def test_a_clock_that_ticks_between_rows_is_at_once_too():
    times = list(range(20))
    arrivals = arrivals_of(times, [t + 0.5 for t in times], np.zeros(20))
    assert arrivals.order.tolist() == arrivals.known.tolist() == times


def test_outcomes_after_the_last_prediction_come_in_order_too():
    arrivals = arrivals_of([1, 2, 3], [9, 2, 9], np.zeros(3))
    assert arrivals.order.tolist() == [1, 0, 2]
    assert arrivals.known.tolist() == [0, 0, 1]


@pytest.mark.parametrize("clock", ["numbers", "text", "dates", "times", "zones"])
def test_every_kind_of_clock_gives_the_same_order(clock):
    start = datetime(2024, 2, 28, 23)
    make = {
        "numbers": float,
        "text": lambda hour: (start + timedelta(hours=hour)).isoformat(),
        "dates": lambda hour: date(2024, 1, 1) + timedelta(days=hour),
        "times": lambda hour: start + timedelta(hours=hour),
        "zones": lambda hour: (start + timedelta(hours=hour)).replace(tzinfo=UTC).astimezone(
            timezone(timedelta(hours=hour % 5))
        ),
    }[clock]  # fmt: skip
    times, available = [0, 1, 1, 2, 30], [3, 1, 31, 2, 30]
    arrivals = by_clock(
        Cells("t", [make(t) for t in times]).clock(),
        Cells("known", [make(a) for a in available]).clock(),
        np.full(5, True),
    )
    assert arrivals.order.tolist() == [1, 3, 0, 4, 2]
    assert arrivals.known.tolist() == [0, 0, 0, 1, 3]


def test_clocks_that_run_backwards_or_have_gaps():
    later = Cells("known", [9, 9, 9]).clock()
    everything = np.full(3, True)
    with pytest.raises(
        InputError, match=r"position 2, column 't': the clock runs backwards: 1 .* 2"
    ):
        by_clock(Cells("t", [1, 2, 1]).clock(), later, everything)
    with pytest.raises(InputError, match="position 1, column 't': the value is missing"):
        by_clock(Cells("t", [1, None, 3]).clock(), later, everything)


def test_outcomes_before_their_predictions_are_refused():
    time = Cells("t", ["2024-01-01", "2024-01-02"]).clock()
    known = Cells("known", ["2024-01-05", "2024-01-01"]).clock()
    with pytest.raises(
        InputError, match=r"position 1, column 'known': .* 2024-01-01, before .* 2024-01-02"
    ):
        by_clock(time, known, np.full(2, True))


def test_clocks_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="'known' holds numbers and column 't' holds times"):
        by_clock(Cells("t", ["2024-01-01"]).clock(), Cells("known", [1]).clock(), np.full(1, True))
    table = Table("a.csv", {"s": ["0.5"], "y": ["1"], "t": ["2024-01-01"], "known": ["1"]})
    with pytest.raises(InputError, match=r"^a\.csv: column 'known' holds numbers"):
        take_scored(table, score="s", time="t", available="known")


FILE = """\
key,s,y,t,known,place
a,0.5,1,2024-01-01,2024-01-02,north
b,0.25,,2024-01-02,,south
c,0.75,0,2024-01-03,2024-01-09,north
"""
PARTS = {"score": "s", "id": "key", "time": "t", "available": "known", "by": "place"}


@pytest.mark.parametrize("make", [None, pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_a_file_and_a_data_frame_give_the_same_columns(tmp_path, make):
    path = tmp_path / "a.csv"
    path.write_text(FILE)
    frame = {
        "key": ["a", "b", "c"], "s": [0.5, 0.25, 0.75], "y": [True, None, False],
        "t": [date(2024, 1, day) for day in (1, 2, 3)],
        "known": [date(2024, 1, 2), None, date(2024, 1, 9)], "place": ["north", "south", "north"],
    }  # fmt: skip
    table = read(path if make is None else make(frame))
    rows = take_scored(table, **PARTS, text=make is None)
    assert rows.scores.tolist() == [0.5, 0.25, 0.75]
    assert np.array_equal(rows.outcomes, [1.0, math.nan, 0.0], equal_nan=True)
    assert (rows.outcome_column, rows.groups) == ("y", ["north", "south", "north"])
    assert rows.note.endswith("no outcome column was named, taking 'y'")
    assert rows.clock.shown(2) == "2024-01-03"
    assert np.array_equal(np.diff(rows.available.ticks[[0, 2]]), [7 * 86_400.0])
    assert math.isnan(rows.available.ticks[1])


@pytest.mark.parametrize(
    ("cell", "other", "message"),
    [
        ("b,0.25", "b,1.25", "line 3, column 's': got 1.25, must be a number in"),
        ("b,0.25", "b,", "line 3, column 's': the value is missing"),
        ("b,", "a,", "line 3, column 'key': duplicate id 'a', first seen in line 2"),
        ("b,", " ,", "line 3, column 'key': the id is missing"),
        ("south", "", "line 3, column 'place': the group is missing"),
        ("2024-01-02,,", "soon,,", "line 3, column 't': got 'soon'"),
        ("2024-01-02,,", "2023-01-02,,", "line 3, column 't': the clock runs backwards"),
        ("2024-01-09", "2023-01-09", "line 4, column 'known': the outcome is available at"),
        (",0,", ",2,", "line 4, column 'y': got '2'"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named_as_the_user_finds_it(tmp_path, cell, other, message):
    path = tmp_path / "a.csv"
    path.write_text(FILE.replace(cell, other))
    with pytest.raises(InputError) as caught:
        take_scored(read(path), **PARTS)
    assert str(caught.value).startswith(f"{path}, {message}")
