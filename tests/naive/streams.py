"""Deviation, segments and adversaries from their definitions, in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from calibrant._kernels import elementary


def deviation(means: Sequence[float]) -> float:
    """min over q of sum |q_t - q|: the sum is piecewise linear, so some q_t attains it."""
    exact = [Fraction(q) for q in means]
    return float(min(sum(abs(q - level) for q in exact) for level in set(exact)))


def segments(means: Sequence[float]) -> int:
    stretches: list[float] = []
    for q in means:
        if not stretches or stretches[-1] != q:
            stretches.append(q)
    return len(stretches)


class Greedy:
    """Tries both outcomes on every point of P_t and recomputes the whole error each time."""

    def __init__(self, norm: str) -> None:
        self.norm = norm
        self.seen: dict[float, list[float]] = {}

    def error(self, seen: dict[float, list[float]]) -> Fraction:
        total = Fraction(0)
        for p, outcomes in seen.items():
            residual = sum(Fraction(y) - Fraction(p) for y in outcomes)
            total += abs(residual) if self.norm == "l1" else residual**2 / len(outcomes)
        return total

    def choose(self, points: Sequence[float], weights: Sequence[float]) -> float:
        raised = {}
        for y in (0.0, 1.0):
            raised[y] = Fraction(0)
            for p, weight in zip(points, weights, strict=True):
                after = {**self.seen, p: [*self.seen.get(p, []), y]}
                raised[y] += Fraction(weight) * (self.error(after) - self.error(self.seen))
        return 1.0 if raised[1.0] >= raised[0.0] - Fraction(1, 10**9) else 0.0

    def observe(self, p: float, y: float) -> None:
        self.seen.setdefault(p, []).append(y)


class Drag(Greedy):
    """Pulls the mean to a sine, and is greedy for Cal2 within `width` of it."""

    def __init__(
        self, horizon: int, sweeps: float, width: float, reach: float, *, fresher: bool = False
    ) -> None:
        super().__init__("l2")
        self.horizon, self.sweeps, self.width, self.reach = horizon, sweeps, width, reach
        self.t, self.fresher = 0, fresher

    def choose(self, points: Sequence[float], weights: Sequence[float]) -> float:
        aim = 0.5 + self.reach * elementary.sin(2 * math.pi * self.sweeps * self.t / self.horizon)
        mean = sum(w * p for w, p in zip(weights, points, strict=True))
        if abs(mean - aim) > self.width:
            return 1.0 if mean < aim else 0.0
        if self.fresher:
            visits = [len(self.seen.get(p, [])) for p in points]
            i = visits.index(min(visits))
            points, weights = points[i : i + 1], weights[i : i + 1]
        return super().choose(points, weights)

    def observe(self, p: float, y: float) -> None:
        super().observe(p, y)
        self.t += 1


class Learned:
    """A recurrent network of eight neurons; genes are read in the order of their use."""

    def __init__(self, horizon: int, genes: Sequence[float]) -> None:
        matrix, rest = np.array(genes[: 8 * 21]).reshape(8, 21), np.array(genes[8 * 21 :])
        self.sees, self.recalls, self.bias = matrix[:, :12], matrix[:, 12:20], matrix[:, 20]
        self.outcome, self.score = rest[:21], rest[21:]
        self.horizon, self.t, self.last = horizon, 0, 0.0
        self.state = self.next = np.zeros(8)
        self.seen: dict[float, list[float]] = {}

    def term(self, p: float, outcomes: list[float]) -> float:
        return sum(y - p for y in outcomes) ** 2 / len(outcomes)

    def senses(self, points: Sequence[float], weights: Sequence[float]) -> list[float]:
        ends = [points[0], points[-1]]
        seen = [self.seen.get(p, []) for p in ends]
        preference = sum(
            w
            * (self.term(p, [*self.seen.get(p, []), 1]) - self.term(p, [*self.seen.get(p, []), 0]))
            for p, w in zip(points, weights, strict=True)
        )
        angle = 2 * math.pi * self.t / self.horizon
        aim = 0.5 + 0.49 * elementary.tanh(self.score[:8] @ self.state + self.score[8])
        return [
            2 * sum(w * p for w, p in zip(weights, points, strict=True)) - 1,
            weights[0] if len(points) > 1 else 1.0,
            10 * (points[-1] - points[0]),
            *(sum(p - y for y in each) / math.sqrt(len(each) + 1)
              for p, each in zip(ends, seen, strict=True)),
            *(elementary.log(len(each) + 1) / 10 for each in seen),
            elementary.tanh(10 * preference),
            elementary.sin(angle), elementary.cos(angle), self.last, aim,
        ]  # fmt: skip

    def choose(self, points: Sequence[float], weights: Sequence[float]) -> float:
        x = np.array(self.senses(points, weights))
        self.next = np.tanh(self.sees @ x + self.recalls @ self.state + self.bias)
        total = self.outcome[:12] @ x + self.outcome[12:20] @ self.next + self.outcome[20]
        return 1.0 if total > 0 else 0.0

    def observe(self, p: float, y: float) -> None:
        self.seen.setdefault(p, []).append(y)
        self.state, self.last, self.t = self.next, y, self.t + 1


class SignPreservation:
    """The game as a recursion over thirds: the middle, and then the side that its bias decides."""

    def __init__(self, horizon: int, seed: int) -> None:
        depth = min(12, max(1, round(0.24 * math.log2(horizon))))
        self.cells, self.length = 3**depth, max(1, horizon // 2**depth)
        self.seed = seed
        self.seen: list[tuple[float, float]] = []
        self.epochs = self.thirds(0, self.cells)
        self.start_epoch()

    def thirds(self, first: int, size: int):
        if size == 1:
            yield first
            return
        third = size // 3
        yield from self.thirds(first + third, third)
        side = 2 if self.bias(first + third, third) >= 0 else 0
        yield from self.thirds(first + side * third, third)

    def bias(self, first: int, size: int) -> float:
        low, high = (0.25 + cell / (2 * self.cells) for cell in (first, first + size))
        return math.fsum(y - p for p, y in self.seen if low <= p < high)

    def start_epoch(self) -> None:
        ended = self.cells if self.bias(0, self.cells) >= 0 else -1
        self.cell, self.played = next(self.epochs, ended), 0

    def choose(self, _points: Sequence[float], _weights: Sequence[float]) -> float:
        if self.cell in (-1, self.cells):
            return 0.0 if self.cell < 0 else 1.0
        mean = 0.25 + (self.cell + 0.5) / (2 * self.cells)
        return 1.0 if adversary_draw(self.seed, len(self.seen)) < mean else 0.0

    def observe(self, p: float, y: float) -> None:
        self.seen.append((p, y))
        if self.cell not in (-1, self.cells):
            self.played += 1
            enough = abs(self.bias(self.cell, 1)) >= math.sqrt(self.length) / 2
            if enough or self.played == self.length:
                self.start_epoch()


class Contrarian:
    def choose(self, points: Sequence[float], weights: Sequence[float]) -> float:
        return 1.0 if sum(w * p for w, p in zip(weights, points, strict=True)) < 0.5 else 0.0

    def observe(self, _p: float, _y: float) -> None:
        pass


class Chaser:
    def __init__(self, step: float, start: float, seed: int) -> None:
        self.step, self.target, self.seed = step, start, seed
        self.up = True
        self.forecast_was_behind = True
        self.round = 0

    def choose(self, points: Sequence[float], weights: Sequence[float]) -> float:
        forecast = sum(w * p for w, p in zip(weights, points, strict=True))
        ahead = forecast > self.target if self.up else forecast < self.target
        if ahead and self.forecast_was_behind:
            self.up = not self.up
        self.target += self.step if self.up else -self.step
        if self.target > 1.0:
            self.target, self.up = 2.0 - self.target, False
        if self.target < 0.0:
            self.target, self.up = -self.target, True
        self.forecast_was_behind = forecast <= self.target if self.up else forecast >= self.target
        return 1.0 if adversary_draw(self.seed, self.round) < self.target else 0.0

    def observe(self, _p: float, _y: float) -> None:
        self.round += 1


def scramble(x: int) -> int:
    """The finaliser of SplitMix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def draw(key: int, t: int) -> float:
    """Position t of the SplitMix64 sequence that starts at `key`, as a multiple of 2^-53."""
    return (scramble((key + (t + 1) * 0x9E3779B97F4A7C15) % 2**64) >> 11) / 2**53


def adversary_draw(seed: int, t: int) -> float:
    return draw(scramble(scramble(seed) ^ 0x8E51A9C27D34F06B), t)


def forecaster_draw(seed: int, t: int) -> float:
    return draw(scramble(seed), t)
