"""check_forecaster finds what it looks for: one broken forecaster a check."""

import numpy as np
import pytest

from calibrant import Zoom
from calibrant.forecasters.rivals import FosterHart, RunningMean
from calibrant.testing import check_forecaster
from calibrant.testing.forecasters import CHECKS
from calibrant.testing.inputs import outcomes_alone
from calibrant.testing.subject import Subject


class PredictsOutside(RunningMean):
    def predict(self):
        return super().predict() + 1.0


class ChangesItsMind(Zoom):
    def predict(self):
        prediction = super().predict()
        self.update(1)
        return prediction


class WrongMean(Zoom):
    def expected(self):
        return 0.123


class RunsOtherwise(Zoom):
    def run(self, outcomes):
        predictions = super().run(outcomes)
        if len(predictions) > 500:
            predictions[500] = np.nextafter(predictions[500], 2)
        return predictions


class LosesRoundsBetweenPieces(Zoom):
    """Goes wrong only where a second piece begins, at one round of many."""

    def run(self, outcomes):
        if self.rounds == 37 and len(outcomes) > 1:
            self.update(1)
        return super().run(outcomes)


class DrawsFromElsewhere(Zoom):
    """Draws from a global generator once in a while."""

    count = 0

    def run(self, outcomes):
        type(self).count += 1
        predictions = super().run(outcomes)
        return predictions + 1e-9 * (len(predictions) == 400) * type(self).count


class ForgetsRounds(Zoom):
    @classmethod
    def from_bytes(cls, blob):
        forecaster = super().from_bytes(blob)
        forecaster._resume(0)
        return forecaster


class BelievesDamage(RunningMean):
    @classmethod
    def from_bytes(cls, blob):
        try:
            return super().from_bytes(blob)
        except ValueError:
            return cls()


class AcceptsAnything(RunningMean):
    def update(self, outcome):
        try:
            super().update(outcome)
        except ValueError:
            super().update(0)


class ChangesBeforeItChecks(RunningMean):
    def run(self, outcomes):
        try:
            return super().run(outcomes)
        except ValueError:
            self.update(0)
            raise


class OnlyFloats(RunningMean):
    def run(self, outcomes):
        if np.asarray(outcomes).dtype == bool:
            return np.zeros(len(outcomes))
        return super().run(outcomes)


class RemembersEverything(RunningMean):
    def to_bytes(self):
        return super().to_bytes() + bytes(self.rounds)

    @classmethod
    def from_bytes(cls, blob):
        return super().from_bytes(blob)


class TracesOtherwise(Zoom):
    def trace(self, outcomes):
        predictions, distributions = super().trace(outcomes)
        predictions[600] = np.nextafter(predictions[600], 2)
        return predictions, distributions


class ShowsAnotherArgument(FosterHart):
    @property
    def gaps(self):
        return 7


class AnySeed(RunningMean):
    def __init__(self, seed=0):
        super().__init__(seed if isinstance(seed, int) and 0 <= seed < 2**64 else 0)


BROKEN = [
    (PredictsOutside, "check_bounds"),
    (ChangesItsMind, "check_purity"),
    (WrongMean, "check_distribution"),
    (RunsOtherwise, "check_run_equals_steps"),
    (LosesRoundsBetweenPieces, "check_run_equals_steps"),
    (DrawsFromElsewhere, "check_seeding"),
    (ForgetsRounds, "check_saving"),
    (BelievesDamage, "check_damaged_bytes"),
    (AcceptsAnything, "check_bad_outcomes"),
    (ChangesBeforeItChecks, "check_bad_batches"),
    (OnlyFloats, "check_input_as_people_have_it"),
    (AnySeed, "check_seeding"),
    (TracesOtherwise, "check_trace"),
    (ShowsAnotherArgument, "check_arguments"),
]


@pytest.mark.parametrize(
    ("cls", "check"), BROKEN, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_broken_forecaster_is_found(cls, check):
    with pytest.raises(AssertionError, match=f"{cls.__name__}.*{check}"):
        check_forecaster(cls)


def test_unbounded_memory_is_found():
    """Saved bytes that grow with the rounds break saving as well, so the check is called alone."""
    check = next(check for check in CHECKS if check.__name__ == "check_bounded_memory")
    check(Subject(RunningMean, outcomes_alone(), {}))
    with pytest.raises(AssertionError, match="saved bytes grow"):
        check(Subject(RemembersEverything, outcomes_alone(), {}))


def test_every_check_has_a_forecaster_that_it_finds():
    found = {check for _, check in BROKEN} | {"check_bounded_memory"}
    assert found == {check.__name__ for check in CHECKS}
