"""The monitor for numbers: alarms when predicted distributions are no longer calibrated.

Every outcome is tested for five events whose probability follows from the distribution: is it
outside the 90% interval, outside the 50% interval, below the median, below the
5% quantile, above the 95% quantile? Each event has its own `Monitor`, with a fifth of the false
alarms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_series, check_integer, check_same_length
from calibrant._kernels.rounds.settled import Steps
from calibrant._kernels.saved import check_names
from calibrant.measures.quantile_functions import as_levels, as_quantiles, quantile_at
from calibrant.monitor.episodes import Episode
from calibrant.monitor.monitor import Mark, Monitor
from calibrant.saving import Savable

#: The probability of each event, and what it means if it occurs too often, or too rarely.
QUESTIONS: dict[str, tuple[float, str, str]] = {
    "outside 90%": (
        0.1,
        "90% intervals have been too narrow",
        "90% intervals have been too wide",
    ),
    "outside 50%": (
        0.5,
        "50% intervals have been too narrow",
        "50% intervals have been too wide",
    ),
    "below median": (0.5, "medians have been too high", "medians have been too low"),
    "below 5%": (0.05, "5% quantiles have been too high", "5% quantiles have been too low"),
    "above 95%": (0.05, "95% quantiles have been too low", "95% quantiles have been too high"),
}
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
#: The prefix of the names under which the monitor of one question is saved.
PREFIXES = {question: f"{at}_" for at, question in enumerate(QUESTIONS)}


@dataclass(frozen=True)
class NumberEpisode:
    """A stretch of rounds in which some quantiles were miscalibrated.

    Attributes
    ----------
    question : str
        The event that occurred too often or too rarely, such as "outside 90%".
    episode : Episode
        When it began, when it was noticed, and by how much its frequency differs.

    Examples
    --------
    >>> from calibrant.monitor import Episode, NumberEpisode
    >>> found = Episode(5_210, 5_003, None, 0.0, 1.0, None, 0.21, 0.15, 0.27)
    >>> print(NumberEpisode("outside 90%", found))
    Since round 5,003, 90% intervals have been too narrow: outside 90% came 31% of the time, ...
    """

    question: str
    episode: Episode

    def __str__(self) -> str:
        expected, too_often, too_rarely = QUESTIONS[self.question]
        words = too_often if self.episode.bias > 0 else too_rarely
        seen = min(1.0, max(0.0, expected + self.episode.bias))
        found = self.episode
        onset, alarm, end = (
            f"round {at:,}" if when is None else str(when)
            for at, when in (
                (found.onset, found.onset_at), (found.alarm, found.alarm_at),
                (found.end or 0, found.end_at),
            )
        )  # fmt: skip
        until = "" if found.end is None else f", over by {end}"
        return (
            f"Since {onset}, {words}: {self.question} came {seen:.0%} of the time, not "
            f"{expected:.0%}; alarm {'in' if found.alarm_at is None else 'at'} {alarm}{until}."
        )


class NumberMonitor(Savable):
    """Monitor predicted distributions and outcomes, and raise an alarm when they disagree.

    The null is that in every round, the probability of each event, given what was known when it was
    predicted, is within `tolerance` of its probability under the distribution. Under the null, the
    probability of an alarm within n rounds is at most n / `every`, however often one looks and
    however late outcomes are: `docs/monitor.md` has the proof for one event, and the five share the
    false alarms.
    ``NumberRecalibrator(monitor=True).monitors`` is one: it bets when a number is predicted.

    Parameters
    ----------
    every : int, default 1_000_000
        The number of rounds per expected false alarm.
    tolerance : float, default 0.02
        The tolerated error of a frequency.
    patience : int, default 10_000
        The maximal number of pending predictions, at 320 bytes each; beyond it, the oldest is
        dropped, which is safe but reduces power.
    max_groups : int, default 10_000
        The maximal number of groups in `by`.

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
    Since round 2,985, 90% intervals have been too narrow: outside 90% came 42% of the time, not
    10%; alarm in round 3,037.
    >>> monitor.state
    'miscalibrated'
    """

    __slots__ = ("_given", "monitors")

    every: int
    tolerance: float
    patience: int
    max_groups: int

    def __init__(
        self,
        every: int = 1_000_000,
        *,
        tolerance: float = 0.02,
        patience: int = 10_000,
        max_groups: int = 10_000,
    ) -> None:
        check_integer("every", every, 100, 10**14)
        self.monitors = {
            question: Monitor(
                every * len(QUESTIONS), tolerance=tolerance, patience=patience,
                max_groups=max_groups,
            )
            for question in QUESTIONS
        }  # fmt: skip

    @property
    def rounds(self) -> int:
        """Rounds seen so far."""
        return self.monitors["below median"].rounds

    @property
    def _last_key(self) -> int:
        """The number of the last prediction that was seen."""
        return self.monitors["below median"]._last_key

    @property
    def state(self) -> str:
        """The state: "miscalibrated" while an episode is open, else "calibrated"."""
        states = {monitor.state for monitor in self.monitors.values()}
        return "miscalibrated" if "miscalibrated" in states else "calibrated"

    @property
    def evidence(self) -> float:
        """The largest evidence for any of the questions; 1 is an alarm."""
        return max(monitor.evidence for monitor in self.monitors.values())

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
        """Take a round; return the episodes that begin or end with it."""
        return self.run(np.asarray(quantiles)[None], levels, [outcome])

    def run(
        self,
        quantiles: npt.ArrayLike,
        levels: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | None = None,
        times: Sequence[Any] | npt.NDArray[Any] | None = None,
        available: Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> list[NumberEpisode]:
        """Take rounds, with a row of quantiles each; return the episodes that begin or end in them.

        `times` says when each was predicted and `available` when its outcome became known, NaN if
        never; without them, before the next prediction. All or nothing, as `Monitor.run`.
        """
        tau = as_levels(levels)
        q = as_quantiles(quantiles, len(tau))
        y = np.asarray(as_series(outcomes, "outcomes"), dtype=np.float64)
        if available is not None:  # what never came may be anything
            y = np.where(never_known(available, len(y)), 0.0, y)
        if q.ndim != 2 or not np.isfinite(y).all():
            raise ValueError("quantiles must have a row per round, and outcomes must be finite")
        check_same_length("quantiles", len(q), "outcomes", len(y))
        found, before = [], self.copy()
        try:
            for question, events in events_of(quantile_at(tau, q, LEVELS), y).items():
                expected = np.full(len(y), QUESTIONS[question][0])
                for episode in self.monitors[question].run(expected, events, by, times, available):
                    found.append(NumberEpisode(question, episode))
        except BaseException:
            self.go_back(before)
            raise
        return sorted(found, key=lambda each: each.episode.alarm)

    # -- rounds of a learner that is monitored --------------------------------------------------

    def watch(self, steps: Steps) -> None:
        """Take new pending distributions, and outcomes."""
        rounds: Sequence[Any] = steps.rounds
        if rounds:
            levels = rounds[0].levels
            predicted = np.stack([each.quantiles for each in rounds])
            self.play_steps(
                steps.numbers, quantile_at(levels, predicted, LEVELS), steps.outcome, steps.by
            )

    def play_steps(
        self,
        keys: npt.NDArray[np.int64],
        quantiles: Floats,
        outcomes: Floats,
        by: Sequence[Id | None] | None,
    ) -> None:
        """Take steps in order, as `Monitor.play_steps` does; `quantiles` are at `LEVELS`."""
        for question, events in events_of(quantiles, outcomes).items():
            predicted = np.full(len(keys), QUESTIONS[question][0])
            self.monitors[question].play_steps(keys, predicted, events, by)

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop pending predictions: their stakes are lost."""
        for monitor in self.monitors.values():
            monitor.drop(numbers)

    def mark(self, outcomes: int) -> dict[str, Mark]:
        """Return the current state for `go_back`, valid for at most so many outcomes."""
        return {question: each.mark(outcomes) for question, each in self.monitors.items()}

    def copy(self) -> dict[str, Any]:
        """Return a full copy of the current state for `go_back`."""
        return {question: each.copy() for question, each in self.monitors.items()}

    def go_back(self, before: Mapping[str, Any]) -> None:
        """Return to a state from `mark` or `copy`."""
        for question, state in before.items():
            self.monitors[question].go_back(state)

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        state: dict[str, Any] = {}
        for question, prefix in PREFIXES.items():
            _, parts = self.monitors[question]._save()
            state |= {prefix + name: part for name, part in parts.items()}
        return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        check_names(state, set(self._save()[1]))
        for question, prefix in PREFIXES.items():
            parts = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            self.monitors[question]._load(rounds, parts)


def never_known(available: Sequence[Any] | npt.NDArray[Any], rounds: int) -> npt.NDArray[np.bool_]:
    """Return which outcomes never become known, as far as `available` has a time for each."""
    never = [each is None or each != each for each in available]  # noqa: PLR0124 - NaN
    return np.resize(np.array(never or [False]), rounds)


def events_of(quantiles: Floats, y: Floats) -> dict[str, Floats]:
    """Return, for each question, whether its event occurred; on a tie, its probability.

    NaN and infinity are kept, since they have a meaning for monitors.
    """
    below = np.where(quantiles == y[:, None], LEVELS, y[:, None] < quantiles)
    low, low_half, half, high_half, high = below.T
    events = {
        "outside 90%": low + 1.0 - high,
        "outside 50%": low_half + 1.0 - high_half,
        "below median": half,
        "below 5%": low,
        "above 95%": 1.0 - high,
    }
    is_known = np.isfinite(y)
    return {question: np.where(is_known, each, y) for question, each in events.items()}
