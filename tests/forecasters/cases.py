"""Streams and partitions on which forecasters meet their slow references."""

import math

import numpy as np

from calibrant.partitions import refined, uniform


def stream(number, rounds):
    """Return stream `number`: i.i.d., drifting, alternating or fractional outcomes, in turn."""
    random = np.random.default_rng([number, rounds])
    t = np.arange(rounds)
    match number % 4:
        case 0:
            return (random.random(rounds) < random.random()).astype(float)
        case 1:
            means = 0.5 + 0.45 * np.sin(2 * math.pi * t / rounds + 6 * random.random())
            return (random.random(rounds) < means).astype(float)
        case 2:
            # Alternating, with a slip now and then.
            return ((t + (random.random(rounds) < 0.05)) % 2).astype(float)
        case _:
            return random.beta(0.6, 0.9, rounds)


def random_stream(number, rounds):
    """Return stream `number` of a family that mixes levels, switches and fractions."""
    random = np.random.default_rng([number, rounds])
    means = np.repeat(random.random(4), -(-rounds // 4))[:rounds]
    if number % 4 == 0:
        return np.clip(means + random.normal(0, 0.2, rounds), 0, 1)
    return (random.random(rounds) < means).astype(float)


def partition(number, *, domain="p", low=0.0, high=None):
    """Return partition `number`, of 2 to 200 intervals: uniform and with bands, in turn."""
    random = np.random.default_rng([number, 77])
    if number % 2:
        return uniform(int(random.integers(2, 201)), low, high, domain=domain)
    width = (1.0 if domain == "p" else math.pi) if high is None else high - low
    cut = refined(
        low + width * random.random(),
        width * random.choice([0.3, 0.02, 0.001]),
        int(random.integers(1, 40)),
        int(random.integers(1, 7)),
        low=low,
        high=high,
        domain=domain,
        anchored=bool(random.integers(2)),
    )
    assert 2 <= len(cut) <= 200
    return cut
