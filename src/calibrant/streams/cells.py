"""From the cells of a column to probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant._checks import Floats, describe

ALLOWED = "a number in [0, 1], or true or false"
WORDS = {"true": 1.0, "false": 0.0}


class BadCellError(ValueError):
    """A cell that holds no probability, and its place in the column."""

    def __init__(self, problem: str, place: int, value: object) -> None:
        super().__init__(problem)
        self.place, self.value = place, value


def probability(cell: object) -> float:
    """Return one cell as a number in [0, 1], or raise ValueError that says why not."""
    shown = repr(cell) if isinstance(cell, str | float | int) else describe(cell)
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise ValueError(f"the value is missing; must be {ALLOWED}")
    if isinstance(cell, str) and cell.strip().lower() in WORDS:
        return WORDS[cell.strip().lower()]
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"got {shown}, must be {ALLOWED}") from None
    if not 0.0 <= number <= 1.0:  # also refuses NaN
        raise ValueError(f"got {shown}, must be {ALLOWED}")
    return number


def probabilities(cells: Sequence[object] | Floats) -> Floats:
    """Return a column as numbers in [0, 1], or raise BadCellError for the first that is none."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except (TypeError, ValueError, OverflowError):
        pass
    else:
        if len(numbers) == 0 or (numbers.min() >= 0.0 and numbers.max() <= 1.0):
            return numbers
    # Something needs a closer look: a word, or a cell to be named.
    numbers = np.empty(len(cells))
    for place, cell in enumerate(cells):
        try:
            numbers[place] = probability(cell)
        except ValueError as error:
            raise BadCellError(str(error), place, cell) from None
    return numbers


def is_value(text: str) -> bool:
    """Tell whether a cell reads as a number or as true or false, good or bad."""
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in WORDS
    return True
