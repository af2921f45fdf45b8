"""The contract of a forecaster, as checks that anyone can run on a forecaster of their own."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from calibrant.forecasters.base import Forecaster
from calibrant.testing.inputs import outcomes_alone
from calibrant.testing.shared import SHARED
from calibrant.testing.subject import Subject, require, require_same


def check_forecaster(cls: type[Forecaster], **arguments: Any) -> None:
    """Run every check of the contract on ``cls(**arguments, seed=...)``.

    Raises AssertionError that names the check and what it found. The checks: bounds, purity of
    `predict`, the distribution, `run` and `trace` against single steps, seeding, saving and
    restoring in mid-stream, damaged bytes, bounded memory, invalid outcomes and batches, outcomes
    as people have them, and the constructor's arguments. What has rounds with ids keeps the
    contract of a recalibrator too: ``check_recalibrator(cls, events())``.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.testing import check_forecaster
    >>> check_forecaster(Zoom)
    """
    Subject(cls, outcomes_alone(), arguments).run_checks(CHECKS)


def check_purity(subject: Subject) -> None:
    """Looking changes nothing, and `update` works with or without a look."""
    looking, blind = subject.make(), subject.make()
    for t, outcome in enumerate(subject.stream(300, 1).outcomes):
        before = looking.to_bytes()
        first = looking.predict()
        looking.distribution()
        looking.expected()
        require(looking.predict() == first, f"predict() changed its mind in round {t}")
        require(looking.to_bytes() == before, f"predict() changed the state in round {t}")
        require(looking.rounds == t, f"rounds = {looking.rounds} in round {t}")
        looking.update(outcome)
        blind.update(outcome)
    require(looking.to_bytes() == blind.to_bytes(), "update() without predict() is different")


def check_distribution(subject: Subject) -> None:
    """P_t is a distribution on [0, 1], `expected` its mean, and the draw one of its points."""
    for kind, rounds in subject.streams(300, 2):
        forecaster = subject.make()
        for t, outcome in enumerate(rounds.outcomes):
            points, weights = forecaster.distribution()
            when = f"in round {t} of the {kind} stream"
            require(len(points) == len(weights) > 0, f"support and weights differ {when}")
            require(((points >= 0) & (points <= 1)).all(), f"a point outside [0, 1] {when}")
            require((weights >= 0).all(), f"a negative weight {when}")
            require(abs(weights.sum() - 1) < 1e-12, f"weights sum to {weights.sum()} {when}")
            require(len(np.unique(points)) == len(points), f"a point stands twice {when}")
            mean = forecaster.expected()
            require(abs(mean - points @ weights) < 1e-12, f"expected() is {mean} {when}")
            drawn = points == forecaster.predict()
            require(drawn.any(), f"predict() is not in the support {when}")
            require(weights[drawn].sum() > 0, f"predict() has no mass {when}")
            forecaster.update(outcome)


def check_trace(subject: Subject) -> None:
    """`trace` predicts what `run` does, and gives every round's distribution."""
    for kind, rounds in subject.streams(700, 3):
        predictions, distributions = subject.make().trace(rounds.outcomes)
        expected = rounds.run(subject.make())
        require_same([predictions, expected], f"trace() differs on {kind}")
        require(len(distributions) == len(rounds), f"trace() loses rounds on {kind}")


def check_arguments(subject: Subject) -> None:
    """The arguments read back unchanged."""
    forecaster = subject.make(seed=9)
    require(forecaster.seed == 9, f"seed=9 is read back as {forecaster.seed}")
    arguments = {name: getattr(forecaster, name) for name in signature(type(forecaster)).parameters}
    twin = type(forecaster)(**arguments)
    require(repr(twin) == repr(forecaster), "the arguments read back make another forecaster")


CHECKS = (check_purity, *SHARED, check_distribution, check_trace, check_arguments)
