"""EventForecaster with outcomes that are known late: ahead, by id, and both."""

import numpy as np
import pytest

from calibrant import EventForecaster
from calibrant.measures import cal2, log_loss
from calibrant.streams import alternating, cycle, hidden_markov, iid, markov
from forecasters.test_event_forecaster import (
    HOUR,
    assert_same_state,
    remembering,
    uneven_times,
)
from naive.event import NaiveEventForecaster


@pytest.mark.parametrize("ahead", [2, 3, 7, 30, 400])
@pytest.mark.parametrize("number", range(4))
def test_agrees_with_its_twin_ahead(number, ahead):
    rounds = 200 if ahead < 100 else 450
    outcomes = remembering(number, rounds)
    times = uneven_times(rounds, number) if number % 2 else [None] * rounds
    kernel = EventForecaster(seed=number, periods=12, ahead=ahead)
    twin = NaiveEventForecaster(seed=number, periods=[12], ahead=ahead)
    for t, (outcome, time) in enumerate(zip(outcomes.tolist(), times, strict=True)):
        expected = twin.play(outcome, time)
        assert kernel.predict(at=time) == pytest.approx(expected.drawn.z, rel=0, abs=1e-12), t
        assert kernel._mean() == pytest.approx(expected.mean, rel=0, abs=1e-10), t
        kernel.update(outcome)
    assert_same_state(kernel, twin)


@pytest.mark.parametrize("ahead", [1, 4])
@pytest.mark.parametrize("number", range(6))
def test_agrees_with_its_twin_by_id(number, ahead):
    """Outcomes come in any order, some never, and rounds without an id are played in between."""
    outcomes = remembering(number, 450)
    times = uneven_times(450, number) if number % 3 == 0 else [None] * 450
    random = np.random.default_rng(number)
    kernel = EventForecaster(seed=number, ahead=ahead)
    twin = NaiveEventForecaster(seed=number, ahead=ahead)
    waiting = {}
    for t, (outcome, time) in enumerate(zip(outcomes.tolist(), times, strict=True)):
        if random.random() < 0.3:
            expected = twin.play(outcome, time)
            assert kernel.predict(at=time) == pytest.approx(expected.drawn.z, abs=1e-12), t
            kernel.update(outcome)
        else:
            waiting[t] = expected = twin.open(time)
            predicted = kernel.predict(id=t, at=time)
            assert predicted == pytest.approx(expected.drawn.z, rel=0, abs=1e-12), t
        while waiting and random.random() < 0.6:
            known = int(random.choice(list(waiting)))
            answered = waiting.pop(known)
            if random.random() < 0.95:
                twin.answer(answered, outcomes[known])
                kernel.update(outcomes[known], id=known)
        if t == 300:
            kernel = EventForecaster.from_bytes(kernel.to_bytes())
    assert_same_state(kernel, twin)


class TestAhead:
    def test_only_outcomes_that_are_old_enough_are_used(self):
        """Changing an outcome leaves the predictions of the next rounds, and moves a later one."""
        outcomes = remembering(2, 300)
        for ahead in (1, 2, 5, 24):
            predictions = EventForecaster(ahead=ahead).run(outcomes)
            for changed in (0, 100, 200):
                other = outcomes.copy()
                other[changed] = 1.0 - other[changed]
                again = EventForecaster(ahead=ahead).run(other)
                first = int(np.flatnonzero(predictions != again)[0])
                assert changed + ahead <= first < changed + ahead + 5

    def test_rounds_by_id_are_what_run_predicts(self):
        """Asked as far ahead as can be, with each outcome given at once."""
        outcomes, ahead = remembering(4, 300), 6
        expected = EventForecaster(seed=2, ahead=ahead).run(outcomes)
        asked = EventForecaster(seed=2, ahead=ahead)
        predictions = [asked.predict(id=t) for t in range(ahead)]
        for t, outcome in enumerate(outcomes):
            asked.update(outcome, id=t)
            predictions.append(asked.predict(id=t + ahead))
        assert predictions[:300] == expected.tolist()

    def test_a_season_is_that_of_the_round_forecast(self):
        for ahead in (7, 24, 30):
            truth = cycle(20_000, period=24, seed=ahead)
            predictions = EventForecaster(ahead=ahead).run(truth.outcomes)
            best = log_loss(truth.means, truth.outcomes)
            assert log_loss(predictions, truth.outcomes) < best + 0.01

    def test_what_alternates_is_known_for_ever(self):
        outcomes = alternating(20_000, every=3).outcomes
        assert log_loss(EventForecaster(ahead=50).run(outcomes), outcomes) < 0.02

    def test_hidden_states_are_forgotten_as_they_should(self):
        """The truth is the forward filter, taken `ahead` steps on."""
        stay, says, ahead = (0.98, 0.97), (0.15, 0.75), 10
        outcomes = hidden_markov(20_000, seed=5).outcomes
        moves = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
        steps = np.linalg.matrix_power(moves, ahead - 1)
        state, truth = np.array([0.6, 0.4]), []
        for outcome in outcomes:
            truth.append((state @ steps) @ says)
            state = state * np.where(outcome, says, 1 - np.array(says))
            state = (state / state.sum()) @ moves
        truth = np.concatenate([np.full(ahead - 1, truth[0]), truth[: 1 - ahead]])
        predictions = EventForecaster(ahead=ahead).run(outcomes)
        assert log_loss(predictions, outcomes) < log_loss(truth, outcomes) + 0.003

    def test_calibrated(self):
        for stream in (iid(20_000, mean=0.3), markov(20_000, order=3), hidden_markov(20_000)):
            predictions = EventForecaster(ahead=12).run(stream.outcomes)
            assert cal2(predictions, stream.outcomes) <= 40

    def test_memory_says_which_outcomes_are_meant(self):
        forecaster = EventForecaster(ahead=30)
        forecaster.run(cycle(3000, period=24, seed=1).outcomes, at=np.arange(3000) * HOUR)
        words = {each.words for each in forecaster.weights()}
        assert "the outcomes 48 rounds ago" in words
        assert "the same hour yesterday" not in words
        assert "the same hour a week ago" in words


