"""When an outcome counts: at once, at a deadline even without one, or at a fixed age."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_choice, check_integer
from calibrant._spans import Span, as_span
from calibrant._times import DATES, Time, time_of

FULL = ("expire", "refuse")


@dataclass(frozen=True)
class Policy:
    """When outcomes count, how many rounds may wait for theirs, and what is remembered.

    Attributes
    ----------
    silence : float or None
        The outcome of a round without one at its deadline.
    span : Span or None
        The time from a prediction to its deadline, for rounds without their own deadline.
    is_held : bool
        Whether every outcome is learned at its deadline, or on arrival if that is later.
    capacity : int
        The maximal number of pending rounds with an id; also the number of expired ids that are
        remembered.
    when_full : {"expire", "refuse"}
        What to do at capacity.
    remember : int or None
        The number of finished ids that are remembered; `capacity` if None.
    patience : float or None
        How long after its prediction an outcome is still accepted.
    has_deadlines : bool
        Whether outcomes count at deadlines: with silence, or held.

    Examples
    --------
    >>> from calibrant.rounds import Policy
    >>> policy = Policy.of(hold="7d")
    >>> policy.is_held, policy.span.length / 86_400
    (True, 7.0)
    """

    silence: float | None = None
    span: Span | None = None
    is_held: bool = False
    capacity: int = 100_000
    when_full: str = "expire"
    remember: int | None = None
    patience: float | None = None
    has_deadlines: bool = False

    @classmethod
    def of(
        cls,
        *,
        silence: object = None,
        after: object = None,
        hold: object = None,
        capacity: object = 100_000,
        when_full: object = "expire",
        classes: int = 2,
    ) -> Policy:
        """Return what the arguments of a constructor ask for.

        An outcome is one of so many `classes`, and silence the number of one.

        Examples
        --------
        >>> from calibrant.rounds import Policy
        >>> Policy.of(silence=0, after="30d").span
        Span(length=2592000.0, is_time=True)
        >>> Policy.of(after=30)
        Traceback (most recent call last):
        ValueError: after needs silence: it is the deadline after which no outcome means silence
        """
        if isinstance(silence, bool) or silence not in (None, *range(classes)):
            raise ValueError(
                f"silence must be 0 or 1, the outcome that is not reported, got {silence!r}"
            )
        if silence is None and after is not None:
            raise ValueError(
                "after needs silence: it is the deadline after which no outcome means silence"
            )
        if silence is not None and hold is not None:
            raise ValueError("silence and hold cannot be combined: silence already has deadlines")
        span = None
        if after is not None or hold is not None:
            name, given = ("after", after) if hold is None else ("hold", hold)
            span = as_span(given, name)
        return cls(
            None if silence is None else float(silence),  # type: ignore[arg-type]
            span,
            hold is not None,
            check_integer("capacity", capacity, 1, sys.maxsize),
            check_choice("when_full", when_full, FULL),
            has_deadlines=silence is not None or hold is not None,
        )

    # -- the rule of deadlines ------------------------------------------------------------------

    def due(self, made: Any, at: Any, due: Any) -> Any:
        """Return when outcomes count of rounds made then: their own deadline, or after the span.

        A round that is made later than it says, because time does not run backwards, has its
        deadline later by as much.
        """
        if due is None:
            assert self.span is not None
            return made + self.span.length
        return made + (due - at)

    def times_of_one(
        self, at: Time | None, due: Time | None, now: float, is_timed: bool | None, rounds: int
    ) -> tuple[float, float]:
        """Return when the next round is made and when its outcome counts."""
        self._check(at is not None, due is not None, is_timed, isinstance(at, DATES))
        told = float(rounds) if at is None else time_of(at)
        end = None if due is None else time_of(due, "due")
        if end is not None and end <= told:
            raise ValueError(f"due must be later than at={at!r}, got {due!r}")
        made = max(told, now)
        over = self.due(made, told, end)
        if not made < over < math.inf:
            raise ValueError(
                f"a deadline equals the time of its prediction at {made!r}, in double precision"
            )
        return made, over

    def times(
        self,
        size: int,
        at: Floats | None,
        due: Floats | None,
        now: float,
        is_timed: bool | None,
        rounds: int,
        is_dated: bool = False,
        is_predicted: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Floats | None, Floats | None]:
        """Return when the next rounds are made, None if nothing says so, and when they count.

        None of them is made before the one above it. Rows that are not predicted, but bring the
        outcome of an id, have the time that they say, and no deadline.
        """
        made = None
        if at is not None:
            made = np.maximum.accumulate(np.maximum(at, now))
            made = made if is_predicted is None else np.where(is_predicted, made, at)
        if not self.has_deadlines or not size:
            return made, None
        predicted = np.ones(size, dtype=np.bool_) if is_predicted is None else is_predicted
        if not predicted.any():
            self.check_timed(at is None or is_timed is not False)
            return made, None
        self._check(at is not None, due is not None, is_timed, is_dated)
        if at is None:
            numbers = rounds + np.cumsum(predicted) - predicted
            return None, self.due(numbers.astype(np.float64), None, None)
        if due is not None and (predicted & (due <= at)).any():
            row = int((predicted & (due <= at)).argmax())
            raise ValueError(
                f"due must be later than at={float(at[row])!r}, got {float(due[row])!r}"
            )
        over = self.due(made, at, due)
        if (predicted & ~((made < over) & (over < math.inf))).any():
            raise ValueError(
                f"a deadline {self.span} later equals the time of its prediction, "
                "in double precision"
            )
        return made, over

    def _check(self, has_at: bool, has_due: bool, is_timed: bool | None, is_dated: bool) -> None:
        """Say what is missing for a deadline."""
        if is_timed is not None and is_timed != has_at:
            raise ValueError("either all predictions need a time, at=..., or none")
        if not has_at and (has_due or (self.span is not None and self.span.is_time)):
            raise ValueError("a deadline in time needs the time of the prediction, at=... (--time)")
        if not has_due and self.span is None:
            raise ValueError(
                "a prediction needs a deadline: due=..., or after=... for all (--due, --after)"
            )
        if is_dated and not has_due:
            self.check_unit()

    def check_unit(self) -> None:
        """Refuse a span without a unit, for predictions made at dates."""
        if self.span is not None and not self.span.is_time:
            word = "hold" if self.is_held else "after"
            raise ValueError(
                f'{word}={self.span} has no unit; beside dates, say "{self.span}d" or so'
            )

    def is_dated(self, at: Any) -> bool:
        """Return whether times are given as dates: one for all, or one per row."""
        is_many = isinstance(at, Sequence | np.ndarray) and not isinstance(at, str)
        first = at[0] if is_many and np.ndim(at) and len(at) else at
        return isinstance(first, DATES)

    # -- outcomes -------------------------------------------------------------------------------

    def check_whole(self, outcome: float) -> None:
        """Refuse a fraction where silence is an outcome: it would be neither."""
        if outcome % 1.0:
            raise ValueError(f"with silence an outcome must be 0 or 1, got {outcome!r}")

    def check_all_whole(self, outcomes: Floats) -> None:
        """Refuse fractions where silence is an outcome; NaN stands for none."""
        is_fraction = outcomes % 1.0 > 0.0
        if is_fraction.any():
            row = int(is_fraction.argmax())
            raise ValueError(
                f"with silence outcomes must be 0 or 1, got {float(outcomes[row])!r} "
                f"at position {row}"
            )

    def check_timed(self, is_timed: bool | None) -> None:
        """Refuse a time of arrival where deadlines count predictions."""
        if self.has_deadlines and not is_timed:
            raise ValueError("outcomes need a time, at=..., if predictions have one")

    def time_to_advance(self, now: Time, is_timed: bool | None) -> float:
        """Return the time up to which what is due is learned, or say why there is none."""
        if not self.has_deadlines:
            raise ValueError("without silence or hold there are no deadlines to advance to")
        time = time_of(now, "now")
        if is_timed is False:
            raise ValueError("deadlines count predictions here, which advance by themselves")
        return time
