"""The monitor, slowly: written from its definition, one dictionary of bets a cell.

While each outcome arrives before the next prediction, bets are kept in single precision, as in the
definition; all else is in double. From the moment at which a second round waits, bets are pots of
cash in double, and every round that waits keeps its stakes.
"""

import math

import numpy as np

from calibrant._kernels import elementary

SHIFTS = [0.1, 0.25, 0.64, 1.6]
WEIGHTS = {0: 0.42, 1: 0.095, 2: 0.095, 3: 0.095, 4: 0.095, "group": 0.08}
SLOPE_WEIGHT = 0.12
TINY = 1e-9
SKETCH, WIDEST = 40, 14.0
EVEN = [elementary.sin(math.pi * k / 32) * elementary.sin(math.pi * k / 32) for k in range(17)]
EVEN[8], EVEN[16] = 0.5, 1.0
single = np.float32
ODDS = [single(elementary.exp(d)) for d in SHIFTS] + [single(elementary.exp(-d)) for d in SHIFTS]
ONE, SHRINK, ENOUGH = single(1), single(1 - 2**-20), single(1e30)


def clip(p):
    return min(max(p, TINY), 1 - TINY)


def fair(b, r, rest, y, no):
    """What a factor b of the odds makes of a bet against r."""
    return SHRINK * ((no + y * b) / (rest + r * b))


def sigmoid_at(place):
    return 1.0 / (1.0 + elementary.exp(-(place / (SKETCH / 2) - 1.0) * WIDEST))


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


class Block:
    """Rounds that may wait together: their sums by range, beyond the bias that was known before."""

    def __init__(self, start, guess):
        self.start, self.guess, self.sums = start, guess, {}


class Pot:
    def __init__(self, size):
        self.cash, self.loss = [0.0] * size, [0.0] * size
        self.D, self.open, self.asked = 1.0, 0, 0

    def share(self, k, leverage):
        """Which share of the cash is staked where D wait that may all go the same way.

        As much as the bet in the other direction would; bets on the slope have none.
        """
        loss = min(self.loss[k], self.loss[(k + 4) % 8]) if len(self.loss) == 8 else self.loss[k]
        if self.D <= 1.0:
            return 1.0
        return min(1.0, max(leverage, loss) / (self.D * loss)) if loss > 0.0 else 0.0


def rounded_down(stake, scale):
    """A stake as one byte has it: scale 2^(k/4), k from -221 to 32."""
    if stake <= 0.0:
        return 0.0
    power = min(math.floor(4 * elementary.log2(stake / scale)) + 1, 32)
    while power >= -221 and scale * 2.0 ** (power / 4) > stake:
        power -= 1
    return scale * 2.0 ** (power / 4) if power >= -221 else 0.0


