"""Columns: as named, guessed with a message, or an error that lists them."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.tables import InputError, Table


def table(*names: str) -> Table:
    return Table("a.csv", {name: ["1", "0"] for name in names})


@pytest.mark.parametrize(
    ("names", "part", "found"),
    [
        (["t", "outcome"], "outcome", "outcome"),
        (["t", "Y"], "outcome", "Y"),
        (["a", "label", "p"], "outcome", "label"),
        (["outcome", "target"], "outcome", "outcome"),
        (["anything"], "outcome", "anything"),
        (["score", "y"], "prediction", "score"),
        (["score", "prediction", "y"], "prediction", "prediction"),
        (["Probability", "y"], "prediction", "Probability"),
    ],
)
def test_usual_names_are_found_and_announced(names, part, found):
    column = table(*names).take(part)
    assert column.name == found
    assert column.note == f"a.csv: no {part} column was named, taking {found!r}"


@pytest.mark.parametrize(
    ("names", "part", "message"),
    [
        (
            ["y", "label", "x"],
            "outcome",
            r"the outcome column may be 'y', 'label': choose one \(--outcome\)",
        ),
        (
            ["a", "b"],
            "outcome",
            r"choose one \(--outcome\); the columns are 'a', 'b'",
        ),
        (["outcome", "OUTCOME"], "outcome", "may be 'outcome', 'OUTCOME'"),
        (
            ["y"],
            "prediction",
            "no column is named like the prediction: .* the only column is 'y'",
        ),
        (["p", "score"], "prediction", "may be 'p', 'score'"),
    ],
)
def test_no_guess_is_better_than_a_wild_one(names, part, message):
    with pytest.raises(InputError, match=message):
        table(*names).take(part)


def test_a_named_column_must_be_there():
    assert table("a", "b").take("outcome", "b").note is None
    with pytest.raises(
        InputError, match=r"a\.csv: there is no column 'c'; the columns are 'a', 'b'"
    ):
        table("a", "b").take("outcome", "c")
    with pytest.raises(InputError, match="'c19' and 10 more"):
        table(*(f"c{i}" for i in range(30))).take("outcome", "x")
    with pytest.raises(
        ValueError, match="part must be one of 'outcome', 'prediction', got 'weight'"
    ):
        table("a").take("weight")


def test_a_column_can_be_added_once():
    wider = table("y").with_column("prediction", np.array([0.5, 0.25]))
    assert list(wider.columns) == ["y", "prediction"]
    assert wider.take("prediction").values.tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match=r"name must be new, but a\.csv has a column 'prediction'"):
        wider.with_column("prediction", [0.1, 0.2])
    with pytest.raises(ValueError, match=r"values must be one per row \(2\), got 3"):
        wider.with_column("other", [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="values must be numbers"):
        wider.with_column("other", ["a", "b"])
    assert repr(wider) == "Table(a.csv, 2 rows: 'y', 'prediction')"
