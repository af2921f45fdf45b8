"""Outcomes that were pending together, learned as one batch: plain Python, from the description."""

import math

import numpy as np

from naive.draws import MASK, scramble

SMALLEST = 50
SHAPES = [0] + [2] * 6 + [1, 3, 3, 3, 3] + [3] * 3 + [0] * 9  # parameters of each expert


class Dispersion:
    """How much more batches differ from what is predicted of them than chance explains."""

    def __init__(self):
        self.spread, self.batches, self.outcomes, self.prior = np.zeros(24), 0.0, 0.0, 2.0

    def of(self, size):
        usual = self.outcomes / self.batches if self.batches else size
        first = math.sqrt((1 + (usual - 1) * 0.005) * 2 / math.pi)
        mean = (self.spread.min() + self.prior * first) / (self.batches + self.prior)
        phi = math.pi / 2 * mean**2
        return 1 + (size - 1) * max(0.0, (phi - 1) / max(usual - 1, 1))

    def count(self, predicted, outcomes):
        missed = np.abs((outcomes[:, None] - predicted).sum(axis=0))
        self.spread = 0.95 * self.spread + missed / np.sqrt(
            (predicted * (1 - predicted)).sum(axis=0)
        )
        self.batches = 0.95 * self.batches + 1
        self.outcomes = 0.95 * self.outcomes + len(outcomes)
        self.prior *= 0.95


class Surprises:
    """How probably surprises last, of two kinds: shifts and changes of shape."""

    home, rarely = np.array([0.2, 0.8]), 0.03

    def __init__(self):
        self.lasting = self.home  # as a rule
        self.waiting = None  # (probability, kinds, weights if it lasts, and if it passes)
        self.since = 0  # predictions made when it came

    def last(self):
        """How probably one of each kind lasts: as the rule says, but for exceptions."""
        return self.lasting * (1 - self.rarely) + (1 - self.lasting) * self.rarely

    def judge(self, likelihoods):
        """Learn whether the last surprise lasted from how likely experts make the next batch.

        Returns the probability of that.
        """
        chance, kinds, *weights = self.waiting
        expected = float(kinds @ self.last())
        lasted, passed = (float(each @ likelihoods) for each in weights)
        as_a_rule = (1 - self.rarely) * lasted + self.rarely * passed
        if_not = self.rarely * lasted + (1 - self.rarely) * passed
        after = self.lasting * as_a_rule
        after = after / (after + (1 - self.lasting) * if_not)
        after = 0.95 * after + 0.05 * self.home
        self.lasting = self.lasting + chance * kinds * (after - self.lasting)
        self.waiting = None
        return expected * lasted / (expected * lasted + (1 - expected) * passed)


class Levels:
    """Autoregressions of the levels of batches, by ridge regression on all pairs so far."""

    orders, ridges, home = (0, 1, 4), (16.0, 16.0, 2.0), np.array([0.6, 0.05, 0.15, 0.2])

    def __init__(self):
        self.weights = np.array([1.0, 0.0, 0.0, 0.0])
        self.known = []  # (level, predictions made when it became known)
        self.pairs = []  # (what was known, level)

    def terms(self, number):
        """What was known when a prediction of this number was made."""
        levels = [level for level, since in self.known if since <= number]
        return np.array([1.0, *levels[::-1][:4], *[0.0] * (4 - len(levels[-4:]))]), len(levels)

    def forecasts(self, terms):
        found = []
        for order, ridge in zip(self.orders, self.ridges, strict=True):
            prior = np.array([0.0, 0.6, 0.0, 0.0, 0.0])[: order + 1]
            x = np.array([known[: order + 1] for known, _ in self.pairs]).reshape(-1, order + 1)
            y = np.array([level for _, level in self.pairs])
            matrix = ridge * np.eye(order + 1) + x.T @ x
            theta = prior + np.linalg.solve(matrix, x.T @ (y - x @ prior))
            found.append(theta @ terms[: order + 1])
        return np.array(found)

    def say(self, q, forecasts, least):
        """What each says where the Platt scaling that forgets nothing says q."""
        odds = np.exp(forecasts) * np.asarray(q)[..., None] / (1 - np.asarray(q)[..., None])
        return np.clip(odds / (1 + odds), least, 1 - least)

    def mean(self, mean, q, least, number):
        if not self.known:
            return mean
        predicted = self.say(q, self.forecasts(self.terms(number)[0]), least)
        return float(np.clip(self.weights @ [mean, *predicted], least, 1 - least))


def fit(theta, matrix, features, base, outcomes, weights, keep, least, flattest):
    """Return parameters and their matrix after a batch: Newton steps to the posterior's mode."""
    past = keep * matrix + (1 - keep) * np.eye(len(theta))
    new = theta
    for _ in range(8):
        p = np.clip(1 / (1 + np.exp(-(base + features @ new))), least, 1 - least)
        curvature = weights * np.maximum(p * (1 - p), flattest)
        matrix = past + (features * curvature[:, None]).T @ features
        step = np.linalg.solve(
            matrix, features.T @ (weights * (p - outcomes)) + past @ (new - theta)
        )
        longest = np.abs(step).max()
        new = new - step * min(1, 1.5 / longest if longest else 1)
        if longest < 0.05:
            break
    return new, matrix


