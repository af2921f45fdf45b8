"""Families of streams with known means.

Every family takes the number of rounds, a seed and its own parameters, and returns a `Stream`.
The levels and the outcomes are drawn from two independent generators with one seed. Two families
with the same seed share the draws of their outcomes, so they differ only in their means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._checks import Floats, check_choice, check_integer, check_real, check_seed, describe
from calibrant.streams.stream import Stream, generators

# What differs by less than this is equal up to rounding.
ROUNDING = 1e-9


def _drawn(name: str, parameters: dict[str, Any], seed: int, means: Floats) -> Stream:
    """Draw an outcome for each round and return the stream."""
    _, generator = generators(seed)
    # A draw lies in [0, 1): a mean of 0 never gives a 1, a mean of 1 always does.
    outcomes = (generator.random(len(means)) < means).astype(np.float64)
    return Stream(name, parameters, seed, means, outcomes)


def _check_wave(level: object, amplitude: object) -> tuple[float, float]:
    """Check that a sine stays inside [0, 1]; return its level and amplitude."""
    level = check_real("level", level, 0.0, 1.0)
    amplitude = check_real("amplitude", amplitude, 0.0, 0.5)
    # 0.3 + 0.7 must pass, although such sums may round to more than 1.
    if level - amplitude < -ROUNDING or level + amplitude > 1.0 + ROUNDING:
        raise ValueError(
            f"level - amplitude and level + amplitude must be in [0, 1], got {level!r} and "
            f"{amplitude!r}"
        )
    return level, amplitude


def _wave(level: float, amplitude: float, turns: Floats) -> Floats:
    means: Floats = np.clip(level + amplitude * np.sin(2.0 * np.pi * turns), 0.0, 1.0)
    return means


def iid(rounds: int, *, mean: float = 0.5, seed: int = 0) -> Stream:
    """Return outcomes with a constant mean.

    Parameters
    ----------
    rounds : int
        How many outcomes.
    mean : float in [0, 1]
        The probability of a 1.
    seed : int
        Seed of the levels and the outcomes, in [0, 2**64 - 1].

    Examples
    --------
    >>> iid(1000, mean=0.1).outcomes.mean()
    np.float64(0.096)
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    mean = check_real("mean", mean, 0.0, 1.0)
    return _drawn("iid", {"mean": mean}, seed, np.full(rounds, mean))


def piecewise(
    rounds: int,
    *,
    segments: int | None = None,
    levels: Sequence[float] | None = None,
    random_lengths: bool = False,
    seed: int = 0,
) -> Stream:
    """Return segments, each with its own mean.

    Parameters
    ----------
    segments : int, optional
        The number of segments; by default that of `levels`, or 20.
    levels : sequence of float in [0, 1], optional
        The mean of each segment; drawn uniformly from [0, 1] if not given.
    random_lengths : bool
        Whether to cut at random places instead of into equal lengths.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> stream = piecewise(1000, levels=[0.2, 0.9])
    >>> stream.means[[0, 499, 500, 999]]
    array([0.2, 0.2, 0.9, 0.9])
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    if not isinstance(random_lengths, bool):
        raise ValueError(f"random_lengths must be True or False, got {describe(random_lengths)}")
    given: list[float] | None = None
    if levels is not None:
        if isinstance(levels, str | bytes) or not hasattr(levels, "__len__"):
            raise ValueError(f"levels must be a sequence of numbers, got {describe(levels)}")
        given = [check_real(f"levels[{i}]", level, 0.0, 1.0) for i, level in enumerate(levels)]
    if segments is None:
        segments = 20 if given is None else len(given)
    segments = check_integer("segments", segments, 1, rounds)
    if given is not None and len(given) != segments:
        raise ValueError(f"levels must be one per segment ({segments}), got {len(given)}")

    generator, _ = generators(seed)
    heights = generator.random(segments) if given is None else np.array(given)
    if random_lengths:
        shuffled = np.argsort(generator.random(rounds - 1), kind="stable")
        cuts = np.sort(shuffled[: segments - 1]) + 1
    else:
        cuts = np.arange(1, segments) * rounds // segments
    lengths = np.diff(cuts, prepend=0, append=rounds)
    parameters = {"segments": segments, "levels": given, "random_lengths": random_lengths}
    return _drawn("piecewise", parameters, seed, np.repeat(heights, lengths))


def drift(
    rounds: int,
    *,
    level: float = 0.5,
    amplitude: float = 0.3,
    periods: float = 1.0,
    share: float = 1.0,
    seed: int = 0,
) -> Stream:
    """Return a mean that drifts along a sine, more slowly in a longer stream.

    Parameters
    ----------
    level, amplitude : float
        The middle of the sine and its height; both ends must lie in [0, 1].
    periods : float
        How many periods the whole stream has: round t of T has the mean
        level + amplitude sin(2 pi periods t / T).
    share : float in [0, 1]
        The share of the rounds that drift, in one stretch at a random place; the mean of the other
        rounds is the level.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> drift(8, amplitude=0.5).means.round(2)
    array([0.5 , 0.85, 1.  , 0.85, 0.5 , 0.15, 0.  , 0.15])
    >>> drift(8, amplitude=0.5, share=0.5).means.round(2)
    array([0.5, 0.5, 0.5, 0.5, 0.5, 1. , 0.5, 0. ])
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    level, amplitude = _check_wave(level, amplitude)
    periods = check_real("periods", periods, 0.0, rounds)
    share = check_real("share", share, 0.0, 1.0)
    length = round(share * rounds)
    start = int(generators(seed)[0].integers(rounds - length + 1))
    means = np.full(rounds, level)
    turns = np.arange(length, dtype=np.float64) * (periods / max(1, length))
    means[start : start + length] = _wave(level, amplitude, turns)
    parameters = {"level": level, "amplitude": amplitude, "periods": periods, "share": share}
    return _drawn("drift", parameters, seed, means)