class TestIds:
    def test_looking_first_changes_nothing(self):
        forecaster = EventForecaster()
        looked = forecaster.predict(at=100.0)
        assert forecaster.predict(id="a") == looked
        assert forecaster.expire(before=101) == ["a"]  # the time that was asked about is its own

    def test_context_is_what_was_known_in_the_order_of_rounds(self):
        """The same outcomes are known in the end, and so the same context, in any order."""
        outcomes = remembering(2, 60)
        ends = []
        rows = np.arange(40, 60)
        for order in (rows, rows[::-1], np.random.default_rng(1).permutation(rows)):
            forecaster = EventForecaster()
            forecaster.run(outcomes[:40])
            for t in range(40, 60):
                forecaster.predict(id=t)
            for t in order.tolist():
                forecaster.update(outcomes[t], id=t)
            state = forecaster._get_state()
            ends.append((state["bits"].tolist(), state["run"], state["at"].tolist()))
        assert ends[0] == ends[1] == ends[2]

    def test_a_late_round_is_learned_with_its_own_context(self):
        """What followed 1 1 1 is counted there, although 0s have become known since."""
        forecaster = EventForecaster()
        forecaster.run([1.0] * 20)
        before = dict(zip(*slots(forecaster), strict=True))
        forecaster.predict(id="late")
        contexts = set(forecaster._save()[1]["waiting_rounds"][11:45].tolist()) - {0.0}
        forecaster.run([0.0] * 5)
        between = dict(zip(*slots(forecaster), strict=True))
        forecaster.update(0, id="late")
        after = dict(zip(*slots(forecaster), strict=True))
        counted = {key for key in after if after[key] != between.get(key, 0.0)}
        assert counted == contexts
        assert any(before.get(key, 0.0) > 5 for key in counted)

    @pytest.mark.parametrize(
        "change",
        [
            {"waiting_ids": ["a", "a"]},
            {"waiting_ids": ["a"]},
            {"waiting_rounds": np.zeros(3)},
            {"learned": 3},
            {"expired": 1},
            {"held": None},
            {"number": 30.0}, {"number": 35.0}, {"number": 99.0}, {"place": 1e9}, {"y": 2.0},
            {"m": 0.0}, {"z": 0.123}, {"e": -0.5}, {"e": 1.5}, {"key": 5.0}, {"key": 0.5},
            {"predicted": 2.0}, {"predicted": -0.5}, {"repaired": 0.0}, {"repaired": 1.0},
        ],
    )  # fmt: skip
    def test_forged_rounds_are_refused(self, change):
        forecaster = EventForecaster(ahead=3)
        forecaster.run(remembering(2, 30))
        for name in ("a", "b"):
            forecaster.predict(id=name)
        forecaster.run([1, 0, 1, 1])
        rounds, state = forecaster._save()
        EventForecaster(ahead=3)._load(rounds, dict(state))
        places = {"number": 0, "place": 1, "y": 2, "m": 3, "z": 5, "e": 6, "bet": 7, "repaired": 8}
        places |= {"key": 12, "predicted": 64}
        ((name, value),) = change.items()
        if name in places:
            state["waiting_rounds"][len(state["waiting_rounds"]) // 2 + places[name]] = value
        elif value is None:
            state["held"] = state["held"][: len(state["held"]) // 2]
        else:
            state[name] = value
        with pytest.raises(ValueError, match="saved"):
            EventForecaster(ahead=3)._load(rounds, state)


def slots(forecaster):
    state = forecaster._get_state()
    return state["slot_key"].tolist(), state["slot_n"].tolist()
