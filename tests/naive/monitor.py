"""The monitor, slowly: written from its definition, one dictionary of bets a cell.

Bets are kept in single precision, as in the definition; all else is in double.
"""

import math

import numpy as np

SHIFTS = [0.08, 0.16, 0.32, 0.64, 1.28, 2.56]
TILTS = [math.expm1(d) for d in SHIFTS] + [math.expm1(-d) for d in SHIFTS]
WEIGHTS = {0: 0.42, 1: 0.095, 2: 0.095, 3: 0.095, 4: 0.095, "group": 0.08}
SLOPE_WEIGHT = 0.12
TINY = 1e-9
SKETCH, WIDEST = 40, 14.0
EVEN = [math.sin(math.pi * k / 32) ** 2 for k in range(17)]
EVEN[8], EVEN[16] = 0.5, 1.0
single = np.float32


def clip(p):
    return min(max(p, TINY), 1 - TINY)


def sigmoid_at(place):
    return 1.0 / (1.0 + math.exp(-(place / (SKETCH / 2) - 1.0) * WIDEST))


class Cell:
    def __init__(self):
        self.M = [single(0)] * 12
        self.cusum = {}  # by direction and tilt: ratio, start
        self.since = {}  # by direction: sum of y - p and visits since the first one's start

    @property
    def total(self):
        lanes = [(self.M[k] + self.M[4 + k]) + self.M[8 + k] for k in range(4)]
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])

    def against(self, direction):
        return sum(float(M) for M in self.M[6 * direction : 6 * direction + 6]) / 12


class Monitor:
    def __init__(self, every=1e6, tolerance=0.02, alpha=None):
        self.tolerance, self.alpha = tolerance, alpha
        self.threshold = every if alpha is None else 1.0 / alpha
        self.t, self.sketch, self.sketched = 0, [0] * SKETCH, 0
        self.edges = list(EVEN)
        self.open, self.found = None, []
        self.clear()

    def clear(self):
        self.cells, self.R, self.slopes = {}, 0.0, [0.0] * 4
        self.ranges = {}

    def cells_of(self, p, by):
        leaf = max(k for k in range(16) if self.edges[k] <= p)
        names = [(level, leaf >> (4 - level)) for level in range(5)]
        return leaf, names + ([("group", by)] if by is not None else [])

    def granted(self):
        if self.alpha is None:
            return 1.0
        t = self.t + 11.0
        return math.log(10.0) / (t * math.log(t) * math.log(t))

    def update(self, p, y, by=None):
        """Play a round; return "alarm", "end" or None."""
        leaf, names = self.cells_of(p, by)
        event = None
        if self.open:
            event = self.recover(p, y, names)
        else:
            self.bet(p, y, names)
            if self.threshold <= self.R:
                self.name()
                event = "alarm"
        self.count(leaf, p, y)
        self.t += 1
        if event == "end":
            self.found[-1]["end"] = self.t - 1
            self.open = None
            self.clear()
            if self.sketched >= 512:
                self.cut()
        return event

    def bet(self, p, y, names):
        upper, lower = min(p + self.tolerance, 1.0), max(p - self.tolerance, 0.0)
        e = [single((1.0 + y * a) / (1.0 + (upper if a > 0 else lower) * a)) for a in TILTS]
        add = self.granted()
        # The kernel visits the levels, then the slopes, then the group.
        for name in names[:5]:
            self.visit(name, e, y - p, add)
        odds = clip(p) / (1.0 - clip(p))
        root = math.sqrt(odds)
        fourth = math.sqrt(root)
        powers = [root, root * fourth, odds * fourth, odds * root * fourth]
        for k, power in enumerate(powers):
            q, ratio = power / (1.0 + power), 1.0
            if not lower <= q <= upper:
                r = clip(upper if q > upper else lower)
                ratio = y * q / r + (1.0 - y) * (1.0 - q) / (1.0 - r)
            M = ratio * (self.slopes[k] + add)
            self.R += SLOPE_WEIGHT * (M - self.slopes[k]) / 4
            self.slopes[k] = M
        for name in names[5:]:
            self.visit(name, e, y - p, add)

    def visit(self, name, e, x, add):
        cell = self.cells.setdefault(name, Cell())
        before = float(cell.total)
        cell.M = [each * (M + single(add)) for each, M in zip(e, cell.M, strict=True)]
        self.R += WEIGHTS[name[0]] * (float(cell.total) - before) / 12
        for direction in (0, 1):
            for tilt in (2, 3):
                ratio, start = cell.cusum.get((direction, tilt), (single(0), 0))
                if ratio <= 1:
                    ratio, start = single(1), self.t
                    if tilt == 2:
                        cell.since[direction] = (single(0), 0)
                cell.cusum[direction, tilt] = ratio * e[6 * direction + tilt], start
            total, visits = cell.since[direction]
            cell.since[direction] = single(float(total) + x), visits + 1

    def name(self):
        best = max(
            ((WEIGHTS[name[0]] * cell.against(d), name, d)
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
        _, start = max((self.cells[name].cusum[d, tilt] for tilt in (2, 3)), key=lambda c: c[0])
        low, high = 0.0, 1.0
        if name[0] != "group":
            width = 16 >> name[0]
            low, high = self.edges[name[1] * width], self.edges[(name[1] + 1) * width]
        bias = float(total) / visits
        self.open = {"name": name, "direction": d, "L": 0.0,
                     "margin": max(abs(float(total) / visits) / 3.0, self.tolerance)}  # fmt: skip
        self.found.append(
            {"alarm": self.t, "onset": start, "end": None, "low": low, "high": high,
             "group": name[1] if name[0] == "group" else None, "bias": bias}
        )  # fmt: skip

    def recover(self, p, y, names):
        if self.open["name"] not in names:
            return None
        q = clip(
            p + self.open["margin"] if self.open["direction"] == 0 else p - self.open["margin"]
        )
        ratio = y * p / q + (1.0 - y) * (1.0 - p) / (1.0 - q)
        self.open["L"] = ratio * (self.open["L"] + 1.0)
        return "end" if self.open["L"] >= 1e6 else None

    def count(self, leaf, p, y):
        n, said, happened, V = self.ranges.get(leaf, (0.0, 0.0, 0.0, 0.0))
        guess = (happened - said) / n if n else 0.0
        guess = min(max(guess, -p), 1.0 - p)
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
                    self.R -= WEIGHTS[name[0]] * float(self.cells.pop(name).total) / 12
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
