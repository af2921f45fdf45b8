"""Scores of several classes whose columns have names: put in the order of the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._checks import Id, check_unmasked

#: Adds a label that was not known before.
Add = Callable[[Id], Any]


def by_name(rows: Any, labels: Sequence[Id], add: Add | None = None) -> Any:
    """Return a data frame, or a list of dicts, as an array with a column a label, in order.

    Anything else is returned as it is. With `add`, names that are no labels yet become some.
    """
    if isinstance(rows, list | tuple) and rows and isinstance(rows[0], Mapping):
        return [of_mapping(row, labels, add) for row in with_all_names(rows, labels, add)]
    if not hasattr(rows, "columns"):
        return needs_names(rows, add)  # no frame, and narwhals need not be asked
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return rows
    if add is not None:
        return by_name([dict(row) for row in frame.iter_rows(named=True)], labels, add)
    places = places_of(frame.columns, labels, "columns of the data frame")
    return frame.to_numpy()[:, places]


def named_row(row: Any, labels: Sequence[Id], add: Add | None = None) -> Any:
    """Return a dict, or one row of a pandas frame, in order; anything else as it is."""
    if isinstance(row, Mapping):
        return of_mapping(row, labels, add)
    names = getattr(row, "index", None)
    if names is None or callable(names) or not hasattr(row, "iloc"):
        return needs_names(row, add)
    if type(names).__name__ == "RangeIndex":
        return needs_names(row, add)  # counted, not named
    check_unmasked(row, "probabilities")
    if add is not None:
        return of_mapping(dict(zip(names.tolist(), row.tolist(), strict=True)), labels, add)
    return row.iloc[places_of(list(names), labels, "index of the row")]


def needs_names(rows: Any, add: Add | None) -> Any:
    """Refuse rows without names where the classes are learned from them."""
    if add is not None:
        raise ValueError(
            "with classes=None scores must say their classes: a dict per row, or a data frame"
        )
    return rows


def with_all_names(rows: Any, labels: Sequence[Id], add: Add | None) -> Any:
    """Return rows, after all their names are labels if they may be."""
    if add is not None:
        for row in rows:
            of_mapping(row, labels, add)
    return rows


def of_mapping(row: Mapping[Id, Any], labels: Sequence[Id], add: Add | None) -> Any:
    """Return the scores of a dict in the order of the labels; with `add`, 0 for what it lacks."""
    if add is None:
        places = places_of(list(row), labels, "keys of the row")
        values = list(row.values())
        return np.asarray([values[place] for place in places], dtype=np.float64)
    known = set(labels)
    for name in row:
        if name not in known:
            add(name)
    return np.asarray([row.get(label, 0.0) for label in labels], dtype=np.float64)


def places_of(names: Sequence[Any], labels: Sequence[Id], what: str) -> list[int]:
    """Return where each label stands among the names, or refuse names that are others."""
    found = {str(name): place for place, name in enumerate(names)}
    wanted = [str(label) for label in labels]
    if len(set(wanted)) != len(wanted):
        raise ValueError(f"labels such as 1 and '1' cannot be told apart in the {what}")
    if len(names) != len(found) or set(found) != set(wanted):
        missing = [name for name in wanted if name not in found]
        more = [name for name in found if name not in set(wanted)]
        raise ValueError(
            f"the {what} must be the classes, {', '.join(map(repr, wanted[:10]))}"
            + (f"; missing: {', '.join(map(repr, missing[:5]))}" if missing else "")
            + (f"; no class: {', '.join(map(repr, more[:5]))}" if more else "")
        )
    return [found[name] for name in wanted]
