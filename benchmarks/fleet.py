"""A fleet compared with one recalibrator for all keys, and with groups: log loss, memory, speed."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import Fleet, Recalibrator
from calibrant.streams import load
from fleet.worlds import OTHERS, SPREADS, bayes, bent, log_loss, world

TITLE = "Fleets"
KEYS = 1000
SEEDS = {30: range(5), 1000: range(5)}
#: Keys and outcomes of each, of worlds in which each key has a curve of its own.
BENT = ((100, 500), (100, 1500), (20, 5000))
#: By which keys and, with a second name, parents the flights are played.
FLIGHT_KEYS = (
    ("none",), ("carrier",), ("route",), ("aircraft",),
    ("route", "origin"), ("aircraft", "carrier"),
)  # fmt: skip
#: Keys, rows, and whether all keys are asked for as often (or the k-th most 1/k as often).
SIZES = [
    (10**3, 10**6, True),
    (10**6, 4 * 10**6, True),
    (10**6, 10**7, False),
    (10**7, 4 * 10**6, True),
]
CHUNK = 2**20


def losses(progress):
    """Yield log loss above the best that can be known, for keys with few and with many outcomes."""
    for each, seeds in SEEDS.items():
        rows = []
        for name in (*SPREADS, *OTHERS):
            progress(f"fleet: {name}, {each} outcomes each")
            above = []
            for seed in seeds:
                keys, scores, outcomes, chances = world(name, KEYS, each, seed)
                best = bayes(keys, scores, outcomes, SPREADS[name]) if name in SPREADS else chances
                above.append(all_losses(seed, keys, scores, outcomes, best))
            known, *others = np.mean(above, axis=0)
            rows.append([name, f"{known:.4f}", *(f"{value:+.5f}" for value in others)])
        yield table(
            f"Log loss above what is best, 1,000 keys of {each:,} outcomes, {len(seeds)} seeds",
            ["keys", "best", "one for all", "groups", "fleet"],
            rows,
        )


def all_losses(seed, keys, scores, outcomes, best):
    """Return the log loss of the best, and what one for all, groups and a fleet have above it."""
    predicted = (
        Recalibrator("logit", seed=seed).run(scores, outcomes),
        Recalibrator("logit", seed=seed).run(scores, outcomes, by=keys),
        Fleet(seed, "logit").run(keys, scores, outcomes),
    )
    known = log_loss(best, outcomes)
    return [known, *(log_loss(p, outcomes) - known for p in predicted)]


def curves(progress):
    """Yield the same of keys whose chances are each a curve of its own over the score."""
    rows = []
    for keys, each in BENT:
        progress(f"fleet: {keys} keys with curves, {each} outcomes each")
        worlds = [(seed, bent(keys, each, seed)) for seed in range(5)]
        known, *others = np.mean([all_losses(seed, *world) for seed, world in worlds], axis=0)
        losses = [f"{known:.4f}", *(f"{value:+.4f}" for value in others)]
        rows.append([f"{keys} keys of {each:,} outcomes", *losses])
    yield table(
        "Log loss above the true chances, each key with a curve of its own, 5 seeds",
        ["keys", "best", "one for all", "groups", "fleet"],
        rows,
    )


def late_flights(progress):
    """Yield the flights with outcomes when they were known: when landed, or when due and not."""
    flights = load("nycflights")
    made = np.array(flights.times, dtype="datetime64[m]").astype(np.int64)
    ends = [np.array(flights.columns[name], dtype="datetime64[m]") for name in ("landed", "due")]
    known = np.minimum(*ends).astype(np.int64)
    scores, outcomes = np.asarray(flights.scores), np.asarray(flights.outcomes, dtype=float)
    count = len(scores)
    order = np.lexsort((np.tile(np.arange(count), 2), np.repeat([1, 0], count), [*made, *known]))
    numbers, is_outcome = order % count, order >= count
    of_rows = {**flights.columns, "origin": np.array([r[:3] for r in flights.columns["route"]])}
    rows = []
    for name, *parent in FLIGHT_KEYS:
        keys = of_rows.get(name)
        progress(f"fleet: flights by {name}")
        columns = [
            np.where(is_outcome, np.nan, scores[numbers]),
            np.where(is_outcome, outcomes[numbers], np.nan),
            numbers,
        ]
        own = np.zeros(count, dtype=np.int64) if keys is None else np.asarray(keys)
        parents = of_rows[parent[0]][numbers] if parent else None
        predicted, _ = Fleet(capacity=count).play(own[numbers], *columns, parents=parents)
        fleet = np.empty(count)
        fleet[numbers[~is_outcome]] = predicted[~is_outcome]
        if parent:
            rows.append([f"{name} in {parent[0]}", len(np.unique(own)), "", brier(fleet, outcomes)])
            continue
        others = Recalibrator(capacity=count, max_groups=count)
        groups = np.empty(count)
        for row, late in zip(numbers.tolist(), is_outcome.tolist(), strict=True):
            if late:
                others.update(outcomes[row], id=row)
            else:
                by = None if keys is None else str(own[row])
                groups[row] = others.predict(scores[row], id=row, by=by)
        briers = (brier(predicted, outcomes) for predicted in (groups, fleet))
        rows.append([name, len(np.unique(own)), *briers])
    yield table(
        "Brier score of the flights, outcomes when they were known",
        ["keys", "how many", "recalibrator (by group)", "fleet"],
        rows,
    )


def brier(predictions, outcomes):
    """Return the Brier score, as it is shown."""
    return f"{np.mean((predictions - outcomes) ** 2):.4f}"


def rows_of(random, keys, is_even, count):
    """Return rows of a fleet whose keys differ."""
    if is_even:
        key = random.integers(0, keys, count)
    else:  # by rejection from a density of 1 / k; the constant does not matter
        key = np.exp(random.random(count) * np.log(keys + 1)).astype(np.int64) - 1
    score = random.random(count)
    return key * 2_654_435_761 % 2**31, score, (random.random(count) < score).astype(float)


def river_pair(pair):
    """Return nanoseconds of the processor for river's predict + learn."""
    begun = time.process_time_ns()
    for _ in range(20_000):
        pair.predict()
        pair.update(1)
    return (time.process_time_ns() - begun) / 20_000


