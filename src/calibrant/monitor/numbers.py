"""The monitor for numbers: alarms when predicted distributions no longer hold.

Five questions are asked of every outcome, each a bet on an event whose probability the distribution
gives: did it fall outside the 90 % interval, outside the 50 % interval, below the median, below the
5 % quantile, above the 95 % quantile? Each is watched by a `Monitor`, with a fifth of the false
alarms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series, check_integer, check_same_length
from calibrant.measures.quantile_functions import as_levels, as_quantiles, quantile_at
from calibrant.monitor.episodes import Episode
from calibrant.monitor.monitor import Monitor

#: The probability of each event, and what it means if it comes too often, or too rarely.
QUESTIONS: dict[str, tuple[float, str, str]] = {
    "outside 90 %": (
        0.1,
        "90 % intervals have been too narrow",
        "90 % intervals have been too wide",
    ),
    "outside 50 %": (
        0.5,
        "50 % intervals have been too narrow",
        "50 % intervals have been too wide",
    ),
    "below median": (0.5, "medians have been too high", "medians have been too low"),
    "below 5 %": (0.05, "5 % quantiles have been too high", "5 % quantiles have been too low"),
    "above 95 %": (0.05, "95 % quantiles have been too low", "95 % quantiles have been too high"),
}
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@dataclass(frozen=True)
class NumberEpisode:
    """A stretch of rounds in which some quantiles did not hold.

    Attributes
    ----------
    question : str
        Which event came too often or too rarely: "outside 90 %", say.
    episode : Episode
        When it began, when it was noticed, and by how much its frequency is off.
    """

    question: str
    episode: Episode

    def __str__(self) -> str:
        expected, too_often, too_rarely = QUESTIONS[self.question]
        words = too_often if self.episode.bias > 0 else too_rarely
        seen = min(1.0, max(0.0, expected + self.episode.bias))
        until = "" if self.episode.end is None else f", over by round {self.episode.end:,}"
        return (
            f"Since round {self.episode.onset:,}, {words}: {self.question} came {seen:.0%} of the "
            f"time, not {expected:.0%}; alarm in round {self.episode.alarm:,}{until}."
        )


class NumberMonitor:
    """Watch predicted distributions and outcomes, and ring when they no longer hold.

    While in every round the chance of each event, given all that was known, is within `tolerance`
    of what the distribution says, the chance of an alarm within n rounds is at most n / `every`,
    however often one looks: `docs/monitor.md` proves it for one event, and the five share it.

    Parameters
    ----------
    every : int, default 1_000_000
        At most one false alarm in so many rounds is to be expected.
    tolerance : float, default 0.02
        How far off a frequency may be.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitor import NumberMonitor
    >>> levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    >>> quantiles = np.tile([-1.64, -0.67, 0.0, 0.67, 1.64], (6000, 1))
    >>> y = np.random.default_rng(0).normal(size=6000) * np.repeat([1.0, 2.0], 3000)  # it spreads
    >>> monitor = NumberMonitor()
    >>> first = monitor.run(quantiles, levels, y)[0]
    >>> print(first)
    Since round 2,985, 90 % intervals have been too narrow: outside 90 % came 42% of the time, not
    10%; alarm in round 3,037.
    >>> monitor.state
    'miscalibrated'
    """

    def __init__(self, every: int = 1_000_000, *, tolerance: float = 0.02) -> None:
        check_integer("every", every, 100, 10**14)
        self.every, self.tolerance = every, tolerance
        self.monitors = {
            question: Monitor(every * len(QUESTIONS), tolerance=tolerance) for question in QUESTIONS
        }

    @property
    def rounds(self) -> int:
        """Rounds seen so far."""
        return self.monitors["below median"].rounds

    @property
    def state(self) -> str:
        """Whether an episode lasts ("miscalibrated") or not ("calibrated", as far as one sees)."""
        states = {monitor.state for monitor in self.monitors.values()}
        return "miscalibrated" if "miscalibrated" in states else "calibrated"

    @property
    def episodes(self) -> list[NumberEpisode]:
        """The episodes so far, by the round of their alarm."""
        found = [
            NumberEpisode(question, episode)
            for question, monitor in self.monitors.items()
            for episode in monitor.episodes
        ]
        return sorted(found, key=lambda each: each.episode.alarm)

    def update(
        self, quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcome: float
    ) -> list[NumberEpisode]:
        """Take in one round; return the episodes that begin or end with it."""
        return self.run(np.asarray(quantiles)[None], levels, [outcome])

    def run(
        self, quantiles: npt.ArrayLike, levels: npt.ArrayLike, outcomes: npt.ArrayLike
    ) -> list[NumberEpisode]:
        """Take in rounds, a row of quantiles each; return the episodes that begin or end there."""
        tau = as_levels(levels)
        q = as_quantiles(quantiles, len(tau))
        y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
        if q.ndim != 2 or not np.isfinite(y).all():
            raise ValueError("quantiles must have a row a round, and outcomes must be finite")
        check_same_length("quantiles", len(q), "outcomes", len(y))
        found = []
        for question, events in events_of(quantile_at(tau, q, LEVELS), y).items():
            expected = np.full(len(y), QUESTIONS[question][0])
            for episode in self.monitors[question].run(expected, events):
                found.append(NumberEpisode(question, episode))
        return sorted(found, key=lambda each: each.episode.alarm)


def events_of(quantiles: Floats, y: Floats) -> dict[str, Floats]:
    """Return, of each question, whether its event came; on a tie its probability."""
    below = np.where(quantiles == y[:, None], LEVELS, y[:, None] < quantiles)
    low, low_half, half, high_half, high = below.T
    return {
        "outside 90 %": low + 1.0 - high,
        "outside 50 %": low_half + 1.0 - high_half,
        "below median": half,
        "below 5 %": low,
        "above 95 %": 1.0 - high,
    }
