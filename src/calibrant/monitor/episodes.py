"""An episode: a stretch of rounds in which predictions were not calibrated, and where."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._checks import Id


@dataclass(frozen=True)
class Episode:
    """A stretch of rounds in which some predictions were off.

    Rounds are numbered from 0.

    Attributes
    ----------
    alarm : int
        The round whose outcome raised the alarm.
    onset : int
        The round in which it began, as far as the alarm's range or group shows.
    end : int or None
        The round whose outcome showed that it is over; None while it lasts.
    low, high : float
        The range of the predictions that were off: low <= p < high, and 1 belongs to the last.
    group : int or str or None
        The group that was off, or None if it is a range of all predictions.
    bias : float
        Mean of outcome minus prediction in that range or group, from the onset to the alarm.
    bias_low, bias_high : float
        A 95 % interval of it that takes the onset as known, so it is somewhat too narrow.

    Examples
    --------
    >>> from calibrant.monitor import Episode
    >>> print(Episode(5_210, 5_003, None, 0.5, 1.0, None, -0.21, -0.27, -0.15))
    Since round 5,003, predictions from 0.5 to 1 have been too high by 0.21 (0.15 to 0.27); \
alarm in round 5,210.
    """

    alarm: int
    onset: int
    end: int | None
    low: float
    high: float
    group: Id | None
    bias: float
    bias_low: float
    bias_high: float

    @property
    def direction(self) -> str:
        """What was wrong with the predictions: "too low" or "too high"."""
        return "too low" if self.bias > 0 else "too high"

    @property
    def where(self) -> str:
        """The predictions that were off, in words."""
        if self.group is not None:
            return f"predictions of group {self.group!r}"
        if (self.low, self.high) == (0.0, 1.0):
            return "predictions"
        return f"predictions from {self.low:.3g} to {self.high:.3g}"

    def __str__(self) -> str:
        least, most = sorted((abs(self.bias_low), abs(self.bias_high)))
        if self.bias_low < 0 < self.bias_high:
            least = 0.0
        size = f"{self.direction} by {abs(self.bias):.2g} ({least:.2g} to {most:.2g})"
        if self.end is None:
            return (
                f"Since round {self.onset:,}, {self.where} have been {size}; "
                f"alarm in round {self.alarm:,}."
            )
        return (
            f"From round {self.onset:,} on, {self.where} were {size}; "
            f"alarm in round {self.alarm:,}, over by round {self.end:,}."
        )
