"""The measures of predicted distributions: coverage, losses, a monitor, and the last rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import Floats
from calibrant._kernels.rounds.settled import Settled
from calibrant.measures import NumberScorecard
from calibrant.measures.number_scorecard import INTERVALS
from calibrant.measures.quantile_functions import quantile_at
from calibrant.monitor import NumberMonitor
from calibrant.monitor.numbers import LEVELS, QUESTIONS, events_of
from calibrant.service.stream import models
from calibrant.service.stream.events import episode_json
from calibrant.service.stream.history import NumberHistory
from calibrant.service.stream.measures import EpisodeChange, Measures, Timed, watch
from calibrant.service.stream.plain import number, numbers

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

#: Settled rounds that a fan chart can show.
MOST_DRAWN = 300


class NumberMeasures(Measures):
    """Coverage by level, losses and widths, the questions of a `NumberMonitor`, a fan chart."""

    def __init__(self, definition: Definition, levels: Floats) -> None:
        self.levels = levels
        self.monitor = NumberMonitor(
            definition.every, tolerance=definition.tolerance, max_groups=definition.groups,
            patience=definition.capacity,
        )  # fmt: skip
        self.card, self.buckets, self.last = NumberScorecard(levels), NumberHistory(), LastRounds()

    @property
    def monitors(self) -> dict[str, NumberMonitor]:
        """The monitor; a forecast is no distribution, so nothing raw is watched."""
        return {"calibrated": self.monitor}

    def episodes(self, of: str) -> list[models.EpisodeView]:
        """Return the episodes of all questions, by their alarms."""
        found = self.monitors[of].episodes
        return [episode_json(each.episode, each.question) for each in found]

    def take(
        self, rows: Settled, steps: Timed, times: Floats, waiting: Floats
    ) -> list[EpisodeChange]:
        """Measure settled rows, and show all steps to the monitors."""
        found, evidence = self._watch(steps)
        if not len(rows):
            return found
        said, y = self._quantiles(rows.rounds), rows.outcome
        self.card.extend(said, y)
        shown = quantile_at(self.levels, said, LEVELS)
        self.last.add(np.column_stack([rows.at, rows.raw, y, shown]))
        low, _, median, _, high = shown.T
        self.buckets.add(
            {
                "forecast": rows.raw, "median": median, "low": low, "high": high, "outcome": y,
                "at": times, "delay": times - rows.at, "waiting": waiting, "evidence": evidence,
            }
        )  # fmt: skip
        return found

    def _quantiles(self, rounds: list[Any]) -> Floats:
        return np.array([each.quantiles for each in rounds]).reshape(-1, len(self.levels))

    def _watch(self, steps: Timed) -> tuple[list[EpisodeChange], Floats]:
        """Show steps to the monitor of each question."""
        said = quantile_at(self.levels, self._quantiles(steps.rows.rounds), LEVELS)
        found: list[EpisodeChange] = []
        evidence = np.zeros(int((~np.isnan(steps.rows.outcome)).sum()))
        for question, events in events_of(said, steps.rows.outcome).items():
            expected = np.full(len(events), QUESTIONS[question][0])
            monitor = self.monitor.monitors[question]
            changes, own = watch("calibrated", monitor, steps, expected, events)
            found += [each._replace(question=question) for each in changes]
            evidence = np.maximum(evidence, own)
        return found, evidence

    def spread(self, rows: Settled) -> Floats:
        """Return the squared error of each median."""
        return np.asarray((rows.outcome - rows.expected) ** 2)

    # -- what is shown --------------------------------------------------------------------------

    def headline(self) -> models.Headline:
        """Return the means, and the miscalibration of the levels."""
        return {
            "mean_prediction": number(self.card.mean_median),
            "mean_outcome": number(self.card.mean_outcome),
            "error": {"raw": None, "calibrated": number(self.card.error)},
        }

    def scorecard(self) -> models.NumberMeasuresView:
        """Return all measures."""
        card = self.card
        found = [card.interval(coverage) for coverage in INTERVALS]
        return {
            "rounds": card.rounds,
            "infinite": card.infinite,
            "mean_outcome": number(card.mean_outcome),
            "mean_median": number(card.mean_median),
            "pinball": number(card.pinball),
            "error": number(card.error),
            "intervals": [
                {
                    "coverage": each.coverage, "covered": number(each.covered),
                    "width": number(each.width), "score": number(each.score),
                }
                for each in found
            ],
        }  # fmt: skip

    def coverage(self) -> models.Coverage:
        """Return what each level covered, and where outcomes fell."""
        return {
            "rounds": self.card.rounds,
            "level": self.levels.tolist(),
            "below": numbers(self.card.below),
            "at_most": numbers(self.card.at_most),
            "pit": self.card.pit.tolist(),
        }

    def fan(self, points: int) -> models.Fan:
        """Return the last settled rounds, in the order of their predictions."""
        rows = self.last.rows[-points:]
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        return {
            "at": rows[:, 0].tolist(),
            "levels": LEVELS.tolist(),
            "quantiles": [numbers(column) for column in rows[:, 3:].T],
            "forecast": numbers(rows[:, 1]),
            "outcome": rows[:, 2].tolist(),
        }

    def history(self, points: int) -> models.NumberHistoryView:
        """Return what was predicted and observed through time."""
        found = self.buckets.view(points)
        del found["buckets"]["evidence_raw"]  # nothing raw is watched
        return cast(models.NumberHistoryView, found)

    # -- saving ---------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Return what is saved, by name."""
        return {
            "monitor": self.monitor, "card": self.card, "history": self.buckets, "last": self.last
        }  # fmt: skip

    def load(self, parts: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.monitor = NumberMonitor.from_bytes(parts["monitor"])
        self.card = NumberScorecard.from_bytes(parts["card"])
        self.buckets = NumberHistory.from_bytes(bytes(parts["history"]))
        self.last = LastRounds.from_bytes(bytes(parts["last"]))


class LastRounds:
    """The last settled rounds: when each was predicted, forecast, outcome, and a few quantiles."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = np.empty((0, 3 + len(LEVELS)))

    def add(self, rows: Floats) -> None:
        """Take in rounds, and forget the oldest."""
        self.rows = np.vstack([self.rows, rows[-MOST_DRAWN:]])[-MOST_DRAWN:]

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        return pack(Saved("LastRounds", {}, len(self.rows), {"rows": self.rows.ravel()}))

    @classmethod
    def from_bytes(cls, blob: bytes) -> LastRounds:
        """Return what `to_bytes` saved."""
        last = cls()
        last.rows = unpack(blob, what="last rounds").state["rows"].reshape(-1, 3 + len(LEVELS))
        return last
