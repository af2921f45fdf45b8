"""False alarms of the checks on valid rows, how often they find errors, and the interval.

On valid streams, each check may have at most one false alarm in 200.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from scipy.signal import lfilter

from benchmarks.checks_worlds import BASES, HONEST, SPOILED, fast_chain, honest, persistent
from benchmarks.tables import table
from calibrant import Recalibrator
from calibrant.checks import Columns, check_columns
from calibrant.measures.chance import Differences

TITLE = "Checks of a user's rows"
FALSE, FOUND = "False alarms on valid streams", "What is found"
OUTSIDE = "Honest, and flagged all the same"
INTERVAL = "The interval of the verdict"
NUMBERS = "The interval where numbers are compared"
IN_DOCS = {"docs/checks.md": (FALSE, FOUND, OUTSIDE, INTERVAL, NUMBERS)}
SIZES = (300, 1_000, 10_000)
#: Streams of each honest kind and size; worlds of each base and size that are spoiled.
STREAMS, FILES = 64, 6
#: Ways in which outcomes are missing, and with 0 none is.
WAYS = 8
#: What a finding that is more than a remark is called, in the order of the table.
NAMES = (
    "order.sorted", "order.sorted_within", "order.by_score", "one_sided", "lopsided",
    "maturity.rising", "lateness", "leak.copy", "leak.auc", "leak.in_sample", "duplicates",
    "scale", "inverted",
)  # fmt: skip
SEED = 2027


def columns_of(world, has_time=True):
    return Columns(
        world.outcomes, world.scores, world.times if has_time else None,
        world.known if has_time else None,
    )  # fmt: skip


def named(findings):
    names = {each.check for each in findings if each.check in NAMES}
    return names | {"scale" for each in findings if each.check.startswith("scale.")}


def false_alarms(say):
    """Count findings in valid streams; each check only where it applies."""
    found, asked, where = Counter(), Counter(), Counter()
    for rounds in SIZES:
        for kind, name in enumerate(HONEST):
            say(f"honest: {rounds:,} rows, {name}")
            for number in range(STREAMS):
                random = np.random.default_rng([SEED, rounds, kind, number])
                way, has_time = number % WAYS, number % 3 > 0 or number % WAYS >= 5
                columns = columns_of(honest(name, random, rounds, way), has_time)
                has_gaps = bool(np.isnan(columns.outcomes).any())
                both = columns.rarer > 0
                applies = {
                    "order.sorted": both, "order.by_score": both, "duplicates": both,
                    "order.sorted_within": both and not has_time,
                    "one_sided": has_gaps, "lopsided": has_gaps,
                    "maturity.rising": has_gaps and columns.known is None,
                    "lateness": columns.known is not None,
                }  # fmt: skip
                asked.update(check for check in NAMES if applies.get(check, True))
                for check in named(check_columns(columns)):
                    found[check] += 1
                    where[check, name] += 1
    rows = []
    for check in NAMES:
        share = 100.0 * found[check] / asked[check]
        kinds = ", ".join(f"{name} {n}" for (c, name), n in where.items() if c == check)
        rows.append([check, f"{asked[check]:,}", str(found[check]), f"{share:.2f} %", kinds])
    return rows


def detected(say):
    """Count, for every way to spoil a file, how often the check that should find it does."""
    rows = []
    for label, (spoil, check, has_time) in SPOILED.items():
        say(f"spoiled: {label}")
        shares = []
        for rounds in SIZES:
            hits = total = 0
            for base, name in enumerate(BASES):
                for number in range(FILES):
                    random = np.random.default_rng([7, rounds, base, number])
                    world = honest(name, random, rounds)
                    if world.outcomes.min() == world.outcomes.max():
                        continue
                    spoiled = columns_of(spoil(world, random), has_time)
                    hits += check in named(check_columns(spoiled))
                    total += 1
            shares.append(f"{100.0 * hits / total:.0f} %")
        rows.append([label, check, *shares])
    return rows


def outside(say):
    """Count refusals of chains that stay as they are for longer than the null allows."""
    rows = []
    for stay in (0.95, 0.97, 0.98, 0.99):
        say(f"a chain that stays with {stay}")
        shares = []
        for rounds in SIZES:
            hits = 0
            for number in range(100):
                random = np.random.default_rng([8, rounds, number])
                scores, y = persistent(random, rounds, stay, 0.3)
                hits += "order.sorted" in named(check_columns(Columns(y, scores)))
            shares.append(f"{hits} %")
        rows.append([f"stays with {stay}", *shares])
    return rows


def autoregressive(weight):
    def make(random, rounds):
        noise = random.standard_normal(rounds)
        noise[0] /= math.sqrt(1.0 - weight**2)
        return lfilter([1.0], [1.0, -weight], noise)

    return make


def persistent_logits(weight):
    """Return log odds that are off by 0.8 standard deviations, each a share of the last."""

    def make(random, scores):
        error = autoregressive(weight)(random, len(scores))
        return scores + 0.8 * math.sqrt(1.0 - weight**2) * error

    return make


#: True log odds, given those of the scores.
TRUTHS = {
    "the scores are right": lambda random, scores: scores,
    "bent scores": lambda random, scores: 1.8 * scores + 0.3,
    "errors persist, 0.9": persistent_logits(0.9),
    "errors persist, 0.99": persistent_logits(0.99),
    "errors persist, 0.999": persistent_logits(0.999),
    "steady drift": lambda random, scores: scores + np.linspace(-1.0, 1.0, len(scores)),
    "one jump": lambda random, scores: scores + (np.arange(len(scores)) >= len(scores) // 2),
}
#: Rows that wait together, and the standard deviation of what their log odds have in common.
SHOCKED, SHOCK = 100, 0.7
SHOCKS = f"shocks of {SHOCKED} pending rows"
RUNS = {300: 1000, 1_000: 1000, 10_000: 400}
#: Never used while the interval was chosen.
FRESH = 918_041


def sigmoid(logits):
    return 1.0 / (1.0 + np.exp(-logits))


def played(kind, random, rounds):
    """Return scores, calibrated probabilities, outcomes, and what was true when they were made."""
    logits = random.normal(-0.5, 1.2, rounds)
    scores, recalibrator = sigmoid(logits), Recalibrator()
    if kind != SHOCKS:
        truth = sigmoid(TRUTHS[kind](random, logits))
        outcomes = (random.random(rounds) < truth).astype(float)
        return scores, recalibrator.run(scores, outcomes), outcomes, truth
    shocks, weights = np.polynomial.hermite_e.hermegauss(15)
    truth = sigmoid(logits[:, None] + SHOCK * shocks) @ (weights / weights.sum())
    shared = np.repeat(random.standard_normal(rounds // SHOCKED), SHOCKED)
    outcomes = (random.random(rounds) < sigmoid(logits + SHOCK * shared)).astype(float)
    calibrated = np.empty(rounds)
    for start in range(0, rounds, SHOCKED):
        rows = slice(start, start + SHOCKED)
        calibrated[rows] = recalibrator.predict_many(scores[rows], ids=range(SHOCKED))
        recalibrator.update_many(outcomes[rows], ids=range(SHOCKED))
        recalibrator.forget_ids()
    return scores, calibrated, outcomes, truth


def intervals(say):
    """Count how often the interval at 95 % holds what was to be expected, and excludes 0."""
    rows = []
    for kind in [*TRUTHS, SHOCKS]:
        shares = []
        for rounds, runs in RUNS.items():
            say(f"interval: {kind}, {rounds:,} rows")
            holds = excludes = 0
            for number in range(runs):
                random = np.random.default_rng([FRESH, rounds, number])
                before, after, outcomes, truth = played(kind, random, rounds)
                differences = Differences()
                losses = (after - outcomes) ** 2 - (before - outcomes) ** 2
                differences.extend(losses, -((after - before) ** 2))
                change = differences.change()
                expected = ((after - truth) ** 2 - (before - truth) ** 2).mean()
                holds += change.low <= expected <= change.high
                excludes += change.high < 0.0
            shares.append(f"{100.0 * holds / runs:.0f} %, {100.0 * excludes / runs:.0f} %")
        rows.append([kind, *shares])
    return rows


def storms(random, rounds):
    share = 0.001 / 0.011
    on = fast_chain(random, rounds, 0.001, 0.01) > 0
    return np.where(on, share - 1.0, share) + 0.3 * random.standard_normal(rounds)


def rarely(random, rounds):
    return np.where(random.random(rounds) < 0.01, -0.99, 0.01)


DIFFERENCES = {
    "independent": autoregressive(0.0),
    "each 0.9 of the last": autoregressive(0.9),
    "each 0.99 of the last": autoregressive(0.99),
    "each 0.999 of the last": autoregressive(0.999),
    "storms of 100 rows in 1,100": storms,
    "one in 100 counts": rarely,
}
NUMBER_RUNS = {200: 2000, 1_000: 2000, 10_000: 1000}


def coverage(say):
    """Count how often the interval at 95 % holds the true mean, which is 0."""
    rows = []
    for label, make in DIFFERENCES.items():
        shares = []
        for rounds, runs in NUMBER_RUNS.items():
            say(f"interval: {label}, {rounds:,} rows")
            hits = 0
            for number in range(runs):
                differences = Differences()
                differences.extend(make(np.random.default_rng([FRESH, rounds, number]), rounds))
                change = differences.change()
                hits += change.low <= 0.0 <= change.high
            shares.append(f"{100.0 * hits / runs:.0f} %")
        rows.append([label, *shares])
    return rows


def tables(say):
    sizes = [f"{rounds:,} rows" for rounds in SIZES]
    streams = STREAMS * len(HONEST) * len(SIZES)
    said = table(FALSE, ["check", "streams", "false alarms", "share", "where"], false_alarms(say))
    yield said + (
        f"\n{streams:,} valid streams of {len(HONEST)} kinds ({', '.join(HONEST)}), of 300, 1,000 "
        "and 10,000 rows, with outcomes that are missing or late in eight legitimate ways; each "
        f"check is counted where it applies. Seed {SEED}.\n"
    )
    yield table(FOUND, ["what is wrong", "check", *sizes], detected(say)) + (
        f"\nThe share of files in which the check finds it: {FILES} files of each of {len(BASES)} "
        "kinds and each size, apart from those with outcomes of one kind.\n"
    )
    yield table(OUTSIDE, ["a chain of 0 and 1", *sizes], outside(say)) + (
        "\nHow often `order.sorted` refuses a valid chain that stays as it is with this "
        "probability, of 100 each: it looks like a sorted file, and `--trust-order` "
        "is needed.\n"
    )
    counts = [f"{rounds:,} rows" for rounds in RUNS]
    yield table(INTERVAL, ["the truth", *counts], intervals(say)) + (
        "\nHow often the interval at 95 % of the change of the Brier score holds the change that "
        "was to be expected when predictions were made, and how often it is below 0 (better), in "
        f"{', '.join(f'{runs:,}' for runs in RUNS.values())} runs of `Recalibrator`. The seed "
        f"({FRESH}) was never used while the interval was chosen.\n"
    )
    counts = [f"{rounds:,} rows" for rounds in NUMBER_RUNS]
    yield table(NUMBERS, ["differences", *counts], coverage(say)) + (
        "\nPinball losses have no expected difference, so all that persists counts as chance. How "
        "often the interval at 95 % holds the true mean of differences, in "
        f"{', '.join(f'{runs:,}' for runs in NUMBER_RUNS.values())} runs. Seed {FRESH}.\n"
    )
