"""The comparison by which the tilts, the weights and the ranges of the monitor were chosen.

The bound on false alarms is the same for all choices, so only the delay matters. Runs are computed
in parallel in NumPy, with 2,000 calibrated rounds before the change. Every tilt of any choice is
computed once, so that all choices see the same outcomes; bets on the slope, and their weight, are
left out.
"""

import numpy as np

from benchmarks.monitor_worlds import (
    EVERY,
    SHAPES,
    doubled,
    everywhere,
    flatter,
    in_a_range,
)
from benchmarks.tables import table

RUNS, BEFORE = 200, 2_000
CHOSEN = {
    "tilts": (0.1, 0.25, 0.64, 1.6),
    "weights": (0.42, 0.095, 0.095, 0.095, 0.095),
}
TRIED = {
    "as chosen": {},
    "tilts 0.04 to 1.28": {"tilts": (0.04, 0.08, 0.16, 0.32, 0.64, 1.28)},
    "tilts 0.16 to 5.12": {"tilts": (0.16, 0.32, 0.64, 1.28, 2.56, 5.12)},
    "tilts 0.1, 0.4, 1.6": {"tilts": (0.1, 0.4, 1.6)},
    "tilts 0.08, 0.32, 1.28": {"tilts": (0.08, 0.32, 1.28)},
    "tilts 0.1, 0.3, 0.9, 2.7": {"tilts": (0.1, 0.3, 0.9, 2.7)},
    "tilts 0.08, 0.25, 0.8, 2.5": {"tilts": (0.08, 0.25, 0.8, 2.5)},
    "tilts 0.08, 0.16 ... 2.56": {"tilts": (0.08, 0.16, 0.32, 0.64, 1.28, 2.56)},
    "tilts 0.08, 0.2, 0.5, 1.25": {"tilts": (0.08, 0.2, 0.5, 1.25)},
    "12 tilts, 0.08 to 3.62": {"tilts": tuple(0.08 * 2.0 ** (np.arange(12) / 2))},
    "all weight on one cell": {"weights": (0.8,)},
    "weights 0.35, then 0.12": {"weights": (0.35, 0.12, 0.12, 0.12, 0.12)},
    "weights 0.5, then 0.075": {"weights": (0.5, 0.075, 0.075, 0.075, 0.075)},
    "weights alike": {"weights": (0.16,) * 5},
    "three levels": {"weights": (0.42, 0.19, 0.19)},
    "ranges even in p": {"ranges": "even"},
    "ranges even in the logit": {"ranges": "logit"},
    "ranges of equal shares": {"ranges": "shares"},
}
# Scores, the change, its size, and the rounds after it.
WORLDS = {
    "0.02 everywhere": ("Beta(2, 4)", everywhere, 0.02, 25_000),
    "0.1 everywhere": ("Beta(2, 4)", everywhere, 0.1, 2_000),
    "0.2 everywhere": ("Beta(2, 4)", everywhere, 0.2, 1_000),
    "0.1 where 0.5 <= p < 0.7": ("Beta(2, 4)", in_a_range, 0.1, 15_000),
    "over-confident, near 0 and 1": ("near 0 and 1", flatter, 0.2, 15_000),
    "two values, 0.05": ("two values", everywhere, 0.05, 8_000),
    "a grid of 19, 0.03": ("a grid of 19", everywhere, 0.03, 15_000),
    "rare, near 0.001, doubled": ("rare, all near 0.001", doubled, 1.0, 50_000),
}


def place(p, ranges, sample):
    """Return where predictions lie between 0 and 1, on the scale that ranges are even in."""
    if ranges == "even":
        return p
    if ranges == "logit":
        return np.clip(np.log(p / (1 - p)) / 12 + 0.5, 0, 1 - 1e-9)
    if ranges == "shares":
        return np.searchsorted(sample, p) / (len(sample) + 1)
    return np.arcsin(np.sqrt(p)) * 2 / np.pi


def delays(world, ranges, choices):
    """Return the median delay of each choice of tilts and weights."""
    shape, how, b, after = world
    tilts = sorted({tilt for choice in choices for tilt in choice["tilts"]})
    odds = np.exp(np.concatenate([tilts, np.negative(tilts)]))
    levels, runs = max(len(choice["weights"]) for choice in choices), np.arange(RUNS)
    # How much the sum of a level's M of a tilt counts, for each choice.
    counts = np.zeros((levels, len(odds), len(choices)))
    for at, choice in enumerate(choices):
        for level, weight in enumerate(choice["weights"]):
            for k in range(len(odds)):
                if tilts[k % len(tilts)] in choice["tilts"]:
                    counts[level, k, at] = weight / (2 * len(choice["tilts"]))
    counts = counts.reshape(-1, len(choices))
    random = np.random.default_rng(7)
    sample = np.sort(SHAPES[shape](random, 512))  # predictions of before, to cut ranges by
    M = [np.zeros((RUNS, 2**level, len(odds))) for level in range(levels)]
    sums, found = np.zeros((RUNS, levels, len(odds))), np.full((RUNS, len(choices)), np.inf)
    for t in range(BEFORE + after):
        p = SHAPES[shape](random, RUNS)
        y = random.random(RUNS) < (p if t < BEFORE else how(p, b))
        at = place(p, ranges, sample)
        e = np.where(y[:, None], odds, 1.0) / (1 - p + p * odds[:, None]).T
        for level in range(levels):
            cell = np.minimum((at * 2**level).astype(int), 2**level - 1)
            new = e * (M[level][runs, cell] + 1.0)
            sums[:, level] += new - M[level][runs, cell]
            M[level][runs, cell] = new
        rang = (sums.reshape(RUNS, -1) @ counts >= EVERY) & np.isinf(found)
        found[rang] = t - BEFORE + 1
        if (np.isfinite(found).sum(axis=0) > 0.6 * RUNS).all():  # the medians are known
            break
    return np.median(found, axis=0)


def sweep(progress):
    columns = []
    for name, world in WORLDS.items():
        progress(f"monitor: sweep, {name}")
        usual = "shares" if world[0].startswith("rare") else "arcsin"
        found = {}
        for ranges in ("arcsin", "even", "logit", "shares"):
            rows = [row for row, choice in TRIED.items() if choice.get("ranges", usual) == ranges]
            if rows:
                choices = [{**CHOSEN, **TRIED[row]} for row in rows]
                found |= dict(zip(rows, delays(world, ranges, choices), strict=True))
        columns.append([found[row] for row in TRIED])
    rows = [
        [name, *(f"{d:,.0f}" if np.isfinite(d) else "not found" for d in found)]
        for name, found in zip(TRIED, zip(*columns, strict=True), strict=True)
    ]
    return table(
        f"What was tried: median delay of {RUNS} runs, every = {EVERY:,}, tolerance 0, "
        "without slopes",
        ["", *WORLDS],
        rows,
    )


if __name__ == "__main__":
    print(sweep(print))
