"""The event forecaster in plain Python, one expert an object; written from its description."""

import math
from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from naive.draws import Draws
from naive.repair import NaiveRepair
from naive.safe import NaiveSafe

PERIODS = (7, 24, 48, 168, 365)
SHARE = 5e-5


def within(p):
    return min(max(p, 1e-5), 1 - 1e-5)


def rough_log(p):
    """The logarithm of the middle of p's cell: 512 cells of equal width from 1/2 to 1."""
    mantissa, exponent = math.frexp(p)
    return math.log(0.5 + (int((mantissa - 0.5) * 1024) + 0.5) / 1024) + exponent * math.log(2)


def rough_logit(p):
    return rough_log(p) - rough_log(1 - p)


@dataclass
class Counter:
    count: int = 0
    slow: float = 0.5
    fast: float = 0.5

    def learn(self, y):
        self.count = min(self.count + 1, 4096)
        # Multiplied by the reciprocal, so that a mean such as 3/4 rounds to the same side as in the
        # kernel: it is the end of a cell of `rough_log`.
        self.slow = within(self.slow + 1 / (self.count + 2) * (y - self.slow))
        self.fast = within(self.fast + max(1 / (self.count + 2), 1 / 30) * (y - self.fast))


class HiddenChain:
    """Online EM: `past[j]` holds the faded means, given that the chain is in state j now."""

    def __init__(self, stay, says):
        self.stay, self.says = list(stay), list(says)
        second = (1 - stay[0]) / (2 - sum(stay))
        self.now = [1 - second, second]
        moves = self.moves()
        start = {("move", i, j): self.now[i] * moves[i][j] for i in (0, 1) for j in (0, 1)}
        start |= {("visit", i): self.now[i] for i in (0, 1)}
        start |= {("outcome", i): self.now[i] * says[i] for i in (0, 1)}
        self.past = [dict(start), dict(start)]

    def moves(self):
        (a, b) = self.stay
        return [[a, 1 - a], [1 - b, b]]

    def say(self, steps):
        moves, state = self.moves(), self.now
        for _ in range(steps):
            state = [sum(state[i] * moves[i][j] for i in (0, 1)) for j in (0, 1)]
        if steps > 1:
            # The same, rounded as in the kernel: 1/2, which is common, is the end of a cell of
            # `rough_log`.
            turn = sum(self.stay) - 1
            settled = (1 - self.stay[0]) / (1 - turn)
            second = settled + turn**steps * (self.now[1] - settled)
            assert abs(second - state[1]) < 1e-9
            state = [1 - second, second]
        return state[0] * self.says[0] + state[1] * self.says[1]

    def learn(self, y, learned):
        moves, fade = self.moves(), max(1 / (learned + 20), 1e-4)
        came = [sum(self.now[i] * moves[i][j] for i in (0, 1)) for j in (0, 1)]
        back = [[self.now[i] * moves[i][j] / came[j] for i in (0, 1)] for j in (0, 1)]
        past = []
        for j in (0, 1):
            carried = {
                name: (1 - fade) * sum(back[j][i] * self.past[i][name] for i in (0, 1))
                for name in self.past[0]
            }
            for i in (0, 1):
                carried["move", i, j] += fade * back[j][i]
            carried["visit", j] += fade
            carried["outcome", j] += fade * y
            past.append(carried)
        fits = [came[j] * (y * self.says[j] + (1 - y) * (1 - self.says[j])) for j in (0, 1)]
        self.past, self.now = past, [fit / sum(fits) for fit in fits]
        if learned >= 20:
            mean = {
                name: self.now[0] * past[0][name] + self.now[1] * past[1][name] for name in past[0]
            }
            for i in (0, 1):
                left = mean["move", i, 0] + mean["move", i, 1]
                self.stay[i] = min(max(mean["move", i, i] / left, 1e-4), 1 - 1e-4)
                self.says[i] = min(max(mean["outcome", i] / mean["visit", i], 1e-4), 1 - 1e-4)


class RecentMean:
    def __init__(self, rate):
        self.rate, self.mean, self.learned = rate, 0.5, 0

    def learn(self, y):
        self.mean = within(self.mean + max(self.rate, 1 / (self.learned + 2)) * (y - self.mean))
        self.learned += 1


