"""Probabilities whose columns have names: put in the order of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._checks import Id


def by_name(rows: Any, labels: Sequence[Id]) -> Any:
    """Return a data frame as an array with a column a label, in order; anything else as it is."""
    if not hasattr(rows, "columns"):
        return rows  # no frame, and narwhals need not be asked
    import narwhals as nw  # noqa: PLC0415 - needed for data frames only

    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return rows
    places = places_of(frame.columns, labels, "columns of the data frame")
    return frame.to_numpy()[:, places]


def named_row(row: Any, labels: Sequence[Id]) -> Any:
    """Return one row of a pandas frame, whose index names it, in order; anything else as it is."""
    names = getattr(row, "index", None)
    if names is None or callable(names) or not hasattr(row, "iloc"):
        return row
    if type(names).__name__ == "RangeIndex":
        return row  # counted, not named
    return row.iloc[places_of(list(names), labels, "index of the row")]


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