def fit_experts(twin, scores, outcomes, weights, least):
    """Let every expert of a twin fit a batch."""
    n, flat = len(scores), 10 * least
    logits = np.log(scores) - np.log1p(-scores)
    ones, zeros = np.ones(n), np.zeros(n)
    platt = np.column_stack([logits, ones])
    beta = np.column_stack([np.log(scores), -np.log1p(-scores), ones])
    for at, expert in enumerate(twin.experts[1:], start=1):
        keep = (1 - expert.forget) ** n
        if hasattr(expert, "features"):
            features = platt if len(expert.a) == 2 else beta
            expert.a, expert.matrix = fit(
                expert.a, expert.matrix, features, zeros, outcomes, weights, keep, least, flat
            )
        elif hasattr(expert, "base"):
            base = np.array([expert.base(s) for s in scores])
            (expert.c,), ((expert.curvature,),) = fit(
                np.array([expert.c]), np.array([[expert.curvature]]), ones[:, None], base,
                outcomes, weights, keep, least, flat,
            )  # fmt: skip
        else:
            bins = np.array([expert.bin(s) for s in scores])
            for b in set(bins.tolist()):
                inside = bins == b
                visits, events = weights[inside].sum(), (weights * outcomes)[inside].sum()
                keep = (1 - expert.forget) ** inside.sum()
                expert.visits[b] = keep * expert.visits[b] + visits
                expert.outcomes[b] = keep * expert.outcomes[b] + events
        assert at < len(SHAPES)


def losses(predicted, outcomes, weights):
    y = outcomes[:, None]
    each = y * np.log(predicted) + (1 - y) * np.log1p(-predicted)
    return -(weights[:, None] * each).sum(axis=0)


def weighed(prior, losses, power):
    weights = prior * np.exp((losses.min() - losses) * power)
    return weights / weights.sum()


def home_of(priors, size):
    """Where weights return after a batch: the larger it is, the less the identity is worth."""
    identity = priors[0] * 500 / (500 + size)
    return np.array([identity, *(priors[1:] / priors[1:].sum() * (1 - identity))])


def fit_charges(twin, scores):
    """What parameters cost in a fit: one each; a bin, half a logarithm of its own rows."""
    charges = np.array(SHAPES, dtype=float)
    for at, expert in enumerate(twin.experts):
        if hasattr(expert, "bin"):
            visits = np.bincount([expert.bin(s) for s in scores])
            charges[at] = np.log1p(visits / 2).sum() / 2
    return charges


def kinds_of(home, fits, power):
    """How probably a surprise is a shift of all log odds, and a change of shape."""
    fitted = np.exp((fits.min() - fits) * power)
    shift = np.average(fitted[8:12], weights=home[8:12])
    shape = 0.1 * np.average(fitted, weights=home)
    return np.array([0.9 * shift, shape]) / (0.9 * shift + shape)


