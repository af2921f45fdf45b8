"""What one cell stands for: nothing, a number, a probability, an outcome.

This is the only place that knows which words mean that a value is missing, how a number is written,
and which words are true and false.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias

from calibrant._checks import describe
from calibrant.tables.errors import InputError

#: How a cell says that there is no value, in any case of letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
#: How an outcome is written in words, in any case of letters.
WORDS = {
    "true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0,
}  # fmt: skip
#: A number as C and JSON write it: not Python's 0_1, and no digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
#: What to do about scores and predictions from 0 to 100.
PERCENTS = "divide percents by 100"
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}([.,'\s][0-9]{3})+([.,][0-9]+)?")

#: Reads one cell, given what its numbers have before their decimals: "." or ",".
NumberOf: TypeAlias = Callable[[object, str], float]


def is_empty(cell: object) -> bool:
    """Return whether a cell holds nothing at all. A name may be NA; it may not be empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def is_missing(cell: object) -> bool:
    """Return whether a cell that should hold a value says that it has none."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def number_in(cell: object, *, words: bool = True, decimal: str = ".") -> float | None:
    """Return the number that a cell stands for, or None; `words` such as true are 1 and 0."""
    if isinstance(cell, str):
        text = cell.strip()
        if decimal == "," and DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        if NUMBER.fullmatch(text):
            return float(text)
        return WORDS.get(text.lower()) if words else None
    if isinstance(cell, bytes | bytearray):
        return None
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def finite_number(cell: object, decimal: str = ".") -> float:
    """Return one cell as a finite number, or raise InputError that says why not."""
    number = number_in(cell, words=False, decimal=decimal)
    if number is None or not math.isfinite(number):
        raise _refusal(cell, "a number" if is_missing(cell) else "a finite number")
    return number


def probability(cell: object, decimal: str = ".") -> float:
    """Return one cell as a number in [0, 1], or raise InputError that says why not."""
    number = number_in(cell, decimal=decimal)
    may_be_percent = number is not None and 1.0 < number <= 100.0
    return _unit_number(cell, number, f"; {PERCENTS}" if may_be_percent else "")


def outcome_in(cell: object, decimal: str = ".", positive: str | None = None) -> float:
    """Return one cell as an outcome in [0, 1], or raise InputError that says why not.

    With `positive`, a cell that holds this value is 1, and one that holds another is 0.
    """
    if positive is None:
        can_be_named = not is_missing(cell) and not isinstance(cell, dict | list)
        cure = "; for other values name the one that counts as 1 (--positive)"
        return _unit_number(cell, number_in(cell, decimal=decimal), cure if can_be_named else "")
    if is_same(cell, positive, decimal):
        return 1.0
    if is_missing(cell):
        raise _refusal(cell, f"{positive!r}, or another value")
    return 0.0


def is_same(cell: object, value: str, decimal: str = ".") -> bool:
    """Return whether a cell holds a value: the same text, or the same number."""
    if str(cell).strip() == value.strip():
        return True
    number = number_in(cell, decimal=decimal)
    return number is not None and number == number_in(value, decimal=decimal)


def _unit_number(cell: object, number: float | None, cure: str) -> float:
    """Return the number that a cell stands for if it is in [0, 1], or refuse the cell."""
    if number is None or not 0.0 <= number <= 1.0:  # also refuses NaN
        error = _refusal(cell, "a number in [0, 1], or true or false")
        error.problem += cure
        raise error
    return number


def _refusal(cell: object, allowed: str) -> InputError:
    """Return the error for a cell, with the cure where the cell shows it."""
    if is_missing(cell):
        written = f" ({cell.strip()!r})" if isinstance(cell, str) and cell.strip() else ""
        return InputError(f"the value is missing{written}; must be {allowed}", value=cell)
    cure = ""
    if isinstance(cell, str):
        text = cell.strip()
        if THOUSANDS.fullmatch(text) and number_in(cell) is None:
            cure = "; write numbers without marks between thousands"
        elif DECIMAL_COMMA.fullmatch(text):
            cure = "; decimal commas need columns separated by ';', a tab or '|'"
        elif text.endswith("%"):
            cure = "; write 0.25 for 25 %"
    return InputError(f"got {_shown(cell)}, must be {allowed}{cure}", value=cell)


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        cell = float(cell)  # or NumPy would write its type
    return repr(cell) if isinstance(cell, str | float | int) else describe(cell)
