"""Which column is meant: as named, or guessed from the names that people use."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.tables.errors import InputError

#: What columns are usually called, by the part they play. The part's own name wins.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "outcome": (
        "outcome",
        "outcomes",
        "y",
        "y_true",
        "label",
        "target",
        "event",
        "observed",
        "actual",
        "happened",
    ),
    "prediction": (
        "prediction",
        "predictions",
        "pred",
        "p",
        "p_hat",
        "prob",
        "probability",
        "forecast",
        "score",
        "y_prob",
        "y_score",
    ),
}


def listed(names: Sequence[str]) -> str:
    """Return names as an error message lists them."""
    shown = ", ".join(map(repr, names[:20]))
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


def check_names(names: Sequence[str], source: str, row: int | None = None) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"every column needs a name of its own, but {listed(twice)} "
            f"{'comes' if len(twice) == 1 else 'come'} more than once",
            source=source,
            row=row,
        )


def check_there(names: Sequence[str], given: str | None, source: str) -> None:
    """Refuse a name that no column has; None asks for nothing."""
    if given is not None and given not in names:
        raise InputError(
            f"there is no column {given!r}; the columns are {listed(names)}", source=source
        )


def find_column(
    names: Sequence[str], part: str, given: str | None, source: str
) -> tuple[str, str | None]:
    """Return the column that plays a part, and a line for the user when it was guessed.

    Parameters
    ----------
    names : sequence of str
        The columns there are.
    part : {"outcome", "prediction"}
        What is looked for.
    given : str or None
        The name that the user gave, which must be there; None to guess.
    source : str
        The file, for messages.
    """
    if given is not None:
        check_there(names, given, source)
        return given, None
    known = USUAL_NAMES[part]
    found = [name for name in names if name.strip().lower() in known]
    own = [name for name in found if name.strip().lower() == part]
    if len(own) == 1:
        found = own
    elif part == "outcome" and not found and len(names) == 1:
        found = list(names)
    if len(found) == 1:
        return found[0], f"{source}: no {part} column was named, taking {found[0]!r}"
    if found:
        raise InputError(
            f"say which column holds the {part}: it may be {listed(found)}", source=source
        )
    raise InputError(
        f"say which column holds the {part}; the columns are {listed(names)}", source=source
    )
