"""check_recalibrator finds what it looks for: one broken recalibrator a check, or more."""

# ruff: noqa: A002, ARG002 - `id` is what the contract calls it, and some ignore what they get

import numpy as np
import pytest

from calibrant import EventForecaster, Fleet, MulticlassRecalibrator, Recalibrator
from calibrant.recalibrate.rivals import OnlinePlatt, Raw
from calibrant.rounds import RoundError
from calibrant.testing import check_recalibrator, class_probabilities, events, grouped, keyed
from calibrant.testing.inputs import probabilities
from calibrant.testing.recalibrators import CHECKS
from calibrant.testing.subject import Subject

pytestmark = pytest.mark.long


class NothingToClose(Recalibrator):
    def update(self, outcome, id=None):
        try:
            return super().update(outcome, id=id)
        except ValueError as error:
            if "none is pending" not in str(error):
                raise
            return "applied"


class CountsOnlyAnswers(Raw):
    @property
    def rounds(self):
        return self.learned


class KeepsTheFirst(OnlinePlatt):
    """Takes an outcome for the first prediction that is open, not for the last."""

    def predict(self, score, id=None):
        before = self._book.unnamed
        prediction = super().predict(score, id=id)
        if before is not None:
            self._book.unnamed = before
        return prediction


class EmptyRunsGiveUp(Recalibrator):
    def run(self, scores, outcomes, by=None):
        self._rule.forget()
        return super().run(scores, outcomes, by=by)


class LeavesTheInterval(Raw):
    def _forecast(self, score):
        return 1.25 * score


class GivesScalarsOfNumPy(Raw):
    def predict(self, score, id=None):
        return np.float64(super().predict(score, id=id))


class SumsToLess(MulticlassRecalibrator):
    def predict(self, probabilities, id=None):
        return 0.99 * super().predict(probabilities, id=id)


class RunsOtherwise(Recalibrator):
    def run(self, scores, outcomes, by=None):
        predictions = super().run(scores, outcomes, by=by)
        predictions[400:401] = np.nextafter(predictions[400:401], 2)
        return predictions


class StartsAnewEachRun(OnlinePlatt):
    def run(self, scores, outcomes):
        fresh = OnlinePlatt()
        predictions = fresh.run(scores, outcomes)
        super().run(scores, outcomes)
        return predictions


class AnswersTheOldest(OnlinePlatt):
    """Ignores which id an outcome is for, as long as one waits."""

    def update(self, outcome, id=None):
        if id in self._book.ids:
            oldest, known = self._book.ids[0], self._book.known
            known[id], known[oldest] = known[oldest], known[id]
        return super().update(outcome, id=id)


class CountsTwice(OnlinePlatt):
    def update(self, outcome, id=None):
        answer = super().update(outcome, id=id)
        if answer == "repeated":
            self._learn(outcome)
        return answer


class TakesBack(Recalibrator):
    """Believes the second of two outcomes for one id."""

    def update(self, outcome, id=None):
        return "repeated" if id in self._book.finished else super().update(outcome, id=id)


class BelievesStrangers(Recalibrator):
    def update(self, outcome, id=None):
        try:
            return super().update(outcome, id=id)
        except RoundError as error:
            if error.answer != "unknown":
                raise
            return "applied"


class ExpiresTheNewest(Recalibrator):
    def expire(self, *, older_than):
        return super().expire(older_than=older_than)[::-1]


class WaitsForEver(Recalibrator):
    def expire(self, *, older_than):
        super().expire(older_than=older_than)
        return []


class HoldsMore(Recalibrator):
    def __init__(self, kind="probability", *, seed=0, capacity=100_000):
        super().__init__(kind, seed=seed, capacity=capacity)
        self._book.capacity += 1


class NeverRefuses(Recalibrator):
    def __init__(self, *, seed=0, capacity=100_000, when_full="expire"):
        super().__init__(seed=seed, capacity=capacity)


class SaysNothing(Recalibrator):
    def update(self, outcome, id=None, at=None):
        super().update(outcome, id=id, at=at)


class SaysNoReason(Recalibrator):
    def update(self, outcome, id=None, at=None):
        try:
            return super().update(outcome, id=id, at=at)
        except RoundError as error:
            raise ValueError(str(error)) from None


class TakesSilenceForNoNews(Recalibrator):
    """Holds outcomes until the deadline, and learns nothing of those that did not come."""

    def __init__(self, *, seed=0, silence=None, after=None):
        super().__init__(seed=seed, hold=None if silence is None else after)


