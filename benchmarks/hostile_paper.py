"""Zoom, the paper's algorithms and rivals against every opponent that plays a forecaster."""

import numpy as np

from benchmarks.tables import table
from calibrant import Epoch, Interval, Refined, Restarting, Swap, Zoom
from calibrant.forecasters.rivals import DyadicHedge, FosterHart, UCalibration
from calibrant.measures import cal1, cal2
from calibrant.streams import (
    Chaser,
    Contrarian,
    Drag,
    Greedy,
    Learned,
    March,
    SignPreservation,
    play,
)

TITLE = "Zoom, the paper's algorithms and rivals on hostile streams"
HORIZONS = (10_000, 100_000, 1_000_000)
SEEDS = 10
LONGEST = {"Zoom", "Epoch", "Foster-Hart (T)", "DyadicHedge"}  # who plays the last of them
FIRST_SEED = 400  # no learned opponent saw these

FORECASTERS = {
    "Zoom": lambda T, seed: Zoom(seed=seed),
    "Epoch": lambda T, seed: Epoch(seed=seed),
    "Foster-Hart (T)": lambda T, seed: FosterHart.for_horizon(T, seed=seed),
    "DyadicHedge": lambda T, seed: DyadicHedge(seed=seed),
    "Interval (T)": lambda T, seed: Interval(horizon=T, seed=seed),
    "Swap (T)": lambda T, seed: Swap(horizon=T, seed=seed),
    "Refined (C = T)": lambda T, seed: Refined("l2", deviation=T, horizon=T, seed=seed),
    "Restarting": lambda T, seed: Restarting("l2", seed=seed),
    "UCalibration (T)": lambda T, seed: UCalibration.for_horizon(T, seed=seed),
}


def fresher(T):
    """Return a Drag that loads the fresher point, with the width that is worst for scores."""
    return Drag(T, width=0.7 * T ** (-1 / 3), fresher=True)


OPPONENTS = {
    "Contrarian": lambda T, seed: Contrarian(),
    "Greedy, l1": lambda T, seed: Greedy("l1"),
    "Greedy, l2": lambda T, seed: Greedy("l2"),
    "Chaser": lambda T, seed: Chaser(seed=seed),
    "March": lambda T, seed: March(T),
    "Drag": lambda T, seed: Drag(T),
    "Drag, 3 sweeps": lambda T, seed: Drag(T, sweeps=3.0),
    "Drag, fresher": lambda T, seed: fresher(T),
    "SignPreservation": lambda T, seed: SignPreservation(T, seed=seed),
    "Learned, of events": lambda T, seed: Learned(T),
    "Learned, of Zoom": lambda T, seed: Learned(T, against="zoom"),
}


def tables(progress):
    """Return the tables of this module, one after the other."""
    for T in HORIZONS:
        who = {name: make for name, make in FORECASTERS.items() if T < 10**6 or name in LONGEST}
        errors = np.empty((2, len(OPPONENTS), len(who)))
        for i, (opponent, hire) in enumerate(OPPONENTS.items()):
            for j, (name, make) in enumerate(who.items()):
                progress(f"hostile paper: {name}, {opponent}, {T:,}")
                seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
                games = [play(make(T, seed), hire(T, seed), T) for seed in seeds]
                for k, measure in enumerate((cal1, cal2)):
                    found = [measure(game.predictions, game.outcomes) for game in games]
                    errors[k, i, j] = np.mean(found)
        for measure, values in zip(("Cal2", "Cal1"), errors[::-1], strict=True):
            rows = [
                [name, *(f"{value:,.0f}" for value in row)]
                for name, row in zip(
                    [*OPPONENTS, "the worst"], [*values, values.max(axis=0)], strict=True
                )
            ]
            yield table(
                f"{measure} after {T:,} rounds, mean of {SEEDS} seeds", ["opponent", *who], rows
            )
