"""The measures as their definitions read: loops, exact fractions, quadrature, dense programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

Rounds = Sequence[float]


def exact_points(predictions: Rounds, outcomes: Rounds, weights: Rounds | None = None):
    """Return {p: (n, s)} in exact fractions."""
    points: dict[Fraction, list[Fraction]] = {}
    weights = [1.0] * len(predictions) if weights is None else weights
    for p, y, w in zip(predictions, outcomes, weights, strict=True):
        if w > 0:
            point = points.setdefault(Fraction(float(p)), [Fraction(0), Fraction(0)])
            point[0] += Fraction(float(w))
            point[1] += Fraction(float(w)) * Fraction(float(y))
    return points


def kl(rho: Fraction, p: Fraction) -> float:
    """Return KL(rho, p) with sixty digits inside."""
    if (p == 0 and rho > 0) or (p == 1 and rho < 1):
        return math.inf
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for a, b in ((rho, p), (1 - rho, 1 - p)):
            if a > 0:
                quotient = a / b
                ratio = Decimal(quotient.numerator) / Decimal(quotient.denominator)
                total += Decimal(a.numerator) / Decimal(a.denominator) * ratio.ln()
        return float(total)


def cal1(predictions, outcomes):
    return float(sum(n * abs(s / n - p) for p, (n, s) in _of(predictions, outcomes)))


def cal2(predictions, outcomes, weights=None):
    return float(sum(n * (s / n - p) ** 2 for p, (n, s) in _of(predictions, outcomes, weights)))


def klcal(predictions, outcomes, weights=None):
    return sum(float(n) * kl(s / n, p) for p, (n, s) in _of(predictions, outcomes, weights))


def _of(predictions, outcomes, weights=None):
    return exact_points(predictions, outcomes, weights).items()


def flat(pairs, outcomes):
    """Return every point of every round, with the round's outcome and the point's weight."""
    rows = [
        (p, y, w)
        for (points, weights), y in zip(pairs, outcomes, strict=True)
        for p, w in zip(points, weights, strict=True)
    ]
    return [[row[i] for row in rows] for i in range(3)]


def brier(predictions, outcomes):
    return sum((p - y) ** 2 for p, y in zip(predictions, outcomes, strict=True)) / len(outcomes)


def log_loss(predictions, outcomes):
    total = 0.0
    for p, y in zip(predictions, outcomes, strict=True):
        for chance, share in ((p, y), (1 - p, 1 - y)):
            if share > 0:
                total += math.inf if chance == 0 else -share * math.log(chance)
    return total / len(outcomes)


def width_bin(p: float, bins: int) -> int:
    for i in range(bins - 1):
        if p < (i + 1) / bins:
            return i
    return bins - 1


def mass_bin(p: float, predictions: Rounds, bins: int) -> int:
    """Return floor(bins * middle rank / T)."""
    below = sum(q < p for q in predictions)
    equal = sum(q == p for q in predictions)
    return math.floor(Fraction(bins, len(predictions)) * (below + Fraction(equal, 2)))


def binned(predictions, outcomes, bin_of: Callable[[float], int]):
    """Return the residuals y - p of each bin that has any."""
    groups: dict[int, list[float]] = {}
    for p, y in zip(predictions, outcomes, strict=True):
        groups.setdefault(bin_of(p), []).append(y - p)
    return list(groups.values())


def ece(predictions, outcomes, bin_of, norm):
    groups = binned(predictions, outcomes, bin_of)
    mean = sum(len(g) / len(outcomes) * abs(sum(g) / len(g)) ** norm for g in groups)
    return mean ** (1 / norm)


def smoothed_residual(predictions, outcomes, sigma, places):
    """Return the residuals smoothed by a Gaussian reflected at 0 and 1, at some places."""
    density = np.zeros_like(places)
    for p, y in zip(predictions, outcomes, strict=True):
        for turn in range(-math.ceil(5 * sigma) - 1, math.ceil(5 * sigma) + 2):
            for image in (2 * turn + p, 2 * turn - p):
                z = (places - image) / sigma
                density += (y - p) * np.exp(-z * z / 2) / (sigma * math.sqrt(2 * math.pi))
    return density / len(outcomes)


def smece(predictions, outcomes, bins=20_000):
    """Solve sigma = integral of |smoothed residual| by the midpoint rule and bisection."""
    places = (np.arange(bins) + 0.5) / bins
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        sigma = (low + high) / 2
        integral = np.abs(smoothed_residual(predictions, outcomes, sigma, places)).mean()
        low, high = (sigma, high) if integral > sigma else (low, sigma)
    return (low + high) / 2


def smooth_calibration(predictions, outcomes):
    """Maximise over f at the predictions, every pair of them constrained."""
    if not len(predictions):
        return 0.0
    values = sorted(set(predictions))
    gain = [
        sum(y - p for p, y in zip(predictions, outcomes, strict=True) if p == v) for v in values
    ]
    rows, bounds = [], []
    for i, j in itertools.permutations(range(len(values)), 2):
        row = [0.0] * len(values)
        row[i], row[j] = 1.0, -1.0
        rows.append(row)
        bounds.append(abs(values[i] - values[j]))
    solution = linprog(
        [-g for g in gain],
        A_ub=rows or None,
        b_ub=bounds or None,
        bounds=[(-1, 1)] * len(values),
    )
    return -solution.fun


def lower_distance_on(predictions, outcomes, targets):
    """Move 0/1 outcomes, round by round, to targets that must be calibrated; dense program."""
    rounds, count = len(outcomes), len(targets)
    cost = [abs(p - u) for p in predictions for u in targets]
    rows, values = [], []
    for t in range(rounds):
        rows.append([1.0 if s == t else 0.0 for s in range(rounds) for _ in targets])
        values.append(1.0)
    for j in range(count):
        rows.append(
            [
                outcomes[s] - targets[j] if i == j else 0.0
                for s in range(rounds)
                for i in range(count)
            ]
        )
        values.append(0.0)
    return linprog(cost, A_eq=rows, b_eq=values).fun


def lower_distance_by_groups(predictions, outcomes):
    """Try every way to group the rounds, each group moving to its mean outcome.

    Rounds are not split, so this is an upper bound; nothing but arithmetic is in it.
    """
    best = math.inf
    for groups in partitions(list(range(len(outcomes)))):
        cost = 0.0
        for group in groups:
            mean = sum(outcomes[t] for t in group) / len(group)
            cost += sum(abs(predictions[t] - mean) for t in group)
        best = min(best, cost)
    return best


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for i in range(len(groups)):
            yield [*groups[:i], [first, *groups[i]], *groups[i + 1 :]]


def v_regret(predictions, outcomes, v):
    """Return the regret of the loss (v - y) sgn(p - v) to the best constant, p never being v."""
    suffered = sum(
        (v - y) * math.copysign(1, p - v) for p, y in zip(predictions, outcomes, strict=True)
    )
    above = sum(v - y for y in outcomes)
    return suffered - min(above, -above)


def decision_loss(predictions, outcomes):
    """Maximise over payoffs S(q, 0), S(q, 1) in [0, 1] that make the truth best everywhere.

    The reports q are all predictions and all rates; nothing is assumed about convexity.
    """
    points = {float(p): (float(n), float(s)) for p, (n, s) in _of(predictions, outcomes)}
    if not points:
        return 0.0
    rates = {p: s / n for p, (n, s) in points.items()}
    reports = sorted(set(points) | set(rates.values()))
    at = {q: i for i, q in enumerate(reports)}
    size = len(reports)
    gain = np.zeros(2 * size)  # S(., 0), then S(., 1)
    for p, (n, s) in points.items():
        for report, sign in ((rates[p], 1.0), (p, -1.0)):
            gain[at[report]] += sign * (n - s)
            gain[size + at[report]] += sign * s
    rows = []
    for truth, lie in itertools.permutations(range(size), 2):
        row = np.zeros(2 * size)
        chance = reports[truth]
        row[lie], row[truth] = 1 - chance, chance - 1
        row[size + lie], row[size + truth] = chance, -chance
        rows.append(row)
    solution = linprog(
        -gain, A_ub=rows or None, b_ub=[0.0] * len(rows) or None, bounds=[(0, 1)] * (2 * size)
    )
    return -solution.fun


def swap_regret(predictions, outcomes, payoffs):
    """Return the swap regret of a decision maker with payoffs[action] = (if 0, if 1)."""
    regret = 0.0
    for key, point in _of(predictions, outcomes):
        chance, n, s = float(key), float(point[0]), float(point[1])
        chosen = max(payoffs, key=lambda u: (1 - chance) * u[0] + chance * u[1])
        best = max((n - s) * u[0] + s * u[1] for u in payoffs)
        regret += best - ((n - s) * chosen[0] + s * chosen[1])
    return regret


def subsampled(measure, predictions, outcomes):
    """Return the expectation over all halves, each of which is as likely."""
    rounds = list(zip(predictions, outcomes, strict=True))
    total = 0.0
    for kept in itertools.product([False, True], repeat=len(rounds)):
        half = list(itertools.compress(rounds, kept))
        total += measure([p for p, _ in half], [y for _, y in half])
    return total / 2 ** len(rounds)


def two_bin_calibration(predictions, outcomes):
    """Return the integral over q: between two predictions the bins are the same."""
    rounds = [(Fraction(p), Fraction(y)) for p, y in zip(predictions, outcomes, strict=True)]
    borders = sorted({Fraction(0), Fraction(1), *(p for p, _ in rounds)})
    total = Fraction(0)
    for low, high in itertools.pairwise(borders):
        q = (low + high) / 2
        bins = [[y - p for p, y in rounds if (p < q) == lower] for lower in (True, False)]
        total += (high - low) * sum(sum(each) ** 2 for each in bins)
    return float(total / len(rounds) ** 2)