class HoldsNothing(Recalibrator):
    def __init__(self, *, seed=0, hold=None):
        super().__init__(seed=seed)


class SettlesTooEarly(Recalibrator):
    """Takes what is due at a time for older than the outcomes of that time."""

    def update(self, outcome, id=None, at=None):
        if at is not None and isinstance(at, float | int):
            self.advance(at)
        return super().update(outcome, id=id, at=at)


class TakesAllAtOnce(Recalibrator):
    """Takes outcomes of several times for outcomes of the first of them."""

    def update_many(self, outcomes, ids, at=None):
        return super().update_many(outcomes, ids=ids, at=min(at) if isinstance(at, list) else at)


class RunsWithoutDeadlines(Recalibrator):
    def run(self, scores, outcomes, by=None, *, at=None, due=None):
        plain = Recalibrator(seed=self.seed)
        predicted = plain.run(scores, outcomes, by=by)
        super().run(scores, outcomes, by=by, at=at, due=due)
        return predicted


class ForgetsWhatIsDue(Recalibrator):
    @classmethod
    def from_bytes(cls, blob):
        recalibrator = super().from_bytes(blob)
        if recalibrator.after or recalibrator.hold:
            recalibrator.expire(older_than=0)
        return recalibrator


class TakesHalves(Recalibrator):
    def update(self, outcome, id=None, at=None):
        if self.silence is not None and isinstance(outcome, float):
            outcome = round(outcome)
        return super().update(outcome, id=id, at=at)


class FleetThatTakesBack(Fleet):
    def update(self, outcome, *, id, at=None):
        return str(self.update_many([outcome], ids=[id], at=at)[0])


class EventsCountedTwice(EventForecaster):
    def update(self, outcome, id=None):
        answer = super().update(outcome, id=id)
        if answer == "repeated":
            super().update(outcome)
        return answer


class HoldsMoreEvents(EventForecaster):
    def predict(self, *, id=None, at=None):
        self._late._book.capacity += 1
        return super().predict(id=id, at=at)


class DrawsFromElsewhere(Recalibrator):
    made = 0

    def __init__(self, *, seed=0):
        type(self).made += 1
        super().__init__(seed=seed)

    def run(self, scores, outcomes, by=None):
        predictions = super().run(scores, outcomes, by=by)
        return predictions + 1e-9 * (len(predictions) == 400) * type(self).made


class AnySeed(Recalibrator):
    def __init__(self, *, seed=0):
        super().__init__(seed=seed if isinstance(seed, int) and 0 <= seed < 2**64 else 0)


class LookingCounts(Recalibrator):
    def expected(self, score, *, by=None):
        self._whole._begin(score)
        return super().expected(score, by=by)


class ForgetsWhatWaits(Recalibrator):
    @classmethod
    def from_bytes(cls, blob):
        recalibrator = super().from_bytes(blob)
        recalibrator._book.clear()
        return recalibrator


class ForgetsGroups(Recalibrator):
    def to_bytes(self):
        groups = self._groups
        index, names, own = groups.index, groups.names, groups.own
        groups.index, groups.names, groups.own = {}, [], {}
        try:
            return super().to_bytes()
        finally:
            groups.index, groups.names, groups.own = index, names, own


class RemembersEverything(Recalibrator):
    def to_bytes(self):
        return super().to_bytes() + bytes(self.rounds)

    @classmethod
    def from_bytes(cls, blob):
        return super().from_bytes(blob[: int.from_bytes(blob[12:20], "little")])


class BelievesDamage(Recalibrator):
    @classmethod
    def from_bytes(cls, blob):
        try:
            return super().from_bytes(blob)
        except ValueError:
            return cls()


class AnyScore(Recalibrator):
    def predict(self, score, id=None, by=None):
        try:
            return super().predict(score, id=id, by=by)
        except ValueError as error:
            if "score must" not in str(error):
                raise
            return 0.5


class RaisesOtherErrors(OnlinePlatt):
    def predict(self, score, id=None):
        if score == "0.5":
            raise TypeError("not a number")
        return super().predict(score, id=id)


class ClosesBeforeItChecks(Recalibrator):
    def update(self, outcome, id=None):
        try:
            return super().update(outcome, id=id)
        except ValueError as error:
            if "outcome must" in str(error):
                self._rule.forget()
            raise


class AnyId(Recalibrator):
    def predict(self, score, id=None, by=None):
        return super().predict(score, id=self.as_id(id), by=by)

    def update(self, outcome, id=None):
        return super().update(outcome, id=self.as_id(id))

    @staticmethod
    def as_id(value):
        return value if value is None or type(value) in (int, str) else str(value)


