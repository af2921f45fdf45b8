"""From the cells of a column to probabilities and other numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from calibrant._checks import Floats, describe

ALLOWED = "a number in [0, 1], or true or false"
WORDS = {"true": 1.0, "false": 0.0}


class BadCellError(ValueError):
    """A cell that does not hold what it must, and its place in the column."""

    def __init__(self, problem: str, place: int, value: object) -> None:
        super().__init__(problem)
        self.place, self.value = place, value


def probability(cell: object) -> float:
    """Return one cell as a number in [0, 1], or raise ValueError that says why not."""
    if is_missing(cell):
        raise ValueError(f"the value is missing; must be {ALLOWED}")
    if isinstance(cell, str) and cell.strip().lower() in WORDS:
        return WORDS[cell.strip().lower()]
    number = _as_float(cell)
    if number is None or not 0.0 <= number <= 1.0:  # also refuses NaN
        raise ValueError(f"got {_shown(cell)}, must be {ALLOWED}")
    return number


def finite_number(cell: object) -> float:
    """Return one cell as a finite number, or raise ValueError that says why not."""
    if is_missing(cell):
        raise ValueError("the value is missing; must be a number")
    number = _as_float(cell)
    if number is None or not math.isfinite(number):
        raise ValueError(f"got {_shown(cell)}, must be a finite number")
    return number


def probabilities(cells: Sequence[object] | Floats) -> Floats:
    """Return a column as numbers in [0, 1], or raise BadCellError for the first that is none."""
    numbers = _as_floats(cells)
    if numbers is not None and ((numbers >= 0.0) & (numbers <= 1.0)).all():
        return numbers
    # Something needs a closer look: a word, or a cell to be named.
    return _one_by_one(cells, probability)


def finite_numbers(cells: Sequence[object] | Floats) -> Floats:
    """Return a column as finite numbers, or raise BadCellError for the first that is none."""
    numbers = _as_floats(cells)
    if numbers is not None and np.isfinite(numbers).all():
        return numbers
    return _one_by_one(cells, finite_number)


def is_missing(cell: object) -> bool:
    """Tell whether a cell is empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def is_value(text: str) -> bool:
    """Tell whether a cell reads as a number or as true or false, good or bad."""
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in WORDS
    return True


def _as_float(cell: object) -> float | None:
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _as_floats(cells: Sequence[object] | Floats) -> Floats | None:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError, OverflowError):
        return None


def _one_by_one(cells: Sequence[object] | Floats, number: Callable[[object], float]) -> Floats:
    numbers = np.empty(len(cells))
    for place, cell in enumerate(cells):
        try:
            numbers[place] = number(cell)
        except ValueError as error:
            raise BadCellError(str(error), place, cell) from None
    return numbers


def _shown(cell: object) -> str:
    return repr(cell) if isinstance(cell, str | float | int) else describe(cell)
