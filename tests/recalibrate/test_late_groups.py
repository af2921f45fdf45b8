"""Groups whose outcomes arrive late."""

import numpy as np

from calibrant import Recalibrator
from calibrant.measures import log_loss
from recalibrate.cases import late_case, played_late


def test_groups_that_are_alike_do_not_chase_what_is_over():
    """A level moves, outcomes are 150 rounds late: grouping must not follow it a second time.

    The difference has a standard deviation of 0.0015 from seed to seed. With outcomes that count
    half only if 32 late, it was 0.008 on average.
    """
    differences = []
    for seed in range(4):
        scores, outcomes, by, _, late = late_case(1.5, 500, 0.0, seed)
        together, grouped = (
            played_late(Recalibrator(seed=seed, capacity=1000), scores, outcomes, late, names)
            for names in (None, by)
        )
        differences.append(log_loss(grouped, outcomes) - log_loss(together, outcomes))
    assert np.mean(differences) <= 0.002


def test_groups_that_differ_gain_although_outcomes_come_late():
    """Of what one recalibrator for all has above the true means, a sixth is left on average."""
    scores, outcomes, by, means, late = late_case(0.0, 20, 0.5, seed=0)
    together, grouped = (
        played_late(Recalibrator(capacity=1000), scores, outcomes, late, names)
        for names in (None, by)
    )
    best = log_loss(means, outcomes)
    assert log_loss(grouped, outcomes) - best <= 0.3 * (log_loss(together, outcomes) - best)
