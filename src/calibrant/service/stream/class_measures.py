"""What is measured of several classes: the named one as an event, and counts of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import Floats
from calibrant._kernels.rounds.settled import Settled
from calibrant.checks import Finding
from calibrant.service.stream import models
from calibrant.service.stream.measures import EpisodeChange, Timed
from calibrant.service.stream.score_measures import ScoreMeasures, measures

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition


class ClassMeasures(ScoreMeasures):
    """Whether the named class was observed, raw and calibrated; and a table of the classes."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        assert definition.classes is not None
        self.table = ClassTable(definition.classes)

    def take(
        self, rows: Settled, steps: Timed, times: Floats, waiting: Floats
    ) -> list[EpisodeChange]:
        """Measure settled rows, and show all steps to the monitors."""
        rows.smooth = rows.expected  # a row has no other estimate
        # Scores are kept as logarithms in single precision.
        rows.raw, steps.rows.raw = (np.minimum(each, 1.0) for each in (rows.raw, steps.rows.raw))
        if len(rows):
            named = self.table.add(rows.rounds, rows.outcome)
            rows.outcome = (rows.outcome == named).astype(np.float64)  # as one event
        return super().take(rows, steps, times, waiting)

    def scorecard(self) -> models.ScorecardView:
        """Return the measures of the named class."""
        found = measures(self.card)
        raw = measures(self.raw_card)
        return {"rounds": self.card.rounds, "raw": raw, "calibrated": found, "smooth": None}

    def findings(self, *, has_silence: bool) -> list[Finding]:  # noqa: ARG002
        """Return nothing: the checks are of one event."""
        return []

    def classes(self) -> models.Classes:
        """Return the table of the classes."""
        return {"rounds": self.card.rounds, "classes": self.table.rows()}

    def parts(self) -> dict[str, Any]:
        """Return what is saved, by name."""
        return super().parts() | {"classes": self.table}

    def load(self, parts: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        super().load(parts)
        self.table.load(bytes(parts["classes"]))


class ClassTable:
    """Of each class: the probabilities given to it, how often it came, was named, and was right."""

    __slots__ = ("labels", "sums")

    def __init__(self, labels: tuple[int | str, ...]) -> None:
        self.labels, self.sums = labels, np.zeros((4, len(labels)))

    def add(self, rounds: list[Any], outcomes: Floats) -> Floats:
        """Count settled rounds, one after the other; return the classes that were named."""
        for each, label in zip(rounds, outcomes.astype(np.int64).tolist(), strict=True):
            self.sums[0] += each.row
            self.sums[1, label] += 1
            self.sums[2, each.named] += 1
            self.sums[3, each.named] += each.named == label
        return np.array([each.named for each in rounds], dtype=np.float64)

    def rows(self) -> list[models.ClassView]:
        """Return a row for each class."""
        rounds = max(float(self.sums[1].sum()), 1.0)
        return [
            {
                "label": label, "mean_prediction": predicted / rounds,
                "observed": int(came), "frequency": came / rounds,
                "named": int(named), "right": int(right),
            }
            for label, (predicted, came, named, right) in zip(
                self.labels, self.sums.T.tolist(), strict=True
            )
        ]  # fmt: skip

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        return pack(Saved("ClassTable", {}, len(self.labels), {"sums": self.sums.ravel()}))

    def load(self, blob: bytes) -> None:
        """Restore what was saved."""
        saved = unpack(blob, what="table of classes").state["sums"]
        self.sums = saved.reshape(4, len(self.labels)).copy()
