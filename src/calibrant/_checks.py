"""Checks of arguments: each message names the argument, the value and what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: What names a prediction or a group.
Id = str | int

MAX_SEED = 2**64 - 1
#: Bits of an integer that names something. Python refuses to write very long ones as text.
LONGEST = 1024


def describe(value: object) -> str:
    """Return a value as an error message shows it: short, with its type."""
    text = repr(value)
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{text} ({type(value).__name__})"


def check_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return an integer argument, or say which integers are allowed."""
    allowed = f"at least {low}" if high is None else f"in [{low}, {high}]"
    # To NumPy, a span of time is an integer too.
    is_other = isinstance(value, bool | np.bool_ | np.timedelta64)
    if is_other or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be an integer {allowed}, got {describe(value)}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be an integer {allowed}, got {value}")
    return int(value)


def check_seed(value: object) -> int:
    """Return a seed, an integer that fits 64 bits."""
    return check_integer("seed", value, 0, MAX_SEED)


def check_real(name: str, value: object, low: float, high: float) -> float:
    """Return a real argument inside [low, high], or say what is allowed."""
    try:
        # An array of one element would pass for a number.
        if isinstance(value, str | bytes) or getattr(value, "shape", ()) != ():
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a number in [{low}, {high}], got {describe(value)}"
        ) from None
    if not low <= number <= high:  # also refuses NaN
        raise ValueError(f"{name} must be a number in [{low}, {high}], got {number!r}")
    return number


def check_choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of a few words, or list them."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {describe(value)}"
        )
    return value


def check_id(value: object, name: str = "id") -> Id:
    """Return an id, a string or an integer that can be saved."""
    if type(value) is str:
        return value
    if type(value) is not int:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name} must be a string or an integer, got {describe(value)}")
        value = int(value)
    if value.bit_length() > LONGEST:
        raise ValueError(f"{name} must be an integer of at most {LONGEST} bits, got a longer one")
    return value


