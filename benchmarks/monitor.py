"""Monitor: false alarms, delays, episodes, real streams, rivals, speed.

``python -m benchmarks monitor`` takes about an hour. False alarms: runs of 100,000 calibrated
rounds at `every` = 10^7 and no tolerance, so that at most 1 % may raise an alarm. Delays: the
median over runs, from a change in round 20,000 to the alarm; with 1,000 runs, its standard error is
about 2 %.
"""

import sys
import time

import numpy as np

from benchmarks.monitor_sweep import sweep
from benchmarks.monitor_worlds import (
    EVERY,
    RIVALS,
    SHAPES,
    changing,
    doubled,
    everywhere,
    flatter,
    in_a_range,
    monitor,
    oracle,
    oracle_cusum,
    outcomes,
)
from benchmarks.speed import river_pair, take_turns
from benchmarks.tables import table
from calibrant import Monitor, Recalibrator, streams

TITLE = "The monitor"
RUNS, ROUNDS = 2_000, 100_000
DELAY_RUNS, CHANGE = 1_000, 20_000
RIVAL_RUNS = 50
STREAMS = ["nba_elo", "nba538", "nfl_elo", "mlb538", "soccer538", "covid_rise", "nycflights"]
# A change, its size, and the most rounds that were asked for.
ASKED = [
    (everywhere, 0.02, 9_500), (everywhere, 0.05, 1_900), (everywhere, 0.1, 560),
    (everywhere, 0.2, 165), (in_a_range, 0.1, 4_400),
]  # fmt: skip
TITLES = {everywhere: "everywhere", in_a_range: "where 0.5 <= p < 0.7", flatter: "over-confident"}


# -- calibrated worlds -----------------------------------------------------------------------------


def plain(shape):
    def play(random):
        p = SHAPES[shape](random, ROUNDS)
        return monitor(p, outcomes(random, p))

    return play


def in_groups(random):
    p = random.beta(2, 4, ROUNDS)
    return monitor(p, outcomes(random, p), by=random.integers(50, size=ROUNDS))


def late(random):
    """Outcomes wait 500 rounds on average, whatever they are, and are watched as they come."""
    p = random.beta(2, 4, ROUNDS)
    y = outcomes(random, p)
    order = np.argsort(np.arange(ROUNDS) + random.exponential(500, ROUNDS))
    return monitor(p[order], y[order])


