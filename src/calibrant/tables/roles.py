"""Guess which column plays which part, from the values and names of the columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from calibrant.tables.cells import Clock, is_missing
from calibrant.tables.columns import ColumnFacts
from calibrant.tables.errors import InputError
from calibrant.tables.table import USUAL_NAMES, Table

#: Words in names of columns, by the part they hint at.
HINTS = {
    "score": re.compile(
        "scores?|probs?|probability|proba|p|phat|preds?|predictions?|predicted|forecasts?|logits?|"
        "margin|yhat|risk|model"
    ),
    "outcome": re.compile(
        "outcomes?|y|labels?|target|event|observed|actual|happened|true|truth|class|result|fraud|"
        "default|churned|clicked|converted|won|is|has"
    ),
    "time": re.compile(
        "t|time|timestamp|ts|date|datetime|day|when|at|created|scored|predicted|start"
    ),
    "available": re.compile(
        "available|availability|known|resolved|settled|labelled|labeled|arrived|arrival|closed|"
        "reported|confirmed|feedback|end"
    ),
    "id": re.compile("id|key|uuid|guid|nr|number"),
}
MOST_GROUPS = 50
ROWS_A_GROUP = 20


def hints_at(name: str, part: str) -> bool:
    """Return whether a word of a column's name hints at a part."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)  # modelScore
    return any(map(HINTS[part].fullmatch, re.split(r"[^a-z0-9]+", apart.lower())))


def usual(facts: Sequence[ColumnFacts], part: str) -> list[ColumnFacts]:
    """Return the columns with the usual names of a part."""
    return [each for each in facts if USUAL_NAMES[part].fullmatch(each.name.strip().lower())]


def only(*choices: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """Return the first of several choices that is a single column, or the first that is any."""
    single = (choice for choice in choices if len(choice) == 1)
    return list(next(single, next(filter(None, choices), [])))


def likely_outcomes(facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """Return the column of the outcomes, several if it is ambiguous, or none."""
    fit = [each for each in facts if each.kind in ("binary", "two values")]
    named = [each for each in fit if hints_at(each.name, "outcome")]
    parts = [each for each in usual(facts, "outcome") if each.kind == "probability"]
    return only(usual(fit, "outcome"), named, parts, fit)


def likely_numbers(facts: Sequence[ColumnFacts]) -> dict[str, ColumnFacts]:
    """Return the forecast and the outcome of a file of numbers, if their names allow it.

    Both names must be usual, or that of the forecast, and there is only one other number.
    """
    fit = [each for each in facts if each.kind == "number"]
    outcomes = only(usual(fit, "outcome"), [each for each in fit if hints_at(each.name, "outcome")])
    rest = [each for each in fit if each not in outcomes]
    named = [each for each in rest if hints_at(each.name, "score")]
    forecasts = only(usual(rest, "prediction"), named)
    if not outcomes and len(forecasts) == 1:
        parts = ("time", "available", "id")
        outcomes = [
            each for each in fit
            if each not in forecasts and not any(hints_at(each.name, part) for part in parts)
        ]  # fmt: skip
    if len(outcomes) != 1 or len(forecasts) != 1:
        return {}
    return {"forecast": forecasts[0], "outcome": outcomes[0]}


def likely_classes(table: Table, facts: Sequence[ColumnFacts]) -> dict[str, str]:
    """Return the pattern of the scores of several classes and the column of labels, or nothing.

    The columns share a prefix, p_*; the rest of their names are the labels of another column, and
    their rows sum to one, as far as they are rounded.
    """
    inside = {
        each.name: each.numbers for each in facts
        if each.kind in ("probability", "binary") and each.numbers is not None
    }  # fmt: skip
    for labels in facts:
        if labels.kind not in ("text", "two values") or not 2 <= labels.distinct <= len(inside):
            continue
        cells = table.cells(labels.name).values()
        names = {str(cell).strip() for cell in cells if not is_missing(cell)}
        starts = {name.removesuffix(label) for label in names for name in inside
                  if name.endswith(label)}  # fmt: skip
        for start in sorted(start for start in starts if start):
            scores = {name: inside[name] for name in inside if name.startswith(start)}
            if not {start + label for label in names} <= scores.keys():
                continue
            sums = np.sum(list(scores.values()), axis=0)
            if (np.abs(sums - 1.0) <= rounding(len(scores))).all():
                return {"scores": f"{start}*", "outcome": labels.name}
    return {}


def rounding(classes: int) -> float:
    """Return how far the sum of a row may be from one if its scores have two decimals.

    Examples
    --------
    >>> round(rounding(3), 3)
    0.015
    """
    return 0.005 * classes + 1e-9


def likely_scores(facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """Return the column of a model's scores, several if it is ambiguous, or none."""
    fit = [each for each in facts if each.kind in ("probability", "number")]
    inside = [each for each in fit if each.kind == "probability"]
    named = [each for each in fit if hints_at(each.name, "score")]
    both = [each for each in named if each in inside]
    return only(usual(inside, "prediction"), both, named, inside)


def clocks_of(table: Table, facts: Sequence[ColumnFacts]) -> dict[str, Clock]:
    """Return the columns that can be clocks: times, and numbers whose names hint at it."""
    clocks = {}
    for each in facts:
        if each.clock is not None:
            clocks[each.name] = each.clock
        elif each.numbers is not None and any(
            hints_at(each.name, p) for p in ("time", "available")
        ):
            clocks[each.name] = table.cells(each.name).clock()
    return clocks


def likely_time(clocks: Mapping[str, Clock]) -> tuple[str | None, list[str]]:
    """Return the column of prediction times, and notes on why other columns cannot be it."""
    notes = []
    for name, clock in clocks.items():
        if hints_at(name, "available"):
            continue
        try:
            clock.check_order()
        except InputError as error:
            notes.append(f"{error} (to use column {name!r} as --time)")
            continue
        return name, notes
    return None, notes


def likely_available(clocks: Mapping[str, Clock], time: str) -> str | None:
    """Return the column of the times at which outcomes became known: never before their rows."""
    start = clocks[time]
    for name, clock in clocks.items():
        later = clock.ticks >= start.ticks
        if name == time or clock.sort != start.sort or not (later | np.isnan(clock.ticks)).all():
            continue
        if (clock.ticks > start.ticks).any():
            return name
    return None


def likely_id(facts: Sequence[ColumnFacts], rows: int) -> str | None:
    """Return the column that identifies each row."""
    for each in facts:
        if hints_at(each.name, "id") and not each.missing and each.distinct == rows > 1:
            return each.name
    return None


def likely_groups(facts: Sequence[ColumnFacts], rows: int) -> tuple[str, ...]:
    """Return the text columns that may divide the rows into groups."""
    return tuple(
        each.name
        for each in facts
        if each.kind in ("text", "two values")
        and not each.empty
        and each.numbers is None
        and 2 <= each.distinct <= MOST_GROUPS
        and each.distinct * ROWS_A_GROUP <= rows
    )