class Monitor:
    def __init__(self, every=1e6, tolerance=0.02, alpha=None, block=1, ahead=1, patience=10_000):
        self.tolerance, self.alpha, self.block, self.ahead = tolerance, alpha, block, ahead
        self.patience = max(patience, block, ahead)
        self.threshold = every if alpha is None else 1.0 / alpha
        self.scale = 2.0 ** (math.floor(elementary.log2(self.threshold)) + 1)
        self.t, self.restarted, self.sketch, self.sketched = 0, 0, [0] * SKETCH, 0
        self.edges = list(EVEN)
        self.open, self.found = [], []
        self.in_block, self.groups = 0, {}  # groups in the order in which they were first seen
        self.is_late, self.lone, self.waiting, self.held = False, None, {}, []
        self.key, self.pots, self.blocks = -1, {}, []
        self.clear()

    def clear(self):
        self.cells, self.R, self.slopes = {}, 0.0, [single(0)] * 4
        self.escrow = 0.0
        self.clear_ranges()
        self.blocks = [Block(0, {})]

    def clear_ranges(self):
        self.ranges, self.squares, self.most = {}, {}, {}
        self.blocks = [Block(block.start, {}) for block in self.blocks]

    def cells_of(self, p, by):
        leaf = max(k for k in range(16) if self.edges[k] <= p)
        names = [(level, leaf >> (4 - level)) for level in range(5)]
        return leaf, names + ([("group", by)] if by is not None else [])

    def granted(self, t):
        if self.alpha is None:
            return 1.0
        t = t + 11.0
        return elementary.log(10.0) / (t * elementary.log(t) * elementary.log(t))

    # -- a round whose outcome arrives next ------------------------------------------------------

    def update(self, p, y, by=None, fresh=False):
        """Play a round; return the last event, "alarm", "end" or None."""
        self.groups.setdefault(by)
        if not self.is_late and self.lone is None and self.block == self.ahead == 1:
            return self.step(p, y, by, self.t)
        events = []
        if fresh and self.in_block:
            events += self.end_block()
        self.key += 1
        events.append(self.ask(self.key, p, by))
        events += self.take(self.key, y) + self.released()
        return next((each for each in reversed(events) if each), None)

    def step(self, p, y, by, t):
        leaf, names = self.cells_of(p, by)
        self.t = t + 1
        own = self.episode_of(names)
        if own:
            self.recover(own, p, y, t)
        else:
            self.bet(p, y, self.watched(names), t)
        self.count_outcome(leaf, p, y)
        if self.count_prediction(p, t) and not self.open:
            self.follow_predictions()
        return self.conclude(by)

    def episode_of(self, names):
        """The open episode of a cell that a round falls into."""
        return next((own for own in self.open if own["name"] in names), None)

    def watched(self, names):
        """The cells whose evidence goes on: all; in episodes of groups, those of groups."""
        if not self.open:
            return names
        is_of_groups = self.open[0]["name"][0] == "group"
        return [name for name in names if name[0] == "group"] if is_of_groups else []

    def close(self, own):
        D = own["D"]
        return 1e6 if D <= 1 or not self.is_late else D * max(100.0, 1e6 / (D * D))

    def conclude(self, by):
        """What a step of a group brought: one thing at most; the rest is for the next step."""
        if not self.open:
            if self.threshold <= self.R:
                self.name()
                return "alarm"
            return None
        group = ("group", by)
        for own in self.open:
            if own["L"] >= self.close(own) and (own["name"] == group or own["name"][0] != "group"):
                return self.end(own)
        is_watched = by is not None and self.watched([group]) and not self.episode_of([group])
        if is_watched and self.own_evidence(group) >= self.threshold:
            self.begin(group, int(self.against(group, 1) > self.against(group, 0)))
            return "alarm"
        for own in self.open:
            if self.t - own["seen"] >= own["gone"]:
                return self.end(own)
        return None

    def own_evidence(self, group):
        if self.is_late:
            return WEIGHTS["group"] / 8 * sum(self.pot(group).cash)
        return WEIGHTS["group"] / 8 * float(self.cells.setdefault(group, Cell()).total)

    def end(self, own):
        own["found"]["end"] = self.t - 1
        own["found"]["recovered"] = min(own["recovered"], self.t)
        self.open.remove(own)
        if not self.open:
            self.restart()
        else:
            self.cells[own["name"]] = Cell()
            if self.is_late:
                self.pot(own["name"]).cash = [0.0] * 8
        return "end"

    def restart(self):
        self.open, self.restarted = [], self.t
        self.clear()
        if self.sketched >= 512:
            self.cut()
        for entry in self.waiting.values():
            entry["void"] = entry["before"] = True
        if self.is_late:
            self.recount()
            self.is_late = bool(self.waiting)

    def factors(self, p, y):
        """What an outcome makes of the bets of a cell, and of those on the slope.

        Without one, each takes the outcome that is worst for it.
        """
        upper, lower = min(p + self.tolerance, 1.0), max(p - self.tolerance, 0.0)
        up = single(upper), single(1.0 - upper), single(y or 0.0), single(1.0 - (y or 0.0))
        down = up[2:] if y is not None else (ONE, single(0))
        down = single(lower), single(1.0 - lower), *down
        e = [fair(b, *(up if b > 1 else down)) for b in ODDS]
        odds = clip(p) / (1.0 - clip(p))
        root = math.sqrt(odds)
        fourth = math.sqrt(root)
        powers = [root, root * fourth, odds * fourth, odds * root * fourth]
        over_u, over_l = (single((1.0 - clip(r)) / clip(r)) for r in (upper, lower))
        slopes = []
        for power in powers:
            if single(power) * over_u > 1:
                slopes.append(fair(single(power) * over_u, *up))
            else:
                slopes.append(fair(min(single(power) * over_l, ONE), *down))
        return e, slopes

    def bet(self, p, y, names, t):
        e, slopes = self.factors(p, y)
        add = self.granted(t)
        for name in names:
            cell = self.cells.setdefault(name, Cell())
            self.date(cell, e, y - p, t - self.restarted)
            M = [each * (M + single(add)) for each, M in zip(e, cell.M, strict=True)]
            self.change(name, cell, M)
        if not self.open:
            bets = zip(slopes, self.slopes, strict=True)
            self.change_slopes([each * (M + single(add)) for each, M in bets])

    # -- pending rounds -------------------------------------------------------------------------

    def pot(self, name):
        return self.pots.setdefault(name, Pot(4 if name == "slopes" else 8))

    def visited(self, p, by):
        _, names = self.cells_of(p, by)
        return [*names[:5], "slopes", *names[5:]]

    def weight(self, name):
        return SLOPE_WEIGHT / 4 if name == "slopes" else WEIGHTS[name[0]] / 8

    def ask(self, key, p, by=None):
        """Let a round wait."""
        self.groups.setdefault(by)
        self.key = key
        if not self.is_late and self.lone is None and self.block == self.ahead == 1:
            self.lone = {"key": key, "p": p, "by": by, "t": self.t}
            self.t += 1
            return None
        if not self.is_late:
            self.become_late()
        if len(self.waiting) >= self.patience:
            self.drop(next(iter(self.waiting)))
        self.stake(key, p, by, self.t, whole=False)
        self.t += 1
        return self.conclude(by)

    def become_late(self):
        self.is_late, self.escrow, self.pots = True, 0.0, {}
        for name, cell in self.cells.items():
            self.pot(name).cash = [float(M) for M in cell.M]
            cell.M = [single(0)] * 8
        self.pot("slopes").cash = [float(M) for M in self.slopes]
        self.slopes = [single(0)] * 4
        self.squares = {leaf: own[3] for leaf, own in self.ranges.items()}
        self.most = dict.fromkeys(self.ranges, 1.0)
        for own in self.open:
            own.update(D=1.0, loss=0.0, waiting=0, asked=0, escrow=0.0)
        if self.lone:
            lone, self.lone = self.lone, None
            self.stake(lone["key"], lone["p"], lone["by"], lone["t"], whole=True)
            if lone.get("void"):
                self.waiting[lone["key"]]["void"] = self.waiting[lone["key"]]["before"] = True

    def stake(self, key, p, by, t, whole):
        if self.count_prediction(p, t) and not self.open:
            self.follow_predictions()
        names = self.visited(p, by)
        entry = {"p": p, "by": by, "t": t - self.restarted, "stakes": {}, "void": False}
        entry["before"] = False  # was it predicted before the restart?
        entry["voided"] = set()  # groups that rang since
        self.waiting[key] = entry
        if entry["t"] - self.blocks[-1].start >= self.pot((0, 0)).D:
            self.begin_block(entry["t"])
        for name in names:
            pot = self.pot(name)
            pot.open += 1
            pot.D = max(pot.D - 0.125, float(pot.open), 1.0)
            pot.asked += 1
        own = self.episode_of(names)
        if own:
            return self.stake_on_recovery(own, entry, t, whole)
        e, slopes = self.factors(p, None)
        paused = not self.open and self.R + self.escrow >= self.threshold
        add = self.granted(t)
        for name in self.watched(names):
            pot, cash, escrow, stakes = self.pot(name), 0.0, 0.0, []
            losses = [1.0 - float(least) for least in (slopes if name == "slopes" else e)]
            pot.loss = [
                mean + (loss - mean) / min(pot.asked, 64)
                for mean, loss in zip(pot.loss, losses, strict=True)
            ]
            for k, loss in enumerate(losses):
                pot.cash[k] += add
                if whole:
                    s = pot.cash[k]
                else:
                    phi = pot.share(k, (0.75, 1.5, 3.0, 6.0)[k % 4])
                    phi = 0.0 if paused and pot.D > 1.0 else phi
                    s = rounded_down(phi * pot.cash[k], self.scale)
                pot.cash[k] -= s * loss
                cash += add - s * loss
                escrow += s * loss
                stakes.append(s)
            entry["stakes"][name] = stakes
            if not self.open:
                self.R += self.weight(name) * cash
                self.escrow += self.weight(name) * escrow
        return None

    def settle(self, key, y):
        """Take the outcome of a pending round."""
        if self.lone and self.lone["key"] == key:
            lone, self.lone = self.lone, None
            if lone.get("void"):
                return None
            return self.step(lone["p"], y, lone["by"], lone["t"])
        if key not in self.waiting:
            return None
        by = self.waiting[key]["by"]
        self.pay(key, y)
        return self.conclude(by)

    def drop(self, key):
        if self.lone and self.lone["key"] == key:
            self.become_late()
        if key in self.waiting:
            self.pay(key, None)

    def pay(self, key, y):
        entry = self.waiting.pop(key)
        p, names = entry["p"], self.visited(entry["p"], entry["by"])
        for name in names:
            self.pot(name).open -= 1
        if y is not None and not entry["before"]:
            self.count_outcome(self.cells_of(p, None)[0], p, y)
            self.count_in_block(self.cells_of(p, None)[0], p, y, entry["t"])
        if entry["void"]:
            return
        own = self.episode_of(names)
        if own:
            if "recovery" in entry and entry["for"] is own:
                self.pay_recovery(own, entry, y)
            return
        least, came = self.factors(p, None), self.factors(p, y)
        for name in self.watched(names):
            if name in entry["voided"]:
                continue
            pot, cash, escrow = self.pot(name), 0.0, 0.0
            which = 1 if name == "slopes" else 0
            for k, s in enumerate(entry["stakes"].get(name, [0.0] * 8)):
                gain = s * (float(came[which][k]) - float(least[which][k]))
                pot.cash[k] += gain
                cash += gain
                escrow -= s * (1.0 - float(least[which][k]))
            if not self.open:
                self.R += self.weight(name) * cash
                self.escrow += self.weight(name) * escrow
            if y is not None and name != "slopes":
                e = {
                    4 * d + tilt: single(
                        1.0
                        + pot.share(4 * d + tilt, (0.25, 0.64)[tilt - 1])
                        * (float(came[0][4 * d + tilt]) - 1.0)
                    )
                    for d in (0, 1) for tilt in (1, 2)
                }  # fmt: skip
                self.date(self.cells.setdefault(name, Cell()), e, y - p, entry["t"])

    def recount(self):
        for pot in self.pots.values():
            pot.cash = [0.0] * len(pot.cash)
        self.count_open()

    def count_open(self):
        for pot in self.pots.values():
            pot.open = 0
        for entry in self.waiting.values():
            for name in self.visited(entry["p"], entry["by"]):
                self.pot(name).open += 1
        for pot in self.pots.values():
            pot.D = max(1.0, float(pot.open))

    # -- outcomes that are held -------------------------------------------------------------------

    def take(self, key, y):
        """Take an outcome that comes; return the events."""
        if self.block == self.ahead == 1:
            return [self.settle(key, y)]
        self.held.append((key, self.t, y))
        if self.block > 1:
            self.in_block += 1
            if self.in_block == self.block:
                return self.end_block()
        return []

    def end_block(self):
        held, self.held, self.in_block = self.held, [], 0
        return [self.settle(key, y) for key, _, y in held]

    def released(self):
        events = []
        while self.ahead > 1 and self.held and self.held[0][1] + self.ahead - 1 <= self.t:
            key, _, y = self.held.pop(0)
            events.append(self.settle(key, y))
        return events

    def change(self, name, cell, M):
        before = float(cell.total)
        cell.M = M
        if not self.open:
            self.R += WEIGHTS[name[0]] / 8 * (float(cell.total) - before)

    def change_slopes(self, after):
        for k, M in enumerate(after):
            self.R += SLOPE_WEIGHT / 4 * (float(M) - float(self.slopes[k]))
        self.slopes = after

    def date(self, cell, e, x, t):
        for direction in (0, 1):
            for tilt in (1, 2):
                ratio, start = cell.cusum.get((direction, tilt), (single(0), 0))
                if ratio <= 1:
                    ratio, start = ONE, t
                    if tilt == 1:
                        cell.since[direction] = (single(0), 0)
                cell.cusum[direction, tilt] = min(ratio * e[4 * direction + tilt], ENOUGH), start
            total, visits = cell.since[direction]
            cell.since[direction] = total + single(x), visits + 1

    def against(self, name, d):
        if not self.is_late:
            return self.cells[name].against(d) if name in self.cells else 0.0
        return sum(self.pot(name).cash[4 * d : 4 * d + 4]) / 8

    def name(self):
        known = [(level, i) for level in range(5) for i in range(2**level)]
        known += [("group", by) for by in self.groups if by is not None]
        best = max(
            ((WEIGHTS[name[0]] / 8 * self.against(name, d), name, d)
             for name in known for d in (0, 1)),
            key=lambda item: item[0],
        )  # fmt: skip
        _, name, d = best
        while name[0] in range(4):
            halves = [(name[0] + 1, 2 * name[1] + k) for k in (0, 1)]
            strength = [self.against(half, d) for half in halves]
            k = 1 if strength[1] > strength[0] else 0
            if math.e * strength[k] < self.against(name, d):
                break
            name = halves[k]
        self.begin(name, d)

    def begin(self, name, d):
        """Open an episode of a cell."""
        cell = self.cells.setdefault(name, Cell())
        total, visits = cell.since.get(d, (single(0), 0))
        dated = [cell.cusum.get((d, tilt), (single(0), 0)) for tilt in (1, 2)]
        _, start = max(dated, key=lambda c: c[0])
        low, high, leaves = 0.0, 1.0, range(16)
        if name[0] != "group":
            width = 16 >> name[0]
            leaves = range(name[1] * width, (name[1] + 1) * width)
            low, high = self.edges[leaves[0]], self.edges[leaves[-1] + 1]
        bias = float(total) / visits if visits else 0.0
        n = V = spread = 0.0
        for leaf in leaves:
            own = self.ranges.get(leaf, (0.0,) * 5)
            n, V, spread = n + own[0], V + own[3], spread + own[4]
        shift = max(abs(bias) / 3.0, self.tolerance) / max(max(V, spread) / max(n, 1.0), 1e-9)
        shift = min(shift, 2.0)
        # The rounds in which its visits came, and 100 times as many for each.
        length = self.t - self.restarted - dated[0][1]
        most = int(self.pot((0, 0)).D) if self.is_late else 0  # as a storm may keep them away
        found = {"alarm": self.t - 1, "onset": self.restarted + start, "end": None, "low": low,
                 "high": high, "group": name[1] if name[0] == "group" else None, "bias": bias,
                 "recovered": None}  # fmt: skip
        self.found.append(found)
        self.open.append(
            {"name": name, "direction": d, "L": 0.0, "seen": self.t, "found": found,
             "gone": max(100 * length // max(visits, 1), 1000, 100 * most),
             "B": elementary.exp(-shift if d else shift), "W": 0.0, "recovered": self.t,
             "D": self.pot(name).D if self.is_late else 1.0, "loss": 0.0, "waiting": 0,
             "asked": 0, "escrow": 0.0,
             "credit": max(1, 10 * length // max(visits, 1)) if self.is_late else math.inf}
        )  # fmt: skip
        for entry in self.waiting.values():
            entry["voided"].add(name)
        self.escrow = 0.0

    # -- recovery ---------------------------------------------------------------------------------

    def ratios(self, own, p):
        """The likelihood of an outcome if p is true, over that of B times its odds."""
        at_0 = 1.0 - p + p * own["B"]
        return at_0, at_0 / own["B"]

    def recovery_share(self, own):
        """As much as a bet that the odds are B times those of p would stake, up to four times."""
        D, B, loss = own["D"], own["B"], own["loss"]
        p = 1.0 - loss / (1.0 - 1.0 / B) if B > 1.0 else loss / (1.0 - B)  # on average
        least = min(loss, max(1.0 - min(1.0, B) / (1.0 - p + p * B), loss / 4.0))
        return 1.0 if D <= 1.0 else min(1.0, max(2.0, least) / (D * least)) if least > 0.0 else 0.0

    def date_recovery(self, own, f, t):
        if own["W"] <= 1.0:
            own["recovered"] = t
        own["W"] = max(own["W"], 1.0) * f

    def recover(self, own, p, y, t):
        own["seen"] = min(t + 1, own["seen"] + own["credit"])
        f0, f1 = self.ratios(own, p)
        f = (1.0 - y) * f0 + y * f1
        own["L"] = f * (own["L"] + 1.0)
        self.date_recovery(own, f, t)

    def stake_on_recovery(self, own, entry, t, whole):
        own["seen"] = min(t + 1, own["seen"] + own["credit"])
        loss = 1.0 - min(self.ratios(own, entry["p"]))
        own["waiting"] += 1
        own["asked"] += 1
        own["D"] = max(own["D"] - 0.125, float(own["waiting"]), 1.0)
        own["loss"] += (loss - own["loss"]) / min(own["asked"], 64)
        own["L"] += 1.0
        s = own["L"]
        if not whole:
            s = rounded_down(self.recovery_share(own) * own["L"], 2.0**20)
            if own["D"] > 1.0 and own["L"] + own["escrow"] >= self.close(own):
                s = 0.0  # what is open may be enough
        entry["recovery"], entry["for"] = s, own
        own["L"] -= s * loss
        own["escrow"] += s * loss

    def pay_recovery(self, own, entry, y):
        own["waiting"] -= 1
        f0, f1 = self.ratios(own, entry["p"])
        own["escrow"] -= entry["recovery"] * (1.0 - min(f0, f1))
        if y is not None:
            f = (1.0 - y) * f0 + y * f1
            own["L"] += entry["recovery"] * (f - min(f0, f1))
            share = self.recovery_share(own)
            self.date_recovery(own, 1.0 + share * (f - 1.0), self.restarted + entry["t"])

    # -- ranges -----------------------------------------------------------------------------------

    def count_outcome(self, leaf, p, y):
        n, predicted, happened, V, spread = self.ranges.get(leaf, (0.0,) * 5)
        guess = (happened - predicted) / n if n else 0.0
        guess = min(max(guess, -p), 1.0 - p)
        V += (y - p - guess) * (y - p - guess)
        self.ranges[leaf] = (n + 1.0, predicted + p, happened + y, V, spread + p * (1.0 - p))

    def begin_block(self, t):
        """Begin a block of as many rounds as wait; the one before the last is over."""
        means = {leaf: (own[2] - own[1]) / own[0] for leaf, own in self.ranges.items()}
        self.blocks.append(Block(t, means))
        if len(self.blocks) > 2:
            for leaf, (_, total) in self.blocks.pop(0).sums.items():
                self.squares[leaf] = self.squares.get(leaf, 0.0) + total * total

    def count_in_block(self, leaf, p, y, t):
        block = self.blocks[-1 if t >= self.blocks[-1].start else -2]
        count, total = block.sums.get(leaf, (0.0, 0.0))
        guess = min(max(block.guess.get(leaf, 0.0), -p), 1.0 - p)
        block.sums[leaf] = count + 1.0, total + (y - p - guess)
        self.most[leaf] = max(self.most.get(leaf, 0.0), count + 1.0)

    def count_prediction(self, p, t):
        if self.sketched >= 512 and t % 16:
            return False
        logit = elementary.log(clip(p) / (1.0 - clip(p)))
        place = int((logit / WIDEST + 1.0) * (SKETCH / 2))
        self.sketch[min(max(place, 0), SKETCH - 1)] += 1
        self.sketched += 1
        return self.sketched == 512

    def follow_predictions(self):
        """Cut the ranges anew: what is known of the old ones, and what was staked, is dropped."""
        before = list(self.edges)
        self.cut()
        if self.edges == before:
            return
        for name in sorted(n for n in self.cells if n[0] in (1, 2, 3, 4)):
            self.R -= WEIGHTS[name[0]] / 8 * float(self.cells.pop(name).total)
        self.clear_ranges()
        if self.is_late:
            for name in sorted(n for n in self.pots if n[0] in (1, 2, 3, 4)):
                for k, cash in enumerate(self.pots[name].cash):
                    self.R -= WEIGHTS[name[0]] / 8 * cash
                    self.pots[name].cash[k] = 0.0
            for entry in self.waiting.values():
                entry["void"] = True
            self.count_open()
            self.escrow = 0.0

    def cut(self):
        """Ranges of equal mass where one even range has most of the predictions.

        Where rounds wait, nearly all of them.
        """
        total = sum(self.sketch)
        share = [0] * 16
        for at, count in enumerate(self.sketch):
            point = sigmoid_at(at + 0.5)
            share[max(k for k in range(16) if EVEN[k] <= point)] += count
        self.edges = list(EVEN)
        if max(share) <= (0.9 if self.is_late else 0.5) * total:
            return
        for k in range(1, 16):
            goal, below = total * k / 16, 0
            for at, count in enumerate(self.sketch):
                if below + count > goal:
                    self.edges[k] = sigmoid_at(at + (goal - below) / count)
                    break
                below += count