def seasonal(
    rounds: int,
    *,
    level: float = 0.5,
    amplitude: float = 0.3,
    period: float = 1000.0,
    seed: int = 0,
) -> Stream:
    """Return a mean that follows a season with a fixed number of rounds.

    Parameters
    ----------
    level, amplitude : float
        The middle of the season and its height; both ends must lie in [0, 1].
    period : float, 2 or more
        The length of the season in rounds, not necessarily an integer (365.25 days).
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> seasonal(8, period=4).means.round(2)
    array([0.5, 0.8, 0.5, 0.2, 0.5, 0.8, 0.5, 0.2])
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    level, amplitude = _check_wave(level, amplitude)
    period = check_real("period", period, 2.0, 1e12)
    means = _wave(level, amplitude, np.arange(rounds, dtype=np.float64) / period)
    parameters = {"level": level, "amplitude": amplitude, "period": period}
    return _drawn("seasonal", parameters, seed, means)


def random_walk(rounds: int, *, spread: float = 2.0, seed: int = 0) -> Stream:
    """Return a mean whose logit is a Gaussian walk that starts at 0.

    Parameters
    ----------
    spread : float in [0, 100]
        The standard deviation of the logit after T rounds; that of a step is spread / sqrt(T).
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> stream = random_walk(1000)
    >>> stream.means[0], stream.segments
    (np.float64(0.5), 1000)
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    spread = check_real("spread", spread, 0.0, 100.0)
    generator, _ = generators(seed)
    logits = np.zeros(rounds)
    np.cumsum(generator.standard_normal(rounds - 1), out=logits[1:])
    logits *= spread / math.sqrt(rounds)
    # (1 + tanh(x/2))/2 is the logistic function, without its overflow.
    return _drawn("random_walk", {"spread": spread}, seed, 0.5 + 0.5 * np.tanh(logits / 2.0))


def corrupted(
    rounds: int,
    *,
    budget: float,
    mean: float = 0.3,
    shape: str = "scattered",
    target: float = 1.0,
    seed: int = 0,
) -> Stream:
    """Return outcomes with a constant mean, except for corrupted rounds.

    Parameters
    ----------
    budget : float
        The deviation C of the corruption: the sum of |q_t - mean|. A round moved to
        `target` costs |target - mean|; the last one is moved only as far as the budget allows.
        At most half of the rounds can be moved, so that `mean` remains a median.
    mean : float in [0, 1]
        The mean of the other rounds.
    shape : {"scattered", "burst"}
        Whether rounds are moved at random places, or in one burst at a random place.
    target : float in [0, 1]
        The mean of a moved round.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> stream = corrupted(1000, budget=2.5, mean=0.0)
    >>> round(stream.deviation, 12), int((stream.means > 0).sum())
    (2.5, 3)
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    mean, target = check_real("mean", mean, 0.0, 1.0), check_real("target", target, 0.0, 1.0)
    shape = check_choice("shape", shape, ("scattered", "burst"))
    cost = abs(target - mean)
    budget = check_real("budget", budget, 0.0, (rounds // 2) * cost)

    shares = budget / cost if cost else 0.0
    whole = math.floor(shares + ROUNDING)
    moved = whole + (shares - whole > ROUNDING)
    generator, _ = generators(seed)
    if shape == "burst":
        places = generator.integers(rounds - moved + 1) + np.arange(moved)
    else:
        places = np.argsort(generator.random(rounds), kind="stable")[:moved]
    means = np.full(rounds, mean)
    means[places] = target
    if moved > whole:
        means[places[-1]] = mean + (target - mean) * (shares - whole)
    parameters = {"budget": budget, "mean": mean, "shape": shape, "target": target}
    return _drawn("corrupted", parameters, seed, means)


def alternating(
    rounds: int, *, low: float = 0.0, high: float = 1.0, every: int = 1, seed: int = 0
) -> Stream:
    """Return means that alternate between two levels, `low` first.

    Parameters
    ----------
    low, high : float in [0, 1]
        The two levels.
    every : int
        The number of rounds between changes.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> alternating(5).outcomes
    array([0., 1., 0., 1., 0.])
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    low, high = check_real("low", low, 0.0, 1.0), check_real("high", high, 0.0, 1.0)
    every = check_integer("every", every, 1)
    means = np.where(np.arange(rounds) // every % 2 == 0, low, high)
    return _drawn("alternating", {"low": low, "high": high, "every": every}, seed, means)
