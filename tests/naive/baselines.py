"""Epoch, running mean and Foster-Hart, as their papers say it."""

import math

from naive.draws import Draws


def epoch(outcomes, kl=False, delta=0.05):
    """Algorithms simple_block and simple_block_PKL: s_m = 2^m rounds predict the last mean."""
    predictions, mean, m, at = [], 0.5, 1, 0
    while at < len(outcomes):
        prediction = mean
        if kl:
            # iota = log(T / delta) with T the power of two above the rounds so far.
            iota = math.log(2 ** (m + 1) / delta)
            d = min(math.pi / 4, 8 * math.pi * math.sqrt(iota / 2**m))
            theta = 2 * math.asin(math.sqrt(mean))
            prediction = math.sin(min(max(theta, d), math.pi - d) / 2) ** 2
        block = outcomes[at : at + 2**m]
        predictions += [prediction] * len(block)
        mean = sum(block) / len(block)
        at, m = at + 2**m, m + 1
    return predictions


def running_mean(outcomes):
    return [(1 + sum(outcomes[:t])) / (2 + t) for t in range(len(outcomes))]


def foster_hart(outcomes, gaps, seed):
    """Return predictions; the point or the pair is found by bisection from both ends."""
    draws = Draws(seed)
    bias = dict.fromkeys(range(gaps + 1), 0.0)
    predictions = []
    for y in outcomes:
        if bias[0] == 0:
            pair = (0,)
        elif bias[gaps] == 0:
            pair = (gaps,)
        else:
            low, high = 0, gaps
            while high - low > 1 and bias[(low + high) // 2] != 0:
                middle = (low + high) // 2
                low, high = (low, middle) if bias[middle] > 0 else (middle, high)
            pair = (low, high) if high - low == 1 else ((low + high) // 2,)
        if len(pair) == 1:
            weights = [1.0]
        else:
            down, up = abs(bias[pair[0]]), abs(bias[pair[1]])
            weights = [up / (down + up), down / (down + up)]
        chosen = draws.choose(pair, weights)
        predictions.append(chosen / gaps)
        bias[chosen] += chosen / gaps - y
    return predictions
