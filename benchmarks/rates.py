"""The claimed rates of forecasters, measured: in K, in T and in C, and for decision makers."""

import math

import numpy as np

from benchmarks.error import show
from benchmarks.hostile_paper import OPPONENTS
from benchmarks.tables import table
from calibrant import Interval, Zoom
from calibrant.experiments.table1 import DEVIATING, STEADY
from calibrant.forecasters.rivals import DyadicHedge, FosterHart, UCalibration
from calibrant.measures import cal1, cal2, decision_loss, u_calibration
from calibrant.streams import piecewise, play
from calibrant.streams.named import find

TITLE = "Rates"
SEEDS = range(10)
SEGMENTS = (1, 2, 5, 10, 20, 50, 100, 200)
HORIZONS = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
DEVIATIONS = (10, 100, 1_000, 3_162, 10_000, 20_000)


def staircase(K):
    return np.linspace(0.05, 0.95, K) if K > 1 else np.array([0.35])


LEVELS = {
    "drawn": lambda K, random: random.random(K),
    "staircase": lambda K, random: staircase(K),
    "staircase down": lambda K, random: staircase(K)[::-1],
    "two staircases": lambda K, random: np.concatenate(
        [staircase(K)[::2], staircase(K)[::-1][K % 2 :: 2]]
    ),
    "to and fro": lambda K, random: np.where(np.arange(K) % 2, 0.8, 0.2),
}


