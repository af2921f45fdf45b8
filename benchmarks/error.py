"""Exact calibration errors of Zoom, the stationary baseline and Foster-Hart, over 20 seeds."""

import numpy as np

from benchmarks.tables import table
from calibrant import Epoch, Zoom
from calibrant.forecasters.rivals import FosterHart
from calibrant.measures import Scorecard
from calibrant.streams import (
    Chaser,
    Contrarian,
    Greedy,
    March,
    alternating,
    corrupted,
    drift,
    iid,
    piecewise,
    play,
    random_walk,
    seasonal,
)

TITLE = "Calibration error"
AFTER = "Cal2 after 100,000 rounds, mean over 20 seeds"
IN_DOCS = {"docs/results.md": (AFTER,)}
SEEDS = range(20)
HORIZONS = (10**4, 10**5, 10**6)

# Families with a rate that stays away from 0 and 1: these enter the geometric means.
FAMILIES = {
    "iid 0.5": lambda T, seed: iid(T, mean=0.5, seed=seed),
    "iid 0.1": lambda T, seed: iid(T, mean=0.1, seed=seed),
    "piecewise, K = 20": lambda T, seed: piecewise(T, segments=20, seed=seed),
    "piecewise, K = 100": lambda T, seed: piecewise(T, segments=100, seed=seed),
    "drift": lambda T, seed: drift(T, seed=seed),
    "seasonal": lambda T, seed: seasonal(T, seed=seed),
    "random walk": lambda T, seed: random_walk(T, seed=seed),
    "corrupted, scattered": lambda T, seed: corrupted(T, budget=T / 10, seed=seed),
    "corrupted, burst": lambda T, seed: corrupted(T, budget=T / 10, shape="burst", seed=seed),
    "alternating": lambda T, seed: alternating(T, seed=seed),
}
# Rates at or near 0 and 1, which KLCal is most sensitive to.
EXTREMES = {
    "iid 0.0005": lambda T, seed: iid(T, mean=0.0005, seed=seed),
    "all zeros": lambda T, seed: iid(T, mean=0.0, seed=seed),
    "all ones": lambda T, seed: iid(T, mean=1.0, seed=seed),
}
ADVERSARIES = {
    "Greedy l1": lambda T, seed: Greedy("l1"),
    "Greedy l2": lambda T, seed: Greedy("l2"),
    "Contrarian": lambda T, seed: Contrarian(),
    "Chaser": lambda T, seed: Chaser(seed=seed),
    "March": lambda T, seed: March(T),
}
STREAMS = [*FAMILIES, *EXTREMES, *ADVERSARIES]
FORECASTERS = {
    "Zoom": lambda T, seed: Zoom(seed=seed),
    "Foster-Hart": lambda T, seed: FosterHart.for_horizon(T, seed=seed),
    "Epoch": lambda T, seed: Epoch(seed=seed),
}
ERROR_NAMES = ("Cal1", "Cal2", "KLCal")


def errors(name, stream, horizon, seed):
    """Return Cal1, Cal2 and KLCal of one forecaster on one stream."""
    forecaster = FORECASTERS[name](horizon, seed)
    if stream in ADVERSARIES:
        game = play(forecaster, ADVERSARIES[stream](horizon, seed), horizon)
        predictions, outcomes = game.predictions, game.outcomes
    else:
        outcomes = {**FAMILIES, **EXTREMES}[stream](horizon, seed).outcomes
        predictions = forecaster.run(outcomes)
    card = Scorecard()
    card.extend(predictions, outcomes)
    klcal = card.klcal
    if name == "Foster-Hart":
        # It predicts 0 and 1, which makes KLCal infinite; clipping is its best defence.
        clipped = Scorecard()
        clipped.extend(np.clip(predictions, 1 / (horizon + 1), horizon / (horizon + 1)), outcomes)
        klcal = clipped.klcal
    return card.cal1, card.cal2, klcal


def measure_all(progress, horizons=HORIZONS, seeds=SEEDS):
    """Return errors[horizon][forecaster][stream]: an array of seeds by measures."""
    return {
        horizon: {
            name: {
                stream: np.array([errors(name, stream, horizon, seed) for seed in seeds])
                for stream in STREAMS
                if progress(f"error: {name}, {horizon:,} rounds of {stream}") is None
            }
            for name in FORECASTERS
        }
        for horizon in horizons
    }


def ratio(results, horizon, which, streams):
    """Return the geometric mean over streams of Zoom's mean error over Foster-Hart's."""
    logs = [
        np.log(results[horizon]["Zoom"][stream][:, which].mean())
        - np.log(results[horizon]["Foster-Hart"][stream][:, which].mean())
        for stream in streams
    ]
    return float(np.exp(np.mean(logs)))


def show(value):
    return "inf" if np.isinf(value) else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def tables(progress):
    """Return the tables of this module, one after the other."""
    results = measure_all(progress)
    for which, measure in enumerate(ERROR_NAMES):
        head = ["stream"] + [f"{name}, {T:,}" for name in FORECASTERS for T in HORIZONS]
        rows = [
            [stream]
            + [
                show(results[T][name][stream][:, which].mean())
                for name in FORECASTERS
                for T in HORIZONS
            ]
            for stream in STREAMS
        ]
        yield table(f"{measure}, mean over {len(SEEDS)} seeds", head, rows)
    yield table(
        AFTER,
        ["stream", *FORECASTERS],
        [
            [stream, *(show(results[10**5][name][stream][:, 1].mean()) for name in FORECASTERS)]
            for stream in STREAMS
        ],
    )
    groups = {
        "the ten families": list(FAMILIES),
        # Without March, who knows Zoom's grid and has to guess at the others.
        "families and adversaries": [*FAMILIES, *(name for name in ADVERSARIES if name != "March")],
    }
    rows = [
        [f"{measure}, {group}"] + [f"{ratio(results, T, which, names):.2f}" for T in HORIZONS]
        for which, measure in enumerate(ERROR_NAMES)
        for group, names in groups.items()
    ]
    yield table(
        "Zoom over Foster-Hart, geometric mean over streams",
        ["measure and streams"] + [f"{T:,} rounds" for T in HORIZONS],
        rows,
    )
