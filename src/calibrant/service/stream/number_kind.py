"""Streams of numbers: the forecast of a model in, quantiles of the outcome out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant import NumberRecalibrator
from calibrant._checks import Floats
from calibrant._kernels.rounds.round import Round
from calibrant.measures.number_scorecard import ENDS, INTERVALS
from calibrant.measures.quantile_functions import quantile_at
from calibrant.recalibrate.distribution import as_given_rows
from calibrant.recalibrate.number_rows import column_name
from calibrant.recalibrate.numbers import PERIODS
from calibrant.service.problems import Problem, bad_value
from calibrant.service.stream import models
from calibrant.service.stream.kinds import Answer, Answered, Inputs, Kind
from calibrant.service.stream.learners import Learner, OfRows
from calibrant.service.stream.number_measures import NumberMeasures
from calibrant.service.stream.plain import Real, numbers, reals_of, shown

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

LARGEST = 1e250
NUMBER = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
OUTCOME = Real("outcome", f"a number in [{-LARGEST:g}, {LARGEST:g}]", -LARGEST, LARGEST)
FORECAST = OUTCOME._replace(field="forecast")
FORECAST_IN_WORDS = f"a number in [{-LARGEST:g}, {LARGEST:g}], or null for a missing one"
#: What a model may give with its forecast.
MORE = ("scale", "quantiles", "levels")


class Numbers(Kind):
    """Forecasts of a number; with a scale or with quantiles, if the model has them."""

    name = "number"
    title, panels, model = "forecasts of numbers", "numbers", "Number"
    lacks = frozenset(("silence", "after", "keyed", "watch_keys", "classes", "act"))
    fields: ClassVar[dict[str, dict[str, Any]]] = {
        "forecast": {"oneOf": [NUMBER, {"type": "null"}], "description": "Null: it is missing."},
        "scale": {
            "type": "number", "exclusiveMinimum": 0, "maximum": LARGEST,
            "description": "The standard deviation that a model gives with its forecast.",
        },
        "quantiles": {
            "type": "array", "items": NUMBER, "minItems": 2, "maxItems": 199,
            "description": "Those of a model, at `levels` or at those of the stream.",
        },
        "levels": {
            "type": "array", "minItems": 2, "maxItems": 199,
            "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        },
    }  # fmt: skip
    needs = frozenset(("forecast",))
    outcome: ClassVar[dict[str, Any]] = NUMBER

    def check(self, definition: Definition) -> None:
        """Reject levels, periods and bounds that a recalibrator does not accept."""
        for name in ("levels", "periods", "bounds"):
            value = getattr(definition, name)
            if value is not None:
                try:
                    NumberRecalibrator(**{name: value})
                except ValueError as error:
                    raise bad_value(str(error), name, ALLOWED[name]) from None

    # -- rows -----------------------------------------------------------------------------------

    def inputs(self, rows: list[dict[str, Any]], seen: set[str], definition: Definition) -> Inputs:
        """Return forecasts; with what the model says at the levels of the stream, if it does."""
        scores: list[float | None] = []
        for row, given in enumerate(rows):
            if given["forecast"] is None:
                scores.append(None)
                continue
            try:
                scores += reals_of([given], FORECAST)
            except Problem:
                got = "got " + shown(given["forecast"])
                raise bad_value(got, "forecast", FORECAST_IN_WORDS, row) from None
        if seen.isdisjoint(MORE):
            return Inputs(scores)
        own = levels_of(definition)
        packed = [
            packed_row(given, score, own, row)
            for row, (given, score) in enumerate(zip(rows, scores, strict=True))
        ]
        return Inputs(scores, packed)

    def outcomes(self, rows: list[dict[str, Any]], definition: Definition) -> list[float]:
        """Return outcomes: numbers within the bounds of the stream."""
        low, high = (-LARGEST, LARGEST) if definition.bounds is None else (
            -LARGEST if definition.bounds[0] is None else definition.bounds[0],
            LARGEST if definition.bounds[1] is None else definition.bounds[1],
        )  # fmt: skip
        allowed = f"a number in [{low:g}, {high:g}]"
        return reals_of(rows, OUTCOME._replace(words=allowed, low=low, high=high))

    def answered(self, rounds: list[Any]) -> Answered:
        """Return the quantiles, packed."""
        nothing = [None] * len(rounds)
        return Answered(nothing, nothing, [each.quantiles.tobytes() for each in rounds])

    def waiting(self, one: Round) -> Mapping[str, Any]:
        """Return the forecast of a pending prediction, and its median."""
        forecast, median = numbers(np.array([one.raw, one.prediction]))
        return {"probability": None, "raw": None, "forecast": forecast, "median": median}

    def shown(self, answers: list[Answer], definition: Definition) -> list[Mapping[str, Any]]:
        """Return what a client is answered."""
        levels = levels_of(definition)
        said = np.stack([np.frombuffer(row.predicted or b"") for row, _ in answers])
        wanted = quantile_at(levels, said, [0.5, *ENDS])
        names = [f"{level:g}" for level in levels.tolist()]
        found: list[models.NumberAnswer] = []
        for (row, answer), quantiles, few in zip(answers, said, wanted, strict=True):
            median, *sides = numbers(few)
            pairs = zip(sides[::2], sides[1::2], strict=True)
            found.append(
                {
                    "id": row.id,
                    "forecast": row.score,
                    "median": median,
                    "quantiles": dict(zip(names, numbers(quantiles), strict=True)),
                    "intervals": {
                        f"{each:g}": list(pair) for each, pair in zip(INTERVALS, pairs, strict=True)
                    },
                    "sequence": row.sequence,
                    "answer": answer,
                }
            )
        return found  # type: ignore[return-value]

    def exported(
        self, scores: list[Any], predicted: list[Any], definition: Definition
    ) -> dict[str, list[float | None]]:
        """Return the quantiles, a column each."""
        levels = levels_of(definition)
        said = np.array([np.frombuffer(each) for each in predicted]).reshape(-1, len(levels))
        columns = {column_name(level): said[:, at].tolist() for at, level in enumerate(levels)}
        return {"forecast": scores, **columns}

    # -- state ----------------------------------------------------------------------------------

    def learner(self, definition: Definition) -> Learner:
        """Return a recalibrator of numbers."""
        return OfRows(
            NumberRecalibrator(
                definition.levels,
                periods=PERIODS if definition.periods is None else definition.periods,
                bounds=definition.bounds,
                seed=definition.seed,
                capacity=definition.capacity,
                max_groups=definition.groups,
                hold=definition.hold,
            )
        )

    def restored(self, parts: Mapping[str, Any], definition: Definition) -> Learner:  # noqa: ARG002
        """Return what learns, from the parts of a snapshot."""
        return OfRows(NumberRecalibrator.from_bytes(parts[OfRows.name]))

    def measures(self, definition: Definition) -> NumberMeasures:
        """Return a scorecard, a monitor and a history of distributions."""
        return NumberMeasures(definition, levels_of(definition))


ALLOWED = {
    "levels": "two or more inside (0, 1), increasing",
    "periods": "lengths of seasons from 2 on, each once",
    "bounds": "two, the first below the second, null for no bound",
}


def levels_of(definition: Definition) -> Floats:
    """Return the levels of a stream's quantiles."""
    return known_levels(definition.levels)


@cache
def known_levels(levels: tuple[float, ...] | None) -> Floats:
    """Return levels as a recalibrator has them."""
    return NumberRecalibrator(levels).levels


def packed_row(given: dict[str, Any], forecast: float | None, own: Floats, row: int) -> bytes:
    """Return what a model says at the levels of the stream, as the recalibrator takes it."""
    more = {name: given.get(name) for name in MORE}
    name = next((name for name, value in more.items() if value is not None), None)
    if name is None:
        raise bad_value(
            "some rows have a scale or quantiles, and this one has none", "quantiles",
            "all rows of a request, or none of them", row,
        )  # fmt: skip
    try:
        found = as_given_rows(
            [forecast],
            None if more["quantiles"] is None else [more["quantiles"]],
            more["levels"],
            None if more["scale"] is None else [more["scale"]],
            own,
        )
    except (TypeError, ValueError) as error:
        field = "quantiles" if name == "levels" else name
        raise bad_value(str(error), field, "a scale, or quantiles that do not cross", row) from None
    packed: bytes = np.ascontiguousarray(found[0], dtype=np.float64).tobytes()
    return packed
