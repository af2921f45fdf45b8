"""The paper's claims and their measurements: the rows of ``table1.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from calibrant import _specs
from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError

#: The name of the file in its folder.
NAME = "table1.json"
PASSES, FAILS, NOT_VISIBLE, NOT_COUNTED = VERDICTS = (
    "passes",
    "fails",
    "not visible",
    "not counted",
)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A row of the paper's Table 1, measured.

    Attributes
    ----------
    error, claim, theorem : str
        The error, its claimed size, and the theorem that proves it.
    world : str
        The situation, and the worlds that stand for it.
    forecaster : str
        The spec of the forecaster.
    axis : {"T", "C", "K"}
        What the error grows with.
    claimed_exponent, log_power : float
        The claim's a and b in c x^a log(x)^b.
    fitted, low, high : float
        The exponent in the worst of the worlds, and its bootstrap interval of 95%.
    plain : float or None
        The exponent without any logarithm.
    null : str or None
        The spec of the null, a fixed grid in the same worlds: of several, the one with the
        smallest errors.
    null_plain : float or None
        Its plain exponent, over the sizes that count.
    null_mean : list or None
        Its mean error in its worst world.
    level, level_low, level_high : float or None
        The geometric mean of `mean` over that of `null_mean`, and its bootstrap interval.
    gap, gap_low, gap_high : float or None
        `plain` minus `null_plain`, and its bootstrap interval.
    x, mean, spread : list
        The sizes; the mean error in the worst world there, and its standard deviation over seeds.
    counted : list of bool
        The sizes at which the claim can show.
    by_world : dict
        The mean errors in each world.
    over_lower_bound : float or None
        The last mean, over a mean drawn uniformly, divided by the lower bound.
    ns_per_round : list or None
        The time of a round of `run`, by size.
    cost_exponent, claimed_cost_exponent : float or None
        The measured growth of ns_per_round along the axis, and the growth claimed by the paper.
    verdict : {"passes", "fails", "not visible", "not counted"}
        The verdict.
    reason : str
        Why, in a sentence.

    Examples
    --------
    >>> from calibrant.experiments import Claim
    >>> row = Claim(
    ...     error="Cal2", world="i.i.d. (mean 0.5)", claim="log T", theorem="simple_block_Cal2",
    ...     forecaster="refined:measure=l2,deviation=C", axis="T", claimed_exponent=0.0,
    ...     log_power=1.0, fitted=0.03, low=-0.02, high=0.06, x=[1000, 10000], mean=[3.1, 4.2],
    ...     spread=[0.5, 0.5], verdict="passes", reason="0.03 is at most 0.08.")
    >>> row.situation, row.parameters
    ('i.i.d.', {'measure': 'l2', 'deviation': 'C'})
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
    plain: float | None = None
    null: str | None = None
    null_plain: float | None = None
    null_mean: list[float] | None = None
    level: float | None = None
    level_low: float | None = None
    level_high: float | None = None
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    x: list[float]
    mean: list[float]
    spread: list[float]
    counted: list[bool] | None = None
    by_world: dict[str, list[float]] | None = None
    over_lower_bound: float | None = None
    ns_per_round: list[float] | None = None
    cost_exponent: float | None = None
    claimed_cost_exponent: float | None = None
    verdict: str
    reason: str

    @property
    def situation(self) -> str:
        """The world without the list of streams that stand for it."""
        return self.world.partition(" (")[0]

    @property
    def kind(self) -> str:
        """The name of the forecaster, without its parameters."""
        return _specs.name_of(self.forecaster)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the forecaster, as they were written."""
        return _specs.parse("forecaster", self.forecaster).parameters


def write_claims(folder: str | os.PathLike[str], claims: Sequence[Claim]) -> None:
    """Write ``table1.json``."""
    text = json.dumps([asdict(claim) for claim in claims], indent=1, ensure_ascii=False)
    with replacing(Path(folder) / NAME) as file:
        file.write(text.encode() + b"\n")


def read_claims(folder: str | os.PathLike[str]) -> list[Claim]:
    """Read and check ``table1.json`` of a folder; none, if it is not there.

    Examples
    --------
    >>> from calibrant.experiments import read_claims
    >>> read_claims("nowhere")
    []
    """
    path = Path(folder) / NAME
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
    """Return one row, or raise an error that says what is wrong with it."""
    if not isinstance(row, dict):
        raise InputError("must be an object", source=source, row=number, unit="row")
    for name, allowed in _problems(row):
        held = row.get(name, "nothing")
        raise InputError(
            f"{name!r} must be {allowed}, got {held!r}", source=source, row=number, unit="row"
        )
    return Claim(**{field.name: row[field.name] for field in fields(Claim) if field.name in row})


def _problems(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the fields with invalid values, and what is allowed."""
    for field in fields(Claim):
        value = row.get(field.name)
        if field.type == "str" and not isinstance(value, str):
            yield field.name, "words"
        if field.type == "float" and not _is_number(value):
            yield field.name, "a number"
        if field.type == "list[float]":
            if not (isinstance(value, list) and value and all(map(_is_number, value))):
                yield field.name, "a list of numbers"
            elif len(value) != len(row["x"]):
                yield field.name, f"a list of {len(row['x'])} numbers, like 'x'"
    if row["axis"] not in ("T", "C", "K"):
        yield "axis", "T, C or K"
    if row["verdict"] not in VERDICTS:
        yield "verdict", f"one of {', '.join(VERDICTS)}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
