"""What a fleet knows of one key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What a fleet knows of one key, ``fleet[key]``.

    Attributes
    ----------
    predictions : int
        How many predictions were made for it.
    outcomes : int
        How many of their outcomes were learned.
    offset : float
        By how much its logit is above what the whole says; 0 for a key like the others.
    deviation : float
        The standard deviation of the offset: how uncertain it still is.
    weight : float
        How much its predictions rest on its own outcomes: 0 for none, towards 1 as they come.
    curve : float
        How much a curve of its own is heard, which it has once it has 256 outcomes; 0 before.

    Examples
    --------
    >>> from calibrant import Fleet
    >>> fleet = Fleet(seed=7)
    >>> _ = fleet.run(["quiet", "busy", "busy", "busy"] * 10, None, [0, 1, 1, 1] * 10)
    >>> known = fleet["quiet"]
    >>> known.outcomes, known.offset < 0
    (10, True)
    """

    predictions: int
    outcomes: int
    offset: float
    deviation: float
    weight: float
    curve: float

    @property
    def trouble(self) -> float:
        """How clearly the key differs from the others: its offset, up or down, in deviations."""
        if self.outcomes == 0 or self.deviation == 0.0:
            return 0.0
        return abs(self.offset) / self.deviation
