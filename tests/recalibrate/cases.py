"""Streams of scores and outcomes that the tests of the recalibrator share."""

import numpy as np


def zigzag(scores, teeth):
    """Return a map with that many slopes up and down between 0.1 and 0.9."""
    phase = (scores * teeth) % 2
    return 0.1 + 0.8 * np.where(phase < 1, phase, 2 - phase)


HOSTILE = {
    "inverted": lambda s: 1 - s,
    "ten teeth": lambda s: zigzag(s, 10),
    "seven teeth": lambda s: zigzag(s, 7),
    "constant": lambda s: np.full(len(s), 0.3),
    "random": lambda s: np.full(len(s), 0.4),
    "switched": lambda s: np.where((np.arange(len(s)) // 5000) % 2 == 0, s, 1 - s),
}


def hostile(name, rounds, seed):
    """Return scores, the true means that hostile map gives them, and outcomes."""
    random = np.random.default_rng([seed, rounds])
    scores = np.full(rounds, 0.7) if name == "constant" else random.random(rounds)
    means = HOSTILE[name](scores)
    return scores, means, (random.random(rounds) < means).astype(float)


def random_case(number, rounds):
    """Return kind, scores and outcomes of one of many small streams, all different."""
    random = np.random.default_rng([number, 5])
    kind = ("probability", "logit", "margin")[number % 3]
    shape = number // 3 % 5
    logits = random.normal(0, 2, rounds)
    if shape == 1:
        logits = np.round(logits)  # ties
    elif shape == 2:
        logits = np.full(rounds, 0.8)
    means = 1 / (1 + np.exp(-random.choice([-1, 0.3, 1, 2]) * logits - random.normal()))
    if shape == 3:
        means = np.where(np.arange(rounds) % 150 < 75, 0.02, 0.98)  # biases beyond neutral
    outcomes = (random.random(rounds) < means).astype(float)
    if shape == 4:
        outcomes = np.round(means, 2)  # fractions
    if kind == "probability":
        scores = 1 / (1 + np.exp(-logits))
        scores[::17] = number % 2  # 0 and 1 exactly
    else:
        scores = logits * (40.0 if kind == "margin" else 1.0)
    return kind, scores, outcomes


def grouped_case(name, groups, size, seed):
    """Return scores, outcomes, group numbers and true means, the groups' rounds in random order.

    "shared": all groups are miscalibrated alike. "one differs": but the first. "shifted": each has
    a shift of its own besides. "opposite": in every other group scores mean the contrary. "bent":
    each has a curve of its own, which may even fall.
    """
    random = np.random.default_rng([seed, groups, size])
    by = random.permutation(np.repeat(np.arange(groups), size))
    x = random.normal(0, 1.5, groups * size)
    shared = 0.6 * x - 0.7
    drawn = np.random.default_rng([seed, 1])
    waves, phases = drawn.uniform(0.5, 2, groups), drawn.uniform(0, 2 * np.pi, groups)
    logits = {
        "shared": shared,
        "one differs": np.where(by == 0, shared + 1.5, shared),
        "shifted": shared + random.normal(0, 0.5, groups)[by],
        "opposite": np.where(by % 2 == 0, x, -x),
        "bent": 0.7 * x + 1.2 * np.sin(waves[by] * x + phases[by]),
    }[name]
    means = 1 / (1 + np.exp(-logits))
    outcomes = (random.random(len(x)) < means).astype(float)
    return 1 / (1 + np.exp(-x)), outcomes, by, means


def late_case(spread, groups, differ, seed, rounds=20_000):
    """Return scores, outcomes, groups, true means, and how many rounds after its own each is known.

    All groups share a level of this spread, which takes 300 rounds to change; a group is off by an
    offset of standard deviation `differ` besides. Outcomes are known after 150 rounds or so.
    """
    random = np.random.default_rng([seed, groups])
    level, moves = np.zeros(rounds), spread * random.normal(0, np.sqrt(2 / 300), rounds)
    for t in range(1, rounds):
        level[t] = (1 - 1 / 300) * level[t - 1] + moves[t]
    by, x = random.integers(0, groups, rounds), random.normal(-1, 1, rounds)
    means = 1 / (1 + np.exp(-x - level - differ * random.normal(0, 1, groups)[by]))
    outcomes = (random.random(rounds) < means).astype(float)
    known = 1 + random.lognormal(np.log(150), 0.5, rounds).astype(int)
    return 1 / (1 + np.exp(-x)), outcomes, by, means, known


def played_late(recalibrator, scores, outcomes, late, by=None):
    """Return predictions of rows whose outcomes are each known so many rounds later."""
    due, told = np.arange(len(scores)) + late, 0
    order = np.argsort(due, kind="stable").tolist()
    until = np.searchsorted(due[order], np.arange(len(scores)), side="left").tolist()
    predictions = []
    for t, score in enumerate(scores.tolist()):
        for row in order[told : until[t]]:
            recalibrator.update(outcomes[row], id=row)
        told = until[t]
        predictions.append(recalibrator.predict(score, id=t, by=None if by is None else by[t]))
    return np.array(predictions)


def played_until(recalibrator, scores, outcomes, known, by=None):
    """Return predictions of rows whose outcomes are known from the round `known` on."""
    late = known - 1 - np.arange(len(scores))
    return played_late(recalibrator, scores, outcomes, late, by)


def last_stages(groups):
    """Return the stages that place predictions of groups, the one that they share first."""
    return [groups.shared, *(own.last for own in groups.own.values())]
