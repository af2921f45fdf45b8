"""Data frames in, the same kind of data frame out."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from calibrant import Recalibrator
from calibrant.recalibrate import recalibrate_frame
from calibrant.tables import InputError

LIBRARIES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}


@pytest.fixture(params=LIBRARIES)
def make(request):
    """Make a data frame of one of the libraries from lists."""
    return LIBRARIES[request.param]


def column_of(frame, name):
    return np.asarray(frame[name]).tolist()


RANDOM = np.random.default_rng(5)
SCORES = RANDOM.random(300).tolist()
OUTCOMES = (RANDOM.random(300) < 0.4).tolist()


def test_a_column_is_added_and_nothing_else_changes(make):
    frame = make({"s": SCORES, "y": OUTCOMES, "name": [f"row {i}" for i in range(300)]})
    result = recalibrate_frame(frame, score="s", outcome="y", id="name", seed=4)
    assert type(result) is type(frame)
    columns = result.column_names if isinstance(result, pyarrow.Table) else list(result.columns)
    assert columns == ["s", "y", "name", "calibrated"]
    assert column_of(result, "calibrated") == Recalibrator(seed=4).run(SCORES, OUTCOMES).tolist()
    assert column_of(result, "s") == SCORES
    assert column_of(result, "name") == column_of(frame, "name")
    assert len(frame.columns) == 3


def test_integers_booleans_and_missing_outcomes(make):
    whole = make({"s": SCORES[:4], "y": [1, 0, 1, 0]})
    logical = make({"s": SCORES[:4], "y": [True, False, True, False]})
    some = make({"s": SCORES[:4], "y": [True, None, True, False]})
    a, b, c = (recalibrate_frame(f, score="s", outcome="y") for f in (whole, logical, some))
    assert column_of(a, "calibrated") == column_of(b, "calibrated")
    twin = Recalibrator()
    expected = []
    for score, outcome in zip(SCORES, [1, None, 1, 0], strict=False):
        expected.append(twin.predict(score))
        if outcome is not None:
            twin.update(outcome)
    assert column_of(c, "calibrated") == expected


@pytest.mark.parametrize("zone", [None, datetime.UTC])
def test_late_outcomes_by_numbers_and_by_times(make, zone):
    start = datetime.datetime(2024, 1, 1, tzinfo=zone)
    hour = datetime.timedelta(hours=1)
    numbers = {"t": list(range(300)), "known": [t + 7 for t in range(300)]}
    numbers["known"][5] = None
    times = {
        name: [None if cell is None else start + cell * hour for cell in cells]
        for name, cells in numbers.items()
    }
    texts = {
        name: [None if cell is None else cell.isoformat() for cell in cells]
        for name, cells in times.items()
    }
    results = [
        recalibrate_frame(
            make({"s": SCORES, "y": OUTCOMES, **clocks}),
            score="s", outcome="y", time="t", available="known",
        )
        for clocks in (numbers, times, texts)
    ]  # fmt: skip
    first, *others = [column_of(result, "calibrated") for result in results]
    assert all(other == first for other in others)
    assert first != Recalibrator().run(SCORES, OUTCOMES).tolist()


def test_dates(make):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=t) for t in range(300)]
    late = [day + datetime.timedelta(days=7) for day in days]
    dated = recalibrate_frame(
        make({"s": SCORES, "y": OUTCOMES, "t": days, "k": late}),
        score="s", outcome="y", time="t", available="k",
    )  # fmt: skip
    plain = recalibrate_frame(
        make({"s": SCORES, "y": OUTCOMES, "t": range(300), "k": range(7, 307)})
        if make is not pyarrow.table
        else make({"s": SCORES, "y": OUTCOMES, "t": list(range(300)), "k": list(range(7, 307))}),
        score="s", outcome="y", time="t", available="k",
    )  # fmt: skip
    assert column_of(dated, "calibrated") == column_of(plain, "calibrated")


@pytest.mark.parametrize("names", [["north", "south"], [7, 8]])
def test_groups(make, names):
    groups = [names[i % 2] for i in range(300)]
    result = recalibrate_frame(
        make({"s": SCORES, "y": OUTCOMES, "g": groups}), score="s", outcome="y", by="g"
    )
    expected = Recalibrator().run(SCORES, OUTCOMES, by=groups)
    assert column_of(result, "calibrated") == expected.tolist()


def test_kinds_and_names(make):
    logits = [8 * (score - 0.5) for score in SCORES]
    frame = make({"s": logits, "y": OUTCOMES})
    result = recalibrate_frame(frame, score="s", outcome="y", kind="logit", column="p")
    assert column_of(result, "p") == Recalibrator("logit").run(logits, OUTCOMES).tolist()


def test_the_index_of_pandas_stays():
    index = pandas.Index([f"row {i}" for i in range(300)][::-1], name="key")
    frame = pandas.DataFrame({"s": SCORES, "y": OUTCOMES}, index=index)
    result = recalibrate_frame(frame, score="s", outcome="y")
    assert result.index.equals(index)
    assert result["calibrated"].tolist() == Recalibrator().run(SCORES, OUTCOMES).tolist()


def test_no_rows_give_no_probabilities(make):
    frame = make({"s": SCORES[:1], "y": OUTCOMES[:1]})
    empty = frame.slice(0, 0) if not isinstance(frame, pandas.DataFrame) else frame[:0]
    assert column_of(recalibrate_frame(empty, score="s", outcome="y"), "calibrated") == []


def test_run_takes_series():
    expected = Recalibrator().run(SCORES, OUTCOMES).tolist()
    for series in (pandas.Series, polars.Series, pyarrow.array):
        assert Recalibrator().run(series(SCORES), series(OUTCOMES)).tolist() == expected


GOOD = {"s": [0.1, 0.2, 0.3], "y": [1, 0, 1], "t": [1, 2, 3], "k": [2, 3, 4], "g": ["a", "b", "a"]}


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"s": [0.1, 1.5, 0.3]}, {}, "row 2, column 's': got 1.5, must be a number in"),
        ({"s": [0.1, None, 0.3]}, {}, "row 2, column 's': the value is missing; must be a num"),
        ({"s": ["0.1", "0.2", "0.3"]}, {}, r"row 1, column 's': got '0.1' \(str\)"),
        ({"s": [0.1, float("inf"), 0.3]}, {"kind": "margin"}, "row 2, column 's': got inf"),
        ({"y": [1, 0, 2]}, {}, "row 3, column 'y': got 2, must be a number in"),
        ({"y": ["1", "0", "1"]}, {}, "row 1, column 'y': got '1'"),
        ({"g": ["a", "b", "a"]}, {"id": "g"}, "row 3, .*duplicate id 'a', first seen in row 1"),
        ({"g": ["a", None, "b"]}, {"id": "g"}, "row 2, column 'g': the id is missing"),
        ({"g": ["a", None, "b"]}, {"by": "g"}, "row 2, column 'g': the group is missing"),
        ({"g": [0.5, 0.5, 1.5]}, {"by": "g"}, "row 1, column 'g': a group must be a string"),
        ({"t": [1, 3, 2]}, {"time": "t"}, "row 3, column 't': the clock runs backwards"),
        ({"t": [1, None, 2]}, {"time": "t"}, "row 2, column 't': the value is missing"),
        ({"k": [2, 1, 4]}, {"time": "t", "available": "k"}, "row 2, column 'k': the outcome"),
        ({}, {"available": "k"}, "available needs time"),
        ({}, {"score": "nope"}, "there is no column 'nope'; the columns are 's', 'y'"),
        ({}, {"by": "nope"}, "there is no column 'nope'"),
        ({}, {"column": "s"}, "already has a column 's'"),
        ({}, {"column": 3}, "column must be a string, got 3"),
        ({}, {"outcome": "s"}, "column 's' cannot be both the score and the outcome"),
        ({}, {"by": "y"}, "column 'y' cannot be both the group and the outcome"),
        ({}, {"kind": "odds"}, "kind must be one of"),
        ({}, {"seed": -1}, "seed must be"),
    ],
)  # fmt: skip
def test_bad_frames_are_refused_by_name(make, change, arguments, message):
    frame = make({**GOOD, **change})
    with pytest.raises(ValueError, match=message):
        recalibrate_frame(frame, **{"score": "s", "outcome": "y", **arguments})


def test_nan_is_not_missing_where_the_library_tells_them_apart():
    frame = polars.DataFrame({"s": [0.1, 0.2], "y": [1.0, float("nan")]})
    with pytest.raises(InputError, match="row 2, column 'y': got nan"):
        recalibrate_frame(frame, score="s", outcome="y")


def test_objects_that_are_numbers():
    """Decimals, as databases give them, and other numbers in a column of objects."""
    objects = np.array([Decimal("0.1"), np.float32(0.25), 0.5], dtype=object)
    frame = pandas.DataFrame({"s": objects, "y": np.array([True, None, Decimal(1)], dtype=object)})
    plain = pandas.DataFrame({"s": [0.1, 0.25, 0.5], "y": [1, None, 1]})
    predicted, expected = (recalibrate_frame(f, score="s", outcome="y") for f in (frame, plain))
    assert predicted["calibrated"].tolist() == expected["calibrated"].tolist()


@pytest.mark.parametrize("cell", [10**400, math.inf, Decimal("inf"), 1j, "1", [1]])
def test_objects_that_are_no_finite_numbers(cell):
    frame = pandas.DataFrame({"s": [0.1, 0.2], "y": np.array([1, None], dtype=object)})
    frame.at[1, "y"] = cell
    with pytest.raises(InputError, match=r"row 2, column 'y': got .*, must be a number"):
        recalibrate_frame(frame, score="s", outcome="y")


def test_an_id_that_holds_a_list_is_refused():
    frame = pandas.DataFrame({"s": [0.1, 0.2], "y": [1, 0], "id": [(1,), (2, [3])]})
    with pytest.raises(InputError, match=r"row 2, column 'id': got .* cannot be an id"):
        recalibrate_frame(frame, score="s", outcome="y", id="id")


def test_columns_that_have_numbers_for_names():
    frame = pandas.DataFrame({0: SCORES, 1: OUTCOMES})
    predicted = recalibrate_frame(frame, score=0, outcome=1)
    assert predicted["calibrated"].tolist() == Recalibrator().run(SCORES, OUTCOMES).tolist()


def test_two_columns_of_one_name_are_refused():
    frame = pandas.DataFrame([[0.1, 0.2, 1]], columns=["s", "s", "y"])
    with pytest.raises(ValueError, match="'s' 2 times"):
        recalibrate_frame(frame, score="s", outcome="y")


@pytest.mark.parametrize("frame", [None, [1, 2], {"s": [1]}, polars.LazyFrame({"s": [1]})])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(ValueError, match="frame must be a data frame held in memory"):
        recalibrate_frame(frame, score="s", outcome="y")


@pytest.mark.parametrize("name", ["score", "outcome"])
def test_a_column_must_be_named(name):
    frame = polars.DataFrame({"s": [0.5], "y": [1]})
    with pytest.raises(ValueError, match=f"{name} must name a column, got None"):
        recalibrate_frame(frame, **{"score": "s", "outcome": "y", name: None})


# -- the outcome that counts as 1 -----------------------------------------------------------------

HAPPENED = [0, 1, 0, 0, 1, 1, 0, None, 1, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fraud", "fine"),
        (1, 2),
        (2.5, 0.5),
        (True, False),
        (np.float64(1), np.float64(7)),
        ("1", "2"),
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_one_value_may_count_as_one(one, other, library):
    made = LIBRARIES[library]
    scores = np.linspace(0.1, 0.9, 10)
    values = [None if each is None else one if each else other for each in HAPPENED]
    frame = made({"p": scores, "y": values})
    plain = made({"p": scores, "y": HAPPENED})
    predicted = recalibrate_frame(frame, score="p", outcome="y", positive=one)["calibrated"]
    expected = recalibrate_frame(plain, score="p", outcome="y")["calibrated"]
    assert [float(p) for p in np.asarray(predicted)] == [float(p) for p in np.asarray(expected)]


@pytest.mark.parametrize(
    ("positive", "message"),
    [
        ("Fraud", "no value is 'Fraud', which is to count as 1"),
        (["fraud"], "positive must be"),
        (None, "must be a number; or say which value counts as 1, positive="),
    ],
)
def test_a_value_that_cannot_count_as_one_is_refused(positive, message):
    frame = pandas.DataFrame({"p": [0.1, 0.2], "y": ["fine", "fraud"]})
    with pytest.raises(ValueError, match=message):
        recalibrate_frame(frame, score="p", outcome="y", positive=positive)
