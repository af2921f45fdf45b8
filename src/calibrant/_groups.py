"""Groups by name: each name that `by` gives has a number, in the order in which they first came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from calibrant._checks import Id, as_listed, check_id, check_same_length, describe

T = TypeVar("T")

#: The number of a round that has no group.
WHOLE = -1
#: How many groups there may be, unless a recalibrator is told otherwise.
MAX_GROUPS = 1_000_000


def numbered(
    names: Sequence[object], known: Mapping[Id, Any], most: int
) -> tuple[list[int], dict[Id, int]]:
    """Return the number of each round's group, and the numbers of groups that are new."""
    new: dict[Id, int] = {}
    numbers = []
    for at, given in enumerate(names):
        if given is None:
            numbers.append(WHOLE)
            continue
        try:
            name = check_id(given, "by")
        except ValueError as error:
            raise ValueError(f"{error} at position {at}") from None
        number = known.get(name)
        if number is None:
            number = new.setdefault(name, len(known) + len(new))
            if number >= most:
                raise one_too_many(name, most)
        numbers.append(number)
    return numbers, new


def check_groups(by: object, size: int, rows: str, known: Mapping[Id, Any], most: int) -> None:
    """Refuse what does not name the group of each of so many rows, or one group too many."""
    names = as_listed(by, "by", "a sequence of names, one per round")
    check_same_length("by", len(names), rows, size)
    numbered(names, known, most)


def known_group(groups: Mapping[Id, T], by: object) -> T:
    """Return what belongs to the group of this name."""
    if by not in groups:
        raise ValueError(f"by must name a group, got {describe(by)}")
    return groups[by]  # type: ignore[index]


def one_too_many(name: Id, most: int) -> ValueError:
    """Return the error that refuses one group more."""
    return ValueError(
        f"by={name!r} would be one group more than max_groups={most} allows; is this an id?"
    )
