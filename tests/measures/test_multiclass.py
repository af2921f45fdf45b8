"""The measures of several classes."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import measures
from measures.strategies import repeatable
from naive import measures as naive_measures
from naive import multiclass as naive

BINNED = ["confidence_ece", "top_label_ece", "classwise_ece"]
LOSSES = ["multiclass_brier", "multiclass_log_loss"]


@st.composite
def labelled(draw):
    """Draw rows of quarters and thirds, so that confidences repeat and tie, and labels."""
    classes = draw(st.integers(2, 4))
    rows = []
    for _ in range(draw(st.integers(1, 20))):
        parts = [draw(st.integers(0, 3)) for _ in range(classes)]
        parts[draw(st.integers(0, classes - 1))] += 1
        rows.append([part / sum(parts) for part in parts])
    return rows, [draw(st.integers(0, classes - 1)) for _ in rows]


@pytest.mark.parametrize("name", BINNED)
@given(data=labelled(), bins=st.integers(1, 12))
@repeatable
def test_calibration_errors_equal_their_definitions(name, data, bins):
    got = getattr(measures, name)(*data, bins=bins)
    expected = getattr(naive, name)(*data, partial(naive_measures.width_bin, bins=bins))
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert 0 <= got <= 1


@given(data=labelled())
@repeatable
def test_losses_equal_their_definitions(data):
    assert measures.multiclass_brier(*data) == pytest.approx(naive.brier(*data), abs=1e-12)
    assert measures.multiclass_log_loss(*data) == pytest.approx(naive.log_loss(*data), abs=1e-12)


@given(data=labelled(), bins=st.integers(1, 12))
@repeatable
def test_classes_cannot_hide_behind_each_other_in_the_top_label_error(data, bins):
    whole, by_class = (
        measures.confidence_ece(*data, bins=bins),
        measures.top_label_ece(*data, bins=bins),
    )
    assert by_class >= whole - 1e-12


def test_two_classes_are_the_binary_case():
    random = np.random.default_rng(0)
    p, y = random.random(500), random.integers(0, 2, 500)
    rows = np.column_stack([1 - p, p])
    assert measures.multiclass_brier(rows, y) == pytest.approx(2 * measures.brier(p, y))
    assert measures.multiclass_log_loss(rows, y) == pytest.approx(measures.log_loss(p, y))


def test_equal_mass_bins():
    random = np.random.default_rng(1)
    rows = random.dirichlet([1, 1, 1], 300)
    labels = random.integers(0, 3, 300)
    sure = rows.max(axis=1)
    expected = measures.ece(sure, rows.argmax(axis=1) == labels, bins=10, scheme="mass")
    assert measures.confidence_ece(rows, labels, bins=10, scheme="mass") == expected


def test_a_class_thought_impossible_happened():
    assert measures.multiclass_log_loss([[1.0, 0.0]], [1]) == math.inf


@pytest.mark.parametrize("name", BINNED + LOSSES)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([[0.5, 0.4]], [0], r"probabilities must sum to one in each row, got 0.9 in row 0"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 0], r"in \[0, 1\], got \[1.5, -0.5\] in row 1"),
        ([[0.5, float("nan")]], [0], r"in \[0, 1\], got \[0.5, nan\] in row 0"),
        ([[1.0]], [0], "two columns or more"),
        ([0.5, 0.5], [0, 1], "rows of probabilities"),
        ("ab", [0, 1], "rows of probabilities"),
        ([["a", "b"]], [0], "rows of probabilities"),
        ([[0.5, 0.5], [1.0]], [0, 1], "rows of probabilities"),
        ([[0.5, 0.5]], [2], r"labels must be integers in \[0, 1\], got 2 at position 0"),
        ([[0.5, 0.5]], [-1], "labels must be integers"),
        ([[0.5, 0.5]], [0.5], "labels must be integers"),
        ([[0.5, 0.5]], [float("nan")], "labels must be integers"),
        ([[0.5, 0.5]], ["a"], "labels must be numbers"),
        ([[0.5, 0.5]], [0, 1], "same length, got 1 and 2"),
        (np.empty((0, 2)), [], "at least one round"),
    ],
)
def test_bad_input(name, rows, labels, message):
    with pytest.raises(ValueError, match=message):
        getattr(measures, name)(rows, labels)


def test_rows_as_people_have_them():
    rows, labels = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], [1, 0, 0]
    for name in BINNED + LOSSES:
        measure = getattr(measures, name)
        expected = measure(rows, labels)
        assert (
            measure(np.array(rows, dtype=np.float32), np.array(labels, dtype=np.int8)) == expected
        )
        assert measure(pd.DataFrame(rows), pd.Series(labels)) == expected
        assert measure(np.asfortranarray(rows), [1.0, 0.0, 0.0]) == expected
