"""When outcomes have fallen silent: predictions go on, and none of them is heard of any more.

The rule knows no clock but the rows' own, so a replay of the log comes to the same verdict.
"""

from __future__ import annotations

#: Outcomes are silent when predictions go on without one for this long at least, and for so many
#: times the usual gap.
SHORTEST, TIMES = 3600.0, 5.0
#: Gaps before anything is said, and the longest that counts: a history that is followed by rows of
#: today has one of years.
ENOUGH, LONGEST = 10, 30 * 86_400.0
#: Seconds after which a gap counts for a third (e**-1) of what it did.
MEMORY = 14 * 86_400.0


class Gaps:
    """The usual gap between outcomes, and since when predictions have been without one.

    The usual gap is that in which a moment falls: the mean of the gaps, each as often as it is
    long. So nights without outcomes count for what they are, however many come by day.

    Examples
    --------
    >>> gaps = Gaps()
    >>> for minute in range(20):
    ...     gaps.predicted(60.0 * minute)
    ...     gaps.heard(60.0 * minute, 60.0 * (minute - 1) if minute else None)
    >>> gaps.predicted(1200.0)
    >>> gaps.limit, gaps.is_silent(4800.0), gaps.is_silent(4801.0)
    (3600.0, False, True)
    """

    __slots__ = ("count", "length", "since", "squares")

    def __init__(
        self,
        count: int = 0,
        length: float = 0.0,
        squares: float = 0.0,
        since: float | None = None,
    ) -> None:
        #: How many there were; their sum and that of their squares, faded.
        self.count, self.length, self.squares = count, length, squares
        #: The first prediction after the last outcome.
        self.since = since

    def predicted(self, at: float) -> None:
        """Note predictions."""
        if self.since is None:
            self.since = at

    def heard(self, at: float, last: float | None) -> None:
        """Note outcomes, and when those before them came."""
        self.since = None
        if last is None or at <= last:
            return
        gap = min(at - last, LONGEST)
        kept = MEMORY / (MEMORY + gap)
        self.count += 1
        self.length = kept * self.length + gap
        self.squares = kept * self.squares + gap * gap

    @property
    def limit(self) -> float | None:
        """Seconds that are silence; None if too little is known."""
        if self.count < ENOUGH:
            return None
        return max(SHORTEST, TIMES * self.squares / self.length)

    def is_silent(self, now: float | None) -> bool:
        """Whether predictions have gone on for too long, up to one made now, without an outcome."""
        limit = self.limit
        if limit is None or self.since is None or now is None:
            return False
        return now - self.since > limit

    def as_list(self) -> list[float | None]:
        """Return what `Gaps` is made with."""
        return [self.count, self.length, self.squares, self.since]
