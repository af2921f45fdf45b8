"""Streams of several classes: a row of scores in, probabilities and a named class out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant import MulticlassRecalibrator
from calibrant._checks import Floats
from calibrant.service.problems import bad_value
from calibrant.service.stream import models
from calibrant.service.stream.class_measures import ClassMeasures
from calibrant.service.stream.kinds import Answer, Answered, Inputs, Kind
from calibrant.service.stream.learners import Learner, OfRows
from calibrant.service.stream.plain import shown

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

#: What the scores of a row are, by the kind of stream.
SCORES = {"classes": "probability", "class_logits": "logit"}


class Classes(Kind):
    """Scores of several classes; the two kinds differ in what a score is."""

    title, panels, model = "scores of several classes", "classes", "Class"
    lacks = frozenset(
        ("silence", "after", "keyed", "watch_keys", "levels", "periods", "bounds", "act")
    )  # fmt: skip
    requires = frozenset(("classes",))
    fields: ClassVar[dict[str, dict[str, Any]]] = {
        "scores": {
            "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 1000,
            "description": "One of each class, in the order of `classes`.",
        }
    }  # fmt: skip
    needs = frozenset(("scores",))
    outcome: ClassVar[dict[str, Any]] = {
        "oneOf": [{"type": "string", "minLength": 1}, {"type": "integer"}],
        "description": "The label of a class.",
    }

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, definition: Definition) -> None:
        """Reject a stream without classes."""
        if definition.classes is None:
            raise bad_value("it is missing", "classes", "the labels of 2 to 1,000 classes")

    # -- rows -----------------------------------------------------------------------------------

    def inputs(
        self,
        rows: list[dict[str, Any]],
        seen: set[str],  # noqa: ARG002
        definition: Definition,
    ) -> Inputs:
        """Return rows of scores, packed."""
        assert definition.classes is not None
        size = len(definition.classes)
        allowed = f"a list of {size} finite numbers, one per class"
        if self.name == "classes":
            allowed = f"a list of {size} numbers in [0, 1] that sum to 1, one per class"
        packed = []
        for row, given in enumerate(rows):
            values = given["scores"]
            if type(values) is not list or not {*map(type, values)} <= {int, float}:
                raise bad_value("got " + shown(values), "scores", allowed, row)
            try:
                of_one: Any = [[float(each) + 0.0 for each in values]]
                found = checker(definition.classes, SCORES[self.name])._rule.check(of_one, None)
            except (ValueError, OverflowError) as error:
                raise bad_value(str(error), "scores", allowed, row) from None
            packed.append(np.ascontiguousarray(found[0]).tobytes())
        return Inputs([None] * len(rows), packed)

    def outcomes(self, rows: list[dict[str, Any]], definition: Definition) -> list[float]:
        """Return the columns of labels."""
        assert definition.classes is not None
        columns = {label: float(at) for at, label in enumerate(definition.classes)}
        found = []
        for row, given in enumerate(rows):
            label = given["outcome"]
            column = columns.get(label) if type(label) in (str, int) else None
            if column is None:
                labels = ", ".join(map(str, definition.classes[:10]))
                more = ", ..." if len(definition.classes) > 10 else ""
                raise bad_value("got " + shown(label), "outcome", f"one of {labels}{more}", row)
            found.append(column)
        return found

    def label(self, outcome: float, definition: Definition) -> int | str:
        """Return the label of a column."""
        assert definition.classes is not None
        return definition.classes[int(outcome)]

    def answered(self, rounds: list[Any]) -> Answered:
        """Return the probability of the named class; its column and all probabilities, packed."""
        packed = [np.concatenate([[each.named], each.row]).tobytes() for each in rounds]
        return Answered([each.prediction for each in rounds], [None] * len(rounds), packed)

    def waiting(self, one: Any) -> Mapping[str, Any]:
        """Return the probability of the named class of a pending row."""
        return {"probability": one.prediction, "raw": one.raw}

    def shown(self, answers: list[Answer], definition: Definition) -> list[Mapping[str, Any]]:
        """Return what a client is answered."""
        assert definition.classes is not None
        found: list[models.ClassAnswer] = []
        for row, answer in answers:
            named, *probabilities = np.frombuffer(row.predicted or b"").tolist()
            raw = as_probabilities(np.frombuffer(row.given or b""), self.name)
            found.append(
                {
                    "id": row.id,
                    "label": definition.classes[int(named)],
                    "probability": row.probability,  # type: ignore[typeddict-item]
                    "raw": float(raw[int(named)]),
                    "probabilities": dict(
                        zip(map(str, definition.classes), probabilities, strict=True)
                    ),
                    "sequence": row.sequence,
                    "answer": answer,
                }
            )
        return found  # type: ignore[return-value]

    def exported(
        self,
        scores: list[Any],  # noqa: ARG002
        predicted: list[Any],
        definition: Definition,
    ) -> dict[str, list[float | None]]:
        """Return the probabilities, a column each; `outcome` is the number of a class."""
        assert definition.classes is not None
        labels = definition.classes
        said = np.array([np.frombuffer(each) for each in predicted]).reshape(-1, len(labels) + 1)
        names = ["named", *(f"p_{label}" for label in labels)]
        return {name: said[:, at].tolist() for at, name in enumerate(names)}

    # -- state ----------------------------------------------------------------------------------

    def learner(self, definition: Definition) -> Learner:
        """Return a recalibrator of several classes."""
        return OfRows(
            MulticlassRecalibrator(
                definition.classes,
                SCORES[self.name],
                seed=definition.seed,
                capacity=definition.capacity,
                max_groups=definition.groups,
                hold=definition.hold,
            )
        )

    def restored(self, parts: Mapping[str, Any], definition: Definition) -> Learner:  # noqa: ARG002
        """Return what learns, from the parts of a snapshot."""
        return OfRows(MulticlassRecalibrator.from_bytes(parts[OfRows.name]))

    def measures(self, definition: Definition) -> ClassMeasures:
        """Return scorecards and monitors of the named class, and counts of all."""
        return ClassMeasures(definition)


@cache
def checker(classes: tuple[int | str, ...], kind: str) -> MulticlassRecalibrator:
    """Return a recalibrator that is used only to check rows."""
    return MulticlassRecalibrator(classes, kind)


def as_probabilities(scores: Floats, kind: str) -> Floats:
    """Return a row of scores as probabilities."""
    if kind == "classes":
        return scores
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum())
