"""The monitor, slowly: written from its definition, one dictionary of bets a cell.

Bets are kept in single precision, as in the definition; all else is in double.
"""

import math

import numpy as np

SHIFTS = [0.1, 0.25, 0.64, 1.6]
WEIGHTS = {0: 0.42, 1: 0.095, 2: 0.095, 3: 0.095, 4: 0.095, "group": 0.08}
SLOPE_WEIGHT = 0.12
TINY = 1e-9
SKETCH, WIDEST = 40, 14.0
EVEN = [math.sin(math.pi * k / 32) ** 2 for k in range(17)]
EVEN[8], EVEN[16] = 0.5, 1.0
single = np.float32
ODDS = [single(math.exp(d)) for d in SHIFTS] + [single(math.exp(-d)) for d in SHIFTS]
ONE, SHRINK, ENOUGH = single(1), single(1 - 2**-20), single(1e30)


def clip(p):
    return min(max(p, TINY), 1 - TINY)


def fair(b, r, rest, y, no):
    """What a factor b of the odds makes of a bet against r."""
    return SHRINK * ((no + y * b) / (rest + r * b))


def sigmoid_at(place):
    return 1.0 / (1.0 + math.exp(-(place / (SKETCH / 2) - 1.0) * WIDEST))


class Cell:
    def __init__(self):
        self.M = [single(0)] * 8
        self.cusum = {}  # by direction and tilt: ratio, start
        self.since = {}  # by direction: sum of y - p and visits since the first one's start

    @property
    def total(self):
        lanes = [self.M[k] + self.M[4 + k] for k in range(4)]
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])

    def against(self, direction):
        return sum(float(M) for M in self.M[4 * direction : 4 * direction + 4]) / 8


