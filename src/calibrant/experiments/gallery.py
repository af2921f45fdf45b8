"""Tasks of a sweep that its report runs again, each as a figure with its caption."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats
from calibrant._specs import name_of
from calibrant.experiments import Result, Results
from calibrant.experiments.labels import short_names, show_stream
from calibrant.experiments.results import ERRORS, rank
from calibrant.experiments.tasks import run_rounds
from calibrant.forecasters import Forecaster, Restarting
from calibrant.measures import ReliabilityTable, Scorecard
from calibrant.report.figures import ErrorThroughTime, PointSpread, ReliabilityDiagram
from calibrant.report.figures.error_through_time import MEASURES_THROUGH_TIME, restarts_of
from calibrant.report.style import SERIES, Drawable, Series
from calibrant.streams import names as real_streams

#: Streams that show best how a forecaster follows a changing world; the first available is used.
MOVING = ("piecewise", "drift", "random_walk", "seasonal", "corrupted", "chaser")
#: A task of more rounds is not run again for a figure.
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True, eq=False)
class Replay:
    """A task that was run again: the forecaster after the last round, and all rounds."""

    result: Result
    forecaster: Forecaster
    predictions: Floats
    outcomes: Floats
    means: Floats | None

    def agrees(self, measure: str) -> bool:
        """Whether the measure is the same number as in the results."""
        card = Scorecard()
        card.extend(self.predictions, self.outcomes)
        return bool(getattr(card, measure) == self.result.values[measure])


def replay(result: Result) -> Replay:
    """Run a task of the results again."""
    task = result.task
    source = task.source()
    forecaster = task.make_forecaster(result.deviation)
    return Replay(result, forecaster, *run_rounds(forecaster, source, task.rounds), source.means)


def moving_stream(results: Results, measure: str) -> str | None:
    """Return the stream that shows best how a forecaster follows a changing world."""
    streams = _short_enough(results, measure)
    for family in MOVING:
        for stream in streams:
            if name_of(stream) == family:
                return stream
    return streams[0] if streams else None


def real_stream(results: Results, measure: str) -> str | None:
    """Return the real stream with the most rounds, or else a moving one."""
    rounds = results.longest(measure)
    real = [stream for stream in _short_enough(results, measure) if stream in real_streams()]
    # Of those with as many rounds, the flights: their rate drifts most.
    return max(
        real, key=lambda stream: (rounds[stream], stream == "nycflights"),
        default=moving_stream(results, measure),
    )  # fmt: skip


def _short_enough(results: Results, measure: str) -> list[str]:
    return [stream for stream, rounds in results.longest(measure).items() if rounds <= MOST_ROUNDS]


def examples(results: Results, measure: str, stream: str) -> dict[str, Result]:
    """Return each forecaster's longest task on a stream, with its first seed; the best first."""
    rounds = results.longest(measure)[stream]
    found: dict[str, Result] = {}
    for result in sorted(results.measured(measure), key=lambda result: result.task.seed):
        if result.task.stream == stream and result.task.rounds == rounds:
            found.setdefault(result.task.forecaster, result)
    return {name: found[name] for name in results.errors(measure)[stream]}


def looks_by_rank(results: Results, measure: str) -> dict[str, Series]:
    """Return how to draw each forecaster, by its short name: as in the figures of all of them."""
    names = short_names(rank(results.errors(measure)))
    return {name: SERIES[place % len(SERIES)] for place, name in enumerate(names.values())}


class Shown(NamedTuple):
    """A figure, the name of its file, its caption, and its text for readers who cannot see it."""

    name: str
    figure: Drawable
    caption: str
    alt: str


