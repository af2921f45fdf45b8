"""The groups of a monitor: names to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant._checks import Id, check_id

#: The number of a round that has no group.
WHOLE = -1


def numbered(
    names: Sequence[object], known: Mapping[Id, int], most: int
) -> tuple[list[int], dict[Id, int]]:
    """Return the number of each group, and the numbers of all, new ones included."""
    index = dict(known)
    numbers = []
    for at, given in enumerate(names):
        if given is None:
            numbers.append(WHOLE)
            continue
        try:
            name = check_id(given, "by")
        except ValueError as error:
            raise ValueError(f"{error} at position {at}") from None
        if name not in index and len(index) >= most:
            raise ValueError(f"by names more than max_groups={most} groups: {name!r} is new")
        numbers.append(index.setdefault(name, len(index)))
    return numbers, index
