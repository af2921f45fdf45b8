"""Streams of scores: probabilities, log odds or margins of an event in, probabilities out."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant import Fleet, Recalibrator
from calibrant._kernels.rounds.round import Round
from calibrant.service.problems import bad_value
from calibrant.service.stream.decisions import decided
from calibrant.service.stream.key_watch import KeyWatch
from calibrant.service.stream.kinds import Answer, Answered, Inputs, Kind
from calibrant.service.stream.learners import ByKey, Learner, OfScores
from calibrant.service.stream.plain import Real, reals_of, shown
from calibrant.service.stream.score_measures import ScoreMeasures

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

LARGEST = sys.float_info.max
OUTCOME = Real("outcome", "a number in [0, 1], true or false", 0.0, 1.0, (bool,))
#: What a score may be.
SCORES = {
    "probability": Real("score", "a number in [0, 1]; divide percentages by 100", 0.0, 1.0),
    "logit": Real("score", "a finite number", -LARGEST, LARGEST),
    "margin": Real("score", "a finite number", -LARGEST, LARGEST),
}


class Scores(Kind):
    """Scores of one event; the three kinds differ in what a score is."""

    title, panels, model = "scores of an event", "scores", "Score"
    lacks = frozenset(("levels", "periods", "bounds", "classes"))
    fields: ClassVar[dict[str, dict[str, Any]]] = {
        "score": {"type": "number", "description": "In [0, 1] for probabilities."}
    }
    needs = frozenset(("score",))
    outcome: ClassVar[dict[str, Any]] = {
        "oneOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "boolean"}]
    }

    def __init__(self, name: str) -> None:
        self.name, self.score = name, SCORES[name]

    def check(self, definition: Definition) -> None:
        """Refuse nothing: what goes together is the same for all kinds."""

    # -- rows -----------------------------------------------------------------------------------

    def inputs(
        self,
        rows: list[dict[str, Any]],
        seen: set[str],  # noqa: ARG002
        definition: Definition,  # noqa: ARG002
    ) -> Inputs:
        """Return the scores of rows."""
        return Inputs(list[float | None](reals_of(rows, self.score)))

    def outcomes(self, rows: list[dict[str, Any]], definition: Definition) -> list[float]:
        """Return outcomes: shares of an event, or 0 and 1 where silence is one of them."""
        outcomes = reals_of(rows, OUTCOME)
        if definition.silence is not None:  # a fraction would be neither silence nor the event
            for row, outcome in enumerate(outcomes):
                if outcome % 1.0:
                    raise bad_value("got " + shown(outcome), "outcome", "0 or 1, with silence", row)
        return outcomes

    def answered(self, rounds: list[Round]) -> Answered:
        """Return the probabilities, and the estimates for ranking."""
        return Answered(
            [each.prediction for each in rounds],
            [each.smooth for each in rounds],
            [None] * len(rounds),
        )

    def waiting(self, one: Round) -> Mapping[str, Any]:
        """Return what was predicted of a pending row."""
        raw = None if self.name == "margin" else one.raw
        return {"probability": one.prediction, "raw": raw}

    def shown(
        self,
        answers: list[Answer],
        definition: Definition,  # noqa: ARG002
    ) -> list[Mapping[str, Any]]:
        """Return what a client is answered."""
        raw: list[Any] = [None] * len(answers)
        if self.name != "margin":
            raw = as_probabilities([row.score for row, _ in answers], self.name)
        found: list[dict[str, Any]] = [
            {
                "id": row.id,
                "probability": row.probability,
                "smooth": row.smooth,
                "raw": own,
                "sequence": row.sequence,
                "answer": answer,
                **({} if row.predicted is None else decided(row.predicted)),
            }
            for (row, answer), own in zip(answers, raw, strict=True)
        ]
        return found  # type: ignore[return-value]

    def exported(
        self,
        scores: list[Any],
        predicted: list[Any],  # noqa: ARG002
        definition: Definition,  # noqa: ARG002
    ) -> dict[str, list[float | None]]:
        """Return the scores as probabilities."""
        raw = as_probabilities(scores, self.name)
        return {"raw": [None if math.isnan(each) else each for each in raw]}

    # -- state ----------------------------------------------------------------------------------

    def learner(self, definition: Definition) -> Learner:
        """Return a recalibrator, or a fleet of them."""
        if definition.keyed:
            watched = {"every": definition.every, "tolerance": definition.tolerance}
            fleet = Fleet(
                definition.seed,
                definition.kind,
                capacity=definition.capacity,
                monitor=watched if definition.watch_keys else False,
                silence=definition.silence,
                after=definition.after,
                hold=definition.hold,
            )
            return ByKey(fleet, definition)
        return OfScores(
            Recalibrator(
                definition.kind,
                seed=definition.seed,
                capacity=definition.capacity,
                max_groups=definition.groups,
                silence=definition.silence,
                after=definition.after,
                hold=definition.hold,
            )
        )

    def restored(self, parts: Mapping[str, Any], definition: Definition) -> Learner:
        """Return what learns, from the parts of a snapshot."""
        if definition.keyed:
            learner = ByKey(Fleet.from_bytes(parts[ByKey.name]), definition)
            if learner.watch is not None:
                learner.watch.load(parts[KeyWatch.name])
            return learner
        return OfScores(Recalibrator.from_bytes(parts[OfScores.name]))

    def measures(self, definition: Definition) -> ScoreMeasures:
        """Return scorecards and monitors of raw and calibrated probabilities."""
        return ScoreMeasures(definition)


def as_probabilities(scores: list[Any], kind: str) -> list[float]:
    """Return scores as probabilities: NaN for margins."""
    if kind == "probability":
        return scores
    return [math.nan] * len(scores) if kind == "margin" else [sigmoid(each) for each in scores]


def sigmoid(logit: float) -> float:
    """Return log odds as a probability."""
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)
