"""Recalibrators side by side: real scores, hostile scores, speed."""

import time

import numpy as np

from benchmarks import speed
from benchmarks.hostile import MAPS, hostile
from benchmarks.opponents import OPPONENTS, SCORES, game
from benchmarks.peers import RiverPair
from benchmarks.scored import ece_by_window, windowed_ece
from benchmarks.tables import table
from calibrant import streams
from calibrant.forecasters.rivals import AbernethyBartlettHazan
from calibrant.measures import brier, cal2, log_loss
from calibrant.recalibrate import Recalibrator
from calibrant.recalibrate.rivals import (
    HOPS,
    TOPS,
    Calibeating,
    KuleshovErmon,
    OnlineBeta,
    OnlinePlatt,
    Raw,
    WindowedRefit,
)

TITLE = "Recalibration"
SEEDS = range(5)
ROUNDS = 50_000
OURS = "Recalibrator"
RIVER = "river LogisticRegression, predict + learn"
REAL = f"The {OURS} on real scores, five seeds"
HOSTILE = f"The {OURS} on hostile scores, {ROUNDS:,} rounds, five seeds"
AGAINST = f"Exact Cal2 of the {OURS} against opponents, {ROUNDS:,} rounds"
IN_DOCS = {"docs/recalibrate.md": (REAL, HOSTILE, AGAINST)}


def refit(method, window):
    return lambda seed: WindowedRefit(method, window=window, every=500)


# Those that draw at random take the seed.
RANDOM = {
    "HOPS": lambda seed: HOPS(seed=seed),
    "Kuleshov-Ermon, Zoom": lambda seed: KuleshovErmon(seed=seed),
    "Kuleshov-Ermon, ABH": lambda seed: KuleshovErmon(forecaster=AbernethyBartlettHazan, seed=seed),
    OURS: lambda seed: Recalibrator(seed=seed),
}
FIXED = {
    "raw": lambda seed: Raw(),
    "OPS": lambda seed: OnlinePlatt(),
    "TOPS": lambda seed: TOPS(),
    "online beta": lambda seed: OnlineBeta(),
    "calibeating": lambda seed: Calibeating(),
    "isotonic, last 2,000": refit("isotonic", 2_000),
    "isotonic, last 10,000": refit("isotonic", 10_000),
    "sigmoid, last 2,000": refit("sigmoid", 2_000),
    "sigmoid, last 10,000": refit("sigmoid", 10_000),
}
RECALIBRATORS = {**FIXED, **RANDOM}


def clipped_log_loss(predictions, outcomes):
    """Return the log loss with predictions kept 1/(T+1) from 0 and 1: some rivals predict both."""
    rounds = len(outcomes)
    return log_loss(np.clip(predictions, 1 / (rounds + 1), rounds / (rounds + 1)), outcomes)


BRIER = "Brier score"
LOG_LOSS = "Log loss, predictions at least 1/(T+1) from 0 and 1"
CAL2 = "Exact Cal2 (large where predictions hardly repeat)"
ECE = "Mean ECE in windows of 1,000 rounds"
COMPARED_MEASURES = {
    BRIER: (brier, ".4f"),
    LOG_LOSS: (clipped_log_loss, ".4f"),
    CAL2: (cal2, ",.0f"),
    ECE: (windowed_ece, ".4f"),
}
# What the recalibrator is to match: the best of some, by their common name.
REFITS = [name for name in FIXED if "last" in name]
BEST = ("the best of raw, OPS, TOPS, HOPS and refits", ["raw", "OPS", "TOPS", "HOPS", *REFITS])
TO_MATCH = {BRIER: BEST, LOG_LOSS: BEST, ECE: ("OPS", ["OPS"])}


def on_real_scores(progress):
    """Return means[recalibrator][stream]: the mean of each measure over the seeds."""
    scored = [
        stream for name in streams.names() if (stream := streams.load(name)).scores is not None
    ]
    means = {name: {} for name in RECALIBRATORS}
    for stream in scored:
        for name, make in RECALIBRATORS.items():
            progress(f"recalibrate: {name} on {stream.name}")
            seeds = SEEDS if name in RANDOM else [0]
            runs = [make(seed).run(stream.scores, stream.outcomes) for seed in seeds]
            means[name][stream.name] = [
                np.mean([measure(predictions, stream.outcomes) for predictions in runs])
                for measure, _ in COMPARED_MEASURES.values()
            ]
    return means


def real_tables(means):
    names = list(means["raw"])
    for which, (title, (_, form)) in enumerate(COMPARED_MEASURES.items()):
        rows = [
            [name, *(format(means[name][stream][which], form) for stream in names)]
            for name in RECALIBRATORS
        ]
        if title in TO_MATCH:
            label, rivals = TO_MATCH[title]
            excess = [
                means[OURS][stream][which] - min(means[name][stream][which] for name in rivals)
                for stream in names
            ]
            rows.append([f"{OURS} minus {label}", *(f"{value:+.4f}" for value in excess)])
        yield table(f"{title}, real scores", ["recalibrator", *names], rows)


