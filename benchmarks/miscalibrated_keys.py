"""Miscalibrated keys: how soon they are listed, how often a calibrated one is, and the cost.

False listings and delays are measured for keys alone, many runs at a time in one array; detection
and cost for whole fleets.
"""

import time

import numpy as np

from benchmarks.speed import take_turns
from benchmarks.tables import table
from calibrant import Fleet
from calibrant._kernels.watch.key_evidence import WEIGHT, KeyEvidence

TITLE = "Miscalibrated keys"
DELAYS = "Outcomes of a key from the first bad one until it is named"
IN_DOCS = {"docs/monitor.md": [DELAYS]}
EVERY = 1e6
RUNS, KEYS, ROUNDS = 2_000, 3, 1_200
DELAY_RUNS, LONGEST = 400, 30_000
FLEETS = 40


def evidence_of(kernel, count):
    """Return the mean bet of each key of the first column of predictions."""
    means = np.zeros(count)
    found = kernel.cells_of_keys()["M"][:, 0].mean(axis=1)
    means[: len(found)] = found
    return means


def false_names(tolerance, bias):
    """Return in how many of RUNS runs some key has a mean bet of 5 rounds for each of the run's.

    That is to happen in at most a fifth of them, for as long as the bias is within the tolerance.
    """
    random, kernel = np.random.default_rng(0), KeyEvidence(EVERY, tolerance, 0.0)
    named = np.zeros(RUNS, dtype=bool)
    for _ in range(ROUNDS):
        predicted, own = random.beta(2, 4, RUNS), random.integers(0, KEYS, RUNS)
        happened = random.random(RUNS) < np.minimum(predicted + bias, 1)
        kernel.run(np.arange(RUNS) * KEYS + own, predicted, predicted, happened.astype(float))
        kernel.empty()
        named |= (evidence_of(kernel, RUNS * KEYS) >= 5 * ROUNDS).reshape(RUNS, KEYS).any(axis=1)
    return named.mean()


def delay(tolerance, bias):
    """Return the median number of outcomes that a key takes until it is named."""
    random, kernel = np.random.default_rng(1), KeyEvidence(EVERY, tolerance, 0.0)
    named_after = np.full(DELAY_RUNS, LONGEST)
    for outcomes in range(1, LONGEST):
        predicted = random.beta(2, 4, DELAY_RUNS)
        happened = random.random(DELAY_RUNS) < np.minimum(predicted + bias, 1)
        kernel.run(np.arange(DELAY_RUNS), predicted, predicted, happened.astype(float))
        kernel.empty()
        is_named = WEIGHT * evidence_of(kernel, DELAY_RUNS) >= EVERY
        named_after[is_named & (named_after == LONGEST)] = outcomes
        if 2 * np.count_nonzero(named_after < LONGEST) > DELAY_RUNS:
            return int(np.sort(named_after)[DELAY_RUNS // 2])
    return LONGEST


def finding(bias, each):
    """Return in how many fleets of 300 keys the only miscalibrated one is named, and others are."""
    found, others = 0, 0
    for seed in range(FLEETS):
        random = np.random.default_rng(seed)
        keys, predicted = random.integers(0, 300, 300 * each), random.beta(2, 4, 300 * each)
        happened = random.random(len(keys)) < np.minimum(predicted + bias * (keys == 42), 1)
        fleet = Fleet(seed, monitor={"every": int(EVERY)})
        fleet.run(keys, predicted, happened)
        named = {key.key for key in fleet.monitors.raw.miscalibrated_keys()}
        found, others = found + (42 in named), others + len(named - {42})
    return found, others


def cost():
    """Return nanoseconds of a row and bytes of a key, without monitors and with them."""
    random = np.random.default_rng(2)
    keys, predicted = random.integers(0, 200_000, 2**20), random.beta(2, 4, 2**20)
    happened = (random.random(2**20) < predicted).astype(float)
    sizes = {}

    def run(monitor):
        fleet = Fleet(monitor=monitor)
        begin = time.process_time()
        fleet.run(keys, predicted, happened)
        if monitor:
            assert fleet.monitors.raw.rounds == len(keys)  # all of them seen
        sizes[monitor] = fleet.nbytes / len(fleet)
        return (time.process_time() - begin) / len(keys) * 1e9

    times = take_turns({each: lambda each=each: run(each) for each in (False, True)})
    return [
        [name, f"{times[each]:,.0f}", f"{times[each] / times[False]:.2f}", f"{sizes[each]:.0f}"]
        for name, each in (("not watched", False), ("monitor=True", True))
    ]


def tables(say):
    """Yield the tables."""
    say("false names")
    rows = [
        [f"tolerance {tolerance:g}, bias {bias:g}", f"{false_names(tolerance, bias):.3f}", bound]
        for tolerance, bias, bound in ((0.0, 0.0, 0.2), (0.05, 0.05, 0.2), (0.0, 0.05, "none"))
    ]
    title = f"Share of {RUNS:,} runs of {ROUNDS:,} rounds and {KEYS} keys with a false name"
    yield table(title, ["world", "share", "bound"], rows)
    rows = []
    for bias in (0.05, 0.1, 0.2, 0.3):
        say(f"delay of {bias}")
        rows.append([f"{bias:g}", *(f"{delay(each, bias):,}" for each in (0.0, 0.02))])
    yield table(DELAYS, ["bias", "tolerance 0", "0.02"], rows)
    rows = []
    for bias, each in ((0.2, 150), (0.2, 300), (0.1, 600), (0.1, 1_500)):
        say(f"finding a bias of {bias}")
        rows.append([f"bias {bias:g}, {each:,} outcomes a key", *finding(bias, each)])
    title = f"Of {FLEETS} fleets of 300 keys, in how many the miscalibrated one is named"
    yield table(title, ["key", "fleets", "other keys named"], rows)
    say("cost")
    yield table(
        "What it costs, 1,048,576 rows of 200,000 keys",
        ["fleet", "ns a row", "times", "bytes a key"],
        cost(),
    )
