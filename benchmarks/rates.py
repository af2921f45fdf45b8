"""Rates that are claimed of one forecaster, measured: in K, in T and in C, and for who decides."""

import math

import numpy as np

from benchmarks.error import show
from benchmarks.tables import table
from calibrant import Interval, Zoom
from calibrant.experiments.table1 import DEVIATING, STEADY
from calibrant.forecasters.rivals import FosterHart, UCalibration
from calibrant.measures import cal1, cal2, decision_loss, u_calibration
from calibrant.streams import Chaser, Contrarian, Drag, Greedy, SignPreservation, piecewise, play
from calibrant.streams.named import find

TITLE = "Rates"
SEEDS = range(10)
SEGMENTS = {100_000: (1, 2, 5, 10, 20, 50, 100, 200), 1_000_000: (1, 10, 50, 200)}
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


def segments_table(progress):
    for T, sizes in SEGMENTS.items():
        seeds = SEEDS if T <= 10**5 else range(3)
        rows, worst = [], []
        for K in sizes:
            progress(f"rates: K = {K}, {T:,} rounds")
            means = {}
            for name, levels in LEVELS.items():
                errors = []
                for seed in seeds:
                    chosen = levels(K, np.random.default_rng([seed, K]))
                    outcomes = piecewise(T, levels=chosen.tolist(), seed=seed).outcomes
                    errors.append(cal2(Zoom(seed=seed).run(outcomes), outcomes))
                means[name] = np.mean(errors)
            worst.append(max(means.values()))
            rows.append([K, *map(show, means.values()), show(worst[-1])])
        yield table(
            f"Zoom's Cal2 on K segments, {T:,} rounds, mean of {len(seeds)} seeds; "
            f"the worst grows like K^{slope(sizes, worst):.2f}",
            ["K", *LEVELS, "the worst"],
            rows,
        )


def mean_cal1(stream, T):
    """Return the mean Cal1 of Zoom on a stream by its spec."""
    found = []
    for seed in SEEDS:
        outcomes = find(stream, rounds=T, seed=seed).outcomes
        found.append(cal1(Zoom(seed=seed).run(outcomes), outcomes))
    return float(np.mean(found))


def cal1_tables(progress):
    rows, worst = [], []
    for T in HORIZONS:
        progress(f"rates: Cal1 of Zoom, {T:,} rounds")
        means = [mean_cal1(world.stream(0, T), T) for world in STEADY]
        worst.append(max(means))
        rows.append([f"{T:,}", *map(show, means), f"{worst[-1] / math.sqrt(T):.2f}"])
    yield table(
        f"Zoom's Cal1 with C = 0, mean of {len(SEEDS)} seeds; "
        f"the worst grows like T^{slope(HORIZONS, worst):.2f}",
        ["T", *(world.name for world in STEADY), "the worst / sqrt(T)"],
        rows,
    )
    T, rows, worst = 100_000, [], []
    for C in DEVIATIONS:
        progress(f"rates: Cal1 of Zoom, C = {C:,}")
        means = [mean_cal1(world.stream(C, T), T) for world in DEVIATING]
        worst.append(max(means))
        over = [worst[-1] / (math.sqrt(T) + (T * C) ** (1 / 3)), worst[-1] / math.sqrt(T)]
        over[1] /= (1 + C) ** (1 / 6)
        rows.append([f"{C:,}", *map(show, means), *(f"{each:.2f}" for each in over)])
    yield table(
        f"Zoom's Cal1 after {T:,} rounds, mean of {len(SEEDS)} seeds; "
        f"the worst grows like C^{slope(DEVIATIONS, worst):.2f}",
        ["C", *(world.name for world in DEVIATING), "the worst / (sqrt(T) + (T C)^(1/3))",
         "the worst / (sqrt(T) (1 + C)^(1/6))"],
        rows,
    )  # fmt: skip


DECIDERS = {
    "Interval, C = 0": lambda T, seed: Interval.for_deviation(0, T, seed=seed),
    "Zoom": lambda T, seed: Zoom(seed=seed),
    "UCalibration": lambda T, seed: UCalibration.for_horizon(T, seed=seed),
    "Foster-Hart": lambda T, seed: FosterHart.for_horizon(T, seed=seed),
    "Foster-Hart, sqrt(T)": lambda T, seed: FosterHart(math.isqrt(T), seed=seed),
}
OPPONENTS = {
    "Contrarian": lambda T, seed: Contrarian(),
    "Greedy": lambda T, seed: Greedy("l1"),
    "Chaser": lambda T, seed: Chaser(seed=seed),
    "Drag": lambda T, seed: Drag(T),
    "SignPreservation": lambda T, seed: SignPreservation(T, seed=seed),
}


def decision_tables(progress):
    sizes, seeds = (1_000, 10_000, 100_000), range(5)
    for measure in (u_calibration, decision_loss):
        rows = []
        for name, make in DECIDERS.items():
            row, worst = [name], []
            for T in sizes:
                progress(f"rates: {measure.__name__} of {name}, {T:,} rounds")
                means = {}
                for opponent, hire in OPPONENTS.items():
                    games = [play(make(T, seed), hire(T, seed), T) for seed in seeds]
                    means[opponent] = np.mean(
                        [measure(game.predictions, game.outcomes) for game in games]
                    )
                by = max(means, key=means.get)
                worst.append(means[by])
                row.append(f"{show(worst[-1])} ({by})")
            rows.append([*row, f"{slope(sizes, worst):.2f}", f"{worst[-1] / math.sqrt(T):.2f}"])
        yield table(
            f"{measure.__name__}, the worst of {len(OPPONENTS)} opponents, "
            f"mean of {len(seeds)} seeds",
            ["forecaster", *(f"{T:,}" for T in sizes), "power of T", "/ sqrt(T)"],
            rows,
        )


def tables(progress):
    """Return the tables of this module, one after the other."""
    for part in (segments_table, cal1_tables, decision_tables):
        yield from part(progress)