def shocks(random, block=100):
    """100 outcomes a day share a shock of +-0.1 and come at night."""
    p, day = 0.2 + 0.6 * random.random(ROUNDS), np.arange(ROUNDS) // 100
    y = outcomes(random, p + random.choice([-0.1, 0.1], ROUNDS // 100)[day])
    return monitor(p, y, times=day, block=block)


def at_the_edge(random):
    p = random.beta(2, 4, ROUNDS)
    return monitor(p, outcomes(random, np.minimum(p + 0.02, 1)), tolerance=0.02)


NULLS = {
    **{shape: plain(shape) for shape in SHAPES},
    "off by the tolerance, 0.02": at_the_edge,
    "50 groups": in_groups,
    "late, independent outcomes": late,
    "shared shocks, block=100": shocks,
}


def false_alarms(progress):
    rows = []
    for name, play in NULLS.items():
        progress(f"monitor: false alarms, {name}")
        rang = sum(play(np.random.default_rng([1, run])) >= 0 for run in range(RUNS))
        rows.append([name, f"{rang:,} of {RUNS:,}", f"{rang / RUNS:.2%}"])
    rang = sum(shocks(np.random.default_rng([1, run]), None) >= 0 for run in range(20))
    rows.append(
        ["shared shocks, without blocks: no guarantee", f"{rang} of 20", f"{rang / 20:.0%}"]
    )
    return table(
        "False alarms in 100,000 calibrated rounds, bound 1 %",
        ["predictions", "runs that ring", "share"],
        rows,
    )


# -- delays ----------------------------------------------------------------------------------------


def delay(watch, shape, how, b, runs, after=60_000, seed=2):
    """Return the median delay over the runs that did not ring before the change."""
    found = []
    for run in range(runs):
        random = np.random.default_rng([seed, run])
        first = watch(*changing(random, shape, CHANGE, after, how, b))
        found.append(np.inf if first < 0 else first - CHANGE + 1)
    later = [each for each in found if each > 0]
    return float(np.median(later)) if later else np.nan


def shown(rounds):
    return f"{rounds:,.0f}" if np.isfinite(rounds) else "not found"


def delays(progress):
    rows = []
    for how, b, most in ASKED:
        progress(f"monitor: delay, {b} {TITLES[how]}")
        # The limits were set on the first 100 draws; others show how far chance goes.
        first = delay(monitor, "Beta(2, 4)", how, b, 100)
        others = delay(monitor, "Beta(2, 4)", how, b, DELAY_RUNS, seed=5)
        rows.append([f"bias {b} {TITLES[how]}", shown(first), shown(others), f"{most:,}"])
    for shape in ("rare, all near 0.001", "rare, one value 0.001"):
        progress(f"monitor: delay, {shape}")
        for name, watch in (
            ("", monitor),
            ("; CUSUM that knows both rates", oracle_cusum),
            ("; Shiryaev-Roberts that knows both rates", oracle),
        ):
            row = [delay(watch, shape, doubled, 1.0, 100, 150_000, seed) for seed in (2, 5)]
            rows.append([f"{shape}, doubled{name}", *map(shown, row), "" if name else "1.5 CUSUMs"])
    return table(
        f"Median delay, every = {EVERY:,}, tolerance 0",
        ["change", "100 draws", f"{DELAY_RUNS} others (rare: 100)", "asked: at most"],
        rows,
    )


def power(progress):
    """How many rounds a bias takes, by tolerance: what docs/monitor.md shows."""
    rows = []
    for b in (0.02, 0.03, 0.05, 0.1, 0.2):
        progress(f"monitor: power, {b}")
        row = [f"{b}"]
        for tolerance in (0.0, 0.01, 0.02, 0.05):

            def watch(p, y, tolerance=tolerance):
                return monitor(p, y, tolerance=tolerance, every=10**6)

            late_ = delay(watch, "Beta(2, 4)", everywhere, b, 40) if b > tolerance else np.inf
            row.append(shown(late_))
        rows.append(row)
    return table(
        "Median rounds to an alarm, every = 1,000,000, Beta(2, 4)",
        ["bias", "tolerance 0", "0.01", "0.02", "0.05"],
        rows,
    )


def rivals(progress):
    changes = [(everywhere, 0.05), (everywhere, 0.1), (everywhere, 0.2), (in_a_range, 0.1),
               (flatter, 0.4)]  # fmt: skip
    rows = []
    for name, watch in RIVALS.items():
        progress(f"monitor: rivals, {name}")
        runs = 4 * RIVAL_RUNS if name.startswith("Monitor") else RIVAL_RUNS
        rang = 0
        for run in range(runs):
            random = np.random.default_rng([1, run])
            p = random.beta(2, 4, ROUNDS)
            rang += watch(p, outcomes(random, p)) >= 0
        found = [shown(delay(watch, "Beta(2, 4)", how, b, runs, 40_000)) for how, b in changes]
        rows.append([name, f"{rang} of {runs}", *found])
    return table(
        "Rivals: runs with a false alarm in 100,000 rounds, and median delays",
        ["", "false alarms", *(f"{TITLES[how]} {b}" for how, b in changes)],
        rows,
    )


# -- episodes --------------------------------------------------------------------------------------

STRETCHES = [
    (30_000, everywhere, 0.0), (5_000, everywhere, 0.1), (45_000, everywhere, 0.0),
    (10_000, everywhere, -0.1), (40_000, everywhere, 0.0), (20_000, in_a_range, 0.2),
    (50_000, everywhere, 0.0),
]  # fmt: skip


def three_stretches(progress, runs=200):
    progress("monitor: three stretches")
    three, onsets, ends, inside = 0, [], [], 0
    for run in range(runs):
        random = np.random.default_rng([3, run])
        parts = []
        for n, how, b in STRETCHES:
            p = random.beta(2, 4, n)
            parts.append((p, outcomes(random, how(p, b))))
        p, y = map(np.concatenate, zip(*parts, strict=True))
        found = Monitor(EVERY, tolerance=0.0).run(p, y)
        if len(found) == 3:
            three += 1
            onsets.append([e.onset - o for e, o in zip(found, (30e3, 80e3, 130e3), strict=True)])
            ends.append(
                [(e.end or len(p)) - o for e, o in zip(found, (35e3, 90e3, 150e3), strict=True)]
            )
            inside += found[2].low >= 0.4 and found[2].high <= 0.8  # one leaf around 0.5 to 0.7
    onset, end = np.median(np.abs(onsets), axis=0), np.median(ends, axis=0)
    return table(
        f"Three bad stretches in {runs} runs of 200,000 rounds",
        ["", "measured", "asked"],
        [
            ["exactly three alarms", f"{three / runs:.1%}", "97 %"],
            ["onset off by, median", " / ".join(f"{each:,.0f}" for each in onset), "100"],
            ["end seen after, median", " / ".join(f"{each:,.0f}" for each in end), ""],
            ["range named within one leaf", f"{inside / max(three, 1):.0%}", "85 %"],
        ],
    )


def real_streams(progress):
    rows = []
    for name in STREAMS:
        progress(f"monitor: {name}")
        stream = streams.load(name)
        calibrated = expected_of(stream)
        row = [name, f"{len(stream.outcomes):,}"]
        for predictions in (stream.scores, calibrated):
            episodes = Monitor(10**6, tolerance=0.02).run(predictions, stream.outcomes)
            row.append(len(episodes))
        rows.append(row)
    return table(
        "Episodes on real streams, every = 1,000,000, tolerance 0.02",
        ["stream", "rounds", "raw", "recalibrated"],
        rows,
    )


def expected_of(stream):
    """Return the means of the Recalibrator's predictions, not what it drew."""
    recalibrator, means = Recalibrator(), np.empty(len(stream.outcomes))
    for t, (score, y) in enumerate(
        zip(stream.scores.tolist(), stream.outcomes.tolist(), strict=True)
    ):
        means[t] = recalibrator.expected(score)
        recalibrator.predict(score)
        recalibrator.update(y)
    return means


def cost(progress):
    progress("monitor: speed")
    random = np.random.default_rng(0)
    p = random.beta(2, 4, 100_000)
    y = outcomes(random, p)
    steps = list(zip(p.tolist()[:20_000], y.tolist()[:20_000], strict=True))

    def timed(play, rounds):
        start = time.process_time_ns()
        play()
        return (time.process_time_ns() - start) / rounds

    def run():
        return timed(lambda: Monitor(EVERY, tolerance=0.0).run(p, y), len(p))

    def update():
        watch = Monitor(EVERY, tolerance=0.0)

        def play():
            for prediction, outcome in steps:
                watch.update(prediction, outcome)

        return timed(play, len(steps))

    times = take_turns({"river": river_pair, "run": run, "update": update})
    river = times["river"]
    return table(
        "Cost, beside river's pair in the same run",
        ["", "ns a round", "of river's pair", "asked: at most"],
        [
            ["river's pair", f"{river:,.0f}", "1", ""],
            ["run", f"{times['run']:,.0f}", f"{times['run'] / river:.3f}", "0.035"],
            ["update", f"{times['update']:,.0f}", f"{times['update'] / river:.3f}", "0.1"],
            ["bytes of a monitor", f"{sys.getsizeof(Monitor()):,}", "", "4,096"],
        ],
    )


def tables(progress):
    for part in (
        cost, delays, three_stretches, real_streams, power, false_alarms, rivals, sweep,
    ):  # fmt: skip
        yield part(progress)
