"""A model's scores and what is made of them, watched side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.settled import Settled
from calibrant._kernels.saved import number
from calibrant.monitor.gain import LEAST
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import monitor_from

#: No evidence is further from 0: 20 a round for as many rounds as can be saved.
MOST_GAIN = 1e18


class SideBySide:
    """Two monitors of the same rounds: one of the raw scores, one of the calibrated predictions.

    ``Recalibrator(monitor=True).monitors`` is one. Both see each outcome once, when it is learned,
    with the score and the expected prediction of the time of prediction.

    Attributes
    ----------
    raw : Monitor
        Of the scores.
    calibrated : Monitor
        Of the predictions.
    gain_evidence : float
        What `gain_evidence` ends with: the logarithm of what one would own who began with 1 and bet
        on the predictions at the odds of the scores. Above log(1 / alpha), the scores are refuted
        at level alpha, and recalibration helps; below 0, the scores were the better ones so far.

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

    def __init__(self, settings: Mapping[str, Any], max_groups: int) -> None:
        self.raw = monitor_from(settings, max_groups)
        self.calibrated = monitor_from(settings, max_groups)
        self.gain_evidence = 0.0

    def __repr__(self) -> str:
        return (
            f"<{self.raw.rounds:,} rounds: raw scores {self.raw.state}, "
            f"calibrated predictions {self.calibrated.state}>"
        )

    def update(self, score: float, prediction: float, outcome: float, by: Id | None) -> None:
        """Take a score, what was made of it, and the outcome."""
        self.raw.update(score, outcome, by)
        self.calibrated.update(prediction, outcome, by)
        s = min(max(score, LEAST), 1.0 - LEAST)
        self.gain_evidence += math.log(
            outcome * (prediction / s) + (1.0 - outcome) * ((1.0 - prediction) / (1.0 - s))
        )

    def run(
        self, scores: Floats, predictions: Floats, outcomes: Floats,
        by: Sequence[Id | None] | None,
    ) -> None:  # fmt: skip
        """Take many rounds, bit for bit as `update` does; all or none."""
        s = np.clip(scores, LEAST, 1.0 - LEAST)
        ratios = outcomes * (predictions / s) + (1.0 - outcomes) * ((1.0 - predictions) / (1.0 - s))
        gains = [self.gain_evidence, *map(math.log, ratios.tolist())]
        with self.undone_if_stopped():
            self.raw.run(scores, outcomes, by)
            self.calibrated.run(predictions, outcomes, by)
            self.gain_evidence = float(np.cumsum(gains)[-1])

    def see(self, settled: Settled) -> None:
        """Take rounds that are settled."""
        raw, expected, outcomes, by = (
            settled.raw, settled.expected, settled.outcome, settled.by,
        )  # fmt: skip
        if len(settled) == 1:
            self.update(float(raw[0]), float(expected[0]), float(outcomes[0]), by[0])
        else:
            self.run(raw, expected, outcomes, by)

    def copy(self) -> dict[str, Any]:
        """Return what is known now, for `go_back`."""
        return self.save()

    def go_back(self, before: dict[str, Any]) -> None:
        """Return to what `copy` gave."""
        self.load(before)

    @contextmanager
    def undone_if_stopped(self) -> Iterator[None]:
        """Go back to where all is now if the body is interrupted or fails."""
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
        """Take over what `save` returned, or raise ValueError."""
        for name in ("raw", "calibrated"):
            prefix = f"{name}_"
            parts = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            getattr(self, name)._load(parts.pop("rounds"), parts)
        self.gain_evidence = number(state, "gain", low=-MOST_GAIN, high=MOST_GAIN)
