"""What the tests of Refined and of Restarting share: a forecaster run beside its slow reference."""

import numpy as np

from naive.draws import Draws


def run_beside(forecaster, twin, points_of, outcomes, each_round=lambda: None):
    """Run both; they place the same mass on the same points and draw the same.

    The twin is shown the forecaster's P_t once it has found its own, as in the tests of Swap: the
    differences between any two floating-point runs of Swap grow without end. Those of Interval do
    not.
    """
    draws = Draws(forecaster.seed)
    for y in outcomes:
        expected, points = twin.place(), points_of(twin)
        support, weights = forecaster.distribution()
        places = np.abs(points[:, None] - support).argmin(axis=0)
        assert np.abs(points[places] - support).max() <= 1e-12
        P = np.zeros(len(points))
        P[places] = weights
        # Ratios of differences of weights, which may be a million times smaller than the weights.
        assert np.abs(expected - P).max() <= 1e-6
        drawn = int(draws.choose(places, expected[places]))
        assert forecaster.predict() == support[places == drawn]
        forecaster.update(y)
        twin.learn(P, drawn, y)
        each_round()
