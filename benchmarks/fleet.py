"""A fleet beside one recalibrator for all keys and beside groups: log loss, memory, speed."""

import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.speed import river_pair
from benchmarks.tables import table
from calibrant import Fleet, Recalibrator
from calibrant.streams import load
from fleet.worlds import OTHERS, SPREADS, bayes, log_loss, world

TITLE = "Fleets"
IN_README = ()
KEYS = 1000
SEEDS = {30: range(5), 1000: range(2)}
#: Keys, rows, and whether all keys are asked for as often (or the k-th most 1/k as often).
SIZES = [
    (10**3, 10**7, True),
    (10**5, 10**7, True),
    (10**6, 10**7, True),
    (10**6, 10**8, False),
    (10**7, 2 * 10**7, True),
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
                said = (
                    Recalibrator("logit", seed=seed).run(scores, outcomes),
                    Recalibrator("logit", seed=seed).run(scores, outcomes, by=keys),
                    Fleet(seed, "logit").run(keys, scores, outcomes),
                )
                known = log_loss(best, outcomes)
                above.append([known, *(log_loss(p, outcomes) - known for p in said)])
            known, *others = np.mean(above, axis=0)
            rows.append([name, f"{known:.4f}", *(f"{value:+.4f}" for value in others)])
        yield table(
            f"Log loss above what is best, 1,000 keys of {each:,} outcomes, {len(seeds)} seeds",
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
    rows = []
    for name in ("none", "carrier", "route"):
        keys = flights.columns.get(name)
        progress(f"fleet: flights by {name}")
        columns = [
            np.where(is_outcome, np.nan, scores[numbers]),
            np.where(is_outcome, outcomes[numbers], np.nan),
            numbers,
        ]
        own = np.zeros(count, dtype=np.int64) if keys is None else np.asarray(keys)
        said, _ = Fleet(capacity=count).play(own[numbers], *columns)
        fleet = np.empty(count)
        fleet[numbers[~is_outcome]] = said[~is_outcome]
        others = Recalibrator(capacity=count)
        groups = np.empty(count)
        for row, late in zip(numbers.tolist(), is_outcome.tolist(), strict=True):
            if late:
                others.update(outcomes[row], id=row)
            else:
                by = None if keys is None else str(own[row])
                groups[row] = others.predict(scores[row], id=row, by=by)
        briers = (f"{np.mean((p - outcomes) ** 2):.4f}" for p in (groups, fleet))
        rows.append([name, len(np.unique(own)), *briers])
    yield table(
        "Brier score of the flights, outcomes when they were known",
        ["keys", "how many", "recalibrator (by group)", "fleet"],
        rows,
    )


def rows_of(random, keys, is_even, count):
    """Return rows of a fleet whose keys differ."""
    if is_even:
        key = random.integers(0, keys, count)
    else:  # by rejection from a density of 1 / k; the constant does not matter
        key = np.exp(random.random(count) * np.log(keys + 1)).astype(np.int64) - 1
    score = random.random(count)
    return key * 2_654_435_761 % 2**31, score, (random.random(count) < score).astype(float)


def one_size(keys, rows, is_even):
    """Print nanoseconds a row, bytes a key and resident bytes in all, of a fleet of its own."""
    random = np.random.default_rng(0)
    fleet, spent = Fleet(), 0.0
    first = np.arange(keys) * 2_654_435_761 % 2**31
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for start in range(0, keys, CHUNK):
        some = first[start : start + CHUNK]
        fleet.run(some, None, np.zeros(len(some)))
    for start in range(0, rows, CHUNK):
        batch = rows_of(random, keys, is_even, min(CHUNK, rows - start))
        begun = time.process_time()
        fleet.run(*batch)
        spent += time.process_time() - begun
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(spent / rows * 1e9, fleet.nbytes / len(fleet), resident * 1024)


def speed(progress):
    """Yield what a row and a key take, each size in a process of its own."""
    rows = []
    for keys, count, is_even in SIZES:
        progress(f"fleet: {keys:,} keys, {count:,} rows")
        pair = river_pair()
        command = f"from benchmarks.fleet import one_size; one_size({keys}, {count}, {is_even})"
        printed = subprocess.run(
            [sys.executable, "-c", command],
            check=True, capture_output=True, text=True, env={"PYTHONPATH": ".:tests"},
        ).stdout  # fmt: skip
        nanoseconds, a_key, resident = map(float, printed.split())
        pair = min(pair, river_pair())
        rows.append([
            f"{keys:,} keys, {count:,} rows, {'even' if is_even else 'Zipf'}",
            f"{nanoseconds:,.0f}", f"{nanoseconds / pair:.3f}", f"{a_key:,.0f}",
            f"{resident / 1e6:,.0f}",
        ])  # fmt: skip
    yield table(
        "Speed and memory of `run`, integer keys",
        ["fleet", "ns a row", "of river's pair", "bytes a key", "resident MB"],
        rows,
    )


def tables(progress):
    """Yield the tables of this part."""
    yield from losses(progress)
    yield from late_flights(progress)
    yield from speed(progress)
