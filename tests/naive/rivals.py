"""The rivals, as their papers say it: everything is remembered, nothing is updated in place."""

import math
from fractions import Fraction

import numpy as np

from calibrant._kernels.elementary import exp
from naive.draws import Draws


def sliding_window(outcomes, window):
    recent = [outcomes[max(0, t - window) : t] for t in range(len(outcomes))]
    return [(math.fsum(past) + 1) / (len(past) + 2) for past in recent]


def exponential_window(outcomes, halflife):
    predictions = []
    for t in range(len(outcomes)):
        weights = [2 ** (-(t - 1 - s) / halflife) for s in range(t)]
        successes = math.fsum(w * y for w, y in zip(weights, outcomes[:t], strict=True))
        predictions.append((successes + 1) / (math.fsum(weights) + 2))
    return predictions


def bisect(size, sign):
    """Return the place without a sign, or the neighbours with +1 and -1, that a bisection meets.

    Places before the first count as +1, places after the last as -1.
    """
    low, high = -1, size
    while high - low > 1:
        middle = (low + high) // 2
        if sign(middle) == 0:
            return (middle,)
        low, high = (middle, high) if sign(middle) > 0 else (low, middle)
    return (low, high)


def foster_1999(outcomes, bins, seed):
    draws = Draws(seed)
    seen = {b: [] for b in range(bins)}

    def excess(b):
        return sum(seen[b]) - len(seen[b]) * ((b + 1) / bins)

    def deficit(b):
        return len(seen[b]) * (b / bins) - sum(seen[b])

    predictions = []
    for y in outcomes:
        pair = bisect(bins, lambda b: (excess(b) > 0) - (deficit(b) > 0))
        lower = 1.0 if len(pair) == 1 else deficit(pair[1]) / (deficit(pair[1]) + excess(pair[0]))
        b = draws.choose(pair, [lower, 1 - lower][: len(pair)])
        predictions.append((b + 0.5) / bins)
        seen[b].append(y)
    return predictions


def abernethy_bartlett_hazan(outcomes, m, rate, seed):
    """The learner moves all of theta, by the gradient of sum_k theta(k) w(k) (y - k/m)."""
    draws = Draws(seed)
    theta = [0.0] * (m + 1)
    predictions = []
    for t, y in enumerate(outcomes, start=1):
        eta = math.sqrt((m + 1) / t) if rate is None else rate
        points = bisect(m + 1, lambda k, now=theta: (now[k] > 0) - (now[k] < 0))
        w = [0.0] * (m + 1)
        w[points[0]] = 1.0
        if len(points) == 2:
            up, down = abs(theta[points[0]]), abs(theta[points[1]])
            w[points[0]] = down / (down + up)
            w[points[1]] = 1 - w[points[0]]
        predictions.append(draws.choose(points, [w[k] for k in points]) / m)
        theta = [min(max(theta[k] + eta * w[k] * (y - k / m), -1.0), 1.0) for k in range(m + 1)]
    return predictions


def foster_vohra(outcomes, bins, rate, seed):
    """Return the predictions and each round's distribution, from the matrix of regrets."""
    draws = Draws(seed)
    x = (np.arange(bins) + 0.5) / bins
    R = np.zeros((bins, bins))
    predictions, distributions = [], []
    for t, y in enumerate(outcomes, start=1):
        eta = math.sqrt(2 * math.log(bins * (bins - 1)) / t) if rate is None else rate
        D = np.exp(eta * R)
        np.fill_diagonal(D, 0.0)
        # p_i sum_j D_ij - sum_j p_j D_ji = 0 for all i but the last, and sum p = 1.
        balance = np.diag(D.sum(axis=1)) - D.T
        balance[-1] = 1.0
        p = np.linalg.solve(balance, np.eye(bins)[-1])
        predictions.append(draws.choose(x.tolist(), p.tolist()))
        distributions.append(p)
        loss = (x - y) ** 2
        R += p[:, None] * (loss[:, None] - loss[None, :])
    return predictions, np.array(distributions)


def k29(outcomes, gaps, width, star):
    """S(p), here `slack`, is summed over all past rounds, wherever it is asked for."""
    past = []

    def kernel(i, j):
        x = abs(i - j) / gaps / width
        return math.exp(-x * x / 2)

    def slack(j):
        total = 0.0
        for i, residual in past:
            total += kernel(i, j) * residual
        return total + (kernel(j, j) * (1 - 2 * (j / gaps)) / 2 if star else 0.0)

    predictions = []
    for y in outcomes:
        low, high = 0, gaps
        if slack(low) > 0 and slack(high) > 0:
            low = high
        elif slack(low) < 0 and slack(high) < 0:
            high = low
        falling = slack(low) > 0 or slack(high) < 0
        while high - low > 1:
            middle = (low + high) // 2
            value = slack(middle) if falling else -slack(middle)
            if value == 0:
                low = high = middle
            else:
                low, high = (middle, high) if value > 0 else (low, middle)
        j = min((low, high), key=lambda end: abs(slack(end)))
        predictions.append(j / gaps)
        past.append((j, y - j / gaps))
    return predictions


def aosa(outcomes, m):
    """Return the predictions and the shadow's choices."""
    predictions, shadow = [], []
    for t, y in enumerate(outcomes):

        def alpha(i, t=t):
            # One by one: from Python 3.12 on, `sum` rounds only once at the end.
            total = 0.0
            for s in range(t):
                if shadow[s] == i / m:
                    total += i / m - outcomes[s]
            return total

        low, high = 0, m
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if alpha(middle) > 0 else (middle, high)
        predictions.append(low / m)
        shadow.append(min((low / m, high / m), key=lambda p: abs(p - y)))
    return predictions, shadow