def as_series(values: object, name: str) -> npt.NDArray[Any]:
    """Return values as a one-dimensional array of numbers, without copying one that is."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise ValueError(
            f"{name} must be a one-dimensional array of numbers, got {describe(values)}"
        )
    try:
        series = np.asarray(values)
        if series is not values:  # a plain array has nothing to hide
            check_unmasked(values, name)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be a one-dimensional array of numbers: {error}") from None
    if series.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {series.shape}")
    if series.dtype.kind not in "buif":
        raise ValueError(
            f"{name} must be numbers (bool, int or float), got dtype {series.dtype}"
            + _first_non_number(values)
        )
    return series


def check_unmasked(values: object, name: str) -> None:
    """Refuse a masked array that hides some of its values: NumPy would show what is behind."""
    masked: Any = sys.modules.get("numpy.ma")  # what nobody imported, nobody uses
    # Another thread may be importing it right now.
    if not isinstance(values, getattr(masked, "MaskedArray", ())):
        return
    hidden = masked.getmaskarray(values)
    if hidden.any():
        raise ValueError(
            f"{name} must have no missing values, got {int(hidden.sum())} masked, the first in "
            f"position {int(hidden.reshape(len(hidden), -1).any(axis=1).argmax())}; drop those "
            "rounds first"
        )


def _first_non_number(values: Any) -> str:
    """Return what to add to a message: the first element that is no number, if there is one."""
    for position, value in enumerate(values):
        if not isinstance(value, bool | int | float | np.bool_ | np.number):
            return f": {describe(value)} at position {position}"
    return ""


def as_unit_series(values: object, name: str) -> npt.NDArray[np.float64]:
    """Return values as a float64 array of its own inside [0, 1], or name the first outside.

    A copy, so that another thread cannot change what was checked.
    """
    series = np.array(as_series(values, name), dtype=np.float64)
    outside = ~((series >= 0.0) & (series <= 1.0))  # also finds NaN
    if outside.any():
        position = int(outside.argmax())
        raise ValueError(
            f"{name} must be in [0, 1], got {float(series[position])!r} at position {position}"
        )
    return series


#: No outcome weighs more: sums of weights stay finite.
LARGEST_WEIGHT = 1e100


def check_weight(weight: object) -> float:
    """Return the weight of an outcome, 0 or more and finite, or raise ValueError."""
    return check_real("weight", weight, 0.0, LARGEST_WEIGHT)


def as_weights(weights: object, size: int) -> npt.NDArray[np.float64]:
    """Return the weights of so many outcomes as an array of its own, or name the first bad one."""
    series = np.array(as_series(weights, "weights"), dtype=np.float64)
    check_same_length("weights", len(series), "outcomes", size)
    outside = ~((series >= 0.0) & (series <= LARGEST_WEIGHT))  # also finds NaN
    if outside.any():
        position = int(outside.argmax())
        raise ValueError(
            f"weights must be in [0, {LARGEST_WEIGHT}], got {float(series[position])!r} "
            f"at position {position}"
        )
    return series


def as_listed(values: object, name: str, wanted: str) -> list[Any]:
    """Return values that have an order as a list; text is one value, and a set has no order."""
    has_order = hasattr(values, "__len__") and getattr(values, "shape", None) != ()
    if isinstance(values, str | bytes | Set | Mapping) or not has_order:
        raise ValueError(f"{name} must be {wanted}, got {describe(values)}")
    # `tolist` gives Python's own values, and None for the missing ones of data frames.
    listed: Any = values.tolist() if hasattr(values, "tolist") else values
    try:
        return list(listed)
    except TypeError:  # it has a length, and yet nothing in it can be reached
        raise ValueError(f"{name} must be {wanted}, got {describe(values)}") from None


def check_same_length(name: str, size: int, other: str, other_size: int) -> None:
    """Refuse two series of which one has rounds that the other lacks."""
    if size != other_size:
        raise ValueError(
            f"{name} and {other} must have the same length, got {size} and {other_size}"
        )


def as_rounds(
    predictions: object, outcomes: object, *, mean: bool = False
) -> tuple[Floats, Floats]:
    """Return both series as float64 arrays in [0, 1] of the same length, or raise ValueError.

    A `mean` needs at least one round.
    """
    p = as_unit_series(predictions, "predictions")
    y = as_unit_series(outcomes, "outcomes")
    check_same_length("predictions", len(p), "outcomes", len(y))
    if mean and len(p) == 0:
        raise ValueError("predictions and outcomes must hold at least one round: a mean of none")
    return p, y


#: How far from one a row of probabilities may sum; single precision needs some of it.
SUM_TOLERANCE = 1e-4


def as_distributions(values: object, name: str, classes: int | None = None) -> Floats:
    """Return rows of probabilities, each summing to one, as an array of shape (rounds, classes).

    A copy, so that another thread cannot change what was checked.
    """
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise ValueError(f"{name} must be rows of probabilities, got {describe(values)}")
    try:
        rows = np.asarray(values)
        check_unmasked(values, name)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be rows of probabilities: {error}") from None
    if rows.size == 0 and rows.ndim < 2 and classes is not None:
        rows = np.empty((0, classes))
    if rows.ndim != 2 or rows.dtype.kind not in "buif":
        raise ValueError(
            f"{name} must be rows of probabilities, got shape {rows.shape} of dtype {rows.dtype}"
        )
    if classes is not None and rows.shape[1] != classes:
        raise ValueError(f"{name} must have {classes} columns, one per class, got {rows.shape[1]}")
    if rows.shape[1] < 2:
        raise ValueError(f"{name} must have two columns or more, got {rows.shape[1]}")
    rows = np.array(rows, dtype=np.float64, order="C")
    outside = ~((rows >= 0.0) & (rows <= 1.0)).all(axis=1)  # also finds NaN
    if outside.any():
        at = int(outside.argmax())
        raise ValueError(f"{name} must be in [0, 1], got {_shown(rows[at])} in row {at}")
    sums = rows.sum(axis=1)
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"{name} must sum to one in each row, got {sums[at]:.6g} in row {at}")
    return rows


def _shown(row: Floats) -> str:
    """Return a row of numbers as an error message shows it."""
    text = ", ".join(f"{value:.6g}" for value in row[:6])
    return f"[{text}, ...]" if len(row) > 6 else f"[{text}]"
