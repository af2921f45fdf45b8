"""How an error grows, by search instead of algebra."""

import math


def mean_of_the_worst(errors, size):
    """Return the largest mean over seeds, of all worlds, at a size."""
    return max(sum(world[size]) / len(world[size]) for world in errors)


def exponent(x, errors, log_power):
    """Return the a that minimises the squares of log(mean) - log c - a log x - b log log x."""
    heights = []
    for size, value in enumerate(x):
        logs = log_power * math.log(math.log(value)) if log_power else 0.0
        heights.append(math.log(mean_of_the_worst(errors, size)) - logs)

    def residual(a):
        rest = [h - a * math.log(value) for h, value in zip(heights, x, strict=True)]
        constant = sum(rest) / len(rest)
        return sum((r - constant) ** 2 for r in rest)

    low, high = -10.0, 10.0
    for _ in range(200):
        third = (high - low) / 3
        if residual(low + third) < residual(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2