def u_calibration(outcomes, gaps):
    """Return the weights of all points, round by round: each gap decides by exponential weights."""
    rounds = []
    for t in range(len(outcomes)):
        eta = 2 * math.sqrt(math.log(2) / (t + 1))
        above = []
        for i in range(gaps):
            gain = math.fsum(y - (i + 0.5) / gaps for y in outcomes[:t])
            above.append(1 / (1 + math.exp(min(700, -eta * gain))))
        tails = [1.0, *above, 0.0]
        rounds.append([tails[i] - tails[i + 1] for i in range(gaps + 1)])
    return np.array(rounds)


class Leaf:
    """An interval [low, low + 2^-level] and all that was seen when it predicted its middle."""

    def __init__(self, level, low):
        self.level, self.width, self.low = level, Fraction(1, 2**level), low
        self.middle = low + self.width / 2
        self.seen = []  # y - p and the margin of each round that it predicted
        self.partners = []  # the width of the other leaf of each round it was found in, 0 if none

    def regrets(self):
        """Return the regrets of the experts that ask for more, and for less, and their changes."""
        sums = []
        for sign in (1, -1):
            R = C = 0.0
            for d, margin in self.seen:  # from Python 3.12 on, `sum` rounds only once at the end
                r = sign * d - margin
                R, C = R + r, C + abs(r)
            sums.append((R, C))
        return sums

    def weights(self):
        return [ada_normal_hedge(R, C) for R, C in self.regrets()]

    def halves(self):
        return [Leaf(self.level + 1, low) for low in (self.low, self.middle)]


def ada_normal_hedge(R, C):
    """Return the weight of an expert."""
    high, low = (max(R + step, 0.0) ** 2 / (3 * (C + 1)) for step in (1, -1))
    return 0.5 * exp(high) * (1 - exp(low - high))


def find_leaves(leaves):
    """Return the places found, the probability of the first, and the margin of the round."""
    up, down = zip(*(leaf.weights() for leaf in leaves), strict=True)
    h = [more - less for more, less in zip(up, down, strict=True)]
    W = [more + less for more, less in zip(up, down, strict=True)]
    low, high = -1, len(leaves)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if h[middle] > 0 else (low, middle)
    if low < 0 or high == len(leaves):
        k = max(low, 0)
        return (k,), 1.0, float(leaves[k].width) / 2 * (abs(h[k]) / W[k]) if h[k] else 0.0
    if h[high] == 0:
        return (high,), 1.0, 0.0
    distance = float(leaves[high].middle - leaves[low].middle)
    margin = distance / (W[low] / h[low] + W[high] / -h[high])
    return (low, high), 1 / (1 + h[low] / -h[high]), margin


def dyadic_hedge(outcomes, seed, watch=lambda _: None):
    """Return the predictions, the leaves that were split, in this order, and the last leaves."""
    draws, leaves, split = Draws(seed), [Leaf(0, Fraction(0))], []
    predictions = []
    for y in outcomes:
        watch(leaves)
        found, first, margin = find_leaves(leaves)
        k = draws.choose(found, [first, 1 - first][: len(found)])
        predictions.append(float(leaves[k].middle))
        leaves[k].seen.append((y - predictions[-1], margin))
        pair = [leaves[j] for j in found]
        for leaf, other in zip(pair, reversed(pair), strict=True):
            leaf.partners.append(other.width if other is not leaf else 0)
        for j in reversed(found):
            if len(leaves[j].partners) == 4 ** leaves[j].level:
                split.append(leaves[j])
                split[-1].beside = [leaf.width for leaf in leaves[max(j - 1, 0) : j + 2]]
                leaves[j : j + 1] = leaves[j].halves()
    return predictions, split, leaves


def markov_table(outcomes, order):
    """What followed the same `order` outcomes before, by Laplace's rule; zeros before the start."""
    predictions, followed, past = [], {}, (False,) * order
    for y in outcomes:
        seen = followed.setdefault(past, [])
        predictions.append((sum(seen) + 1) / (len(seen) + 2))
        seen.append(y)
        past = (*past, y > 0.5)[1:]
    return predictions


def seasonal_table(outcomes, period):
    return [
        (sum(outcomes[t % period : t : period]) + 1) / (len(outcomes[t % period : t : period]) + 2)
        for t in range(len(outcomes))
    ]


def context_tree(outcomes, depth):
    """The ratio of two weighted probabilities of the whole past, by their recursive definition."""

    def weighted(bits, asked, past):
        """Return Pw of the node `past`: of the bits from `asked` on that followed it."""
        followed = [
            bits[t] for t in range(asked, len(bits)) if tuple(bits[t - len(past) : t]) == past
        ]
        own, ones = Fraction(1), 0
        for n, bit in enumerate(followed):
            chance = (ones + Fraction(1, 2)) / (n + 1)
            own, ones = own * (chance if bit else 1 - chance), ones + bit
        if len(past) == depth:
            return own
        children = [weighted(bits, asked, (bit, *past)) for bit in (0, 1)]
        return (own + children[0] * children[1]) / 2

    predictions, bits = [], [0] * depth
    for y in outcomes:
        before = weighted(bits, depth, ())
        predictions.append(float(weighted([*bits, 1], depth, ()) / before))
        bits.append(int(y > 0.5))
    return predictions
