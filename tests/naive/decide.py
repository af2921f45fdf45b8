"""Decisions, slow and obvious: lists of the whole past, searched again for every row."""

import math

from naive.draws import MASK, Draws, scramble


def log_odds(p):
    p = min(max(p, 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))


def logistic(z):
    return 1 / (1 + math.exp(-z))


class Explorer:
    """One draw a decision: a no becomes an act with a fixed chance."""

    def __init__(self, seed, explore):
        self.draws, self.explore = Draws(seed), explore

    def acts(self, wish):
        u = self.draws.uniform()
        return wish == "yes" or (wish == "no" and u < self.explore)


def by_costs(ps, threshold, *, seed=0, explore=0.0):
    explorer = Explorer(seed, explore)
    return [explorer.acts("yes" if p >= threshold else "no") for p in ps]


def by_precision(ps, ys, known, floor, *, seed=0, explore=0.0):
    """Row i sees the outcomes of rows j with known[j] < i: they arrive before it, in that order."""
    explorer, theta, acted = Explorer(seed, explore), log_odds(floor), []
    for i, p in enumerate(ps):
        for j in sorted(range(i), key=lambda j: (known[j], j)):
            if i - 1 <= known[j] < i and acted[j]:
                theta += 0.007 * (ps[j] - ys[j])
        acted.append(explorer.acts("yes" if log_odds(p) >= theta else "no"))
        if acted[i]:
            theta += 0.007 * (floor - p)
    return acted


def by_recall(ps, ys, known, floor, *, seed=0, explore=0.0):
    explorer, theta, acted, chosen = Explorer(seed, explore), -5.0, [], []
    aim = min(floor + 0.005, (1 + floor) / 2)
    for i, p in enumerate(ps):
        for j in sorted(range(i), key=lambda j: (known[j], j)):
            if i - 1 <= known[j] < i and acted[j]:
                if chosen[j]:
                    theta += 0.1 * 0.03 * (1 - aim) * (ys[j] - ps[j])
                else:
                    theta -= 0.1 * 0.03 * aim / explore * (ys[j] - ps[j])
        chosen.append(log_odds(p) >= theta)
        acted.append(explorer.acts("yes" if chosen[i] else "no"))
        theta += (0.03 if theta >= -5 else 0.3) * p * (chosen[i] - aim)
    return acted


class Histogram:
    """Recent log odds in bins of 0.05: each row weighs as much more as the half-life says."""

    def __init__(self):
        self.bins, self.weight = [0.0] * 400, 1.0
        self.total, self.growth = 0.0, 1.0

    def add(self, z, row, size):
        self.bins[int((z + 10) / 0.05)] += self.weight
        self.total += self.weight
        if row % 20 == 0:
            self.growth = 2.0 ** (1.0 / max(0.05 * size, 25.0))
        self.weight *= self.growth
        if self.weight > 1e100:
            self.bins = [each / self.weight for each in self.bins]
            self.total /= self.weight
            self.weight = 1.0

    def above(self, share):
        """Return where a share of the weight lies above."""
        wanted, so_far = share * self.total, 0.0
        for k in reversed(range(400)):
            if self.bins[k] > 0 and so_far + self.bins[k] >= wanted:
                return -10 + 0.05 * (k + 1) - 0.05 * ((wanted - so_far) / self.bins[k])
            so_far += self.bins[k]
        return -10.0


def tie_breaker(seed):
    """Return draws of their own, so that exploration does not move them."""
    draws = Draws(0)
    draws.state = scramble(scramble(seed)) & MASK
    return draws


def by_budget(ps, budget, rows, cap, floor, *, seed=0, explore=0.0):
    """Return the acts; `cap` and `floor` are the most and the least of a window of so many rows."""
    explorer, ties, histogram = Explorer(seed, explore), tie_breaker(seed), Histogram()
    acted, price, highest, lowest = [], 0.0, 1e9, -1e9
    steps = 4.0 if floor > 0 else 1.0
    soon = max(int(0.25 * rows), 1)
    warm_up = max(min(200, rows // 50), 1)
    for i, p in enumerate(ps):
        z = log_odds(p) + 1e-6 * (ties.uniform() - 0.5)
        begin = i - rows + 1  # of the window that ends with row i
        inside = sum(acted[max(begin, 0) :])
        if i == warm_up:
            price = histogram.above(budget)
        if i >= warm_up and i % 20 == 0:
            if i >= rows:
                room = (cap - inside + sum(acted[begin : begin + soon])) / soon
                need = (floor - inside + sum(acted[begin : begin + soon])) / soon
            else:
                room = (cap - inside) / min(soon, rows - i)
                need = (floor * min(1.0, (i + soon) / rows) - inside) / soon
            lowest = histogram.above(min(max(room, 1e-5), 1.0))
            highest = histogram.above(min(need, 1.0)) if need > 0 else 1e9
        if inside >= cap:
            wish = "never"
        elif floor - inside >= max(rows - i, 1):
            wish = "yes"
        else:
            is_high = z >= max(min(price, highest), lowest)
            wish = "yes" if i >= warm_up and is_high else "no"
        acted.append(explorer.acts(wish))
        price += min(steps / (budget * rows), 0.1) * (acted[i] - budget)
        histogram.add(z, i, rows)
    return acted


def by_timed_budget(ps, times, budget, seconds, cap, floor, *, seed=0):
    """Return the acts; `cap` and `floor` are shares of the rows, of hundredths of the window.

    Of the window that ends now, the acts of the last 101 hundredths count, and the rows of 100. The
    cap also holds at every moment of windows that begin at multiples of their length.
    """
    ties, histogram = tie_breaker(seed), Histogram()
    acted, price, highest, lowest = [], 0.0, 1e9, -1e9
    steps = 4.0 if floor > 0 else 1.0
    slots = [math.floor(time / (seconds / 100)) for time in times]
    for i, p in enumerate(ps):
        z = log_odds(p) + 1e-6 * (ties.uniform() - 0.5)
        age = [slots[i] - slot for slot in slots[: i + 1]]
        size = sum(each < 100 for each in age)
        inside = sum(act for act, each in zip(acted, age, strict=False) if each <= 100)
        if i == 200:
            price = histogram.above(budget)
        if i >= 200 and i % 20 == 0:
            pairs = list(zip(acted, age, strict=False))
            soon = sum(act for act, each in pairs if 75 < each <= 100)
            room = (cap * size - inside + soon) / (0.25 * size)
            need = (floor * size - inside + soon) / (0.25 * size)
            lowest = histogram.above(min(max(room, 1e-5), 1.0))
            highest = histogram.above(min(need, 1.0)) if need > 0 else 1e9
        begun = [j for j in range(i + 1) if times[j] // seconds == times[i] // seconds]
        is_free = inside + 1 <= cap * size
        is_free = is_free and sum(acted[begun[0] :]) + 1 <= cap * len(begun)
        is_high = z >= max(min(price, highest), lowest)
        acted.append(bool(i >= 200 and is_high and is_free))
        price += min(steps / (budget * max(size, 1)), 0.1) * (acted[i] - budget)
        histogram.add(z, i, size)
    return acted
