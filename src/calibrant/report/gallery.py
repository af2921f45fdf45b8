"""The games that a report plays again from the results, each as a figure with its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats
from calibrant._specs import name_of
from calibrant.experiments import Result, Results
from calibrant.experiments.results import ERRORS, rank
from calibrant.experiments.tasks import play_task
from calibrant.forecasters import Forecaster, Restarting
from calibrant.measures import ReliabilityTable, Scorecard
from calibrant.report.figures import ErrorThroughTime, PointSpread, ReliabilityDiagram
from calibrant.report.figures.error_through_time import MEASURES_THROUGH_TIME
from calibrant.report.naming import short_names, show_stream
from calibrant.report.style import Drawable
from calibrant.streams import names as real_streams

#: Streams that show best how a forecaster follows a changing world, the first that is there.
MOVING = ("piecewise", "drift", "random_walk", "seasonal", "corrupted", "chaser")
#: A game of more rounds is not played again for a picture.
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True, eq=False)
class Replay:
    """A game played again.

    Attributes
    ----------
    result : Result
        What the results say of it.
    forecaster : Forecaster
        Who played it, after the last round.
    predictions, outcomes : array of float
        What was said, and what happened.
    means : array of float or None
        The probability with which each outcome was drawn, where it is known.
    """

    result: Result
    forecaster: Forecaster
    predictions: Floats
    outcomes: Floats
    means: Floats | None

    def agrees(self, measure: str) -> bool:
        """Whether the game gave the very number that the results hold."""
        card = Scorecard()
        card.extend(self.predictions, self.outcomes)
        return bool(getattr(card, measure) == self.result.values[measure])


def replay(result: Result) -> Replay:
    """Play a game of the results again.

    Examples
    --------
    >>> from calibrant.experiments import Task
    >>> game = replay(Result.of(Task("epoch", "contrarian", 50), {}))
    >>> len(game.outcomes), game.means is None
    (50, True)
    """
    task = result.task
    source = task.source()
    forecaster = task.make_forecaster(result.deviation)
    predictions, outcomes = play_task(forecaster, source, task.rounds)
    return Replay(result, forecaster, predictions, outcomes, source.means)


def moving_stream(results: Results, measure: str) -> str | None:
    """Return the stream that shows best how a forecaster follows a changing world.

    Examples
    --------
    >>> from calibrant.experiments import Task
    >>> results = Results([Result.of(Task("zoom", stream, 100), {"cal2": 1.0})
    ...                    for stream in ("iid:mean=0.5", "drift")])
    >>> moving_stream(results, "cal2")
    'drift'
    """
    streams = _short_enough(results, measure)
    for family in MOVING:
        for stream in streams:
            if name_of(stream) == family:
                return stream
    return streams[0] if streams else None


def real_stream(results: Results, measure: str) -> str | None:
    """Return the real stream with the most rounds, or else a moving one.

    Examples
    --------
    >>> from calibrant.experiments import Task
    >>> results = Results([Result.of(Task("zoom", stream, 100), {"cal2": 1.0})
    ...                    for stream in ("drift", "seattle_rain")])
    >>> real_stream(results, "cal2")
    'seattle_rain'
    """
    rounds = results.longest(measure)
    real = [stream for stream in _short_enough(results, measure) if stream in real_streams()]
    # Of those with as many rounds, the flights: their rate drifts most.
    return max(
        real, key=lambda stream: (rounds[stream], stream == "nycflights"),
        default=moving_stream(results, measure),
    )  # fmt: skip


def games(results: Results, measure: str, stream: str) -> dict[str, Result]:
    """Return the longest game of each forecaster on a stream, with the first seed, the best first.

    Examples
    --------
    >>> from calibrant.experiments import Task
    >>> results = Results([Result.of(Task("zoom", "drift", T), {"cal2": 1.0})
    ...                    for T in (100, 1000)])
    >>> games(results, "cal2", "drift")["zoom"].task.rounds
    1000
    """
    rounds = results.longest(measure)[stream]
    found: dict[str, Result] = {}
    for result in sorted(results.measured(measure), key=lambda result: result.task.seed):
        if result.task.stream == stream and result.task.rounds == rounds:
            found.setdefault(result.task.forecaster, result)
    return {name: found[name] for name in results.errors(measure)[stream]}


def _short_enough(results: Results, measure: str) -> list[str]:
    return [stream for stream, rounds in results.longest(measure).items() if rounds <= MOST_ROUNDS]


class Shown(NamedTuple):
    """A figure, the name of its file, and what is said of it to those who see it or cannot."""

    name: str
    figure: Drawable
    caption: str
    alt: str


def reliability(results: Results, measure: str) -> Shown | None:
    """Show what the best three said against what happened, on a real stream."""
    stream = real_stream(results, measure)
    if stream is None:
        return None
    played = games(results, measure, stream)
    names = short_names(rank(results.errors(measure)))
    tables: dict[str, ReliabilityTable] = {}
    for name, result in list(played.items())[:3]:
        game = replay(result)
        tables |= ReliabilityDiagram.from_predictions(
            game.predictions, game.outcomes, name=names[name]
        ).tables
    return Shown(
        "reliability",
        ReliabilityDiagram(tables),
        f"What was said against what happened on {show_stream(stream)}, "
        f"{len(game.outcomes):,} rounds. Calibrated forecasts lie on the diagonal; the vertical "
        "lines are intervals of 95 %, the strip below counts the rounds, and a faint point stands "
        "for less than 1 round in 200.",
        f"Reliability diagram of {', '.join(tables)} on {show_stream(stream)}.",
    )


def through_time(results: Results, measure: str) -> Shown | None:
    """Show the error of the best four and of Restarting through time, on a moving stream."""
    stream = moving_stream(results, measure)
    if stream is None or measure not in MEASURES_THROUGH_TIME:
        return None
    played = games(results, measure, stream)
    names = short_names(rank(results.errors(measure)))
    best = list(played)
    chosen = best[:4] + [name for name in best[4:] if name_of(name) == "restarting"]
    replays = {name: replay(played[name]) for name in chosen}
    same = all(game.agrees(measure) for game in replays.values())
    figure = ErrorThroughTime.from_several(
        {names[name]: game.predictions for name, game in replays.items()},
        {names[name]: game.outcomes for name, game in replays.items()},
        measure=measure,
        restarts={names[name]: restarts_of(game.forecaster) for name, game in replays.items()},
    )
    if not any(np.isfinite(curve.error).any() for curve in figure.curves.values()):
        return None
    return Shown(
        "error-through-time",
        figure,
        f"{ERRORS[measure]} of all rounds so far on {show_stream(stream)}, seed "
        f"{played[best[0]].task.seed}. "
        + (
            "The last values are those of the results, to the last digit."
            if same
            else "The last values differ from those of the results, which another version made."
        )
        + ("" if figure.is_finite else " What is infinite is not drawn."),
        f"{ERRORS[measure]} through time of {', '.join(figure.curves)} on {show_stream(stream)}.",
    )


def restarts(results: Results, measure: str) -> Shown | None:
    """Show how Restarting decides, on a moving stream."""
    stream = moving_stream(results, measure)
    if stream is None:
        return None
    for name, result in games(results, measure, stream).items():
        if name_of(name) == "restarting":
            outcomes = replay(result).outcomes
            # A fresh one: the figure looks at it between the rounds.
            fresh = result.task.make_forecaster(result.deviation)
            assert isinstance(fresh, Restarting)
            figure = ErrorThroughTime.from_restarting(fresh, outcomes, name=name)
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


def points(results: Results, measure: str) -> Shown | None:
    """Show how Zoom's points spread, on a moving stream."""
    stream = moving_stream(results, measure)
    played = {} if stream is None else games(results, measure, stream)
    if stream is None or "zoom" not in played:
        return None
    game = replay(played["zoom"])
    figure = PointSpread.from_predictions(game.predictions, means=game.means)
    return Shown(
        "points",
        figure,
        f"Zoom's points on {show_stream(stream)}, {len(figure.points)} in all: shaded where it "
        "predicted, with a ring for each point when it was first used. New points come where the "
        "outcomes lead.",
        f"Predictions of zoom through time on {show_stream(stream)}, beside the true mean.",
    )


def restarts_of(forecaster: Forecaster) -> list[int]:
    """Return the rounds in which a forecaster restarted; none for one that never does."""
    if not isinstance(forecaster, Restarting):
        return []
    return [stretch.start for stretch in forecaster.history if stretch.start > 0]