def slope(x, y):
    """Return the exponent of x that fits y."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def segments_tables(progress, forecaster, measure, title):
    for T in (100_000, 1_000_000):
        rows, worst = [], []
        for K in SEGMENTS:
            progress(f"rates: {title}, K = {K}, {T:,} rounds")
            means = {}
            for name, levels in LEVELS.items():
                errors = []
                for seed in SEEDS:
                    chosen = levels(K, np.random.default_rng([seed, K]))
                    outcomes = piecewise(T, levels=chosen.tolist(), seed=seed).outcomes
                    errors.append(measure(forecaster(seed=seed).run(outcomes), outcomes))
                means[name] = np.mean(errors)
            worst.append(max(means.values()))
            rows.append([K, *map(show, means.values()), show(worst[-1])])
            rows[-1].append(f"{worst[-1] / math.sqrt(T * K if measure is cal1 else K):.2f}")
        yield table(
            f"{title} on K segments, {T:,} rounds, mean of {len(SEEDS)} seeds; "
            f"the worst grows like K^{slope(SEGMENTS, worst):.2f}",
            ["K", *LEVELS, "the worst", "/ sqrt(K T)" if measure is cal1 else "/ sqrt(K)"],
            rows,
        )


def mean_cal1(forecaster, stream, T):
    """Return the mean Cal1 on a stream by its spec."""
    found = []
    for seed in SEEDS:
        outcomes = find(stream, rounds=T, seed=seed).outcomes
        found.append(cal1(forecaster(seed=seed).run(outcomes), outcomes))
    return float(np.mean(found))


def cal1_tables(progress, forecaster):
    title = f"{forecaster.__name__}'s Cal1"
    rows, worst = [], []
    for T in HORIZONS:
        progress(f"rates: {title}, {T:,} rounds")
        means = [mean_cal1(forecaster, world.stream(0, T), T) for world in STEADY]
        worst.append(max(means))
        rows.append([f"{T:,}", *map(show, means), f"{worst[-1] / math.sqrt(T):.2f}"])
    yield table(
        f"{title} with C = 0, mean of {len(SEEDS)} seeds; "
        f"the worst grows like T^{slope(HORIZONS, worst):.2f}",
        ["T", *(world.name for world in STEADY), "the worst / sqrt(T)"],
        rows,
    )
    T, rows, worst = 100_000, [], []
    for C in DEVIATIONS:
        progress(f"rates: {title}, C = {C:,}")
        means = [mean_cal1(forecaster, world.stream(C, T), T) for world in DEVIATING]
        worst.append(max(means))
        over = [worst[-1] / (math.sqrt(T) + (T * C) ** (1 / 3)), worst[-1] / math.sqrt(T)]
        over[1] /= (1 + C) ** (1 / 6)
        rows.append([f"{C:,}", *map(show, means), *(f"{each:.2f}" for each in over)])
    yield table(
        f"{title} after {T:,} rounds, mean of {len(SEEDS)} seeds; "
        f"the worst grows like C^{slope(DEVIATIONS, worst):.2f}",
        ["C", *(world.name for world in DEVIATING), "the worst / (sqrt(T) + (T C)^(1/3))",
         "the worst / (sqrt(T) (1 + C)^(1/6))"],
        rows,
    )  # fmt: skip


DECIDERS = {
    "Interval, C = 0": lambda T, seed: Interval.for_deviation(0, T, seed=seed),
    "Zoom": lambda T, seed: Zoom(seed=seed),
    "UCalibration": lambda T, seed: UCalibration.for_horizon(T, seed=seed),
    "DyadicHedge": lambda T, seed: DyadicHedge(seed=seed),
    "Foster-Hart": lambda T, seed: FosterHart.for_horizon(T, seed=seed),
    "Foster-Hart, sqrt(T)": lambda T, seed: FosterHart(math.isqrt(T), seed=seed),
}
MEASURES = (cal1, u_calibration, decision_loss)


def errors(make, hire, T, measures):
    """Return the mean of each measure over games."""
    found = []
    for seed in SEEDS:
        game = play(make(T, seed), hire(T, seed), T)
        found.append([measure(game.predictions, game.outcomes) for measure in measures])
    return np.mean(found, axis=0)


def hostile_tables(progress):
    sizes = (1_000, 10_000, 100_000)
    rows = {measure: [] for measure in MEASURES}
    for name, make in DECIDERS.items():
        found = []  # by size, opponent and measure
        for T in sizes:
            progress(f"rates: {name} against opponents, {T:,} rounds")
            found.append([errors(make, hire, T, MEASURES) for hire in OPPONENTS.values()])
        for measure, games in zip(MEASURES, np.moveaxis(found, 2, 0), strict=True):
            worst, by = games.max(axis=1), np.array([*OPPONENTS])[games.argmax(axis=1)]
            rows[measure].append([
                name, *(f"{show(e)} ({who})" for e, who in zip(worst, by, strict=True)),
                f"{slope(sizes, worst):.2f}", f"{worst[-1] / math.sqrt(sizes[-1]):.2f}",
            ])  # fmt: skip
    for measure in MEASURES:
        yield table(
            f"{measure.__name__}, the worst of {len(OPPONENTS)} opponents, "
            f"mean of {len(SEEDS)} seeds",
            ["forecaster", *(f"{T:,}" for T in sizes), "power of T", "/ sqrt(T)"],
            rows[measure],
        )


def sign_preservation_table(progress):
    sizes, rows = (1_000, 10_000, 100_000, 1_000_000), []
    for name, make in DECIDERS.items():
        progress(f"rates: sign preservation against {name}")
        found = [errors(make, OPPONENTS["SignPreservation"], T, [cal1])[0] for T in sizes]
        rows.append([name, *map(show, found), f"{slope(sizes, found):.2f}"])
    yield table(
        f"The Cal1 that SignPreservation costs, mean of {len(SEEDS)} seeds; "
        "nobody can keep it below T^0.528 against all opponents",
        ["forecaster", *(f"{T:,}" for T in sizes), "power of T"],
        rows,
    )


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield from segments_tables(progress, Zoom, cal2, "Zoom's Cal2")
    yield from segments_tables(progress, DyadicHedge, cal1, "DyadicHedge's Cal1")
    for forecaster in (Zoom, DyadicHedge):
        yield from cal1_tables(progress, forecaster)
    yield from hostile_tables(progress)
    yield from sign_preservation_table(progress)
