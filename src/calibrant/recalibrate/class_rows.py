"""A table of the scores of several classes: a row of probabilities for every row of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._checks import SUM_TOLERANCE, Floats, Id
from calibrant.recalibrate.multiclass import MulticlassRecalibrator
from calibrant.tables import Table
from calibrant.tables.cells import Clock
from calibrant.tables.roles import rounding
from calibrant.tables.scored import take_groups


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The columns of a table that a recalibration of classes needs, checked."""

    scores: Floats
    labels: list[Id | None]
    clock: Clock | None
    available: Clock | None
    due: Clock | None
    groups: list[Id] | None


def class_columns(names: Sequence[str], given: str | Sequence[str]) -> dict[str, str]:
    """Return the columns of the classes by their labels.

    They are named, as a list or as "a,b,c", or share a prefix, "p_*": a label is then what follows.

    Examples
    --------
    >>> from calibrant.recalibrate.class_rows import class_columns
    >>> class_columns(["t", "p_cat", "p_dog"], "p_*")
    {'cat': 'p_cat', 'dog': 'p_dog'}
    """
    if isinstance(given, str) and given.endswith("*"):
        start = given.removesuffix("*")
        found = {name.removeprefix(start): name for name in names if name.startswith(start)}
        if len(found) < 2:
            raise ValueError(f"scores {given!r} must be two columns or more, got {len(found)}")
        return found
    listed = [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)
    if len(listed) < 2 or len(set(listed)) < len(listed):
        raise ValueError(f"scores must be two columns or more, each once, or a prefix_*: {given!r}")
    return {name: name for name in listed}


def take_classes(
    table: Table,
    *,
    scores: str | Sequence[str],
    outcome: str,
    kind: str = "probability",
    time: str | None = None,
    available: str | None = None,
    due: str | None = None,
    by: str | None = None,
) -> tuple[list[str], ClassRows]:
    """Return the labels and what a recalibration of classes takes from a table.

    A label that is missing is None. The first row that is wrong is named.

    Examples
    --------
    >>> from calibrant.recalibrate.class_rows import take_classes
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"cat": ["0.9", "0.2"], "dog": ["0.1", "0.8"], "y": ["cat", ""]})
    >>> labels, rows = take_classes(table, scores="cat,dog", outcome="y")
    >>> labels, rows.labels
    (['cat', 'dog'], ['cat', None])
    """
    columns = class_columns(list(table.columns), scores)
    if available is not None and time is None:
        raise ValueError("available needs time: a label is late for predictions made before it")
    if due is not None and time is None:
        raise ValueError("due needs time: a deadline is later than its prediction")
    cells = [table.cells(name) for name in columns.values()]
    is_probability = kind == "probability"
    p = np.column_stack(
        [each.probabilities() if is_probability else each.numbers() for each in cells]
    )
    if is_probability:
        wrong = np.abs(p.sum(axis=1) - 1.0) > rounding(len(columns))
        if wrong.any():
            row = int(wrong.argmax())
            raise table.cells(next(iter(columns.values()))).refusal(
                row,
                "the scores of a row must sum to one, except for rounding to two decimals, got "
                f"{p[row].sum():.6g}",
            )
        rounded = np.abs(p.sum(axis=1) - 1.0) > SUM_TOLERANCE
        p[rounded] /= p[rounded].sum(axis=1, keepdims=True)
    labels = labels_in(table, outcome, list(columns))
    clock, known, end = (
        None if name is None else table.cells(name).clock() for name in (time, available, due)
    )
    if clock is not None:
        clock.check_order(available=known, due=end)
    groups = None if by is None else take_groups(table.cells(by))
    return list(columns), ClassRows(p, labels, clock, known, end, groups)


def labels_in(table: Table, column: str, labels: Sequence[str]) -> list[Id | None]:
    """Return the labels of all rows, None for one that is missing."""
    cells, known = table.cells(column), set(labels)
    found: list[Id | None] = []
    for row, cell in enumerate(cells.values()):
        text = None if cell is None or cell != cell else str(cell).strip()  # noqa: PLR0124 - NaN
        if not text:
            found.append(None)
        elif text in known:
            found.append(text)
        else:
            shown = ", ".join(map(repr, labels[:10]))
            starts = [name.removesuffix(text) for name in labels if name.endswith(text)]
            hint = f"; it is a label with the columns {starts[0] + '*'!r}" if starts else ""
            raise cells.refusal(row, f"the label must be one of {shown}, got {text!r}{hint}")
    return found


def recalibrate_classes(
    recalibrator: MulticlassRecalibrator, rows: ClassRows, ids: list[Id] | None = None
) -> tuple[Floats, Floats]:
    """Return the probabilities of every row, and the columns of the labels that counted.

    Each row is made from labels that were known by then: without a column of when they became
    available, those of all rows above. A label that is missing, or whose deadline is still to come,
    does not count: it is NaN. The recalibrator learns those that do.

    Examples
    --------
    >>> from calibrant import MulticlassRecalibrator
    >>> from calibrant.recalibrate.class_rows import recalibrate_classes, take_classes
    >>> from calibrant.tables import Table
    >>> table = Table("memory", {"cat": ["0.9", "0.2"], "dog": ["0.1", "0.8"], "y": ["cat", ""]})
    >>> labels, rows = take_classes(table, scores="cat,dog", outcome="y")
    >>> predicted, outcomes = recalibrate_classes(MulticlassRecalibrator(labels), rows)
    >>> predicted.shape, outcomes.tolist()
    ((2, 2), [0.0, nan])
    """
    opened: list[Any] = []
    clock, known, due = (
        None if each is None else each.ticks for each in (rows.clock, rows.available, rows.due)
    )
    _, outcomes, made, dues = recalibrator._play_table(
        rows.scores, recalibrator._rule.columns_of(rows.labels, missing=True), rows.groups,
        at=clock, known=known, due=due, ids=ids,
        is_dated=rows.clock is not None and rows.clock.sort != "numbers", opened=opened,
    )  # fmt: skip
    if dues is not None and len(made):
        outcomes[dues >= made[-1] if clock is not None else dues > len(made)] = np.nan
    return recalibrator._rule.answers(opened), outcomes


def probability_columns(labels: Sequence[Id], rows: Floats, start: str) -> dict[str, Floats]:
    """Return new columns, one per class: calibrated_cat, calibrated_dog.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.recalibrate.class_rows import probability_columns
    >>> list(probability_columns(["cat", "dog"], np.zeros((3, 2)), "calibrated_"))
    ['calibrated_cat', 'calibrated_dog']
    """
    return {f"{start}{label}": np.ascontiguousarray(rows[:, at]) for at, label in enumerate(labels)}
