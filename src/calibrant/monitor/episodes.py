"""An episode: a stretch of rounds in which predictions were miscalibrated, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Id
from calibrant.monitor.bands import spread_of
from calibrant.monitor.clock import Time

#: Normal quantile of a 95% interval.
TWO_SIDED = 1.959963984540054


@dataclass(frozen=True)
class Episode:
    """A stretch of rounds in which some predictions were miscalibrated.

    Rounds are numbered from 0.

    Attributes
    ----------
    alarm : int
        The last round that had been predicted when the alarm was raised.
    onset : int
        The estimated first round of the episode.
    end : int or None
        The last round that had been predicted when the end was detected; None while it is open.
    low, high : float
        The range of the miscalibrated predictions: low <= p < high; 1 belongs to the last range.
    group : int or str or None
        The miscalibrated group, or None for a range of all predictions.
    bias : float
        Mean of outcome minus prediction in that range or group, from the onset to the alarm.
    bias_low, bias_high : float
        Its 95% interval, which treats the onset as known and so is somewhat too narrow.
    alarm_at, onset_at, end_at : str or int or float or None
        Their times, if the monitor was given times; the time of the onset is the nearest one that
        is remembered.
    recovered : int or None
        The estimated round since which predictions have been calibrated again.
    recovered_at : str or int or float or None
        Its time.

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
    alarm_at: Time | None = None
    onset_at: Time | None = None
    end_at: Time | None = None
    recovered: int | None = None
    recovered_at: Time | None = None

    @property
    def direction(self) -> str:
        """The direction of the miscalibration: "too low" or "too high"."""
        return "too low" if self.bias > 0 else "too high"

    @property
    def where(self) -> str:
        """The predictions that were miscalibrated, in words."""
        if self.group is not None:
            return f"predictions of group {self.group!r}"
        if (self.low, self.high) == (0.0, 1.0):
            return "predictions"
        return f"predictions from {self.low:.3g} to {self.high:.3g}"

    @property
    def size(self) -> str:
        """How large the miscalibration was, in words."""
        least, most = sorted((abs(self.bias_low), abs(self.bias_high)))
        if self.bias_low < 0 < self.bias_high:
            least = 0.0
        return f"{self.direction} by {abs(self.bias):.2g} ({least:.2g} to {most:.2g})"

    def __str__(self) -> str:
        onset, alarm = _when(self.onset, self.onset_at), _when(self.alarm, self.alarm_at)
        if self.end is None:
            return f"Since {onset}, {self.where} have been {self.size}; alarm in {alarm}."
        return (
            f"From {onset} on, {self.where} were {self.size}; "
            f"alarm in {alarm}, over by {_when(self.end, self.end_at)}."
        )


def interval_of(
    bias: float, visits: int, low: float, high: float, edges: Floats, ranges: Floats
) -> tuple[float, float]:
    """Return a 95% interval of a mean of that many visits to a range, from its spread so far."""
    inside = (edges[:-1] >= low) & (edges[1:] <= high)
    n, V = float(ranges[inside, 0].sum()), float(spread_of(ranges[inside]).sum())
    half = TWO_SIDED * float(np.sqrt(V / max(n, 1.0) / max(visits, 1)))
    return max(bias - half, -1.0), min(bias + half, 1.0)


def _when(round_: int, at: Time | None) -> str:
    return f"round {round_:,}" + ("" if at is None else f" ({at})")