@dataclass
class Past:
    """Everything that contexts are made of, kept whole."""

    periods: tuple
    ahead: int = 1
    known: list = field(default_factory=list)  # the places whose outcomes are known, in order
    bits: list = field(default_factory=list)  # these outcomes
    by_place: dict = field(default_factory=dict)
    place: int = -1
    last_time: float | None = None
    steps: list = field(default_factory=list)
    fast: float = 0.5
    faster: float = 0.5

    @property
    def room(self):
        return 2 ** math.ceil(math.log2(max(self.periods) + 2))

    def missing(self, time):
        if time is None or self.last_time is None or len(self.steps) < 15:
            return 0
        steps = sorted(self.steps[-15:])
        usual = steps[7]
        if sum(0.9 * usual <= step <= 1.1 * usual for step in steps) < 8:
            return 0
        return max(0, min(math.floor((time - self.last_time) / usual + 0.5) - 1, 2**20))

    def recent(self, count):
        return tuple(([0] * count + self.bits)[len(self.bits) :])

    def run_class(self):
        run = 0
        while run < len(self.bits) and self.bits[-1 - run] == self.bits[-1]:
            run += 1
        if run < 64:
            return run
        doublings = min(int(math.log2(run / 64)), 7)
        return doublings, min(int((run / 2**doublings - 64) / 8), 7)

    def contexts(self, time):
        """Return a round's place in time, and everything that it is classed by."""
        place, newest = self.place + 1 + self.missing(time), max(self.known, default=-1)
        gap = place - newest > self.ahead
        found = [("order", 0)]
        found += [("order", d, gap, self.recent(d)) for d in range(1, 13)]
        busy = [min(int(16 * mean), 15) for mean in (self.faster, self.fast)]
        found.append(("busy", gap, *busy, self.recent(1)))
        found.append(("run", gap, self.run_class(), self.recent(1)))
        for period in self.periods:
            back = period
            while self.place + 1 - back + 1 > newest and self.known:
                back += period
            around = [self.by_place.get(place - back + k) for k in (-1, 0, 1)]
            found.append(("around", period, gap, *around, self.recent(2)))
            found.append(("phase", period, place % period))
            found.append(("phase and last", period, gap, place % period, self.recent(1)))
        if time is not None:
            date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time)
            found.append(("hour", gap, date.hour, self.recent(1)))
            found.append(("weekday", gap, date.weekday(), self.recent(1)))
            found.append(("month", gap, date.month, self.recent(1)))
            found.append(("hour of week", date.weekday(), date.hour))
        return place, found

    def open(self, place, time):
        if time is not None:
            if self.last_time is not None and time > self.last_time:
                self.steps.append(time - self.last_time)
            self.last_time = time
        self.place = place

    def learn(self, place, y):
        if place <= max(self.known, default=-1) - self.room:
            return  # so late that its place is forgotten
        at = bisect(self.known, place)
        newer = len(self.known) - at
        self.known.insert(at, place)
        self.bits.insert(at, int(y > 0.5))
        self.by_place[place] = int(y > 0.5)
        self.faster += 0.3 * 0.7**newer * (y - self.faster)
        self.fast += 0.1 * 0.9**newer * (y - self.fast)


def shared(sixteenths, count):
    return [sixteenths / 16 / count] * count


@dataclass
class Round:
    """A round as it was when it was predicted."""

    number: int
    time: float | None
    place: int
    contexts: list
    predicted: list
    logits: list
    mean: float
    slow_mean: float
    repairs: list
    repaired: float
    wanted: float = math.nan
    drawn: object = None
    bet: bool = False


