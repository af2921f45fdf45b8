"""Valid synthetic streams, on which no check may report anything, and ways to make them invalid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def logit(p):
    return np.log(p / (1.0 - p))


def drawn(random, p):
    """Return an outcome for each probability."""
    return (random.random(len(p)) < p).astype(np.float64)


def chain(random, rounds, up, down):
    """Return a chain that goes from 0 to 1 and back with these probabilities, run by run."""
    state, parts, total = int(random.random() < up / (up + down)), [], 0
    while total < rounds:
        length = min(int(random.geometric(down if state else up)), rounds)
        parts.append(np.full(length, float(state)))
        state, total = 1 - state, total + length
    return np.concatenate(parts)[:rounds]


def fast_chain(random, rounds, up, down):
    """Return the same, many runs at a time."""
    pairs = int(2 * rounds * up * down / (up + down)) + 50
    first = int(random.random() < up / (up + down))
    leave = (down, up) if first else (up, down)
    runs = np.stack([random.geometric(p, pairs) for p in leave], axis=1).ravel()
    states = np.tile([float(first), 1.0 - first], pairs)
    states = np.repeat(states, np.minimum(runs, rounds))
    return states[:rounds] if len(states) >= rounds else chain(random, rounds, up, down)


def features(random, rounds, size=1.2):
    return size * random.standard_normal(rounds)


def independent(random, rounds):
    x = features(random, rounds) + random.uniform(-2, 2)
    return sigmoid(x), drawn(random, sigmoid(x))


def overconfident(random, rounds):
    x = features(random, rounds)
    return sigmoid(2.5 * x + 0.7), drawn(random, sigmoid(x))


def persistent(random, rounds, stay=0.5, low=0.1):
    """A chain, and scores that know a little of its state."""
    rate = random.uniform(low, 1 - low)
    y = fast_chain(random, rounds, (1 - stay) * rate, (1 - stay) * (1 - rate))
    return sigmoid(1.5 * (y - 0.5) + features(random, rounds)), y


def very_persistent(random, rounds):
    return persistent(random, rounds, 0.9, 0.2)


def knows_the_last(random, rounds):
    """A chain, and scores that say what follows from its last state."""
    rate = random.uniform(0.2, 0.8)
    y = fast_chain(random, rounds, 0.1 * rate, 0.1 * (1 - rate))
    last = np.concatenate([[0.0], y[:-1]])
    p = np.clip(0.9 * last + 0.1 * rate, 0.01, 0.99)
    return sigmoid(logit(p) + 0.3 * random.standard_normal(rounds)), y


def seasonal(random, rounds):
    x, period = features(random, rounds, 0.7), random.choice([24, 168, 365])
    return sigmoid(x), drawn(
        random, sigmoid(3 * np.sin(2 * np.pi * np.arange(rounds) / period) + x)
    )


def walking(random, rounds):
    x = features(random, rounds, 0.8)
    level = 3 * np.sin(np.cumsum(random.standard_normal(rounds)) * random.uniform(0.02, 0.1))
    return sigmoid(x), drawn(random, sigmoid(level + x))


def jumping(random, rounds):
    x, pieces = features(random, rounds, 0.8), max(2, min(20, rounds // 50))
    level = np.repeat(random.uniform(-3.5, 3.5, pieces), -(-rounds // pieces))[:rounds]
    return sigmoid(x), drawn(random, sigmoid(level + x))


def stormy(random, rounds):
    storm, x = fast_chain(random, rounds, 0.002, 0.01), features(random, rounds, 0.7) - 2
    return sigmoid(x), drawn(random, sigmoid(x + 4 * storm))


def rare(random, rounds):
    p = sigmoid(features(random, rounds, 1.5) - 8)
    return p, drawn(random, p)


def rare_bursts(random, rounds):
    burst, x = fast_chain(random, rounds, 0.0003, 0.05), features(random, rounds, 1.0)
    return sigmoid(x - 6), drawn(random, sigmoid(x - 8 + 7.5 * burst))


def drifting_away(random, rounds):
    x = features(random, rounds, 1.5)
    return sigmoid(1.5 * x), drawn(random, sigmoid(x + 3 * np.arange(rounds) / rounds - 1.5))


def constant(random, rounds):
    p = 0.3 + 0.25 * np.sin(2 * np.pi * np.arange(rounds) / max(50, rounds / 5))
    return np.full(rounds, 0.3), drawn(random, p)


def sharp(random, rounds):
    x = features(random, rounds, 12.0)
    return sigmoid(0.8 * x), drawn(random, sigmoid(x))


def coarse(random, rounds):
    x = features(random, rounds)
    return np.round(sigmoid(x), 1), drawn(random, sigmoid(x))


def coarse_chain(random, rounds):
    """Ten scores, and outcomes that depend on the last."""
    scores, y = very_persistent(random, rounds)
    return np.round(scores, 1), y


def spurious(random, rounds):
    """Scores and rates that wander, apart from each other."""
    a, b = (
        3 * np.sin(np.cumsum(random.standard_normal(rounds)) * 3 / np.sqrt(rounds))
        for _ in range(2)
    )
    return sigmoid(a + 0.2 * random.standard_normal(rounds)), drawn(random, sigmoid(b))


def trending(random, rounds):
    x = 4 * np.arange(rounds) / rounds - 2 + 0.05 * random.standard_normal(rounds)
    return sigmoid(x), drawn(random, sigmoid(x))


def renewing(random, rounds):
    """Failures of a part that ages: fewer soon after the last."""
    gaps = np.minimum(random.geometric(0.04, rounds) + random.geometric(0.04, rounds), rounds)
    ends = np.cumsum(gaps)
    ends = ends[ends <= rounds]
    y = np.zeros(rounds)
    y[ends - 1] = 1.0
    rows = np.arange(rounds)
    since = rows - np.concatenate([[0], ends])[np.searchsorted(ends, rows, side="right")]
    return np.clip(0.04 * (1 - np.exp(-since / 25)) + 1e-6 * since, 0, 1), y


def alternating(random, rounds):
    y = fast_chain(random, rounds, 0.8, 0.7)
    return sigmoid(1.2 * (y - 0.5) + features(random, rounds)), y


def climatology(random, rounds):
    p = 0.5 + 0.4 * np.sin(2 * np.pi * np.arange(rounds) / 24)
    return p, drawn(random, p)


def common(random, rounds):
    p = sigmoid(features(random, rounds) + 7.5)
    return p, drawn(random, p)


def useless(random, rounds):
    return random.random(rounds), drawn(random, np.full(rounds, random.uniform(0.05, 0.95)))


HONEST = {
    make.__name__.replace("_", " "): make
    for make in (
        independent, overconfident, persistent, very_persistent, knows_the_last, seasonal, walking,
        jumping, stormy, rare, rare_bursts, drifting_away, constant, sharp, coarse, coarse_chain,
        spurious, trending, renewing, alternating, climatology, common, useless,
    )
}  # fmt: skip
#: What is spoiled, to see whether it is found.
BASES = (
    "independent", "overconfident", "persistent", "seasonal", "walking", "stormy", "drifting away",
    "jumping",
)  # fmt: skip


@dataclass
class World:
    """Rows as somebody would hand them in; `known` says when outcomes became known."""

    scores: np.ndarray
    outcomes: np.ndarray
    times: np.ndarray
    known: np.ndarray | None = None

    def rows(self, order):
        known = None if self.known is None else self.known[order]
        return World(self.scores[order], self.outcomes[order], self.times[order], known)


def honest(name, random, rounds, missing=0):
    """Return an honest world, with scores as files have them; outcomes are missing in some way.

    Of the ways 1 to 4, outcomes are lost at random (a tenth, six in ten), in outages of the log,
    and where the score is high, because such rows are blocked; with 5 the last have not come yet,
    and it is said when they came; with 6 and 7 all come, after delays that depend on nothing, or
    on the score.
    """
    scores, y = HONEST[name](random, rounds)
    times = np.cumsum(random.exponential(60.0, rounds))
    gone, known = np.zeros(rounds, bool), None
    if missing in (1, 2):
        gone = random.random(rounds) < (0.1, 0.6)[missing - 1]
    elif missing == 3:
        gone = fast_chain(random, rounds, 0.002, 0.02) > 0
    elif missing == 4:
        gone = scores > np.quantile(scores, 0.9)
    elif missing >= 5:
        delay = random.lognormal(np.log(0.05 * (times[-1] - times[0]) + 1e-9), 0.8, rounds)
        if missing == 7:
            delay *= np.exp(np.clip(logit(np.clip(scores, 1e-3, 1 - 1e-3)), -4, 4) / 2)
        known = times + delay
        if missing == 5:
            known[known > times[-1]] = np.nan
            gone = np.isnan(known)
    return World(np.round(scores, 6), np.where(gone, np.nan, y), times, known)


def by_outcome(world, random):
    order = np.argsort(world.outcomes, kind="stable")
    return world.rows(order if random.random() < 0.5 else order[::-1])


def by_outcome_within(world, size):
    return world.rows(np.lexsort((world.outcomes, np.arange(len(world.scores)) // size)))


def announced(world, kind, random, share=1.0, other=0.0):
    """Keep a share of the outcomes of one kind, and another of the rest."""
    y, u = world.outcomes, random.random(len(world.outcomes))
    keep = u < np.where(y == kind, share, other)
    return World(world.scores, np.where(keep, y, np.nan), world.times)


def later(world, factor, random):
    delay = random.lognormal(8, 0.7, len(world.scores)) * np.where(world.outcomes == 1, 1, factor)
    return World(world.scores, world.outcomes, world.times, world.times + delay)


def waits(world, share, random):
    """Lose the outcomes that have not come by the end of the file."""
    wait = random.exponential(share * world.times[-1], len(world.scores))
    is_late = world.times + wait > world.times[-1]
    return World(world.scores, np.where(is_late, np.nan, world.outcomes), world.times)


def with_scores(world, scores):
    return World(scores, world.outcomes, world.times)


def fitted(world):
    """Return the scores of a logistic fit to these very outcomes, to five digits."""
    x = logit(np.clip(world.scores, 1e-4, 1 - 1e-4))
    a = b = 0.0
    for _ in range(40):
        p = sigmoid(np.clip(a + b * x, -30, 30))
        w, r = np.maximum(p * (1 - p), 1e-9), world.outcomes - p
        A = np.array([[w.sum(), (w * x).sum()], [(w * x).sum(), (w * x * x).sum()]])
        step = np.linalg.solve(A + 1e-9 * np.eye(2), [r.sum(), (r * x).sum()])
        a, b = a + step[0], b + step[1]
    return with_scores(world, np.round(sigmoid(a + b * x), 6))


def half_percents(world):
    scores = 100 * world.scores
    scores[: len(scores) // 2] /= 100
    return with_scores(world, scores)


def doubled(world, share, random):
    rows = np.arange(len(world.scores))
    extra = rows if share == 1 else random.choice(rows, int(share * len(rows)), replace=False)
    return world.rows(np.sort(np.concatenate([rows, extra])))


#: What is done to an honest world, the check that should find it, and whether it is told the time.
SPOILED = {
    "sorted by outcome": (by_outcome, "order.sorted", False),
    "sorted by outcome within twelve months": (
        lambda world, _: by_outcome_within(world, -(-len(world.scores) // 12)),
        "order.sorted", False,
    ),
    "sorted by outcome within days of 27 rows": (
        lambda world, _: by_outcome_within(world, 27), "order.sorted_within", False,
    ),
    "sorted by score": (
        lambda world, _: world.rows(np.argsort(world.scores)), "order.by_score", False,
    ),
    "only ones announced": (lambda world, r: announced(world, 1, r), "one_sided", True),
    "only zeros announced": (lambda world, r: announced(world, 0, r), "one_sided", True),
    "a tenth of the ones announced": (lambda w, r: announced(w, 1, r, 0.1), "one_sided", True),
    "ones announced, and 2 % of the zeros": (
        lambda world, r: announced(world, 1, r, 1.0, 0.02), "lopsided", True,
    ),
    "the last outcomes have not come": (lambda w, r: waits(w, 0.05, r), "maturity.rising", True),
    "zeros twice as late": (lambda world, r: later(world, 2.0, r), "lateness", True),
    "zeros 1.2 times as late": (lambda world, r: later(world, 1.2, r), "lateness", True),
    "the score is the outcome": (
        lambda world, _: with_scores(world, world.outcomes.copy()), "leak.copy", True,
    ),
    "the score is the outcome with noise": (
        lambda world, r: with_scores(
            world, sigmoid(8 * (world.outcomes - 0.5) + 0.2 * features(r, len(world.scores)))
        ),
        "leak.auc", True,
    ),
    "scores fitted to these outcomes": (lambda world, _: fitted(world), "leak.in_sample", True),
    "every row twice": (lambda world, r: doubled(world, 1, r), "duplicates", True),
    "every row twice, no time": (lambda world, r: doubled(world, 1, r), "duplicates", False),
    "5 % of the rows twice": (lambda world, r: doubled(world, 0.05, r), "duplicates", True),
    "percents": (
        lambda world, _: with_scores(world, np.round(100 * world.scores, 1)), "scale", True,
    ),
    "half percents, half shares": (lambda world, _: half_percents(world), "scale", True),
    "the score of the other class": (
        lambda world, _: with_scores(world, 1 - world.scores), "inverted", True,
    ),
}  # fmt: skip
