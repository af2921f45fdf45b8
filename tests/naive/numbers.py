"""Quantiles of numbers, slowly: one round after the other, as docs/numbers.md describes it.

Everything is in residuals; a prediction is a dict of what was predicted, and learning reads it.
"""

import math
from statistics import NormalDist

import numpy as np

KNOTS = np.array([0.03, 0.2, 0.5, 0.8, 0.97])
#: Of one location: which scale (fast, mid, slow, learned), and the slowest rate of the shape.
KINDS = [(2, 2e-4), (2, 3e-3), (2, 1e-2), (1, 2e-4), (0, 2e-4), (3, 2e-4), (3, 5e-3)]
RATES = np.array([0.1, 0.03, 0.005])
PRIOR = np.repeat([4.0, 1.0, 1.0], 7) / 42.0
HORIZONS = [64.0, 512.0, 4096.0, 32768.0]


def clip(x, bound):
    return np.clip(x, -bound, bound)


def isotone(x):
    """Return the nearest vector that does not fall."""
    blocks = []
    for value in x:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (b, m), (a, n) = blocks.pop(), blocks.pop()
            blocks.append([(a * n + b * m) / (n + m), n + m])
    return np.repeat([value for value, _ in blocks], [size for _, size in blocks])


class NaiveBoa:
    """Weights of a few experts at the knots."""

    def __init__(self, prior):
        self.prior = np.asarray(prior)[:, None]
        size = (len(prior), len(KNOTS))
        self.w = np.broadcast_to(self.prior, size).copy()
        self.R, self.L = np.zeros(size), np.zeros(size)
        self.V, self.V2, self.E = np.full(size, 1e-6), np.full(size, 1e-6), np.full(size, 1e-3)

    def learn(self, loss, weights, late, was_late):
        """Take in what each expert would have gained, centred by the weights that it had."""
        loss = np.clip(loss - (weights * loss).sum(axis=0), -10.0, 2.0)
        self.E = np.maximum(self.E * (1 - 1 / 2000), np.abs(loss))
        self.V += loss**2 - self.V / 2000
        v, D = self.V, late + 1.0
        if was_late:
            self.L += loss - self.L / D
            self.V2 += self.L**2 / (1 / (2 / D - 1 / D**2)) - self.V2 / 2000
            v = v * np.clip(self.V2 / self.V, 1.0, D)
        else:
            self.V2 = self.V.copy()
        eta = np.minimum(0.5 / self.E, np.sqrt(-np.log(self.prior) / v))
        self.R += loss - eta * loss**2 - self.R / 2000
        score = eta * self.R
        w = self.prior * eta * np.exp(score - score.max(axis=0))
        self.w = (1 - 1e-3) * w / w.sum(axis=0) + 1e-3 * self.prior