def summary_table(means):
    """Return the measures of the recalibrator alone, a row per stream, for the docs."""
    rows = []
    for name, raw in means["raw"].items():
        stream, ours = streams.load(name), means[OURS][name]
        best = [min(means[rival][name][which] for rival in BEST[1]) for which in (0, 1)]
        runs = [Recalibrator(seed=seed).run(stream.scores, stream.outcomes) for seed in SEEDS]
        above = np.mean([ece_by_window(run, stream.outcomes) for run in runs], axis=0)
        above -= ece_by_window(OnlinePlatt().run(stream.scores, stream.outcomes), stream.outcomes)
        rows.append(
            [name, f"{len(stream.outcomes):,}", f"{raw[0]:.4f}", f"{ours[0]:.4f}",
             f"{ours[0] - best[0]:+.4f}", f"{raw[1]:.4f}", f"{ours[1]:.4f}",
             f"{ours[1] - best[1]:+.4f}",
             f"{above.mean():+.4f} ± {above.std(ddof=1) / np.sqrt(len(above)):.4f}",
             f"{ours[2]:.0f}"]
        )  # fmt: skip
    return table(
        REAL,
        ["stream", "rounds", "raw Brier", "Brier", "above the best", "raw log loss", "log loss",
         "above the best", "windowed ECE above OPS's ± its standard error", "Cal2"],
        rows,
    )  # fmt: skip


def hostile_tables(progress):
    """Yield Brier above the true map and Cal2, on fresh scores for each seed."""
    excess = {name: [] for name in RECALIBRATORS}
    error = {name: [] for name in RECALIBRATORS}
    for kind in MAPS:
        games = [hostile(kind, ROUNDS, seed) for seed in SEEDS]
        for name, make in RECALIBRATORS.items():
            progress(f"recalibrate: {name}, {kind}")
            runs = [make(seed).run(game.scores, game.outcomes) for seed, game in enumerate(games)]
            above = [
                brier(run, game.outcomes) - brier(game.truth, game.outcomes)
                for run, game in zip(runs, games, strict=True)
            ]
            errors = [cal2(run, game.outcomes) for run, game in zip(runs, games, strict=True)]
            excess[name].append(f"{np.mean(above):+.4f}")
            error[name].append(f"{np.mean(errors):,.0f}")
    title = f"hostile scores, {ROUNDS:,} rounds"
    head = ["recalibrator", *MAPS]
    yield table(
        f"Brier score minus that of the true map, {title}",
        head,
        [[name, *row] for name, row in excess.items()],
    )
    yield table(f"Exact Cal2, {title}", head, [[name, *row] for name, row in error.items()])
    yield table(
        HOSTILE,
        ["scores", "Cal2", "Brier above the true map"],
        zip(MAPS, error[OURS], excess[OURS], strict=True),
    )


def opponents_table(progress):
    """Return the Cal2 that opponents force, on scores they do not choose."""
    rows = []
    for name, opponent in OPPONENTS.items():
        for kind in SCORES:
            progress(f"recalibrate: {name}, {kind} scores")
            errors = [
                cal2(*game(Recalibrator(seed=seed), opponent(), kind, ROUNDS, seed))
                for seed in SEEDS
            ]
            rows.append((name, kind, f"{np.mean(errors):.0f}", f"{max(errors):.0f}", "60"))
    return table(
        AGAINST,
        ["opponent", "scores", "mean", "worst of five seeds", "limit for the mean"],
        rows,
    )


def pair_time(recalibrator, rounds):
    """Return nanoseconds of one predict + update, called from Python."""
    if isinstance(recalibrator, RiverPair):
        return speed.pair_time(recalibrator, [outcome for _, outcome in rounds])
    predict, update = recalibrator.predict, recalibrator.update
    start = time.process_time_ns()
    for score, outcome in rounds:
        predict(score)
        update(outcome)
    return (time.process_time_ns() - start) / len(rounds)


def run_time(recalibrator, rounds):
    """Return nanoseconds a round of `run`."""
    scores, outcomes = np.array(rounds).T.copy()
    start = time.process_time_ns()
    recalibrator.run(scores, outcomes)
    return (time.process_time_ns() - start) / len(rounds)


def speed_table():
    stream = streams.load("nycflights")
    rounds = list(
        zip(stream.scores[:20_000].tolist(), stream.outcomes[:20_000].tolist(), strict=True)
    )
    contenders = {name: lambda make=make: make(0) for name, make in RECALIBRATORS.items()}
    pairs = speed.side_by_side(pair_time, {**contenders, RIVER: RiverPair}, rounds)
    runs = speed.side_by_side(run_time, contenders, rounds)
    river = pairs.pop(RIVER)
    rows = [
        (name, f"{ns:,.0f}", f"{ns / river:.2f}", f"{runs[name]:,.0f}", f"{runs[name] / river:.2f}")
        for name, ns in pairs.items()
    ]
    rows.append((RIVER, f"{river:,.0f}", "1.00", "", ""))
    return table(
        "Speed on the flights",
        ["recalibrator", "ns a predict + update", "river's pairs", "ns a row of `run`",
         "river's pairs"],
        rows,
    )  # fmt: skip


def tables(progress):
    """Return the tables of this module, one after the other."""
    means = on_real_scores(progress)
    yield from real_tables(means)
    yield summary_table(means)
    yield from hostile_tables(progress)
    yield opponents_table(progress)
    progress("recalibrate: speed")
    yield speed_table()
