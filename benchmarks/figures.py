"""The figures of the README and the docs.

``python -m benchmarks figures`` writes them into docs/figures/. They have their own
background, so that they are readable on a dark page.
"""

from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.error import ADVERSARIES, FAMILIES
from calibrant import Epoch, Interval, Recalibrator, Restarting, Zoom
from calibrant.experiments.panels import panels
from calibrant.forecasters.rivals import FosterHart
from calibrant.measures import cal2
from calibrant.recalibrate import recalibrate_frame
from calibrant.report.figures import (
    ErrorGrowth,
    ErrorThroughTime,
    ReliabilityDiagram,
    Slope,
    WinnerMap,
)
from calibrant.report.style import as_svg
from calibrant.streams import drift, iid, load, play

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
HORIZONS = (10**3, 10**4, 10**5)
SEEDS = range(20)

FORECASTERS = {
    "Zoom": lambda T, seed: Zoom(seed=seed),
    "Foster-Hart": lambda T, seed: FosterHart.for_horizon(T, seed=seed),
    "Interval": lambda T, seed: Interval(horizon=T, seed=seed),
    "Restarting": lambda T, seed: Restarting(seed=seed),
    "Epoch": lambda T, seed: Epoch(seed=seed),
}
GROWTH = {
    "stationary: i.i.d. with mean 1/2": lambda T, seed: iid(T, mean=0.5, seed=seed),
    "drifting: a slow wave": lambda T, seed: drift(T, seed=seed),
}


def flights():
    """Return the error of a drifting model through time, before and after; as on docs/index.md."""
    stream = load("nycflights")
    columns = {"t": stream.times, "score": stream.scores, "outcome": stream.outcomes}
    done = recalibrate_frame(
        pl.DataFrame({**columns, **stream.columns}), score="score", outcome="outcome", time="t",
        available="landed", due="due", silence=1, seed=7,
    )  # fmt: skip
    return ErrorThroughTime.from_several(
        {"raw": stream.scores, "calibrated": done["calibrated"]}, stream.outcomes,
        measure="ece", window=4000, times=stream.times.astype("datetime64[m]"),
    )  # fmt: skip


def recalibrated():
    """Return the same scores in a reliability diagram, outcomes known at once."""
    stream = load("nycflights")
    calibrated = Recalibrator(seed=7).run(stream.scores, stream.outcomes)
    return ReliabilityDiagram.from_several(
        {"raw": stream.scores, "calibrated": calibrated}, stream.outcomes
    )


def growth():
    """Return the error against the number of rounds, on a stationary and on a drifting stream."""
    return panels(
        {
            title: ErrorGrowth.from_errors(
                {
                    name: {T: [error(make, stream, T, seed) for seed in SEEDS] for T in HORIZONS}
                    for name, make in FORECASTERS.items()
                },
                slopes=[Slope("T^(1/3)", 1 / 3)],
            )
            for title, stream in GROWTH.items()
        }
    )


def winners():
    """Return the best forecaster of each stream of the error benchmark."""
    rows = {
        stream: {
            name: np.mean([error(make, maker, HORIZONS[-1], seed) for seed in SEEDS])
            for name, make in FORECASTERS.items()
        }
        for stream, maker in FAMILIES.items()
    }
    rows |= {
        adversary: {
            name: np.mean([game_error(make, maker, HORIZONS[-1], seed) for seed in SEEDS])
            for name, make in FORECASTERS.items()
        }
        for adversary, maker in ADVERSARIES.items()
    }
    return WinnerMap.from_errors(rows)


def error(make, stream, horizon, seed):
    outcomes = stream(horizon, seed).outcomes
    return cal2(make(horizon, seed).run(outcomes), outcomes)


def game_error(make, adversary, horizon, seed):
    game = play(make(horizon, seed), adversary(horizon, seed), horizon)
    return cal2(game.predictions, game.outcomes)


FIGURES = {
    "flights": flights,
    "recalibrated": recalibrated,
    "error-against-rounds": growth,
    "who-wins-where": winners,
}


def write(progress):
    """Write the figures; return their paths."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in FIGURES.items():
        progress(f"figures: {name}")
        path = FOLDER / f"{name}.svg"
        path.write_text(as_svg(make()))
        yield path
