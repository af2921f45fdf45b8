"""Classes in the columns of a data frame: matched by name, whatever their order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import MulticlassRecalibrator

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.dirichlet([1, 2, 3], 200)
LABELS = RANDOM.choice(["a", "b", "c"], 200)
EXPECTED = MulticlassRecalibrator(["a", "b", "c"]).run(ROWS, LABELS)
COLUMNS = {"c": ROWS[:, 2], "a": ROWS[:, 0], "b": ROWS[:, 1]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_matched_by_name(frame):
    expected = MulticlassRecalibrator(["a", "b", "c"]).run(ROWS, LABELS)
    predicted = MulticlassRecalibrator(["a", "b", "c"]).run(frame(COLUMNS), LABELS)
    assert predicted.tolist() == expected.tolist()


def test_a_row_of_pandas_is_matched_by_its_index():
    frame, recalibrator = pd.DataFrame(COLUMNS), MulticlassRecalibrator(["a", "b", "c"])
    for row in range(20):
        assert recalibrator.predict(frame.iloc[row]).tolist() == EXPECTED[row].tolist()
        recalibrator.update(LABELS[row])
    assert recalibrator.expected(pd.Series(ROWS[0])).sum() == pytest.approx(1)  # not named


def test_numbers_are_names_too():
    frame = pd.DataFrame({2: ROWS[:, 2], 0: ROWS[:, 0], 1: ROWS[:, 1]})
    numbers = np.array([0, 1, 2])[np.searchsorted(["a", "b", "c"], LABELS)]
    assert MulticlassRecalibrator(3).run(frame, numbers).tolist() == EXPECTED.tolist()
    text = pl.DataFrame({str(name): frame[name].to_numpy() for name in frame})
    assert MulticlassRecalibrator(3).run(text, numbers).tolist() == EXPECTED.tolist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ROWS[:, 0], "b": ROWS[:, 1], "d": ROWS[:, 2]}, "missing: 'c'; no class: 'd'"),
        ({"a": ROWS[:, 0], "b": ROWS[:, 1]}, "missing: 'c'"),
        ({**COLUMNS, "d": ROWS[:, 0]}, "no class: 'd'"),
    ],
)
def test_what_does_not_match_is_refused_and_changes_nothing(columns, message):
    recalibrator = MulticlassRecalibrator(["a", "b", "c"])
    with pytest.raises(ValueError, match=message):
        recalibrator.run(pl.DataFrame(columns), LABELS)
    with pytest.raises(ValueError, match=message):
        recalibrator.predict(pd.DataFrame(columns).iloc[0])
    assert recalibrator.rounds == 0


def test_a_missing_probability_is_refused():
    frame = pl.DataFrame({"a": [0.5, None], "b": [0.5, 0.5], "c": [0.0, 0.5]})
    with pytest.raises(ValueError, match="probabilities must"):
        MulticlassRecalibrator(["a", "b", "c"]).run(frame, ["a", "b"])


def test_labels_that_columns_cannot_tell_apart():
    with pytest.raises(ValueError, match="cannot be told apart"):
        MulticlassRecalibrator([1, "1"]).run(pl.DataFrame({"1": [0.5], "2": [0.5]}), [1])


@pytest.mark.parametrize("classes", [2**16 + 1, 10**30])
def test_too_many_classes(classes):
    with pytest.raises(ValueError, match="classes must be an integer in"):
        MulticlassRecalibrator(classes)