class NaiveNet:
    """The biases of levels, the soft stage and the net."""

    def __init__(self, levels, horizons=HORIZONS, wall=(10.0, 12.0), grow=True):
        self.tau, self.wall, self.grow = np.asarray(levels), wall, grow
        self.horizons, self.most, self.turn = list(horizons), 0.0, 0
        self.S = [np.zeros(len(self.tau)) for _ in horizons]
        self.plain, self.run = np.zeros(len(self.tau)), np.zeros(len(self.tau))
        self.F = np.ones(len(self.tau))
        self.returned = []

    def u(self, turn):
        if np.allclose(self.tau * 100, np.round(self.tau * 100), atol=1e-9, rtol=0):
            return (61 * turn % 100 + 0.5) / 100
        return sum(int(bit) / 2 ** (at + 1) for at, bit in enumerate(bin(turn + 1)[:1:-1]))

    def walls(self, n):
        """Return which levels are too low by the wall, and which are too high."""
        Z = self.wall[0] if self.most == 0 else self.wall[1]
        low, high = set(), set()
        for h, S in [*zip(self.horizons, self.S, strict=True), (math.inf, self.plain)]:
            sigma = np.sqrt(self.tau * (1 - self.tau) * min(h, n + 1) / 2 + 0.5)
            W = Z * sigma * math.sqrt(self.most + 1)
            low |= set(np.flatnonzero(S < -W).tolist())
            high |= set(np.flatnonzero(S > W).tolist())
        return low, high

    def say(self, mixture, far, n, late):
        tau, lt = self.tau, np.log(self.tau / (1 - self.tau))
        shift = np.zeros(len(tau))
        for h, S in zip(self.horizons, self.S, strict=True):
            m = min(h, n + 1)
            z = S / np.sqrt(tau * (1 - tau) * m / 2 * self.F + 0.5)
            gain = min(0.7, 0.3 * math.sqrt(2 * m) / (late + 1))
            shift += gain * np.sign(z) * np.maximum(np.abs(z) - 2.5, 0.0)
        moved = isotone(lt - shift)
        predicted = np.array([self.read(mixture, lt, a, far) for a in moved])
        predicted = np.where(moved == lt, mixture, predicted)
        predicted = np.maximum.accumulate(predicted)
        low, high = self.walls(n)
        turn = -1
        if low and high:
            turn = self.returned.pop() if self.returned else self.turn
            self.turn = max(self.turn, turn + 1)
            predicted = np.where(tau > self.u(turn), math.inf, -math.inf)
        elif low:
            predicted[min(low) :] = math.inf
        elif high:
            predicted[: max(high) + 1] = -math.inf
        return predicted, turn

    @staticmethod
    def read(q, lt, a, far):
        if abs(a) >= 13.8:
            return math.copysign(far, a)
        if a <= lt[0]:
            j = min(4, len(q) - 1)
            return max(-far, q[0] - (q[j] - q[0]) / (lt[j] - lt[0]) * (lt[0] - a))
        if a >= lt[-1]:
            j = max(len(q) - 5, 0)
            return min(far, q[-1] + (q[-1] - q[j]) / (lt[-1] - lt[j]) * (a - lt[-1]))
        return float(np.interp(a, lt, q))

    def learn(self, c, is_marked, n, late, was_late):
        self.most = max(self.most, late)
        c = np.zeros(len(self.tau)) if is_marked else c
        self.S = [S + c - S / h for h, S in zip(self.horizons, self.S, strict=True)]
        self.plain = self.plain + c
        D = late + 1.0
        if was_late:
            self.run += c - self.run / D
            if n > D:
                spread = 1 / (2 / D - 1 / D**2)
                ratio = np.clip(self.run**2 / (spread * self.tau * (1 - self.tau)), 1.0, D)
                self.F += max(1 / (20 * D), 1 / n) * (ratio - self.F)
        if self.grow and n > self.horizons[-1]:
            self.horizons.append(8 * self.horizons[-1])
            self.S.append(self.S[-1].copy())


