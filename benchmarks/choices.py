"""An ablation of Zoom: what each constant or idea gains.

The variants are subclasses of the plain Python reference, so that none needs a kernel.
"""

import math

import numpy as np

from benchmarks.error import FAMILIES, show
from benchmarks.tables import table
from calibrant.measures import cal2
from naive.zoom import NaiveZoom
from naive.zoom_before import NaiveZoomBefore

TITLE = "Zoom's choices"
ROUNDS = 100_000
SEEDS = range(5)


class FixedCuts(NaiveZoom):
    """Cut a gap at two standard errors, however many gaps there are."""

    def threshold(self):
        return 4.0


class CostsAsWeights(NaiveZoom):
    """Each end with the other's R^2 / N, as in the rule before: no theorem holds."""

    def share_of_left(self, left, right):
        left, right = left.imagined_bias**2 / left.spread, right.imagined_bias**2 / right.spread
        return right / (left + right)


class ExponentialWeights(NaiveZoom):
    """Weigh a bias by an exponential potential."""

    def share_of_left(self, left, right):
        left, right = self.potential(left), self.potential(right)
        return right / (left + right)

    def potential(self, point):
        linear = 0.001 * abs(point.imagined_bias) / math.sqrt(point.spread)
        return math.exp(min(point.imagined_bias**2 / (3 * point.spread), 600)) - 1 + linear


class Overdraft(NaiveZoom):
    """Bet as long as the purse is not empty."""

    def affordable(self, _worst):
        return self.purse > 0


def changed(**constants):
    return type("Changed", (NaiveZoom,), constants)


VARIANTS = {
    "as shipped": NaiveZoom,
    "the rule before": NaiveZoomBefore,
    "no bets": changed(GRANT=0.0),
    "costs as weights": CostsAsWeights,
    "exponential weights": ExponentialWeights,
    "the purse may be overdrawn": Overdraft,
    "cut at g w^2 > 4, not 0.4 (log2 M)^2": FixedCuts,
    "grant of a cut halved": changed(GRANT=0.25),
    "grant doubled": changed(GRANT=1.0),
    "recent mean forgets half as fast": changed(FORGETTING=0.125),
    "twice as fast": changed(FORGETTING=0.5),
    "margin of a bet halved": changed(MARGIN=0.5),
    "margin doubled": changed(MARGIN=2.0),
    "patience of cuts halved": changed(PATIENCE=0.2),
    "patience doubled": changed(PATIENCE=0.8),
}


def tables(progress):
    """Return the table of this module."""
    rows = []
    for name, variant in VARIANTS.items():
        means = []
        for stream, make in FAMILIES.items():
            progress(f"choices: {name}, {stream}")
            outcomes = [make(ROUNDS, seed).outcomes for seed in SEEDS]
            means.append(
                np.mean(
                    [cal2(variant(seed).run(y), y) for seed, y in zip(SEEDS, outcomes, strict=True)]
                )
            )
        geometric = np.exp(np.mean(np.log(means)))
        rows.append([name, show(geometric), *map(show, means)])
    yield table(
        f"Mean Cal2 over {len(SEEDS)} seeds, {ROUNDS:,} rounds",
        ["variant", "geometric mean", *FAMILIES],
        rows,
    )