class LearnsHalfABatch(OnlinePlatt):
    """Finds an invalid value only when it comes to it; the learned theta shows in what follows."""

    def run(self, scores, outcomes):
        try:
            return super().run(scores, outcomes)
        except ValueError:
            self._theta[1] += 1e-9
            raise


class NoWeightsInRun(Recalibrator):
    """Learns every outcome of a table alike, whatever it weighs."""

    def run(self, scores, outcomes, weights=None):
        return super().run(scores, outcomes)


class AnyWeight(Recalibrator):
    """Takes a weight below 0 for none."""

    def update(self, outcome, id=None, at=None, weight=None):
        if weight == -1.0:
            weight = None
        return super().update(outcome, id=id, at=at, weight=weight)


class NoLists(Recalibrator):
    def run(self, scores, outcomes, by=None):
        if isinstance(scores, list) and len(scores) == 100:
            return np.zeros(100)
        return super().run(scores, outcomes, by=by)


class LearnsFromMissing(OnlinePlatt):
    def run(self, scores, outcomes):
        if isinstance(outcomes, list) and len(outcomes) == 60:
            outcomes = [0.0 if each is None else each for each in outcomes]
        return super().run(scores, outcomes)


class PredictsManyOtherwise(Recalibrator):
    def predict_many(self, scores, ids=None, by=None, at=None):
        return super().predict_many(scores, ids=ids, by=by, at=at)[::-1]


class LearnsAsTheyCome(Recalibrator):
    """Learns a batch in the order of its rows, where each of them can be learned."""

    def update_many(self, outcomes, ids, at=None):
        names = list(ids)
        if len(set(names)) < len(names) or not {*self._book.ids} >= {*names}:
            return super().update_many(outcomes, ids=ids, at=at)
        for outcome, id_ in zip(outcomes, names, strict=True):
            self.update(outcome, id=id_)
        return np.array(["applied"] * len(names))


class HearsTheFirst(Recalibrator):
    """Believes the first of two outcomes that a batch has for one id."""

    def update_many(self, outcomes, ids):
        if not isinstance(ids, list) or len(ids) != 9:
            return super().update_many(outcomes, ids=ids)
        rows = [at for at, name in enumerate(ids) if name not in ids[:at]]
        answers = super().update_many([outcomes[at] for at in rows], ids=[ids[at] for at in rows])
        return np.array([answers[rows.index(ids.index(name))] for name in ids])


class NoClock(Recalibrator):
    def expire(self, *, older_than=None, before=None):
        return super().expire(older_than=older_than if before is None else 0)


class LearnsUpToTheBadRow(Recalibrator):
    def update_many(self, outcomes, ids):
        try:
            return super().update_many(outcomes, ids=ids)
        except ValueError:
            if isinstance(ids, list) and ids[0] == "waits":
                super().update_many(outcomes[:1], ids=ids[:1])
            raise


class DropsOddBatches(Recalibrator):
    def update_many(self, outcomes, ids, at=None):
        if ids != list(range(8)):
            return super().update_many(outcomes, ids=ids, at=at)
        return np.append("applied", super().update_many(outcomes[1:], ids=ids[1:], at=at))


