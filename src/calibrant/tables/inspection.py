"""Inspect an undescribed table: what it holds, and how it could be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats
from calibrant.tables import roles as guess
from calibrant.tables.cells import Clock
from calibrant.tables.columns import ColumnFacts, facts_of
from calibrant.tables.errors import listed, shown
from calibrant.tables.scored import take_scored
from calibrant.tables.table import Table

LATENESS = (
    "outcomes of 1 and of 0 become known after very different times: until the later ones arrive, "
    "what is learned is biased towards the earlier ones"
)


@dataclass(frozen=True)
class Delay:
    """How long outcomes of one value took to become known.

    Attributes
    ----------
    rows : int
        How many became known.
    never : int
        How many never became known.
    median, most : float
        The delay of half of them and of nine in ten, in seconds or in units of the clock.
    """

    rows: int
    never: int
    median: float
    most: float


@dataclass(frozen=True, eq=False)
class Inspection:
    r"""What a table holds, and how it could be used.

    Attributes
    ----------
    source : str
        Where the rows come from.
    rows : int
        How many there are.
    columns : tuple of ColumnFacts
        What each column holds.
    roles : mapping of str to str
        The columns that seem to be the score, the outcome, the time, the time at which outcomes
        became known (available), and the id; for several classes, the columns of their scores as
        one pattern, such as p_*.
    groups : tuple of str
        Columns that may divide the rows into groups.
    base_rate : float or None
        The mean of the known outcomes.
    unknown : int
        How many rows have no outcome.
    delays : mapping of str to Delay
        How late outcomes became known, by outcome.
    clock : str or None
        The kind of the time column: numbers, or times.
    options : mapping of str to str
        Options for `calibrant recalibrate` or `forecast`; empty if neither can run yet.
    notes : tuple of str
        What is ambiguous, what was guessed, and what prevents a run.

    Examples
    --------
    >>> from calibrant.tables import Table, inspect_table
    >>> seen = inspect_table(Table("m", {"p": ["0.9", "0.2"], "label": ["fraud", "fine"]}))
    >>> seen.roles
    {'outcome': 'label', 'score': 'p'}
    >>> print(*seen.notes, sep="\n")
    column 'label' holds 'fine' and 'fraud': choose the one that counts as 1 (--positive)
    """

    source: str
    rows: int
    columns: tuple[ColumnFacts, ...]
    roles: Mapping[str, str]
    groups: tuple[str, ...]
    base_rate: float | None
    unknown: int
    delays: Mapping[str, Delay]
    clock: str | None
    options: Mapping[str, str]
    notes: tuple[str, ...]


def inspect_table(table: Table) -> Inspection:
    """Return what a table holds, and how it could be used.

    Examples
    --------
    >>> from calibrant.tables import Table, inspect_table
    >>> seen = inspect_table(Table("m", {"p": ["0.9", "0.2", "0.4"], "rain": ["yes", "no", "NA"]}))
    >>> [(each.name, each.kind, each.missing) for each in seen.columns]
    [('p', 'probability', 0), ('rain', 'binary', 1)]
    >>> seen.options, seen.base_rate
    ({'score': 'p', 'outcome': 'rain'}, 0.5)
    """
    facts = [facts_of(table.cells(name)) for name in table.columns]
    notes = [table.note] if table.note else []
    if len(facts) == 1 and table.delimiter is not None and facts[0].kind == "text":
        notes.append(
            f"there is only one column, separated by {shown(table.delimiter)}: if that is wrong, "
            "give the separator (--delimiter)"
        )
    roles, clocks = _roles(table, facts, notes)
    options: dict[str, str] = {}
    outcomes = None
    if "forecast" in roles or "scores" in roles:
        parts = ("forecast", "scores", "outcome", "time", "available")
        options = {part: roles[part] for part in parts if part in roles}
    elif "outcome" in roles:
        options = _options(roles, {each.name: each for each in facts}, notes)
        outcomes, problem = _try(table, options)
        if problem is not None:
            notes.append(problem)
            options = {}
    delays = _delays(roles, clocks, outcomes)
    if len(delays) == 2 and _differ(*delays.values()):
        notes.append(LATENESS)
    return Inspection(
        table.source,
        len(table),
        tuple(facts),
        roles,
        guess.likely_groups(
            [each for each in facts if each.name not in roles.values()], len(table)
        ),
        None if outcomes is None else float(np.nanmean(outcomes)),
        0 if outcomes is None else int(np.isnan(outcomes).sum()),
        delays,
        clocks[roles["time"]].sort if "time" in roles else None,
        options,
        tuple(notes),
    )


def _roles(
    table: Table, facts: Sequence[ColumnFacts], notes: list[str]
) -> tuple[dict[str, str], dict[str, Clock]]:
    """Return the column that seems to play each part, and the clocks; add notes on doubts."""
    roles: dict[str, str] = {}

    def settle(part: str, found: Sequence[ColumnFacts]) -> None:
        if len(found) == 1:
            roles[part] = found[0].name
        elif found:
            names = listed([each.name for each in found])
            notes.append(f"the {part} may be any of {names}: choose one (--{part})")

    def rest() -> list[ColumnFacts]:
        return [each for each in facts if each.name not in roles.values()]

    outcomes, classes = guess.likely_outcomes(facts), guess.likely_classes(table, facts)
    if classes and not guess.usual(outcomes, "outcome"):
        roles |= classes
    else:
        settle("outcome", outcomes)
    if not outcomes and not classes:
        numbers = guess.likely_numbers(facts)
        roles |= {part: each.name for part, each in numbers.items()}
        if not numbers:
            notes.append(
                "no column looks like an outcome: 0 and 1, yes and no, or two values; a class, "
                "with a column of scores for each class; or a number, with a column of forecasts"
            )
    clocks = guess.clocks_of(table, rest())
    time, reasons = guess.likely_time(clocks)
    notes += reasons
    if time is not None:
        roles["time"] = time
        available = guess.likely_available(clocks, time)
        if available is not None:
            roles["available"] = available
    name = guess.likely_id(rest(), len(table))
    if name is not None:
        roles["id"] = name
    if "forecast" not in roles and "scores" not in roles:
        settle("score", guess.likely_scores(rest()))
    return roles, clocks


def _options(
    roles: Mapping[str, str], facts: Mapping[str, ColumnFacts], notes: list[str]
) -> dict[str, str]:
    """Return the options of a run with the guessed parts."""
    options = {part: roles[part] for part in ("score", "outcome") if part in roles}
    if "score" not in roles and "time" in roles and facts[roles["time"]].clock is not None:
        options["time"] = roles["time"]  # a forecaster uses dates, and no plain numbers
    if "score" in roles:
        options.update({p: roles[p] for p in ("id", "time", "available") if p in roles})
        if _may_be_margins(facts[roles["score"]]):
            options["kind"] = "margin"
            notes.append(
                f"column {roles['score']!r} holds numbers outside [0, 1], which are taken as "
                "margins; if they are log odds, use --kind logit"
            )
    outcome = facts[roles["outcome"]]
    if outcome.kind == "two values":
        positive = _positive(outcome)
        names = listed(sorted(outcome.counts)).replace(", ", " and ")
        if positive is None:
            notes.append(
                f"column {outcome.name!r} holds {names}: choose the one that counts as 1 "
                "(--positive)"
            )
            return {}
        options["positive"] = positive
        notes.append(
            f"column {outcome.name!r} holds {names}: {positive!r} is taken as 1, because it is "
            f"{'greater' if outcome.numbers is not None else 'rarer'}; check that this is right"
        )
    return options


def _may_be_margins(score: ColumnFacts) -> bool:
    """Return whether a column holds numbers that are neither probabilities nor percentages."""
    if score.kind != "number" or score.numbers is None:
        return False
    known = score.numbers[~np.isnan(score.numbers)]
    return bool((known < 0.0).any() or (known > 100.0).any())


def _positive(outcome: ColumnFacts) -> str | None:
    """Return the value that probably counts as 1: the greater number or the rarer word."""
    one, other = outcome.counts
    if outcome.numbers is not None:
        return max(one, other, key=lambda text: float(text.replace(",", ".")))
    if outcome.counts[one] == outcome.counts[other]:
        return None
    return min(one, other, key=outcome.counts.__getitem__)


def _try(table: Table, options: Mapping[str, str]) -> tuple[Floats | None, str | None]:
    """Return the outcomes if a run with these options can start, else the reason why it cannot."""
    if not options:
        return None, None
    try:
        if "score" in options:
            outcomes = take_scored(table, **options).outcomes  # type: ignore[arg-type]
        else:
            outcomes = table.take(
                "outcome", options["outcome"], positive=options.get("positive")
            ).values
    except ValueError as error:
        return None, str(error)
    if np.isnan(outcomes).all():
        return None, f"column {options['outcome']!r}: no outcome is known"
    return outcomes, None


def _delays(
    roles: Mapping[str, str], clocks: Mapping[str, Clock], outcomes: Floats | None
) -> dict[str, Delay]:
    """Return how late outcomes of 1 and of 0 became known; fractions count as neither."""
    if outcomes is None or "available" not in roles:
        return {}
    late = clocks[roles["available"]].ticks - clocks[roles["time"]].ticks
    delays = {}
    for value in (1, 0):
        of = late[outcomes == value]
        came = of[~np.isnan(of)]
        if len(came):
            median, most = np.quantile(came, [0.5, 0.9]).tolist()
            delays[str(value)] = Delay(len(came), len(of) - len(came), median, most)
    return delays


def _differ(one: Delay, other: Delay) -> bool:
    """Return whether one kind of outcome becomes known much later than the other."""
    less, more = sorted((one.median, other.median))
    return more > 2 * less
