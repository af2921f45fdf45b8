"""What the columns of a table must hold before its scores are recalibrated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from calibrant._checks import Floats, Id, check_id, describe
from calibrant.tables.row_errors import RowError

#: As many as a Recalibrator takes unless it is told otherwise.
MOST_GROUPS = 1000


def check_scores(scores: Floats, kind: str, column: str) -> None:
    """Refuse scores that are not of their kind.

    Examples
    --------
    >>> import numpy as np
    >>> check_scores(np.array([0.2, 1.2]), "probability", "score")
    Traceback (most recent call last):
    calibrant.tables.row_errors.RowError: column 'score', position 1: got 1.2, must be a number
        in [0, 1]; for other scores say kind 'logit' or 'margin'
    """
    if kind == "probability":
        bad = ~((scores >= 0.0) & (scores <= 1.0))
        allowed = "a number in [0, 1]; for other scores say kind 'logit' or 'margin'"
    else:
        bad, allowed = ~np.isfinite(scores), "a finite number"
    if bad.any():
        row = int(bad.argmax())
        raise RowError(f"got {float(scores[row])!r}, must be {allowed}", column=column, row=row)


def check_parts(score: str, outcome: str, by: str | None) -> None:
    """Refuse a column of outcomes that is also what is known before them.

    Examples
    --------
    >>> check_parts("won", "won", None)
    Traceback (most recent call last):
    ValueError: column 'won' cannot be both the score and the outcome, which is known only later
    """
    for part, name in (("score", score), ("group", by)):
        if name == outcome:
            raise ValueError(
                f"column {name!r} cannot be both the {part} and the outcome, "
                "which is known only later"
            )


def check_ids(cells: Sequence[object], column: str) -> None:
    """Refuse an id that is missing or comes twice.

    Examples
    --------
    >>> check_ids(["a", "b", "a"], "key")
    Traceback (most recent call last):
    calibrant.tables.row_errors.RowError: column 'key', position 2: the id 'a' comes again
        (first at position 0)
    """
    first: dict[Hashable, int] = {}
    for row, cell in enumerate(cells):
        if cell is None or cell == "":
            raise RowError("the id is missing", column=column, row=row)
        try:
            before = first.setdefault(cell, row)
        except TypeError:  # it, or something inside it, cannot be hashed
            raise RowError(
                f"got {describe(cell)}, which cannot be an id", column=column, row=row
            ) from None
        if before != row:
            raise RowError(f"the id {cell!r} comes again", column=column, row=row, first=before)


def groups_of(cells: Sequence[object], column: str) -> list[Id]:
    """Return the group of each row, text or an integer.

    Examples
    --------
    >>> groups_of(["north", "south"], "region")
    ['north', 'south']
    """
    groups: list[Id] = []
    distinct: set[Id] = set()
    for row, cell in enumerate(cells):
        if cell is None or cell == "":
            raise RowError("the group is missing", column=column, row=row)
        try:
            groups.append(check_id(cell, "a group"))
        except ValueError as error:
            raise RowError(str(error), column=column, row=row) from None
        distinct.add(groups[-1])
        if len(distinct) > MOST_GROUPS:
            raise RowError(
                f"{cell!r} is one group more than the {MOST_GROUPS:,} that are allowed; "
                "is this a column of ids?",
                column=column,
                row=row,
            )
    return groups