BROKEN = [
    (LearnsFromMissing, "check_missing_outcomes", "with missing outcomes differs"),
    (PredictsManyOtherwise, "check_many_predictions", "differs from predict"),
    (LearnsAsTheyCome, "check_many_outcomes", "the order of outcomes"),
    (HearsTheFirst, "check_answers", "update_many.. answers"),
    (NoClock, "check_times", r"expire\(before=20\)"),
    (LearnsUpToTheBadRow, "check_bad_many", "changes the state"),
    (DropsOddBatches, "check_batches_of_every_cut", "learned, pending"),
    (NothingToClose, "check_first_round", "update.. before any predict"),
    (CountsOnlyAnswers, "check_first_round", r"\(0, 0, 1\) after predict"),
    (KeepsTheFirst, "check_open_round", "a replaced prediction counts"),
    (EmptyRunsGiveUp, "check_open_round", "an empty run.. gives up what waits"),
    (LeavesTheInterval, "check_bounds", r"predict.. gives \[1\."),
    (GivesScalarsOfNumPy, "check_bounds", r"predict.. gives .* \(float64\) on honest"),
    (RunsOtherwise, "check_run_equals_steps", "differs on honest"),
    (StartsAnewEachRun, "check_run_equals_steps", "differs on honest|in pieces"),
    (AnswersTheOldest, "check_late_outcomes", "under other ids"),
    (CountsTwice, "check_repeats", "repeated or refused outcomes change"),
    (TakesBack, "check_repeats", "another outcome for the same id: not refused"),
    (BelievesStrangers, "check_repeats", "unknown id: not refused"),
    (ExpiresTheNewest, "check_expiry", r"gives \[3, 2, 0\]"),
    (WaitsForEver, "check_expiry", r"gives \[\]"),
    (HoldsMore, "check_capacity", "pending = 4 where capacity=3"),
    (NeverRefuses, "check_capacity", "a fourth prediction"),
    (SaysNothing, "check_repeats", "answers None, not 'applied'"),
    (SaysNoReason, "check_repeats", "refused as None, not as 'conflict'"),
    (TakesSilenceForNoNews, "check_silence", r"learned, pending = \(0, 3\)"),
    (HoldsNothing, "check_hold", "is not learning at age 3"),
    (SettlesTooEarly, "check_deadlines_in_time", "at the time of a deadline"),
    (TakesAllAtOnce, "check_batches_at_times", "update_many.. answers"),
    (RunsWithoutDeadlines, "check_runs_until_deadlines", "differs from single rounds"),
    (ForgetsWhatIsDue, "check_saved_deadlines", "after saving with|it raised RoundError"),
    (TakesHalves, "check_bad_deadlines", "update.0.5 .float.*not refused"),
    (DrawsFromElsewhere, "check_seeding", "the same seed"),
    (AnySeed, "check_seeding", "seed=18446744073709551616: not refused"),
    (LookingCounts, "check_looking", "changes the state in round 0"),
    (ForgetsWhatWaits, "check_saving", "another state after 7 rounds"),
    (RemembersEverything, "check_bounded_memory", "saved bytes grow"),
    (BelievesDamage, "check_damaged_bytes", "0 of .* bytes: not refused"),
    (AnyScore, "check_bad_scores", "nan .*: not refused"),
    (RaisesOtherErrors, "check_bad_scores", "raised TypeError"),
    (ClosesBeforeItChecks, "check_bad_outcomes", "changes the state"),
    (AnyId, "check_bad_ids", "id=True .*: not refused"),
    (LearnsHalfABatch, "check_bad_batches", "changes the predictions that follow"),
    (NoLists, "check_input_as_people_have_it", "lists give other predictions"),
    (NoWeightsInRun, "check_weights", "run\\(\\) with weights differs from the steps"),
    (AnyWeight, "check_bad_weights", "weight=-1.0.*: not refused"),
]


@pytest.mark.parametrize(
    ("cls", "check", "message"), BROKEN, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_broken_recalibrator_is_found(cls, check, message):
    """By its own check, called alone: some of these classes break another one before."""
    checks = [each for each in CHECKS if each.__name__ == check]
    with pytest.raises(AssertionError, match=rf"{cls.__name__}\(\) .*{check}: .*({message})"):
        Subject(cls, probabilities(), {}).run_checks(checks)


def test_a_broken_recalibrator_of_groups_is_found():
    with pytest.raises(AssertionError, match="check_saving"):
        check_recalibrator(ForgetsGroups, grouped())


@pytest.mark.parametrize(
    ("cls", "inputs", "message"),
    [
        (FleetThatTakesBack, keyed(), "check_repeats: another outcome for the same id: not"),
        (EventsCountedTwice, events(), "check_repeats: a repeated outcome counts twice"),
        (HoldsMoreEvents, events(), "check_capacity: pending = 4"),
    ],
)
def test_a_broken_fleet_or_forecaster_is_found(cls, inputs, message):
    with pytest.raises(AssertionError, match=message):
        check_recalibrator(cls, inputs)


def test_a_broken_recalibrator_of_classes_is_found():
    with pytest.raises(AssertionError, match=r"SumsToLess\(classes=3\) .*sums to \[0\.99\]"):
        check_recalibrator(SumsToLess, class_probabilities(3), classes=3)


def test_an_error_is_reported_as_a_breach():
    """Whatever else a class raises, the check that met it is named."""

    class Raises(Raw):
        def _learn(self, outcome):
            raise ZeroDivisionError(f"{outcome} is not good enough")

    with pytest.raises(AssertionError, match="check_first_round: it raised ZeroDivisionError"):
        check_recalibrator(Raises)


def test_every_check_has_a_recalibrator_that_it_finds():
    assert {check for _, check, _ in BROKEN} == {check.__name__ for check in CHECKS}
