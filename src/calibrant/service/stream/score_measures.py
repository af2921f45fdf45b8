"""The measures of probabilities: reliability, the usual scores, and two monitors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calibrant import Monitor
from calibrant._checks import Floats
from calibrant._kernels.rounds.settled import Settled
from calibrant.checks import Finding
from calibrant.measures import Scorecard
from calibrant.service.stream import models
from calibrant.service.stream.doubts import RowSample
from calibrant.service.stream.events import episode_json
from calibrant.service.stream.history import History
from calibrant.service.stream.measures import EpisodeChange, Measures, Timed, watch
from calibrant.service.stream.plain import number, numbers

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

#: Raw and smooth probabilities are measured on a grid, so that scorecards do not grow with rows.
GRID = 4096.0
MEASURES = ("mean_prediction", "mean_outcome", "brier", "log_loss", "ece", "cal1", "cal2", "klcal")
CURVE = ("lower", "upper", "mean_prediction", "mean_outcome", "interval_low", "interval_high")


class ScoreMeasures(Measures):
    """The raw and the calibrated probabilities side by side; a margin is no probability."""

    def __init__(self, definition: Definition) -> None:
        self.monitor = definition.monitor()
        self.card, self.smooth_card = Scorecard(), Scorecard()
        self.raw_monitor: Monitor | None = None
        self.raw_card: Scorecard | None = None
        if definition.kind != "margin":
            self.raw_monitor, self.raw_card = definition.monitor(), Scorecard()
        self.buckets, self.sample = History(), RowSample()

    @property
    def monitors(self) -> dict[str, Monitor]:
        """The monitors of the calibrated probabilities and of the raw ones."""
        raw = {} if self.raw_monitor is None else {"raw": self.raw_monitor}
        return {"calibrated": self.monitor, **raw}

    def episodes(self, of: str) -> list[models.EpisodeView]:
        """Return the episodes of one of the monitors."""
        return [episode_json(each) for each in self.monitors[of].episodes]

    def take(
        self, rows: Settled, steps: Timed, times: Floats, waiting: Floats
    ) -> list[EpisodeChange]:
        """Measure settled rows, and show all steps to the monitors."""
        y, came = rows.outcome, steps.rows.outcome
        self.sample.take(steps.rows)
        found, evidence = watch("calibrated", self.monitor, steps, steps.rows.expected, came)
        raw = evidence_raw = np.full(len(rows), np.nan)
        if self.raw_monitor is not None:
            more, evidence_raw = watch("raw", self.raw_monitor, steps, steps.rows.raw, came)
            found += more
        if not len(rows):
            return found
        self.card.extend(rows.prediction, y)
        self.smooth_card.extend(on_grid(rows.smooth), y)
        if self.raw_card is not None:
            raw = rows.raw
            self.raw_card.extend(on_grid(raw), y)
        self.buckets.add(
            {
                "raw": raw, "prediction": rows.prediction, "smooth": rows.smooth, "outcome": y,
                "at": times, "delay": times - rows.at, "waiting": waiting,
                "evidence": evidence, "evidence_raw": evidence_raw,
            }
        )  # fmt: skip
        return found

    def spread(self, rows: Settled) -> Floats:
        """Return the variance of each outcome, if it is predicted well."""
        return np.asarray(rows.expected * (1.0 - rows.expected))

    # -- what is shown --------------------------------------------------------------------------

    def headline(self) -> models.Headline:
        """Return the means, and the error of both sorts of probabilities."""
        card, raw = measures(self.card), measures(self.raw_card)
        assert card is not None
        return {
            "mean_prediction": card["mean_prediction"],
            "mean_outcome": card["mean_outcome"],
            "error": {"raw": raw and raw["ece"], "calibrated": card["ece"]},
        }

    def scorecard(self) -> models.ScorecardView:
        """Return the measures of the raw, calibrated and smooth probabilities."""
        return {
            "rounds": self.card.rounds,
            "raw": measures(self.raw_card),
            "calibrated": measures(self.card),
            "smooth": measures(self.smooth_card),
        }

    def reliability(self, bins: int, level: float) -> models.Reliability:
        """Return observed frequencies by predicted probability."""
        return {
            "level": level,
            "bins": bins,
            "raw": curve(self.raw_card, bins, level),
            "calibrated": curve(self.card, bins, level),
        }

    def findings(self, *, has_silence: bool) -> list[Finding]:
        """Return what checks find in a sample of the rows."""
        return self.sample.findings(has_silence=has_silence)

    def history(self, points: int) -> models.HistoryView:
        """Return what was predicted and observed through time."""
        found = self.buckets.view(points)
        if self.raw_card is None:
            found["buckets"] |= {"mean_raw": None, "error_raw": None, "evidence_raw": None}
        return cast(models.HistoryView, found)

    # -- saving ---------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Return what is saved, by name."""
        parts = {
            "monitor": self.monitor, "raw_monitor": self.raw_monitor, "card": self.card,
            "smooth_card": self.smooth_card, "raw_card": self.raw_card, "history": self.buckets,
            "sample": self.sample,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part is not None}

    def load(self, parts: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.monitor = Monitor.from_bytes(parts["monitor"])
        self.card = Scorecard.from_bytes(parts["card"])
        self.smooth_card = Scorecard.from_bytes(parts["smooth_card"])
        if self.raw_monitor is not None:
            self.raw_monitor = Monitor.from_bytes(parts["raw_monitor"])
            self.raw_card = Scorecard.from_bytes(parts["raw_card"])
        self.buckets = History.from_bytes(bytes(parts["history"]))
        self.sample = RowSample.from_bytes(bytes(parts["sample"]))


def measures(card: Scorecard | None) -> models.Measures | None:
    """Return the measures of a scorecard, null where there is no round."""
    if card is None:
        return None
    found = card.summary()
    columns = {name: number(found[name]) for name in MEASURES}
    return cast(models.Measures, {"rounds": card.rounds, **columns})


def curve(card: Scorecard | None, bins: int, level: float) -> models.Curve | None:
    """Return the bins of a scorecard that have rounds."""
    if card is None:
        return None
    if card.rounds == 0:
        return cast(models.Curve, {name: [] for name in ("count", *CURVE)})
    table = card.reliability(bins, level)
    filled = table.count > 0
    columns = {name: numbers(getattr(table, name)[filled]) for name in CURVE}
    return cast(models.Curve, {**columns, "count": table.count[filled].tolist()})


def on_grid(probabilities: Floats) -> Floats:
    """Round probabilities to the grid on which they are measured."""
    return np.rint(probabilities * GRID) / GRID