def reliability(results: Results, measure: str, stream: str) -> Shown:
    """Show observed against predicted for the best three."""
    names = short_names(rank(results.errors(measure)))
    tables: dict[str, ReliabilityTable] = {}
    for name, result in list(examples(results, measure, stream).items())[:3]:
        run = replay(result)
        diagram = ReliabilityDiagram.from_predictions(
            run.predictions, run.outcomes, name=names[name]
        )
        tables |= diagram.tables
    return Shown(
        "reliability",
        ReliabilityDiagram(tables, looks=looks_by_rank(results, measure)),
        f"Observed against predicted on {show_stream(stream)}, "
        f"{len(run.outcomes):,} rounds. Calibrated forecasts lie on the diagonal; the vertical "
        "lines are intervals of 95%, the strip below counts the rounds, and a faint point stands "
        "for less than 1 round in 200.",
        f"Reliability diagram of {', '.join(tables)} on {show_stream(stream)}.",
    )


def through_time(results: Results, measure: str, stream: str) -> Shown | None:
    """Show the error of the best four and of Restarting through time."""
    if measure not in MEASURES_THROUGH_TIME:
        return None
    names = short_names(rank(results.errors(measure)))
    found = examples(results, measure, stream)
    chosen = [
        name for place, name in enumerate(found) if place < 4 or name_of(name) == "restarting"
    ]
    runs = {names[name]: replay(found[name]) for name in chosen}
    figure = ErrorThroughTime.from_several(
        {name: run.predictions for name, run in runs.items()},
        {name: run.outcomes for name, run in runs.items()},
        measure=measure,
        looks=looks_by_rank(results, measure),
        restarts={
            name: restarts_of(run.forecaster)
            for name, run in runs.items()
            if isinstance(run.forecaster, Restarting)
        },
    )
    if not any(np.isfinite(curve.error).any() for curve in figure.curves.values()):
        return None
    same = all(run.agrees(measure) for run in runs.values())
    return Shown(
        "error-through-time",
        figure,
        f"{ERRORS[measure]} of all rounds so far on {show_stream(stream)}, seed "
        f"{found[chosen[0]].task.seed}. "
        + (
            "The last values are those of the results, to the last digit."
            if same
            else "The last values differ from those of the results, which another version made."
        )
        + ("" if figure.is_finite else " What is infinite is not drawn."),
        f"{ERRORS[measure]} through time of {', '.join(figure.curves)} on {show_stream(stream)}.",
    )


def restarts(results: Results, measure: str, stream: str) -> Shown | None:
    """Show how Restarting decides."""
    for name, result in examples(results, measure, stream).items():
        if name_of(name) == "restarting":
            # A new forecaster: the figure looks at it between the rounds.
            forecaster = result.task.make_forecaster(result.deviation)
            assert isinstance(forecaster, Restarting)
            outcomes = replay(result).outcomes
            figure = ErrorThroughTime.from_restarting(forecaster, outcomes, name=name)
            short = short_names(rank(results.errors(measure)))[name]
            figure = replace(figure, looks={name: looks_by_rank(results, measure)[short]})
            return Shown(
                "restarts",
                figure,
                f"How {name} decides on {show_stream(stream)}: when its error since the last "
                "restart passes the certificate, which is what its assumption explains, the world "
                "has changed and it starts afresh. Most stretches assume that nothing changes; "
                "now and then one assumes that much does, and has a high certificate.",
                f"Error since the last restart and certificate of {name}; it restarts "
                f"{len(figure.curves[name].restarts)} times.",
            )
    return None


def points(results: Results, measure: str, stream: str) -> Shown | None:
    """Show how Zoom's points spread."""
    found = examples(results, measure, stream)
    if "zoom" not in found:
        return None
    run = replay(found["zoom"])
    figure = PointSpread.from_predictions(run.predictions, means=run.means)
    return Shown(
        "points",
        figure,
        f"Zoom's points on {show_stream(stream)}, {len(figure.points)} in all: shaded where it "
        "predicted, with a ring for each point when it was first used. New points come where the "
        "outcomes lead.",
        f"Predictions of zoom through time on {show_stream(stream)}, beside the true mean.",
    )
