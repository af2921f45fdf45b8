"""Streams fixed in advance that follow a route through [0, 1]: a family for the search.

A route is a dictionary of numbers and words:

- passes: how often it crosses from `low` to `high` (angles) and back, at constant speed;
- reversals, back: how often it reverses on the way, and by which angle it goes back;
- ripples, swing, ripple: a wave of that swing on top, a sine or a square: with many ripples, a
  square one is an even dither of two points;
- level: it stops at the multiples of pi / 2^level, the points of Zoom's own grid (0: it does not);
- offset: and by this part of a gap beside them;
- how: outcomes are drawn with the means, dithered (rounded, the rest carried on), or the means.
"""

import math

import numpy as np

WORDS = {"ripple": ("sine", "square"), "how": ("drawn", "dithered", "exact")}


def log_uniform(random, low, high):
    return float(np.exp(random.uniform(math.log(low), math.log(high))))


def part(name, rounds, random):
    """Return a random value for one part of a route."""
    if name in WORDS:
        return str(random.choice(WORDS[name]))
    if name in ("low", "high"):
        whole = {"low": 0.0, "high": math.pi}[name]
        return whole if random.random() < 0.5 else float(random.uniform(0, math.pi))
    if name == "passes":
        return log_uniform(random, 0.3, rounds / 200)
    if name in ("reversals", "ripples"):
        return log_uniform(random, 1, rounds / 4)
    if name in ("back", "swing"):
        return 0.0 if random.random() < 0.5 else log_uniform(random, 0.003, 1)
    if name == "level":
        return 0 if random.random() < 0.6 else int(random.integers(2, 9))
    return float(random.uniform(0, 1))  # offset


PARTS = (
    *("passes", "low", "high", "reversals", "back"),
    *("ripples", "swing", "ripple", "level", "offset", "how"),
)


def random_route(rounds, random):
    return {name: part(name, rounds, random) for name in PARTS}


def changed_route(route, rounds, random):
    """Return a route with one or two parts redrawn, or moved a little."""
    changed = dict(route)
    for name in random.choice(PARTS, size=random.integers(1, 3), replace=False).tolist():
        if isinstance(route[name], float) and route[name] and random.random() < 0.6:
            changed[name] = route[name] * math.exp(random.normal(0, 0.3))
        else:
            changed[name] = part(name, rounds, random)
    return changed


def triangle(x):
    return np.abs((2 * x + 1) % 2 - 1)


def means_of(route, rounds):
    x = np.arange(rounds) / rounds
    angle = route["low"] + (route["high"] - route["low"]) * triangle(route["passes"] * x / 2)
    angle = angle + route["back"] * triangle(route["reversals"] * x)
    if route["level"]:
        width = math.pi / 2 ** route["level"]
        angle = (np.floor(angle / width) + route["offset"]) * width
    wave = np.sin(2 * math.pi * route["ripples"] * x)
    if route["ripple"] == "square":
        wave = np.sign(wave)
    return np.sin(np.clip(angle + route["swing"] * wave, 0, math.pi) / 2) ** 2


def outcomes_of(route, rounds, seed=0):
    means = means_of(route, rounds)
    if route["how"] == "drawn":
        return (np.random.default_rng(seed).random(rounds) < means).astype(float)
    if route["how"] == "dithered":
        return np.clip(np.diff(np.floor(np.cumsum(means) + 0.5), prepend=0), 0, 1)
    return means


def describe_route(route):
    """Return a route in a few words."""
    words = [f"{route['passes']:.3g} passes of {route['low']:.2f} to {route['high']:.2f}"]
    if route["back"]:
        words.append(f"{route['reversals']:.3g} reversals of {route['back']:.2g}")
    if route["level"]:
        words.append(f"stops at level {route['level']} + {route['offset']:.2f}")
    if route["swing"]:
        words.append(f"{route['ripples']:.3g} {route['ripple']} ripples of {route['swing']:.2g}")
    return ", ".join([*words, route["how"]])