def memory(name):
    """Return bytes of this process: VmRSS, resident now, or VmHWM, the most so far (Linux)."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def one_size(keys, rows, is_even):
    """Print nanoseconds a row, its ratio to river's pair, bytes a key and most resident bytes.

    The fleet and the pair take turns, and of both the median counts: other work on the machine
    slows them alike.
    """
    random, pair = np.random.default_rng(0), RiverPair()
    fleet, spent, pairs = Fleet(), [], []
    first = np.arange(keys) * 2_654_435_761 % 2**31
    before = memory("VmRSS")
    for start in range(0, keys, CHUNK):
        some = first[start : start + CHUNK]
        fleet.run(some, None, np.zeros(len(some)))
    for start in range(0, rows, CHUNK // 4):
        batch = rows_of(random, keys, is_even, min(CHUNK // 4, rows - start))
        begun = time.process_time_ns()
        fleet.run(*batch)
        spent.append((time.process_time_ns() - begun) / len(batch[0]))
        pairs.append(river_pair(pair))
    ratio = np.median(spent) / np.median(pairs)
    print(np.median(spent), ratio, fleet.nbytes / len(fleet), memory("VmHWM") - before)


def speed(progress):
    """Yield what a row and a key take, each size in a separate process."""
    rows = []
    for keys, count, is_even in SIZES:
        progress(f"fleet: {keys:,} keys, {count:,} rows")
        command = f"from benchmarks.fleet import one_size; one_size({keys}, {count}, {is_even})"
        printed = subprocess.run(
            [sys.executable, "-c", command],
            check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ".:tests"},
        ).stdout  # fmt: skip
        nanoseconds, ratio, a_key, resident = map(float, printed.split())
        rows.append([
            f"{keys:,} keys, {count:,} rows, {'even' if is_even else 'Zipf'}",
            f"{nanoseconds:,.0f}", f"{ratio:.3f}", f"{a_key:,.0f}",
            f"{resident / 1e6:,.0f}",
        ])  # fmt: skip
    yield table(
        "Speed and memory of `run`, integer keys",
        ["fleet", "ns a row", "of river's pair", "bytes a key", "resident MB, most"],
        rows,
    )


def tables(progress):
    """Yield the tables of this shard."""
    yield from losses(progress)
    yield from curves(progress)
    yield from late_flights(progress)
    yield from speed(progress)