class NaiveNumbers:
    """The rule for numbers; `predict` returns what `learn` takes with the outcome."""

    def __init__(self, levels, periods=(7, 24, 48, 168, 336), bounds=(-math.inf, math.inf)):
        self.tau, self.periods, self.bounds = np.asarray(levels), periods, bounds
        self.hats = np.array([np.interp(self.tau, KNOTS, row) for row in np.eye(len(KNOTS))])
        nx, ns = 6 + len(periods), 5 + len(periods)
        self.A, self.theta = 10 * np.eye(nx), np.zeros(nx)
        self.As = [10 * np.eye(ns) for _ in range(3)]
        self.thetas = [np.array([0, 0.2, 0.4, 0.4, 0] + [0] * len(periods)) for _ in range(3)]
        self.means, self.cap = np.zeros((3, 3)), np.zeros(3)
        self.phase_m = [np.zeros(p) for p in periods]
        self.phase_s = [[np.zeros(p) for p in periods] for _ in range(3)]
        self.heard = [np.zeros(p, dtype=int) for p in periods]
        self.offset = self.quick = self.slow = self.last = self.before = 0.0
        self.mean_m = self.dev_m = self.abs_m = self.far = self.past = self.late = 0.0
        self.was_late, self.begun, self.n = False, 0, 0
        start = np.array([NormalDist().inv_cdf(level) for level in self.tau]) * 1.2533
        self.shapes = np.tile(start, (21, 1))
        self.boa, self.given_boa = NaiveBoa(PRIOR), NaiveBoa([0.2, 0.8])
        self.net = NaiveNet(levels)
        self.anchor = (0, self.shapes.copy(), self.boa.w.copy())

    def estimates(self, shapes, predicted):
        found = np.empty((21, len(self.tau)))
        for i in range(21):
            j, (scale, _) = i // 7, KINDS[i % 7]
            found[i] = clip(
                predicted["mu"][j] + predicted["s"][j][scale] * shapes[i], predicted["far"]
            )
        return found

    def mixed(self, estimates, w):
        return ((w @ self.hats) * estimates).sum(axis=0)

    @np.errstate(over="ignore")
    def predict(self, m, given=None):
        predicted, unit = {"place": self.begun, "known": self.n}, max(self.means[0, 2], 1e-300)
        if math.isnan(m):
            m = float(np.clip(self.past, *self.bounds))
        phase = [self.begun % p for p in self.periods]
        x = [self.last, self.before, self.quick, self.slow]
        x += [means[c] for means, c in zip(self.phase_m, phase, strict=True)]
        z = (m - self.mean_m) / max(self.dev_m, 1e-300) if self.n else 0.0
        x = np.array([1.0, clip(z, 3.0), *clip(np.array(x) / unit, 8.0)])
        mu = [0.0, self.offset, float(clip(self.theta @ x * unit, 4e250))]
        scales, features = [], []
        for j in range(3):
            three = np.maximum(self.means[j], 1e-3 * unit)
            size = min(float(np.abs(m) / np.float64(max(self.abs_m, 1e-300))), 1e6)
            sx = [1.0, *np.log(three / unit), math.log(size + 0.05)]
            for p, c in enumerate(phase):
                known = math.log(max(self.phase_s[j][p][c], 1e-2 * unit) / unit)
                sx.append(known if self.heard[p][c] else sx[3])
            learned = unit * math.exp(np.clip(self.thetas[j] @ sx, -6.0, 4.0))
            scales.append([*three, learned])
            features.append(np.array(sx))
        predicted |= {"m": m, "x": x, "sx": features, "mu": mu, "s": scales, "unit": unit}
        predicted["far"] = 2 * self.far
        if self.n - self.anchor[0] > int(self.late / 8):
            self.anchor = (self.n, self.shapes.copy(), self.boa.w.copy())
        predicted["anchor"] = self.anchor
        mixture = np.sort(self.mixed(self.estimates(self.shapes, predicted), self.boa.w))
        predicted["given"] = None
        if given is not None:
            weights = np.ones(5) if self.n <= 5 else self.given_boa.w[1].copy()
            predicted["given"], v = (np.asarray(given) - m, weights), weights @ self.hats
            mixture = np.sort((1 - v) * mixture + v * predicted["given"][0])
        predicted["q"], predicted["turn"] = self.net.say(
            mixture, predicted["far"], self.n, self.late
        )
        predicted["shown"] = np.clip(m + predicted["q"], *self.bounds)
        self.begun += 1
        return predicted

    @np.errstate(over="ignore")  # a residual in units of a scale that has collapsed
    def learn(self, predicted, y, weight=1.0):
        self.note_lateness(predicted)
        n, r, tau = self.n + 1, y - predicted["m"], self.tau
        if predicted["known"] > 2:
            c = np.where(y == predicted["shown"], 0.0, (y < predicted["shown"]) - tau)
            c = np.where(predicted["q"] == math.inf, 1 - tau, c)
            c = np.where(predicted["q"] == -math.inf, -tau, c)
            self.net.learn(c, predicted["turn"] >= 0, n, self.late, self.was_late)
        if predicted["known"] > 5:
            self.weigh(predicted, r, weight)
        if predicted["known"] > 2:
            self.move_shapes(predicted, r, weight, n)
        self.learn_scales(predicted, r, weight, n)
        self.learn_location(predicted, r, weight, n)
        self.past += max(0.05, 1 / n) * (y - self.past)
        self.n = n

    def note_lateness(self, predicted):
        n = self.n + 1
        waited = (
            self.n - predicted["known"]
            if predicted["known"]
            else self.begun - 1 - predicted["place"]
        )
        if n > 20:
            waited = min(waited, 4 * self.late + 8)
        self.late += max(0.01, 1 / n) * (waited - self.late)
        self.was_late = self.was_late or waited > 0

    def weigh(self, predicted, r, weight):
        _, shapes, w = predicted["anchor"]
        estimates, mid = self.estimates(shapes, predicted), predicted["s"][0][1]
        mixture, size = self.mixed(estimates, w), self.hats.sum(axis=1)
        if predicted["given"] is not None:
            theirs, weights = predicted["given"]
            v = weights @ self.hats
            both = (1 - v) * mixture + v * theirs
            slope = weight * ((r <= both) - self.tau) / mid
            loss = np.array([(slope * (both - q)) @ self.hats.T / size for q in (mixture, theirs)])
            had = np.array([1 - weights, weights])
            self.given_boa.learn(loss, had, self.late, self.was_late)
        slope = weight * ((r <= mixture) - self.tau) / mid
        loss = (slope * (mixture - estimates)) @ self.hats.T / size
        self.boa.learn(loss, w, self.late, self.was_late)

    def move_shapes(self, predicted, r, weight, n):
        tau, K = self.tau, len(self.tau)
        for i, q in enumerate(self.shapes):
            scale, slowest = KINDS[i % 7]
            z = (r - predicted["mu"][i // 7]) / predicted["s"][i // 7][scale]
            least = 1.0 if abs(z) > 3 * max(abs(q[0]), abs(q[-1])) else 0.03
            k = np.arange(K)
            lo, hi = np.maximum(0, k - 2), np.minimum(K - 1, k + 2)
            slope = (q[hi] - q[lo]) / (tau[hi] - tau[lo])
            slope *= np.where((k < 2) | (k > K - 3), 1.5, 1.0)
            step = weight * max(1 / (n + 20), slowest) * np.maximum(slope, least)
            self.shapes[i] = np.maximum.accumulate(q + step * (tau - (z <= q)))

    def learn_scales(self, predicted, r, weight, n):
        for j in range(3):
            size, sx = abs(r - predicted["mu"][j]), predicted["sx"][j]
            if predicted["known"] > 10:
                ratio = min(4.0, size / predicted["s"][j][3]) - 1
                self.As[j] = 0.999 * self.As[j] + 0.001 * 10 * np.eye(len(sx))
                self.As[j] += weight * np.outer(sx, sx)
                self.thetas[j] = self.thetas[j] + np.linalg.solve(self.As[j], weight * sx * ratio)
            if n > 20 and self.means[j, 2] > 0:
                if size > self.cap[j]:
                    size = self.cap[j]
                    self.cap[j] *= 2
                else:
                    self.cap[j] = max(20 * self.means[j, 2], 0.9 * self.cap[j])
            else:
                self.cap[j] = max(self.cap[j], 20 * size)
            rates = np.maximum(1 / (1 / RATES + 0.3 * self.late), 1 / n)
            self.means[j] += np.minimum(1, weight * rates) * (size - self.means[j])
            for p, period in enumerate(self.periods):
                c = predicted["place"] % period
                rate = max(0.1, 1 / (self.heard[p][c] + 1))
                self.phase_s[j][p][c] += min(1, weight * rate) * (size - self.phase_s[j][p][c])

    def learn_location(self, predicted, r, weight, n):
        x, mid, late = predicted["x"], predicted["s"][0][1], self.late
        teaches = predicted["known"] > 10
        if teaches:
            s = predicted["s"][2][1]
            w = min(5.0, predicted["unit"] / s)
            self.A = (1 - 5e-4) * self.A + 5e-4 * 10 * np.eye(len(x))
            self.A += weight * w**2 * np.outer(x, x)
            e = float(clip((r - predicted["mu"][2]) / s, 3.0))
            self.theta = self.theta + np.linalg.solve(self.A, x * weight * w * e)
        clipped = float(clip(r, 4 * mid)) if teaches else r
        e = float(clip(r - self.offset, 4 * mid)) if teaches else r - self.offset
        fifty, seven, hundred = (
            min(1, weight * max(1 / (memory + 0.3 * late), 1 / n)) for memory in (50, 7, 100)
        )
        self.offset += fifty * e
        self.quick += seven * (clipped - self.quick)
        self.slow += hundred * (clipped - self.slow)
        self.before, self.last = self.last, clipped
        for p, period in enumerate(self.periods):
            c = predicted["place"] % period
            self.heard[p][c] += 1
            rate = max(0.1, 1 / self.heard[p][c])
            self.phase_m[p][c] += min(1, weight * rate) * (clipped - self.phase_m[p][c])
        rate = max(0.002, 1 / n)
        self.mean_m += rate * (predicted["m"] - self.mean_m)
        self.dev_m += rate * (abs(predicted["m"] - self.mean_m) * 1.25 - self.dev_m)
        self.abs_m += rate * (abs(predicted["m"]) - self.abs_m)
        self.far = max(self.far, abs(r))
