"""Zoom under attack: March, a search for stronger settings, oblivious streams, the earlier rule.

The earlier rule exists only in plain Python, so its figures have fewer seeds and rounds.
"""

import math

import numpy as np

from benchmarks.error import EXTREMES, FAMILIES, show
from benchmarks.tables import table
from calibrant import Zoom
from calibrant.forecasters.rivals import FosterHart
from calibrant.measures import Scorecard, cal2
from calibrant.streams import March, play
from naive.march import NaiveMarch
from naive.zoom_before import NaiveZoomBefore

TITLE = "Zoom under attack"
HORIZONS = (10**4, 10**5, 10**6)
SEEDS = range(10)
# The strongest settings against the rule before, and the level of each horizon.
BEFORE = {"ratio": 2.0, "push": 1.0, "lead": 2.0}
LEVELS = {10**4: 5, 10**5: 6}
TRIALS = 100  # settings of March tried, and waves


def marched(horizon, seed, **settings):
    """Return Cal2, KLCal, the points and the certificate of Zoom after a march."""
    forecaster, card = Zoom(seed=seed), Scorecard()
    game = play(forecaster, March(horizon, **settings), horizon)
    card.extend(game.predictions, game.outcomes)
    points = len(forecaster.grid().points)
    return card.cal2, card.klcal, points, forecaster.certificate()


def growth(horizons, errors):
    """Return the exponent of T that fits errors at several horizons."""
    return np.polyfit(np.log(horizons), np.log(errors), 1)[0]


def march_table(progress):
    rows, means = [], {}
    for horizon in HORIZONS:
        progress(f"attack: March, {horizon:,} rounds")
        results = np.array([marched(horizon, seed) for seed in SEEDS])
        means[horizon] = results[:, 0].mean()
        rows.append([f"Zoom, {horizon:,}", *map(show, results.mean(axis=0)), str(len(SEEDS))])
    for horizon, seeds in ((10**4, SEEDS), (10**5, SEEDS)):
        progress(f"attack: March against the rule before, {horizon:,} rounds")
        card = []
        for seed in seeds:
            march = NaiveMarch(LEVELS[horizon], **BEFORE)
            card.append(cal2(*march.play(NaiveZoomBefore(seed=seed), horizon)))
        rows.append([f"the rule before, {horizon:,}", show(np.mean(card)), "", "", "", len(seeds)])
    exponent = growth(list(means), list(means.values()))
    yield table(
        f"March, by rounds; Zoom's Cal2 grows like T^{exponent:.2f}",
        ["forecaster", "Cal2", "KLCal", "points", "certificate", "seeds"],
        rows,
    )


def settings_table(progress):
    """Try settings of March at random; score the best on seeds not used to find it."""
    rows = []
    for horizon, trials, seeds in ((10**4, TRIALS, 10), (10**5, TRIALS, 4), (10**6, 15, 2)):
        progress(f"attack: settings of March, {horizon:,} rounds")
        random, tried = np.random.default_rng(horizon), []
        for _ in range(trials):
            settings = {
                "ratio": float(np.exp(random.uniform(0, math.log(1e5)))),
                "push": float(random.choice([0, 0.5, 1, 2])),
                "lead": float(random.choice([0, 1, 2, 4])),
            }
            score = np.mean([marched(horizon, 1000 + s, **settings)[0] for s in range(seeds)])
            tried.append((score, settings))
        score, best = max(tried, key=lambda pair: pair[0])
        fresh = np.mean([marched(horizon, 2000 + s, **best)[0] for s in range(3 * seeds)])
        ours = np.mean([marched(horizon, 2000 + s)[0] for s in range(3 * seeds)])
        words = ", ".join(f"{name} {value:.3g}" for name, value in best.items())
        rows.append([f"{horizon:,}", words, show(score), show(fresh), show(ours)])
    yield table(
        "The strongest of random settings of March",
        ["rounds", "settings", "Cal2 when found", "on other seeds", "the defaults there"],
        rows,
    )


SHAPES = {
    "sine": lambda x: 0.5 + 0.5 * np.sin(2 * math.pi * x),
    "saw": lambda x: x % 1,
    "triangle": lambda x: np.abs(1 - 2 * (x % 1)),
    "square": lambda x: np.floor(2 * x) % 2,
}


def wave(rounds, random):
    """Return a name and outcomes: a wave, drawn from, dithered, or taken as it is."""
    shape, kind = random.choice(list(SHAPES)), random.choice(["drawn", "dithered", "exact"])
    periods = math.exp(random.uniform(math.log(0.3), math.log(rounds / 20)))
    low, high = np.sort(random.random(2)) if random.random() < 0.7 else (0.0, 1.0)
    means = low + (high - low) * SHAPES[shape](periods * np.arange(rounds) / rounds)
    outcomes = means
    if kind == "drawn":
        outcomes = (random.random(rounds) < means).astype(float)
    if kind == "dithered":
        outcomes = np.clip(np.diff(np.floor(np.cumsum(means) + 0.5), prepend=0), 0, 1)
    return f"{shape}, {periods:.3g} periods in [{low:.2f}, {high:.2f}], {kind}", outcomes


def waves_table(progress):
    rows = []
    for horizon, trials in ((10**4, 4 * TRIALS), (10**5, 2 * TRIALS), (10**6, TRIALS // 2)):
        progress(f"attack: waves, {horizon:,} rounds")
        random, worst = np.random.default_rng([horizon, 1]), (0.0, "", None)
        for _ in range(trials):
            name, outcomes = wave(horizon, random)
            error = cal2(Zoom(seed=0).run(outcomes), outcomes)
            worst = max(worst, (error, name, outcomes), key=lambda entry: entry[0])
        _, name, outcomes = worst
        again = np.mean([cal2(Zoom(seed=s).run(outcomes), outcomes) for s in range(1, 6)])
        rival = cal2(FosterHart.for_horizon(horizon, seed=1).run(outcomes), outcomes)
        rows.append([f"{horizon:,}", str(trials), name, show(again), show(rival)])
    yield table(
        "The worst of random waves",
        ["rounds", "waves", "the worst for Zoom", "Cal2, other seeds", "Foster-Hart"],
        rows,
    )


def before_table(progress, horizon=10**4, seeds=range(20)):
    rows, logs = [], []
    for name, make in {**FAMILIES, **EXTREMES}.items():
        progress(f"attack: the rule before on {name}")
        outcomes = [make(horizon, seed).outcomes for seed in seeds]
        pairs = [
            (cal2(Zoom(seed=s).run(y), y), cal2(NaiveZoomBefore(seed=s).run(y.tolist()), y))
            for s, y in zip(seeds, outcomes, strict=True)
        ]
        now, before = np.mean(pairs, axis=0)
        logs.append(math.log(now / before))
        rows.append([name, show(now), show(before), f"{now / before:.2f}"])
    rows.append(["geometric mean", "", "", f"{math.exp(np.mean(logs)):.2f}"])
    yield table(
        f"Cal2 after {horizon:,} rounds, mean over {len(seeds)} seeds",
        ["stream", "Zoom", "the rule before", "ratio"],
        rows,
    )


def tables(progress):
    """Return the tables of this module, one after the other."""
    for part in (march_table, settings_table, waves_table, before_table):
        yield from part(progress)
