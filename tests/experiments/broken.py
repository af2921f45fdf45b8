"""Forecasters that do not do what a row claims, and what Table 1 says when they play it."""

import math
from functools import cache

import numpy as np

from calibrant._kernels.tally import TallyKernel
from calibrant.experiments import Size, Task, measure_task
from calibrant.experiments.reproduction import measured, timings_of
from calibrant.streams.named import find

RATE = 1 / 16


def interval_by_hand(outcomes, T, sign):
    """Return the points and weights of every round of `Interval` at its fixed first rate.

    With sign = 1 experts learn from gains. With -1 they are fed the paper's l as losses, as it is
    printed: the forecaster then predicts 1 forever. Normalising changes nothing at a fixed rate,
    and predictions keep 1/(T + 1) away from 0 and 1, so that PKLCal is finite.
    """
    N = math.ceil(math.cbrt(T))
    gains = [0.0] * N  # of (i, +1); those of (i, -1) are their negatives

    def phi(i):
        return math.sinh(max(-600.0, min(RATE * gains[i], 600.0)))

    rounds = []
    for y in outcomes.tolist():
        low, high = 0, N - 1
        if phi(low) > 0:
            played, u = [(low, 1.0)], 0.0
        elif phi(high) <= 0:
            played, u = [(high, 1.0)], 1.0
        else:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if phi(middle) > 0 else (middle, high)
            share = phi(high) / (phi(high) - phi(low))
            played, u = [(low, share), (high, 1 - share)], high / N
        rounds.append([(min(max((i + 1) / N, 1 / (T + 1)), T / (T + 1)), P) for i, P in played])
        for i, P in played:
            gains[i] += sign * P * (u - y)
    return rounds


@cache
def errors_by_hand(stream, T, seed, sign):
    """Return every error of `interval_by_hand` on a stream, by name."""
    outcomes = find(stream, rounds=T, seed=seed).outcomes
    rounds = interval_by_hand(outcomes, T, sign)
    draws = np.random.default_rng([seed, 3]).random(T)
    drawn, pseudo = TallyKernel(), TallyKernel()
    for placed, draw, y in zip(rounds, draws, outcomes, strict=True):
        drawn.add(placed[0 if draw < placed[0][1] else -1][0], y)
        for point, mass in placed:
            pseudo.add(point, y, mass)
    (cal1, cal2, _), (_, pcal2, pklcal) = drawn.errors, pseudo.errors
    return {"cal1": cal1, "cal2": cal2, "pcal2": pcal2, "pklcal": pklcal}


@cache
def errors_of_spec(forecaster, stream, T, seed, measure):
    """Return an error of a forecaster by its spec."""
    return measure_task(Task(forecaster, stream, T, seed), [measure]).values[measure]


def errors(row, size, error_on):
    """Return what `error_on(stream, rounds, seed)` gives, by world, size and seed."""
    sizes = size.along(row.axis)
    return np.array(
        [
            [
                [error_on(world.stream(x, T), T, seed) for seed in range(size.seeds)]
                for x in sizes
                for T in (x if row.axis == "T" else size.rounds,)
            ]
            for world in row.worlds
        ]
    )


def played_by(row, size: Size, forecaster):
    """Return a row whose nulls are as ever, played by another forecaster: a spec, or a sign."""

    def error_on(stream, T, seed):
        if isinstance(forecaster, int):
            return errors_by_hand(stream, T, seed, forecaster)[row.measure]
        return errors_of_spec(forecaster, stream, T, seed, row.measure)

    def errors_of_null(null):
        return errors(row, size, lambda *world: errors_of_spec(null, *world, row.measure))

    costs = dict.fromkeys(timings_of(row, size), 100.0)
    nulls = [errors_of_null(null) for null in row.nulls]
    return measured(row, size, errors(row, size, error_on), nulls, costs=costs)
