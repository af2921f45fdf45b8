"""The games that a report plays again, each as a figure with its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats
from calibrant.forecasters import Forecaster, Restarting
from calibrant.measures import ReliabilityTable
from calibrant.report.examples import forecaster_of, games, moving_stream, real_stream, replay
from calibrant.report.figures import ErrorThroughTime, PointSpread, ReliabilityDiagram
from calibrant.report.figures.error_through_time import FOLLOWED
from calibrant.report.naming import short_names, show_stream
from calibrant.report.results import ERRORS, Results
from calibrant.report.style import Drawable


class Shown(NamedTuple):
    """A figure, the name of its file, and what is said of it to those who see it or cannot."""

    name: str
    figure: Drawable
    caption: str
    alt: str


def reliability(results: Results, measure: str, order: Sequence[str]) -> Shown | None:
    """Show what the best three said against what happened, on a real stream."""
    stream = real_stream(results, measure)
    if stream is None:
        return None
    played, names = games(results, measure, stream), short_names(order)
    tables: dict[str, ReliabilityTable] = {}
    for name in [name for name in order if name in played][:3]:
        game = replay(played[name])
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


def through_time(results: Results, measure: str, order: Sequence[str]) -> Shown | None:
    """Show the error of the best four and of Restarting through time, on a moving stream."""
    stream = moving_stream(results, measure)
    if stream is None or measure not in FOLLOWED:
        return None
    played, names = games(results, measure, stream), short_names(order)
    best = [name for name in order if name in played]
    chosen = best[:4] + [name for name in best[4:] if name.startswith("restarting")]
    replays = {name: replay(played[name]) for name in chosen}
    same = all(game.agrees(measure) for game in replays.values())
    figure = ErrorThroughTime.from_several(
        {names[name]: game.predictions for name, game in replays.items()},
        {names[name]: game.outcomes for name, game in replays.items()},
        measure=measure,
        restarts={
            names[name]: restarts_of(forecaster_of(game.played), game.outcomes)
            for name, game in replays.items()
        },
    )
    if not any(np.isfinite(curve.error).any() for curve in figure.curves.values()):
        return None
    return Shown(
        "error-through-time",
        figure,
        f"{ERRORS[measure]} of all rounds so far on {show_stream(stream)}, seed "
        f"{played[best[0]].seed}. "
        + (
            "The last values are those of the results, to the last digit."
            if same
            else "The last values differ from those of the results, which another version made."
        )
        + ("" if figure.is_finite else " What is infinite is not drawn."),
        f"{ERRORS[measure]} through time of {', '.join(figure.curves)} on {show_stream(stream)}.",
    )


def restarts(results: Results, measure: str, order: Sequence[str]) -> Shown | None:
    """Show how Restarting decides, on a moving stream."""
    stream = moving_stream(results, measure)
    played = {} if stream is None else games(results, measure, stream)
    for name in order:
        fresh = forecaster_of(played[name]) if name in played else None
        if stream is not None and isinstance(fresh, Restarting):
            outcomes = replay(played[name]).outcomes
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


def points(results: Results, measure: str, order: Sequence[str]) -> Shown | None:
    """Show how Zoom's points spread, on a moving stream."""
    stream = moving_stream(results, measure)
    if stream is None or "zoom" not in order:
        return None
    played = games(results, measure, stream)
    if "zoom" not in played:
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


def restarts_of(forecaster: Forecaster, outcomes: Floats) -> list[int]:
    """Return the rounds in which a forecaster restarts; none for one that never does."""
    if not isinstance(forecaster, Restarting):
        return []
    forecaster.run(outcomes)
    return [stretch.start for stretch in forecaster.history if stretch.start > 0]
