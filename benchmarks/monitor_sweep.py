"""What was tried before the tilts, the weights and the ranges of the monitor were fixed.

Whatever they are, false alarms are bounded alike: all that counts is the delay. Runs are played
side by side in NumPy, 2,000 calibrated rounds before the change; bets on the slope are left out,
so their weight is lost here.
"""

import numpy as np

from benchmarks.monitor_worlds import EVERY, SHAPES, everywhere, in_a_range
from benchmarks.tables import table

RUNS, BEFORE = 60, 2_000
TILTS = 0.08 * 2.0 ** np.arange(6)
CHOSEN = {"tilts": TILTS, "weights": [0.42, 0.095, 0.095, 0.095, 0.095], "ranges": "arcsin"}
TRIED = {
    "as chosen": {},
    "tilts 0.04 to 1.28": {"tilts": TILTS / 2},
    "tilts 0.16 to 5.12": {"tilts": TILTS * 2},
    "tilts 0.1, 0.4, 1.6": {"tilts": np.array([0.1, 0.4, 1.6])},
    "12 tilts, 0.08 to 3.62": {"tilts": 0.08 * 2.0 ** (np.arange(12) / 2)},
    "all weight on one cell": {"weights": [0.8]},
    "weights 0.35, then 0.12": {"weights": [0.35, 0.12, 0.12, 0.12, 0.12]},
    "weights alike": {"weights": [0.16] * 5},
    "three levels": {"weights": [0.42, 0.19, 0.19]},
    "ranges even in p": {"ranges": "even"},
    "ranges even in the logit": {"ranges": "logit"},
}
WORLDS = {
    "0.02 everywhere": ("Beta(2, 4)", everywhere, 0.02, 25_000),
    "0.1 everywhere": ("Beta(2, 4)", everywhere, 0.1, 2_000),
    "0.2 everywhere": ("uniform", everywhere, 0.2, 1_000),
    "0.1 where 0.5 <= p < 0.7": ("Beta(2, 4)", in_a_range, 0.1, 15_000),
    "two values, 0.05": ("two values", everywhere, 0.05, 8_000),
}


def place(p, ranges):
    """Return where a prediction lies between 0 and 1, on the scale that ranges are even in."""
    if ranges == "even":
        return p
    if ranges == "arcsin":
        return np.arcsin(np.sqrt(p)) * 2 / np.pi
    return np.clip(np.log(p / (1 - p)) / 12 + 0.5, 0, 1 - 1e-9)


def delays(world, choice):
    """Return the delay of each run."""
    shape, how, b, after = world
    chosen = {**CHOSEN, **choice}
    odds = np.exp(np.concatenate([chosen["tilts"], -chosen["tilts"]]))
    levels, runs = len(chosen["weights"]), np.arange(RUNS)
    M = [np.zeros((RUNS, 2**level, len(odds))) for level in range(levels)]
    R, found = np.zeros(RUNS), np.full(RUNS, np.inf)
    random = np.random.default_rng(7)
    for t in range(BEFORE + after):
        p = SHAPES[shape](random, RUNS)
        y = random.random(RUNS) < (p if t < BEFORE else how(p, b))
        at = place(p, chosen["ranges"])
        e = np.where(y[:, None], odds, 1.0) / (1 - p + p * odds[:, None]).T
        for level, weight in enumerate(chosen["weights"]):
            cell = np.minimum((at * 2**level).astype(int), 2**level - 1)
            old = M[level][runs, cell]
            new = e * (old + 1.0)
            R += weight / len(odds) * (new.sum(axis=1) - old.sum(axis=1))
            M[level][runs, cell] = new
        rang = (R >= EVERY) & np.isinf(found)
        found[rang] = t - BEFORE + 1
        if np.isfinite(found).sum() > 0.6 * RUNS:  # the median is known
            break
    return found


def sweep(progress):
    rows = []
    for name, choice in TRIED.items():
        progress(f"monitor: sweep, {name}")
        found = [np.median(delays(world, choice)) for world in WORLDS.values()]
        rows.append([name, *(f"{d:,.0f}" if np.isfinite(d) else "not found" for d in found)])
    return table(
        f"What was tried: median delay, every = {EVERY:,}, tolerance 0, without slopes",
        ["", *WORLDS],
        rows,
    )