class Monitor:
    def __init__(self, every=1e6, tolerance=0.02, alpha=None, block=1):
        self.tolerance, self.alpha, self.block = tolerance, alpha, block
        self.threshold = every if alpha is None else 1.0 / alpha
        self.t, self.sketch, self.sketched = 0, [0] * SKETCH, 0
        self.edges = list(EVEN)
        self.open, self.found = None, []
        self.in_block, self.groups = 0, {}  # groups in the order in which they were first seen
        self.clear()

    def clear(self):
        self.cells, self.R, self.slopes = {}, 0.0, [single(0)] * 4
        self.ranges = {}
        self.held = {}  # in blocks: the bets of each cell, and of the slopes

    def cells_of(self, p, by):
        leaf = max(k for k in range(16) if self.edges[k] <= p)
        names = [(level, leaf >> (4 - level)) for level in range(5)]
        return leaf, names + ([("group", by)] if by is not None else [])

    def granted(self):
        if self.alpha is None:
            return 1.0
        t = self.t + 11.0
        return math.log(10.0) / (t * math.log(t) * math.log(t))

    def update(self, p, y, by=None, fresh=False):
        """Play a round; return "alarm", "end" or None; y is None where no outcome will come."""
        early = self.conclude() if fresh and self.in_block else None
        leaf, names = self.cells_of(p, by)
        self.groups.setdefault(by)
        if self.open:
            self.recover(p, y, names)
        else:
            self.bet(p, y, names)
        self.count(leaf, p, y)
        self.t += 1
        self.in_block += 1
        return self.conclude() if self.in_block == self.block else early

    def conclude(self):
        self.in_block = 0
        if self.block > 1:
            self.release()
        if self.open and (self.open["L"] >= 1e6 or self.open["unseen"] >= self.open["gone"]):
            self.found[-1]["end"] = self.t - 1
            self.open = None
            self.clear()
            if self.sketched >= 512:
                self.cut()
            return "end"
        if not self.open and self.threshold <= self.R:
            self.name()
            return "alarm"
        return None

    def bet(self, p, y, names):
        upper, lower = min(p + self.tolerance, 1.0), max(p - self.tolerance, 0.0)
        up = single(upper), single(1.0 - upper), single(y or 0.0), single(1.0 - (y or 0.0))
        down = up[2:] if y is not None else (ONE, single(0))
        down = single(lower), single(1.0 - lower), *down
        e = [fair(b, *(up if b > 1 else down)) for b in ODDS]
        add = self.granted()
        for name in names:
            cell = self.cells.setdefault(name, Cell())
            self.date(cell, e, None if y is None else y - p)
            if self.block > 1:
                self.held.setdefault(name, []).append(e)
            else:
                M = [each * (M + single(add)) for each, M in zip(e, cell.M, strict=True)]
                self.change(name, cell, M)
        odds = clip(p) / (1.0 - clip(p))
        root = math.sqrt(odds)
        fourth = math.sqrt(root)
        powers = [root, root * fourth, odds * fourth, odds * root * fourth]
        over_u, over_l = (single((1.0 - clip(r)) / clip(r)) for r in (upper, lower))
        e = []
        for power in powers:
            if single(power) * over_u > 1:
                e.append(fair(single(power) * over_u, *up))
            else:
                e.append(fair(min(single(power) * over_l, ONE), *down))
        if self.block > 1:
            self.held.setdefault("slopes", []).append(e)
        else:
            bets = zip(e, self.slopes, strict=True)
            self.change_slopes([each * (M + single(add)) for each, M in bets])

    def change(self, name, cell, M):
        before = float(cell.total)
        cell.M = M
        self.R += WEIGHTS[name[0]] / 8 * (float(cell.total) - before)

    def change_slopes(self, after):
        for k, M in enumerate(after):
            self.R += SLOPE_WEIGHT / 4 * (float(M) - float(self.slopes[k]))
        self.slopes = after

    def release(self):
        add = self.granted()
        if self.open:
            gain = 0.0
            for f in self.open["held"]:
                gain += f - 1.0
            n, L = len(self.open["held"]), self.open["L"]
            self.open["L"] = L + (L * gain / self.block + gain + n)
            self.open["held"] = []
            return
        groups = [("group", by) for by in self.groups if ("group", by) in self.held]
        for name in sorted(n for n in self.held if n[0] in range(5)) + groups:
            self.change(name, self.cells[name], self.average(self.cells[name].M, name, add))
        if "slopes" in self.held:
            self.change_slopes(self.average(self.slopes, "slopes", add))
        self.held = {}

    def average(self, M, name, add):
        after = []
        for k, one in enumerate(M):
            gain = 0.0
            for e in self.held[name]:
                gain += float(e[k]) - 1.0
            n = len(self.held[name])
            after.append(single(float(one) * (1.0 + gain / self.block) + add * (gain + n)))
        return after

    def date(self, cell, e, x):
        for direction in (0, 1):
            for tilt in (1, 2):
                ratio, start = cell.cusum.get((direction, tilt), (single(0), 0))
                if ratio <= 1:
                    ratio, start = ONE, self.t
                    if tilt == 1:
                        cell.since[direction] = (single(0), 0)
                cell.cusum[direction, tilt] = min(ratio * e[4 * direction + tilt], ENOUGH), start
            total, visits = cell.since[direction]
            if x is not None:
                cell.since[direction] = total + single(x), visits + 1

    def name(self):
        best = max(
            ((WEIGHTS[name[0]] / 8 * cell.against(d), name, d)
             for name, cell in self.cells.items() for d in (0, 1)),
            key=lambda item: item[0],
        )  # fmt: skip
        _, name, d = best
        while name[0] in range(4):
            halves = [(name[0] + 1, 2 * name[1] + k) for k in (0, 1)]
            strength = [self.cells[h].against(d) if h in self.cells else 0.0 for h in halves]
            k = 1 if strength[1] > strength[0] else 0
            if math.e * strength[k] < self.cells[name].against(d):
                break
            name = halves[k]
        total, visits = self.cells[name].since[d]
        _, start = max((self.cells[name].cusum[d, tilt] for tilt in (1, 2)), key=lambda c: c[0])
        low, high = 0.0, 1.0
        if name[0] != "group":
            width = 16 >> name[0]
            low, high = self.edges[name[1] * width], self.edges[(name[1] + 1) * width]
        bias = float(total) / visits if visits else 0.0
        # The rounds in which its visits came, and 100 times as many for each.
        length = self.t - self.cells[name].cusum[d, 1][1]
        self.open = {"name": name, "direction": d, "L": 0.0, "held": [], "unseen": 0,
                     "gone": max(100 * length // max(visits, 1), 1000),
                     "margin": max(abs(bias) / 3.0, self.tolerance)}  # fmt: skip
        self.found.append(
            {"alarm": self.t - 1, "onset": start, "end": None, "low": low, "high": high,
             "group": name[1] if name[0] == "group" else None, "bias": bias}
        )  # fmt: skip

    def recover(self, p, y, names):
        self.open["unseen"] += 1
        if self.open["name"] not in names:
            return
        self.open["unseen"] = 0
        q = clip(
            p + self.open["margin"] if self.open["direction"] == 0 else p - self.open["margin"]
        )
        if y is None:
            y = 1.0 - self.open["direction"]
        ratio = y * p / q + (1.0 - y) * (1.0 - p) / (1.0 - q)
        if self.block > 1:
            self.open["held"].append(ratio)
        else:
            self.open["L"] = ratio * (self.open["L"] + 1.0)
        return

    def count(self, leaf, p, y):
        n, said, happened, V = self.ranges.get(leaf, (0.0, 0.0, 0.0, 0.0))
        guess = (happened - said) / n if n else 0.0
        guess = min(max(guess, -p), 1.0 - p)
        if y is not None:
            V += (y - p - guess) * (y - p - guess)
            self.ranges[leaf] = (n + 1.0, said + p, happened + y, V)
        if self.sketched >= 512 and self.t % 16:
            return
        logit = math.log(clip(p) / (1.0 - clip(p)))
        place = int((logit / WIDEST + 1.0) * (SKETCH / 2))
        self.sketch[min(max(place, 0), SKETCH - 1)] += 1
        self.sketched += 1
        if self.sketched == 512 and not self.open:
            before = list(self.edges)
            self.cut()
            if self.edges != before:
                for name in sorted(n for n in self.cells if n[0] in (1, 2, 3, 4)):
                    self.R -= WEIGHTS[name[0]] / 8 * float(self.cells.pop(name).total)
                    self.held.pop(name, None)
                self.ranges = {}

    def cut(self):
        """Ranges of equal mass where one even range has most of the predictions."""
        total = sum(self.sketch)
        share = [0] * 16
        for at, count in enumerate(self.sketch):
            point = sigmoid_at(at + 0.5)
            share[max(k for k in range(16) if EVEN[k] <= point)] += count
        self.edges = list(EVEN)
        if max(share) <= 0.5 * total:
            return
        for k in range(1, 16):
            goal, below = total * k / 16, 0
            for at, count in enumerate(self.sketch):
                if below + count > goal:
                    self.edges[k] = sigmoid_at(at + (goal - below) / count)
                    break
                below += count
