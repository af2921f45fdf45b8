"""The paper's claims beside what was measured: ``table1.json``, read back and checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from calibrant.tables import InputError

VERDICTS = ("passes", "fails", "not visible")
#: What each field of a row may be.
WORDS = ("error", "world", "claim", "theorem", "forecaster", "axis", "verdict", "reason")
NUMBERS = ("claimed_exponent", "log_power", "fitted", "low", "high")
LISTS = ("x", "mean", "spread")


@dataclass(frozen=True)
class Claim:
    """One row of the paper's Table 1, measured.

    Attributes
    ----------
    error, world, claim, theorem : str
        What is claimed: which error, in which world, how large, and where it is proved.
    forecaster : str
        The spec of the forecaster that was played.
    axis : {"T", "C", "K"}
        What the error grows with.
    claimed_exponent, log_power : float
        The claim's a and b in c x^a log(x)^b.
    fitted, low, high : float
        The exponent that was fitted, and its bootstrap interval of 95 %.
    x, mean, spread : tuple of float
        The sizes, and the mean and standard deviation of the error at each.
    verdict : {"passes", "fails", "not visible"}
        What the numbers decide.
    reason : str
        Why, in a sentence.
    over_lower_bound : float or None
        The last mean over the lower bound, where there is one.

    Examples
    --------
    >>> from calibrant.report.claims import Claim
    >>> row = Claim("Cal2", "i.i.d.", "log T", "stationary", "epoch", "T", 0.0, 1.0, 0.03, -0.02,
    ...             0.06, (1e3, 1e4), (3.1, 4.2), (0.5, 0.5), "passes", "0.03 is at most 0.08.")
    >>> row.fitted <= row.claimed_exponent + 0.08
    True
    """

    error: str
    world: str
    claim: str
    theorem: str
    forecaster: str
    axis: str
    claimed_exponent: float
    log_power: float
    fitted: float
    low: float
    high: float
    x: tuple[float, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    verdict: str
    reason: str
    over_lower_bound: float | None = None


def read_claims(folder: str | os.PathLike[str]) -> list[Claim]:
    """Read and check ``table1.json`` of a folder; none, if it is not there.

    Examples
    --------
    >>> from calibrant.report.claims import read_claims
    >>> read_claims("nowhere")
    []
    """
    path = Path(folder) / "table1.json"
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not whole JSON ({error})", source=str(path)) from None
    if not isinstance(rows, list):
        raise InputError(f"must hold a list of rows, holds {type(rows).__name__}", source=str(path))
    return [_claim(row, str(path), number) for number, row in enumerate(rows, 1)]


def _claim(row: Any, source: str, number: int) -> Claim:
    """Return one row, or say what is wrong with it."""

    def refuse(field: str, allowed: str) -> InputError:
        held = row[field] if isinstance(row, dict) and field in row else "nothing"
        return InputError(
            f"{field!r} must be {allowed}, got {held!r}", source=source, row=number, unit="row"
        )

    if not isinstance(row, dict):
        raise InputError("must be an object", source=source, row=number, unit="row")
    for field in WORDS:
        if not isinstance(row.get(field), str):
            raise refuse(field, "words")
    for field in NUMBERS:
        if not _is_number(row.get(field)):
            raise refuse(field, "a number")
    for field in LISTS:
        values = row.get(field)
        if not (isinstance(values, list) and values and all(map(_is_number, values))):
            raise refuse(field, "a list of numbers")
        if len(values) != len(row["x"]):
            raise refuse(field, f"a list of {len(row['x'])} numbers, like 'x'")
    if row["axis"] not in ("T", "C", "K"):
        raise refuse("axis", "T, C or K")
    if row["verdict"] not in VERDICTS:
        raise refuse("verdict", f"one of {', '.join(VERDICTS)}")
    known: dict[str, Any] = {field.name: row.get(field.name) for field in fields(Claim)}
    lists = {field: tuple(map(float, row[field])) for field in LISTS}
    return Claim(**{**known, **lists})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
