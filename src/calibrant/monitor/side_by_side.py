"""A model's scores and the predictions made from them, monitored side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.settled import Steps
from calibrant._kernels.saved import number
from calibrant.monitor.gain import LEAST
from calibrant.monitor.monitor import Mark, Monitor
from calibrant.monitor.settings import monitor_from

#: No evidence is further from 0: 20 a round for as many rounds as can be saved.
MOST_GAIN = 1e18


class SideBySide:
    """Two monitors of the same rounds: one of the raw scores, one of the calibrated predictions.

    ``Recalibrator(monitor=True).monitors`` is one. Both get each round when it is predicted, and
    its outcome when that is learned.

    Attributes
    ----------
    raw : Monitor
        Of the scores.
    calibrated : Monitor
        Of the predictions.
    gain_evidence : float
        The last value of `gain_evidence`: the logarithm of the wealth of a bettor who starts with 1
        and bets on the predictions at the odds of the scores. Above log(1 / alpha), the scores are
        rejected at level alpha, and recalibration helps; below 0, the scores were better so far.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Recalibrator
    >>> random = np.random.default_rng(0)
    >>> scores = random.random(10_000)
    >>> outcomes = random.random(10_000) < scores**2
    >>> recalibrator = Recalibrator(monitor=True)
    >>> _ = recalibrator.run(scores, outcomes)
    >>> both = recalibrator.monitors
    >>> both.raw.state, both.calibrated.state
    ('miscalibrated', 'calibrated')
    >>> bool(both.gain_evidence > np.log(1e6))
    True
    """

    __slots__ = ("calibrated", "gain_evidence", "raw")

    raw: Monitor
    calibrated: Monitor
    gain_evidence: float

    def __init__(self, settings: Mapping[str, Any], max_groups: int, **more: Any) -> None:
        self.raw = monitor_from(settings, max_groups, **more)
        self.calibrated = monitor_from(settings, max_groups, **more)
        self.gain_evidence = 0.0

    def __repr__(self) -> str:
        return (
            f"<{self.raw.rounds:,} rounds: raw scores {self.raw.state}, "
            f"calibrated predictions {self.calibrated.state}>"
        )

    @property
    def _last_key(self) -> int:
        """The number of the last prediction that was seen."""
        return self.raw._last_key

    def run(
        self, scores: Floats, predictions: Floats, outcomes: Floats,
        by: Sequence[Id | None] | None,
    ) -> None:  # fmt: skip
        """Take rounds whose outcomes arrived before the next prediction; all or none."""
        with self.undone_if_stopped():
            self.raw.run(scores, outcomes, by)
            self.calibrated.run(predictions, outcomes, by)
            self._gain(scores, predictions, outcomes)

    def watch(self, steps: Steps) -> None:
        """Take new pending predictions, and outcomes."""
        self.play_steps(steps.numbers, steps.raw, steps.expected, steps.outcome, steps.by)

    def watch_one(
        self, key: int, raw: float, expected: float, outcome: float, by: Id | None
    ) -> None:
        """Do what `watch` does with one step."""
        self.raw.watch_one(key, raw, raw, outcome, by)
        self.calibrated.watch_one(key, raw, expected, outcome, by)
        if math.isfinite(outcome):
            self._gain_one(raw, expected, outcome)

    def play_steps(
        self, keys: npt.NDArray[np.int64], raw: Floats, expected: Floats, outcome: Floats,
        by: Sequence[Id | None] | None,
    ) -> None:  # fmt: skip
        """Take steps in order, as `Monitor.play_steps` does."""
        self.raw.play_steps(keys, raw, outcome, by)
        self.calibrated.play_steps(keys, expected, outcome, by)
        came = np.isfinite(outcome)
        self._gain(raw[came], expected[came], outcome[came])

    def _gain_one(self, score: float, mean: float, y: float) -> None:
        """Do what `_gain` does with one prediction: arrays of one take ten times as long."""
        s, q = min(max(score, LEAST), 1.0 - LEAST), min(max(mean, LEAST), 1.0 - LEAST)
        self.gain_evidence += math.log(y * (q / s) + (1.0 - y) * ((1.0 - q) / (1.0 - s)))

    def _gain(self, scores: Floats, predictions: Floats, outcomes: Floats) -> None:
        """Add the evidence of the predictions against the scores."""
        s, q = (np.clip(p, LEAST, 1.0 - LEAST) for p in (scores, predictions))
        ratios = outcomes * (q / s) + (1.0 - outcomes) * ((1.0 - q) / (1.0 - s))
        gains = [self.gain_evidence, *map(math.log, ratios.tolist())]
        self.gain_evidence = float(np.cumsum(gains)[-1])

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop pending predictions."""
        self.raw.drop(numbers)
        self.calibrated.drop(numbers)

    def mark(self, outcomes: int) -> tuple[Mark, Mark, float]:
        """Return the current state for `go_back`, valid for at most so many outcomes."""
        return self.raw.mark(outcomes), self.calibrated.mark(outcomes), self.gain_evidence

    def copy(self) -> dict[str, Any]:
        """Return a full copy of the current state for `go_back`."""
        return self.save()

    def go_back(self, before: tuple[Mark, Mark, float] | dict[str, Any]) -> None:
        """Return to a state from `mark` or `copy`."""
        if isinstance(before, dict):
            self.load(before)
        else:
            raw, calibrated, self.gain_evidence = before
            self.raw.go_back(raw)
            self.calibrated.go_back(calibrated)

    @contextmanager
    def undone_if_stopped(self) -> Iterator[None]:
        """Go back to the current state if the body is interrupted or fails."""
        before = self.save()
        try:
            yield
        except BaseException:
            self.load(before)
            raise

    def save(self) -> dict[str, Any]:
        """Return everything as lists, arrays and numbers by name."""
        state: dict[str, Any] = {"gain": self.gain_evidence}
        for name in ("raw", "calibrated"):
            rounds, parts = getattr(self, name)._save()
            state[f"{name}_rounds"] = rounds
            state |= {f"{name}_{part}": value for part, value in parts.items()}
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `save` returned, or raise ValueError."""
        for name in ("raw", "calibrated"):
            prefix = f"{name}_"
            parts = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            getattr(self, name)._load(parts.pop("rounds"), parts)
        self.gain_evidence = number(state, "gain", low=-MOST_GAIN, high=MOST_GAIN)

    def check_rounds(self, rounds: int) -> None:
        """Refuse loaded monitors with predictions that were not made in so many rounds."""
        both = (self.raw, self.calibrated)
        if self.raw.rounds != self.calibrated.rounds or any(
            each.rounds > rounds or each._last_key >= rounds for each in both
        ):
            raise ValueError("the saved monitors must have seen rounds that were predicted")
