"""The rule of a fleet in plain Python, one expert an object; written from its description.

Everything of a key is in single precision, rounded after every operation, as the description says.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from calibrant._kernels import elementary
from naive.batches import learn_batch
from naive.draws import MASK, Draws, scramble
from naive.keys import hash_of
from naive.recalibrate import NaiveRecalibrator, Predicted, floor, within
from naive.safe import NaiveSafe

single = np.float32
FAR = single(20.75)

OFFSETS = [
    (0.1, 0), (0.3, 0), (1, 0), (3, 0), (0.3, 0.01), (1, 0.01), (1, 0.03), (1, 0.1)
]  # fmt: skip
SLOPES = [(0.2, 0.5), (0.5, 0.5)]
OTHERS = [w / 11.4 for w in [2.0, 3.0, 3.0, 2.0] + [0.2] * 4 + [0.3] * 2 + [0.0]]
ROOT_ESTIMATE, ESTIMATE = 0.98, 0.15
ESTIMATE_AT = len(OFFSETS)  # among the experts
MANY, TRIED, TRUSTED = 256, 0.02, 0.5


def exponential(t):
    """Return e^t: 2^n times a polynomial of what is left, with the constants of Cephes."""
    n = (t * single(1.44269504088896341) + single(12582912.0)) - single(12582912.0)
    r = (t - n * single(0.693359375)) - n * single(-2.12194440e-4)
    z = single(1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        z = z * r + single(c)
    return ((z * (r * r) + r) + single(1)) * single(2.0 ** int(n))


def chances(t):
    """Return the probabilities of a 1 and of a 0 for a logit."""
    t = max(min(t, FAR), -FAR)
    odds = exponential(-t)
    p = single(1) / (single(1) + odds)
    return p, odds * p


def total(values):
    """Add up twelve numbers in three rows of four, column by column first."""
    a, b, c, d = ((values[i] + values[i + 4]) + values[i + 8] for i in range(4))
    return (a + b) + (c + d)


class Offset:
    def __init__(self, sd, forget):
        self.c, self.precision = single(0), single(1 / sd**2)
        self.keep, self.back = single(1 - forget), single(forget / sd**2)
        self.wider = single(math.sqrt(1 + math.pi / 8 * sd**2) if sd <= 1 else 1)

    def logit(self, u, _v):
        timid = (self.precision + single(math.pi / 32)) / (
            self.precision + single(3 * math.pi / 32)
        )
        return (u * self.wider + self.c) * timid

    def learn(self, _v, h, r):
        self.precision = (self.keep * self.precision + self.back) + h
        self.c = self.c - (r + self.back * self.c) / self.precision


class Slope:
    def __init__(self, sd_offset, sd_slope):
        self.s, self.c, self.cross = single(0), single(0), single(0)
        self.of_slope, self.of_offset = single(1 / sd_slope**2), single(1 / sd_offset**2)
        self.least = self.of_offset

    def logit(self, u, v):
        return (u + self.s * v) + self.c

    def learn(self, v, h, r):
        self.of_slope = self.of_slope + h * v * v
        self.cross = self.cross + h * v
        self.of_offset = self.of_offset + h
        ratio = self.cross / self.of_slope
        pivot = max(self.of_offset - ratio * self.cross, self.least)
        step = (r - ratio * (r * v)) / pivot
        self.c = self.c - step
        self.s = self.s - (r * v / self.of_slope - ratio * step)


class Curve:
    """Three curves that are added, their knots 1, 1/2 and 1/4 apart from -8 to 8."""

    def __init__(self):
        places = [(scale, place) for scale in (1, 2, 4) for place in range(16 * scale + 1)]
        self.values = dict.fromkeys(places, single(0))
        self.precisions = dict.fromkeys(places, single(4))

    def near(self, v):
        """Return the knots beside a logit at each scale, in pairs, and their shares."""
        v = max(min(v, single(8)), single(-8))
        for scale in (1, 2, 4):
            place = (v + single(8)) * single(scale)
            below = min(int(place), 16 * scale - 1)
            above = place - single(below)
            yield (scale, below), single(1) - above, (scale, below + 1), above

    def value(self, v):
        total = single(0)
        for below, share, above, rest in self.near(v):
            total = total + (self.values[below] * share + self.values[above] * rest)
        return total

    def learn(self, v, h, r):
        for below, share, above, rest in self.near(v):
            for knot, part in ((below, share), (above, rest)):
                self.precisions[knot] = self.precisions[knot] + single(1.5) * h * part
                self.values[knot] = self.values[knot] - r * part / self.precisions[knot]


class Key:
    """What is known of a key; a `curve` it has once it has MANY outcomes."""

    curve, curve_weight = None, 0.0

    def __init__(self):
        self.offsets = [Offset(*each) for each in OFFSETS]
        self.slopes = [Slope(*each) for each in SLOPES]
        self.outcomes = self.predictions = 0

    @property
    def experts(self):
        return self.offsets + self.slopes

    @property
    def bucket(self):
        """Its evidence: digits of the number of outcomes, and whether it clearly differs."""
        widest = self.offsets[3]
        differs = widest.c * widest.c * widest.precision > single(7)
        return min(self.outcomes.bit_length(), 11), bool(differs)


@dataclass
class Views:
    x: float
    mean: float
    v: np.float32
    bucket: tuple
    each: list  # (p, q) of the offsets, the estimate, the slopes, and the curve


@dataclass
class Pool:
    """What the keys of a level share; at first the estimate itself has this weight."""

    estimate: float
    weights: dict = field(default_factory=dict)  # by bucket, once it was used
    lag: float = 0.0
    a: float = 1.0
    b: float = 0.0
    precision: list = field(default_factory=lambda: [300.0, 0.0, 300.0])
    curve_weight: float = TRIED

    @property
    def prior(self):
        others = [single((1 - self.estimate) * other) for other in OTHERS]
        return [*others[:ESTIMATE_AT], single(self.estimate), *others[ESTIMATE_AT:]]

    def heard(self, bucket):
        stage, differs = bucket
        for below in range(stage, -1, -1):
            if (below, differs) in self.weights:
                return self.weights[below, differs]
        return self.weights.get((stage, False), self.prior)

    def view(self, key, x, v):
        """Return what the experts of a key predict from an estimate and a score, and their mean."""
        u = single(self.a * x + self.b)
        v = single(v)
        logits = [expert.logit(u, v) for expert in key.experts]
        logits.insert(ESTIMATE_AT, single(x))
        logits.append(logits[-1] if key.curve is None else logits[-1] + key.curve.value(v))
        predicted = [chances(t) for t in logits]
        w = self.heard(key.bucket)
        one = float(total([w[i] * predicted[i][0] for i in range(12)]))
        zero = float(total([w[i] * predicted[i][1] for i in range(12)]))
        mean = one / (one + zero)
        mixed = mean + key.curve_weight * (float(predicted[-1][0]) - mean)
        return Views(x, mean, v, key.bucket, predicted), mean if key.curve is None else mixed

    def learn(self, key, now, predicted, m, y, late, weight=1.0):
        self.lag += 0.01 * (late - self.lag)
        self.step(key, now, predicted, m, y, weight, min(1 + self.lag / 8, 64), 1e-5)

    def learn_in_batch(self, key, now, predicted, m, y, dispersed, size, weight=1.0):
        """Learn an outcome of a batch of this size, in which so many count for one."""
        self.step(key, now, predicted, m, y, weight, dispersed, min(1e-5, 0.03 / size))

    def step(self, key, now, predicted, m, y, weight, slow, most):
        slow /= weight
        share = most if m * (1 - m) > 0.01 else most * m * (1 - m) / 0.01
        likely = self.weigh(predicted, share, y, slow)
        if key.curve is not None:
            other = self.likelihood(predicted.mean, 1 - predicted.mean, y, slow)
            key.curve_weight = paired(key.curve_weight, likely[-1], other, share)
            self.curve_weight = paired(self.curve_weight, likely[-1], other, share)
        one, zero, times = single(y), single(1) - single(y), single(weight)
        curved = [(times * (p * q), times * (p * zero - q * one)) for p, q in now.each]
        del curved[ESTIMATE_AT]
        for expert, (h, r) in zip(key.experts, curved[:-1], strict=True):
            expert.learn(now.v, h, r)
        if key.curve is not None:
            key.curve.learn(now.v, *curved[-1])
        self.scale(now.x, weight * (now.mean * (1 - now.mean)), weight * (now.mean - y))
        key.outcomes += 1

    def promote(self, key):
        """Give a key with many outcomes a curve; the root has none."""
        if key.outcomes == MANY:
            key.curve = Curve()
            key.curve_weight = min(max(self.curve_weight, TRIED), TRUSTED)

    def likelihood(self, p, q, y, slow):
        """Return how likely an outcome was, of which so many count for one."""
        if slow == 1 and y in (0, 1):
            return p if y == 1 else q
        return elementary.exp((y * elementary.log(p) + (1 - y) * elementary.log(q)) / slow)

    def weigh(self, predicted, share, y, slow):
        """Move the weights of a bucket, and return the likelihoods they were moved by."""
        w = self.heard(predicted.bucket)
        likely = [single(self.likelihood(p, q, y, slow)) for p, q in predicted.each]
        moved = [w[i] * likely[i] for i in range(12)]
        keep = single((1 - share) / float(total(moved)))
        prior = self.prior
        self.weights[predicted.bucket] = [
            moved[i] * keep + single(share) * prior[i] for i in range(12)
        ]  # fmt: skip
        return likely

    def scale(self, x, h, r):
        first, cross, last = self.precision
        first = (1 - 1e-5) * first + 1e-5 * 300 + h * x * x
        cross = (1 - 1e-5) * cross + h * x
        last = (1 - 1e-5) * last + 1e-5 * 300 + h
        ratio = cross / first
        step = (r - ratio * r * x) / max(last - ratio * cross, 300.0)
        self.b -= step
        self.a -= r * x / first - ratio * step
        self.precision = [first, cross, last]


def paired(weight, likely, other, share):
    """Return the weight of one of two after an outcome that they found so likely."""
    likely = float(likely)
    weight = weight * likely / (weight * likely + (1 - weight) * other)
    return (1 - share) * weight + share * TRIED


def logit(p):
    return elementary.log(p / (1 - p))


class Whole(NaiveRecalibrator):
    """The mixture of all keys: from its ALL-th round on it learns from some, and a table speaks."""

    ALL, STRIDE, REFRESH = 2**16, 32, 2**12

    def __init__(self, kind):
        super().__init__(kind)
        self.heard = None

    def learns(self, number):
        return number < self.ALL or number % self.STRIDE == 0

    def asked(self, s):
        """Return what each expert says of a probability now, and the mean."""
        predicted, mean, _ = self.ask(within(s, self.least), self.least)
        return predicted, mean

    def estimate(self, s):
        """Return the logit of the estimate; that of the table, between logits that are eighths."""
        if self.predictions < self.ALL:
            return logit(self.asked(s)[1])
        x = logit(within(s, 1e-9))
        below = math.floor(8 * x)
        part = 8 * x - below
        return (1 - part) * self.heard[below] + part * self.heard[below + 1]

    def passed(self):
        self.predictions += 1
        if self.predictions >= self.ALL and self.predictions % self.REFRESH == 0:
            self.refresh()

    def refresh(self):
        self.heard = {
            eighths: logit(self.asked(1 / (1 + elementary.exp(-eighths / 8)))[1])
            for eighths in range(-168, 169)
        }

    def late(self, late):
        return late / self.STRIDE if self.predictions > self.ALL else late


@dataclass
class Round:
    number: int
    learned: int  # outcomes before
    s: float
    keys: list
    views: list
    mean: float
    point: object
    bet: bool
    predicted: np.ndarray | None  # by the experts of the whole, if it learns from the round


class NaiveFleet:
    """One part of a fleet; `waiting` is all that is remembered of a round."""

    def __init__(self, kind="probability", seed=0):
        self.seed = seed
        self.whole, self.safe = Whole(kind), NaiveSafe()
        self.pools = [Pool(ROOT_ESTIMATE), Pool(ESTIMATE), Pool(ESTIMATE)]
        self.root, self.parents, self.keys = Key(), {}, {}
        self.learned = 0
        self.waiting = {}

    def look(self, s, keys, x):
        """Return what the experts of each level say of an estimate, and the mean that is left."""
        views, m = [], None
        for pool, key in zip(self.pools, keys, strict=True):
            if key is None:
                views.append(None)
                continue
            view, m = pool.view(key, x, logit(s))
            m = within(m, floor(self.learned))
            x = logit(m)
            views.append(view)
        return views, m

    def predict(self, key, score, id_, parent=None):
        """Return the mean before the grid, and the prediction."""
        above = None if parent is None else self.parents.setdefault(parent, Key())
        own = self.keys.setdefault(key, Key())
        s = within(self.whole.probability(score), floor(self.learned))
        keys = [self.root, above, own]
        views, m = self.look(s, keys, self.whole.estimate(s))
        number = self.whole.predictions
        points, weights = self.safe.place(m)
        drawn, bet = self.draw(key, own.predictions, points, weights), self.safe.is_bet(m)
        predicted = self.whole.asked(s)[0] if self.whole.learns(number) else None
        self.waiting[id_] = Round(number, self.learned, s, keys, views, m, drawn, bet, predicted)
        own.predictions += 1
        self.whole.passed()
        return m, drawn.z

    def draw(self, key, number, points, weights):
        """Return the point that the seed, the key and the number of its prediction choose."""
        draws = Draws(0)
        draws.state = scramble(scramble(self.seed) ^ hash_of(key))
        draws.state = (draws.state + number * 0x9E3779B97F4A7C15) & MASK
        return draws.choose(points, weights)

    def update(self, outcome, id_, weight=1.0):
        r = self.waiting.pop(id_)
        late = self.whole.predictions - r.number - 1
        lag = self.pools[0].lag
        lag += 0.01 * (min(late, 1000) - lag)
        self.safe.learn(r.mean, r.point, outcome, r.bet, lag)
        now = (
            r.views
            if r.learned == self.learned
            else self.look(r.s, r.keys, self.whole.estimate(r.s))[0]
        )
        if r.predicted is not None:
            self.teach_whole(r, outcome, weight, late)
        for pool, key, view, predicted in zip(self.pools, r.keys, now, r.views, strict=True):
            if key is not None:
                late_here = float(min(late, 1000))
                pool.learn(key, view, predicted, r.mean, outcome, late_here, weight)
                if key is not self.root:
                    pool.promote(key)
        self.learned += 1

    def update_many(self, outcomes, ids, weights=None):
        """Learn a large batch: the whole, then the grid, then keys, from the estimates it left."""
        rows = [(self.waiting.pop(id_), y) for id_, y in zip(ids, outcomes, strict=True)]
        heavy = [1.0] * len(ids) if weights is None else weights
        heavy = {r.number: weight for (r, _), weight in zip(rows, heavy, strict=True)}
        rows.sort(key=lambda row: scramble(row[0].number + 1))
        whole, n = self.whole, len(rows)
        told = [
            (
                self.predicted(r, r.number, float(whole.weights @ r.predicted), heavy[r.number]),
                None,
                y,
            )
            for r, y in rows
            if r.predicted is not None
        ]
        *_, (slope, offset) = learn_batch(whole, told)
        if whole.predictions >= whole.ALL:
            whole.refresh()
        estimates = [slope * whole.estimate(r.s) + offset for r, _ in rows]
        dispersed, learned = whole.dispersion.of(n), self.learned
        seed = scramble(scramble(self.seed))
        for (r, y), x in zip(rows, estimates, strict=True):
            m = self.look(r.s, r.keys, x)[1]
            draws = Draws(0)
            draws.state = (seed + r.number * 0x9E3779B97F4A7C15) & MASK
            self.safe.learn(m, draws.choose(*self.safe.place(m)), y, self.safe.is_bet(m))
        for (r, y), x in zip(rows, estimates, strict=True):
            self.learned = learned
            views = self.look(r.s, r.keys, x)[0]
            for pool, key, view, predicted in zip(self.pools, r.keys, views, r.views, strict=True):
                if key is not None:
                    pool.learn_in_batch(
                        key, view, predicted, r.mean, y, dispersed, n, heavy[r.number]
                    )
                    if key is not self.root:
                        pool.promote(key)
        self.learned = learned + n

    def predicted(self, r, number, mean, weight):
        """Return what the whole learns from."""
        s, past = within(r.s, self.whole.least), self.whole.recent.past
        # A fleet has no experts that look at the past: all say what the mixture does.
        same = np.full(len(self.whole.recent.weights), mean)
        return Predicted(number, number, r.s, s, r.predicted, mean, past, same, mean, weight=weight)

    def teach_whole(self, r, outcome, weight, late):
        whole = self.whole
        predicted = self.predicted(r, whole.predictions - 1 - whole.late(late), r.mean, weight)
        whole.weigh([(predicted, outcome)])
        whole.step(predicted, outcome)