def learn_batch(twin, rows, is_revised=False):
    """Let a twin learn rows of (predicted, point, outcome) that waited together; no point, no grid.

    Where scores are revised, who made them has noticed a change. Returns for each row, in this
    order, the mean that is left for it, how many outcomes counted for one, and the slope and the
    offset by which means were moved.
    """
    given = [row[0] for row in rows]
    rows = sorted(rows, key=lambda row: scramble(row[0].number + 1))
    n, outcomes = len(rows), np.array([outcome for *_, outcome in rows])
    heavy = np.array([predicted.weight for predicted, *_ in rows])
    scores = np.array([predicted.s for predicted, *_ in rows])
    each = np.array([predicted.each for predicted, *_ in rows])
    recalled = np.array([predicted.recalled for predicted, *_ in rows])
    means, before = recalled[:, 0], twin.dispersion.of(n) if twin.learned else 1.0
    is_first = twin.learned == 0
    known = twin.dispersion.batches + twin.dispersion.prior
    surprise = (outcomes - means).sum() ** 2 / (means * (1 - means)).sum() / before
    surprise = (known + 1) * math.log1p(surprise / known)
    odds = 0.05 * math.exp(min(50, (surprise - 6) / 2)) if surprise > 6 else 0.0
    change = 0.0 if is_revised else 1.0 if is_first else odds / (1 + odds)
    if twin.learned >= n:
        twin.dispersion.count(each, outcomes)
    power = 1 / twin.dispersion.of(n)
    same = None
    if twin.surprises.waiting:
        now = losses(np.array([twin.ask(s, twin.least)[0] for s in scores]), outcomes, heavy)
        lasted = twin.surprises.judge(np.exp((now.min() - now) * power))
        if min(predicted.number for predicted, *_ in rows) < twin.surprises.since:
            same = lasted  # that surprise was not known, and this is the same
    fit_experts(twin, scores, outcomes, heavy, twin.least)
    twin.learned, twin.ones = twin.learned + n, twin.ones + (heavy * outcomes).sum()
    twin.visits += heavy.sum()
    # `least` is that before the batch.
    least = min(max(1 / (twin.learned - n + 2), 1e-9), 1e-4)
    missed = losses(each, outcomes, heavy)
    weights = weighed(twin.weights, missed, power)
    likelihood = twin.weights @ np.exp((missed.min() - missed) * power)
    home = home_of(twin.priors, n)
    if change > 0:
        now = np.array([twin.ask(s, least)[0] for s in scores])
        fits = losses(now, outcomes, heavy) + fit_charges(twin, scores)
        fit_power = 1 / (4 * before)
        fitted = home @ np.exp((fits.min() - fits) * fit_power)
        if_lasts, lasts = weighed(home, fits, fit_power), 1.0
        if_passes = twin.weights * np.array([(1 - expert.forget) ** n for expert in twin.experts])
        if_passes = if_passes / if_passes.sum()
        if not is_first:
            kinds = kinds_of(home, fits, fit_power)
            lasts = float(kinds @ twin.surprises.last()) if same is None else same
            twin.surprises.waiting = change, kinds, if_lasts, if_passes
            twin.surprises.since = twin.predictions
        followed = lasts * if_lasts + (1 - lasts) * if_passes
        weights = weights + change * (followed - weights)
    shares = np.minimum(1, means * (1 - means) / 0.01)
    keep = max(0.99, np.prod(1 - 5e-5 * shares))
    twin.weights = keep * weights + (1 - keep) * home
    # Those that forecast levels, by what was known when the batch was predicted.
    levels, level = twin.levels, twin.experts[11].c
    terms, known = levels.terms(min(predicted.number for predicted, *_ in rows))
    levels_before = levels.weights
    if known:
        predicted = levels.say(each[:, 1], levels.forecasts(terms), least)
        likelihoods = np.exp((missed.min() - losses(predicted, outcomes, heavy)) * power)
        weights = levels.weights * np.array([likelihood, *likelihoods])
        levels.weights = weights / weights.sum()
        levels.pairs.append((terms, level))
    else:
        levels.weights = levels.home
    levels.known.append((level, twin.predictions))
    if known and change > 0:
        following = levels.forecasts(levels.terms(twin.predictions)[0])
        likelihoods = np.exp(
            (fits.min() - losses(levels.say(now[:, 1], following, least), outcomes, heavy))
            * fit_power
        )
        if_lasts = levels.home * np.array([fitted, *likelihoods])
        if_lasts = if_lasts / if_lasts.sum()
        if_passes = levels_before * np.array([1.0, *(order == 0 for order in levels.orders)])
        if_passes = if_passes / if_passes.sum()
        followed = lasts * if_lasts + (1 - lasts) * if_passes
        levels.weights = levels.weights + change * (followed - levels.weights)
    levels.weights = keep * levels.weights + (1 - keep) * levels.home
    # Those that look at the past: weighed alike, and nothing to learn.
    doubt = 0.75 ** (sum(predicted.moved for predicted, *_ in rows) * power)
    weights = twin.recent.weights * np.array([1.0] + [doubt] * 8)
    weights = weighed(weights, losses(recalled, outcomes, heavy), power)
    keep = np.prod(1 - 1e-5 * shares)
    twin.recent.weights = keep * weights + (1 - keep) * twin.recent_priors
    # The grid learns each row where it would be played now.
    x = np.array([twin.ask(s, least)[1] for s in scores])
    x = np.log(x) - np.log1p(-x)
    features = np.column_stack([x, np.ones(n)])
    (a, b), _ = fit(
        np.array([1.0, 0.0]), 10 * np.eye(2), features, 0, outcomes, 1.0, 1.0, 1e-9, 0.0
    )
    placed = np.clip(1 / (1 + np.exp(-(a * x + b))), 1e-9, 1 - 1e-9)
    key = scramble(scramble(twin.seed))
    for (predicted, placed_at, _), mean, outcome in zip(
        rows, placed.tolist(), outcomes.tolist(), strict=True
    ):
        if placed_at is None:
            continue
        points, weights = twin.safe.place(mean)
        drawn = scramble((key + (predicted.number + 1) * 0x9E3779B97F4A7C15) & MASK) >> 11
        point = points[0] if drawn / 2**53 < weights[0] else points[-1]
        twin.safe.learn(mean, point, outcome, twin.safe.is_bet(mean))
    left = {
        predicted.number: mean for (predicted, *_), mean in zip(rows, placed.tolist(), strict=True)
    }
    return [left[predicted.number] for predicted in given], 1 / power, (a, b)
