"""How often a stationary world exceeds a tuned certificate, and how soon a shift does."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from benchmarks.tables import table
from benchmarks.tune import running_errors
from calibrant import Refined
from calibrant.certificates import CERTIFIED_MEASURES, coefficients

TITLE = "Tuned certificates"
DELTA = 0.05
RUNS = 1000
MEANS = (0.01, 0.1, 0.5, 0.9)
LENGTHS = (100, 1_000, 10_000, 100_000, 1_000_000)
SHIFTS = ((0.5, 0.8), (0.35, 0.65), (0.1, 0.4))
BEFORE, AFTER = 50_000, 10_000


def first_flag(job):
    """Return the first round from `start` on in which the error is above U(n, 0), or infinity."""
    measure, stretches, start, seed = job
    means = np.repeat(*zip(*stretches, strict=True))
    y = np.random.default_rng([7, seed]).random(len(means)) < means
    errors = running_errors(Refined(measure, seed=10**9 + seed), y)
    c0, c1, _, _ = coefficients(measure, delta=DELTA)
    n = np.arange(1, len(y) + 1)
    above = errors > (c0 * np.sqrt(n) if measure == "l1" else c0 + c1 * np.log2(n + 1))
    rounds = np.flatnonzero(above[start - 1 :])
    return float(rounds[0] + start) if len(rounds) else np.inf


def first_flags(pool, measure, stretches, start, runs):
    """Return the first flag of each run of one world."""
    jobs = [(measure, stretches, start, seed) for seed in range(runs)]
    return np.array(list(pool.map(first_flag, jobs, chunksize=4)))


def tables(progress, runs=RUNS, lengths=LENGTHS):
    """Return the tables of this module, one after the other."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        rows = []
        for measure in CERTIFIED_MEASURES:
            for mean in MEANS:
                progress(f"certificates: {measure}, stationary {mean}")
                first = first_flags(pool, measure, [(mean, lengths[-1])], lengths[0], runs)
                shares = [f"{(first <= n).mean():.3f}" for n in lengths]
                rows.append([f"{measure}, mean {mean}", *shares])
        yield table(
            f"Share of {runs:,} stationary runs that passed U(n, 0) at level {DELTA} in some "
            f"round from {lengths[0]} to n",
            ["measure and mean"] + [f"n = {n:,}" for n in lengths],
            rows,
        )
        rows = []
        for measure in CERTIFIED_MEASURES:
            for low, high in SHIFTS:
                progress(f"certificates: {measure}, shift {low} to {high}")
                stretches = [(low, BEFORE), (high, AFTER)]
                delays = first_flags(pool, measure, stretches, BEFORE + 1, runs) - BEFORE
                middle, late = np.quantile(delays, [0.5, 0.95], method="higher")
                flagged = f"{np.isfinite(delays).mean():.3f}"
                name = f"{measure}, {low} to {high}"
                rows.append([name, flagged, f"{middle:.0f}", f"{late:.0f}"])
        yield table(
            f"A shift after {BEFORE:,} rounds, {runs:,} runs: flagged within {AFTER:,} rounds",
            ["measure and means", "flagged", "median delay", "95 % of delays up to"],
            rows,
        )
