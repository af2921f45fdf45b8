"""Labels as scikit-learn has them: checked, numbered, some of them missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from calibrant._checks import describe

#: The place of each row's label among the classes.
Codes = npt.NDArray[np.intp]


def classes_of(estimator: Any) -> npt.NDArray[Any]:
    """Return the labels that a frozen estimator knows."""
    check_is_fitted(estimator)
    return np.asarray(estimator.classes_)


def checked(X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
    """Return rows and labels that scikit-learn can use, as many of both."""
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    X, y = indexable(X, y)
    return X, column_or_1d(y, warn=True)


def of_rows(params: dict[str, Any], rows: Codes, total: int) -> dict[str, Any]:
    """Return parameters of which those with one value for each of all rows are cut to some."""
    return {
        name: _safe_indexing(value, rows)
        if not isinstance(value, str) and hasattr(value, "__len__") and len(value) == total
        else value
        for name, value in params.items()
    }


def rows_with_labels(y: Any) -> Codes | None:
    """Return which rows have a label, None if all have, or if this is no column of labels."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "fO":
        return None
    rows = [row for row, label in enumerate(labels.tolist()) if not is_missing(label)]
    return None if len(rows) == len(labels) else np.array(rows, dtype=np.intp)


def is_missing(label: object) -> bool:
    """Return whether a label is None, NaN or pandas.NA."""
    is_nan = isinstance(label, float) and math.isnan(label)
    return label is None or is_nan or type(label).__name__ == "NAType"


def labels_of(y: Any, rows: Codes) -> npt.NDArray[Any]:
    """Return the labels of some rows, as they would be if there were no others."""
    labels = np.asarray(y)[rows]
    return np.array(labels.tolist()) if labels.dtype == object else labels


def codes_of(y: npt.NDArray[Any], classes: npt.NDArray[Any], rows: Codes | None = None) -> Codes:
    """Return the place of each label among the classes, or name the first that has none.

    `rows` are the places of the labels, if there are others that are missing.
    """
    # Not by bisection: the classes of a model deployed already stand in its own order.
    index = {label: code for code, label in enumerate(classes.tolist())}
    labels = y.tolist()
    codes = np.array([index.get(label, -1) for label in labels], dtype=np.intp)
    if (codes < 0).any():
        position = int((codes < 0).argmax())
        raise ValueError(
            f"y must hold the classes that the model knows, {', '.join(map(repr, index))}, "
            f"got {describe(labels[position])} at position "
            f"{position if rows is None else rows[position]}"
        )
    return codes