class NaiveEventForecaster:
    def __init__(self, seed=0, periods=(), ahead=1):
        self.ahead = ahead
        self.opened = 0
        self.held = {}
        self.draws = Draws(seed)
        self.grid = NaiveSafe(lenient=1.25)
        self.repair = NaiveRepair()
        self.past = Past((*PERIODS, *periods), ahead)
        self.counters = defaultdict(Counter)
        self.means = [RecentMean(rate) for rate in (0.2, 0.05, 0.01, 0.003, 0.001)]
        self.chains = [HiddenChain((0.95, 0.95), (0.2, 0.8)), HiddenChain((0.99, 0.9), (0.05, 0.5))]
        by_time = 3 * len(self.past.periods) + 4
        self.priors = [
            *shared(2, 1), *shared(5, 5), *shared(1, 2),
            *shared(3, 4), *shared(3, 26), *shared(2, 2 * by_time),
        ]  # fmt: skip
        self.weights = list(self.priors)
        self.blend = [0.3 / 13] * len(self.priors)
        self.trust = 0.7
        self.lag = ahead - 1.0
        self.learned = 0

    def say(self, time=None):
        """Return the next round, with what each expert says of it: None if it sleeps."""
        place, contexts = self.past.contexts(time)
        newest = max(self.past.known, default=-1)
        predicted = [mean.mean for mean in self.means]
        predicted += [chain.say(place - newest) for chain in self.chains]
        for context in contexts:
            if context in self.counters:
                predicted += [self.counters[context].slow, self.counters[context].fast]
            else:
                predicted += [None, None]
        logits = [0.0 if p is None else rough_logit(p) for p in predicted]
        total = 0.0
        for v, x in zip(self.blend[1:], logits, strict=False):
            total += v * x
        predicted = [1 / (1 + math.exp(-min(max(total, -11.5), 11.5))), *predicted]
        awake = [(w, p) for w, p in zip(self.weights, predicted, strict=False) if p is not None]
        mean = sum(w * p for w, p in awake) / sum(w for w, _ in awake)
        slow_mean = self.means[-1].mean
        repairs = self.repair.say(mean)
        return Round(
            self.opened, time, place, contexts, predicted, logits, mean, slow_mean, *repairs
        )

    def predict(self, time=None):
        """Return the next round with its prediction, `drawn.z`; each round is asked for once."""
        predicted = self.say(time)
        predicted.wanted = self.trust * predicted.repaired + (1 - self.trust) * predicted.slow_mean
        predicted.bet = self.grid.is_bet(predicted.wanted)
        predicted.drawn = self.draws.choose(*self.grid.place(predicted.wanted))
        return predicted

    def open(self, time=None):
        """Predict the next round and go on to the one after it; return the round."""
        opened = self.predict(time)
        self.past.open(opened.place, time)
        self.opened += 1
        self.release()
        return opened

    def answer(self, opened, y):
        """Give the outcome of a round that was opened; it is held while it must not be used."""
        self.held[opened.number] = opened, y
        self.release()

    def play(self, y, time=None):
        """Play a whole round; return it."""
        opened = self.open(time)
        self.answer(opened, y)
        return opened

    def release(self):
        """Learn what the next round may use, by the order of rounds."""
        for number in sorted(self.held):
            if number + self.ahead <= self.opened:
                self.learn(*self.held.pop(number))

    def learn(self, opened, y):
        late = self.opened - opened.number - 1
        self.lag += 0.01 * (late - self.lag)
        self.grid.learn(opened.wanted, opened.drawn, y, opened.bet, self.lag)
        self.judge(opened, y)
        self.repair.learn(opened.repairs, y, self.likelihood)
        self.weigh(opened.predicted, y)
        rate = max(0.01 / math.sqrt(1 + 0.02 * self.learned), 0.001)
        for i, x in enumerate(opened.logits):
            self.blend[i + 1] += rate * (y - opened.predicted[0]) * x
        for context in opened.contexts:
            self.counters[context].learn(y)
        for mean in self.means:
            mean.learn(y)
        if opened.place > max(self.past.known, default=-1):  # what is late, a chain cannot place
            for chain in self.chains:
                chain.learn(y, self.learned)
        self.learned += 1
        self.past.learn(opened.place, y)

    def likelihood(self, p, y):
        return (p**y * (1 - p) ** (1 - y)) ** (1 / (1 + self.lag / 2))

    def judge(self, opened, y):
        estimate, slow_mean = opened.repaired, opened.slow_mean
        way, moved = estimate - slow_mean, opened.drawn.z - slow_mean
        small = moved**2 < 0.0025 * slow_mean * (1 - slow_mean)
        if (way == 0 or moved / way >= 1 / 8) and not (self.trust < 0.25 and small):
            for_estimate, for_mean = (
                weight * self.likelihood(p, y)
                for weight, p in ((self.trust, estimate), (1 - self.trust, slow_mean))
            )
            self.trust = for_estimate / (for_estimate + for_mean)
        self.trust = (1 - 2e-5) * self.trust + 2e-5 * 0.7

    def weigh(self, predicted, y):
        awake = [i for i, p in enumerate(predicted) if p is not None]
        after = {i: self.weights[i] * self.likelihood(predicted[i], y) for i in awake}
        scale = sum(self.weights[i] for i in awake) / sum(after.values())
        for i in awake:
            self.weights[i] = after[i] * scale
        self.weights = [
            (1 - SHARE) * w + SHARE * w0 for w, w0 in zip(self.weights, self.priors, strict=True)
        ]
