"""Outcomes that arrive together: against the slow reference, and in any order of a file."""

import numpy as np
import pytest

from calibrant import Fleet, MulticlassRecalibrator, Recalibrator, calibrated
from calibrant.measures import log_loss
from naive.groups import NaiveGroupedRecalibrator
from naive.recalibrate import NaiveRecalibrator
from recalibrate.cases import random_case


@pytest.mark.parametrize("number", range(6))
def test_agrees_with_its_twin(number):
    """Batches of both kinds, of sizes of their own; outcomes arrive in files sorted by outcome."""
    kind, scores, outcomes = random_case(number, 300)
    random = np.random.default_rng(number)
    kernel, twin = Recalibrator(kind, seed=number), NaiveRecalibrator(kind, seed=number)
    waiting, at = [], 0
    while at < 300:
        rows = list(range(at, min(at + int(random.integers(1, 40)), 300)))
        at = rows[-1] + 1
        expected = twin.predict_many(scores[rows].tolist(), rows)
        predicted = kernel.predict_many(scores[rows], ids=rows)
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
        waiting += rows
        known = random.choice(waiting, len(waiting) // 2, replace=False)
        known = known[np.argsort(outcomes[known], kind="stable")].tolist()
        waiting = [row for row in waiting if row not in known]
        if known:
            kernel.update_many(outcomes[known], ids=known)
            twin.update_many(outcomes[known].tolist(), ids=known)
    state = kernel._whole._get_state()
    np.testing.assert_allclose(state["w"], twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["S"], [point.bias for point in twin.safe.points], atol=1e-9)
    assert state["lag"][0] == pytest.approx(twin.lag, abs=1e-9)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("cut", [None, 1, 7])
def test_large_batches_agree_with_their_twin(number, cut):
    """Sizes on both sides of the smallest batch, with surprises; one call, or many."""
    kind, scores, outcomes = random_case(number, 700)
    random = np.random.default_rng(number)
    outcomes[400:] = 1 - outcomes[400:]  # the world turns over
    kernel, twin = Recalibrator(kind, seed=number), NaiveRecalibrator(kind, seed=number)
    at = 0
    for size in [*random.integers(2, 130, 40).tolist(), 700]:
        rows = list(range(at, min(at + size, 700)))
        at += len(rows)
        if not rows:
            break
        expected = twin.predict_many(scores[rows].tolist(), rows)
        predicted = kernel.predict_many(scores[rows], ids=rows)
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
        known = random.permutation(rows).tolist()
        rows_a_call = len(known) if cut is None or len(known) < 50 else cut
        for start in range(0, len(known), rows_a_call):
            part = known[start : start + rows_a_call]
            kernel.update_many(outcomes[part], ids=part)
        twin.update_many(outcomes[known].tolist(), known)
    state = kernel._whole._get_state()
    np.testing.assert_allclose(state["w"], twin.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["recent_w"], twin.recent.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["level_w"], twin.levels.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["spread"], twin.dispersion.spread, rtol=1e-9)
    np.testing.assert_allclose(state["lasting"], twin.surprises.lasting, rtol=0, atol=1e-9)
    np.testing.assert_allclose(state["S"], [point.bias for point in twin.safe.points], atol=1e-9)


@pytest.mark.parametrize("cut", [None, 7])
@pytest.mark.parametrize("groups", [2, 30])
def test_batches_of_groups_agree_with_their_twin(groups, cut):
    """Groups with stages of their own and without, and parts below the smallest batch."""
    random = np.random.default_rng(groups)
    kernel, twin = Recalibrator(seed=groups), NaiveGroupedRecalibrator(seed=groups)
    for first in range(0, 900, 150):
        rows = list(range(first, first + 150))
        scores, by = random.uniform(0.05, 0.95, 150), random.integers(0, groups, 150).tolist()
        truth = scores**2 if first < 600 else 1 - scores  # a surprise
        outcomes = (random.random(150) < truth).astype(float)
        expected = twin.predict_many(scores.tolist(), rows, by)
        predicted = kernel.predict_many(scores, ids=rows, by=by)
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-6)
        for start in range(0, 150, cut or 150):
            part = rows[start : start + (cut or 150)]
            kernel.update_many(outcomes[np.array(part) - first], ids=part)
        twin.update_many(outcomes.tolist(), rows)
    kernel._whole._catch_up()
    shared = kernel._groups.shared._get_state()
    np.testing.assert_allclose(shared["w"], twin.shared.weights, rtol=0, atol=1e-6)
    for number, own in kernel._groups.own.items():
        weight = twin.groups[kernel._groups.names[number]].stages.weights[0]
        assert own.pair.weight == pytest.approx(weight, abs=1e-6)


def monthly(scores, outcomes, size, recalibrator, late=0):
    """Predict by batches, each after the labels of all but the last `late` are known."""
    predicted, waiting = np.empty(len(scores)), []
    for start in range(0, len(scores), size):
        rows = np.arange(start, start + size)
        predicted[rows] = recalibrator.predict_many(scores[rows], ids=rows)
        waiting.append(rows)
        if len(waiting) > late:
            known = waiting.pop(0)
            recalibrator.update_many(outcomes[known], ids=known)
    return predicted


def test_a_month_at_once_costs_what_a_refit_costs():
    """Stationary scores that are wrong by slope and offset: 24 months of 2,000.

    A refit on all months so far costs about two parameters: 2 / (2 n) of log loss after n rows,
    which is 0.00008 on average over the months after the first. Row by row, months cost 0.001; the
    limit is half of that.
    """
    excess = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        x = random.normal(-0.8, 1.2, 48_000)
        scores, truth = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(0.7 - 0.55 * x))
        outcomes = (random.random(48_000) < truth).astype(float)
        predicted = monthly(scores, outcomes, 2_000, Recalibrator(seed=seed))[2_000:]
        q = truth[2_000:]
        excess.append(
            np.mean(q * np.log(q / predicted) + (1 - q) * np.log((1 - q) / (1 - predicted)))
        )
    assert np.mean(excess) < 0.0005


def test_regions_in_turn_are_forecast():
    """Four regions, a month each in turn, with offsets of their own.

    The best that knows nothing of turns says the mean offset, and is above the truth by about half
    the variance of outcomes times that of offsets, 0.02. From the fourth year on, the levels of the
    last four months tell the next: the limit is half of that.
    """
    random = np.random.default_rng(8)
    offsets = np.tile(np.repeat([-0.8, -0.3, 0.2, 0.5], 400), 10)
    x = random.normal(-0.8, 1.2, len(offsets))
    scores, truth = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-0.8 * x - offsets))
    outcomes = (random.random(len(truth)) < truth).astype(float)
    recalibrator = Recalibrator(seed=9)
    predicted, q = monthly(scores, outcomes, 400, recalibrator)[6_400:], truth[6_400:]
    excess = np.mean(q * np.log(q / predicted) + (1 - q) * np.log((1 - q) / (1 - predicted)))
    blind = np.mean(q * (1 - q)) * offsets.var() / 2
    assert excess < blind / 2
    assert recalibrator.weights()[0].words == "a forecast from the levels of the last 4 batches"


def offset_by_month(offsets, size, seed):
    """Scores and outcomes by months of this size, whose log odds are all shifted by so much."""
    random = np.random.default_rng(seed)
    x = random.normal(-0.8, 1.2, size * len(offsets))
    truth = 1 / (1 + np.exp(-0.9 * x - np.repeat(offsets, size)))
    return 1 / (1 + np.exp(-x)), (random.random(len(x)) < truth).astype(float), truth


def excess_by_month(predicted, truth, size):
    excess = truth * np.log(truth / predicted) + (1 - truth) * np.log((1 - truth) / (1 - predicted))
    return excess.reshape(-1, size).mean(axis=1)


def test_shocks_that_pass_are_soon_not_followed():
    """One month in eight is shifted by 2; the next one is as all others.

    To follow the first costs 0.37 in the next month, and 0.085 on average over the months after all
    five. The limit is a third of that.
    """
    offsets = np.zeros(48)
    offsets[7::8] = 2.0
    after = []
    for seed in range(3):
        scores, outcomes, truth = offset_by_month(offsets, 400, seed)
        recalibrator = Recalibrator(seed=seed)
        predicted = monthly(scores, outcomes, 400, recalibrator)
        after.append(excess_by_month(predicted, truth, 400)[8::8])
        assert recalibrator._whole._get_state()["lasting"][0] < 0.1
    assert np.mean(after) < 0.03


def test_jumps_that_last_are_soon_followed():
    """Every eighth month the log odds of all rows jump by 1.5 to the other side, and stay there.

    Not to follow a jump costs 0.1 in the next month. By the third, it is known that they last: the
    limit is a tenth of that.
    """
    offsets = np.where(np.arange(48) // 8 % 2, 1.0, -0.5)
    after = []
    for seed in range(3):
        scores, outcomes, truth = offset_by_month(offsets, 400, seed)
        recalibrator = Recalibrator(seed=seed)
        predicted = monthly(scores, outcomes, 400, recalibrator)
        after.append(excess_by_month(predicted, truth, 400)[25::8])
        assert recalibrator._whole._get_state()["lasting"][0] > 0.5
    assert np.mean(after) < 0.01


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("lasts", [False, True])
def test_what_surprises_teach_agrees_with_the_twin(late, lasts):
    """A shift and a turn of the slope, each for a month or for good; labels a month later still."""
    months = np.arange(14)
    shift = np.where(months >= 6 if lasts else months == 6, 2.0, 0.0)
    slope = np.where(months >= 10 if lasts else months == 10, -1.0, 1.0)
    random = np.random.default_rng(5)
    kernel, twin = Recalibrator(seed=5), NaiveRecalibrator(seed=5)
    waiting, known = [], []
    for month in months.tolist():
        rows = list(range(80 * month, 80 * month + 80))
        scores = random.uniform(0.05, 0.95, 80)
        x = slope[month] * np.log(scores / (1 - scores)) + shift[month]
        waiting.append((rows, (random.random(80) < 1 / (1 + np.exp(-x))).astype(float)))
        expected = twin.predict_many(scores.tolist(), rows)
        predicted = kernel.predict_many(scores, ids=rows)
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
        if len(waiting) > late:
            rows, outcomes = waiting.pop(0)
            kernel.update_many(outcomes, ids=rows)
            twin.update_many(outcomes.tolist(), rows)
        known.append(twin.surprises.lasting)
        lasting = kernel._whole._get_state()["lasting"]
        np.testing.assert_allclose(lasting, twin.surprises.lasting, rtol=0, atol=1e-9)
    assert len({each.tobytes() for each in known}) > 1


def test_saved_surprises_that_cannot_be():
    random = np.random.default_rng(6)
    scores = random.random(800)
    shifted = np.where(np.arange(800) < 700, scores, 1.0)
    recalibrator = Recalibrator()
    monthly(scores, (random.random(800) < shifted).astype(float), 100, recalibrator)
    state = recalibrator._whole._get_state() | {"rounds": 800}
    Recalibrator()._whole._set_state(state)
    assert 0 < state["surprise"][0] <= 1
    for name, value in (
        ("lasting", np.full(2, 1.1)),
        ("surprise", np.array([-0.1])),
        ("surprise_shape", np.array([2.0])),
        ("surprise_since", np.array([801.0])),
        ("surprise_lasts", np.full(24, 0.5)),
        ("surprise_passes", np.zeros(24)),
    ):
        with pytest.raises(ValueError, match=f"saved {name}"):
            Recalibrator()._whole._set_state({**state, name: value})


def test_saved_levels_that_cannot_be():
    recalibrator = Recalibrator()
    monthly(np.full(300, 0.3), np.tile([1.0, 0.0], 150), 100, recalibrator)
    state = recalibrator._whole._get_state() | {"rounds": 300}
    Recalibrator()._whole._set_state(state)
    assert state["levels_kept"][0] == 3
    for name, value in (
        ("level_w", np.full(4, 0.5)),
        ("level_odds", np.zeros(3)),
        ("level_theta", np.full(15, 1e300)),
        ("level_P", np.full(75, 2.0)),
        ("levels_kept", np.array([13.0])),
        ("level", np.full(12, 1e300)),
        ("level_since", np.full(12, 301.0)),
    ):
        with pytest.raises(ValueError, match=f"saved .*{name}"):
            Recalibrator()._whole._set_state({**state, name: value})


def test_offsets_that_cancel_from_afar_stay_finite():
    """Saved parameters may be so far out that their odds, alone, are 0 and infinite."""
    random = np.random.default_rng(0)
    recalibrator = Recalibrator(seed=0)
    recalibrator.run(random.random(100), (random.random(100) < 0.5).astype(float))
    state = recalibrator._whole._get_state() | {"rounds": 100}
    state["platt"][1], state["offset"][:] = 900.0, -900.0
    recalibrator._whole._set_state(state)
    for first in (0, 60):
        ids = range(first, first + 60)
        assert np.isfinite(recalibrator.predict_many(random.random(60), ids=ids)).all()
        recalibrator.update_many((random.random(60) < 0.5).astype(float), ids=ids)
    learned = recalibrator._whole._get_state()
    assert all(np.isfinite(learned[part]).all() for part in ("w", "offset", "level", "S"))


def test_weights_are_told_in_batches():
    random = np.random.default_rng(1)
    recalibrator = Recalibrator()
    scores = random.random(30_000)
    offset = np.repeat(np.cumsum(random.normal(0, 0.4, 10)), 3_000)
    truth = 1 / (1 + np.exp(-np.log(scores / (1 - scores)) - offset))
    outcomes = (random.random(30_000) < truth).astype(float)
    monthly(scores, outcomes, 3_000, recalibrator)
    assert recalibrator.weights()[0].words == "the last batch, 3,000 outcomes"


def test_what_is_deferred_is_saved_and_asked_for():
    """A batch in two calls: whoever looks in between sees the first, and a copy goes on alike."""
    random = np.random.default_rng(2)
    scores = random.random(400)
    outcomes = (random.random(400) < scores**2).astype(float)
    recalibrator = Recalibrator(seed=3)
    recalibrator.predict_many(scores, ids=list(range(400)))
    before = recalibrator.expected(0.5)
    recalibrator.update_many(outcomes[:200], ids=list(range(200)))
    assert recalibrator.learned == 200
    copy = Recalibrator.from_bytes(recalibrator.to_bytes())
    assert recalibrator.expected(0.5) == copy.expected(0.5) != before
    for each in (recalibrator, copy):
        each.update_many(outcomes[200:], ids=list(range(200, 400)))
    assert recalibrator.to_bytes() == copy.to_bytes()


@pytest.mark.parametrize("by", [None, "g"])
def test_groups_and_times_learn_batches_however_calls_are_cut(by):
    random = np.random.default_rng(4)
    scores = random.random(600)
    outcomes = (random.random(600) < scores**2).astype(float)
    players = [Recalibrator(seed=5) for _ in range(2)]
    for player, cut in zip(players, (600, 37), strict=True):
        for start in range(0, 600, 200):
            ids = list(range(start, start + 200))
            groups = None if by is None else [by] * 200
            player.predict_many(scores[ids], ids=ids, by=groups, at=float(start))
            for first in range(0, 200, cut):
                part = ids[first : first + cut]
                player.update_many(outcomes[part], ids=part)
    one, other = (player._whole._get_state() for player in players)
    for name, part in one.items():
        np.testing.assert_array_equal(part, other[name], err_msg=name)
    assert one["batches"] > 0


@pytest.mark.parametrize("by", [None, "g"])
@pytest.mark.parametrize("rules", [{"hold": 25.0}, {"silence": 0, "after": 25.0}])
def test_deadlines_settle_batches_however_calls_are_cut(rules, by):
    """What is held, or overdue, is learned at its deadline: a month in one step."""
    random = np.random.default_rng(4)
    scores = random.random(900)
    outcomes = (random.random(900) < scores**2).astype(float)
    players = [Recalibrator(seed=5, **rules) for _ in range(2)]
    for player, cut in zip(players, (300, 37), strict=True):
        for month in range(3):
            ids = list(range(300 * month, 300 * month + 300))
            groups = None if by is None else [by] * 300
            player.predict_many(scores[ids], ids=ids, by=groups, at=30.0 * month)
            told = [row for row in ids if "hold" in rules or outcomes[row] == 1]
            for first in range(0, len(told), cut):
                part = told[first : first + cut]
                player.update_many(outcomes[part], ids=part, at=30.0 * month + 5)
        player.advance(100.0)
    one, other = (player._whole._get_state() for player in players)
    for name, part in one.items():
        np.testing.assert_array_equal(part, other[name], err_msg=name)
    assert one["learned"] == 900
    # All three in one step each: the first is not counted, the others are.
    assert one["batched"][0] == pytest.approx(300 * (1 + 0.95))


def test_rows_of_one_time_in_a_table_are_a_batch():
    """Held for a month: the same as a call for each month."""
    random = np.random.default_rng(6)
    scores = random.random(900)
    outcomes = (random.random(900) < scores**2).astype(float)
    at = np.repeat([0.0, 30.0, 60.0], 300)
    predicted = Recalibrator(seed=7, hold=29).run(scores, outcomes, at=at)
    expected = monthly(scores, outcomes, 300, Recalibrator(seed=7))
    np.testing.assert_array_equal(predicted, expected)


def test_a_batch_names_the_id_that_is_taken():
    recalibrator = Recalibrator(capacity=4)
    recalibrator.predict_many([0.5, 0.5], ids=["a", 7])
    recalibrator.update(1, id=7)
    before = recalibrator.to_bytes()
    for ids, message in {
        ("x", "y", "x"): r"^id 'x' comes at positions 0 and 2$",
        ("x", "a", "y"): r"^id 'a' was predicted already and is still pending \(position 1\)$",
        ("x", "y", 7): r"^id 7 was predicted already and has its outcome \(position 2\)$",
        ("x", 1.5, "y"): r"got 1.5 \(float\) at position 1$",
    }.items():
        for by in (None, [None, "g", None]):
            with pytest.raises(ValueError, match=message):
                recalibrator.predict_many([0.1, 0.2, 0.3], ids=list(ids), by=by)
    assert recalibrator.to_bytes() == before


def test_more_at_once_than_may_wait():
    recalibrator = Recalibrator(capacity=2)
    with pytest.warns(UserWarning, match="Use a capacity of at least 4"):
        recalibrator.predict_many([0.1, 0.2, 0.3, 0.4], ids=list("abcd"), at=5)
    assert (recalibrator.pending, recalibrator.expired) == (2, 2)
    assert recalibrator.update_many([1, 1, 0], ids=list("adc")).tolist() == [
        "expired", "applied", "applied",
    ]  # fmt: skip
    refusing = Recalibrator(capacity=2, when_full="refuse")
    with pytest.raises(ValueError, match="more than capacity=2 allows"):
        refusing.predict_many([0.1, 0.2, 0.3], ids=list("abc"))
    assert (refusing.rounds, refusing.pending) == (0, 0)


def in_files(scores, outcomes, order, size=2_000):
    """Return the log loss when rows arrive in files, each in an order of its own."""
    recalibrator, predicted = Recalibrator(seed=1), np.empty(len(scores))
    for start in range(0, len(scores), size):
        rows = np.arange(start, start + size)
        rows = rows[order(outcomes[rows])]
        predicted[rows] = recalibrator.predict_many(scores[rows], ids=rows)
        recalibrator.update_many(outcomes[rows], ids=rows)
    return log_loss(predicted, outcomes)


def test_a_sorted_file_costs_nothing():
    """Sorted by outcome, 20 files of 2,000; learned as they come, this costs more than 1.

    One shuffle differs from another by its draws: over five of them the log loss had a standard
    deviation of 0.0002, 0.0003 and 0.0002 on three streams. So means over streams are compared;
    that of their difference is then 0.0002.
    """
    shuffled, in_order = [], []
    for seed in range(3):
        random = np.random.default_rng(seed)
        scores = random.random(40_000)
        outcomes = (random.random(40_000) < scores**2).astype(float)
        shuffle = random.permutation(2_000)
        shuffled.append(in_files(scores, outcomes, lambda _, by=shuffle: by))
        in_order.append(in_files(scores, outcomes, np.argsort))
        in_order.append(in_files(scores, outcomes, lambda y: np.argsort(-y)))
    assert np.mean(in_order) < np.mean(shuffled) + 0.0005


def test_rare_events_are_not_over_predicted():
    """Scores that are right, 3e-5 on average: the prediction is, too, once there is evidence."""
    random = np.random.default_rng(0)
    rates = random.lognormal(0, 1, 300_000)
    rates *= 3e-5 / rates.mean()
    outcomes = random.random(len(rates)) < rates
    predicted = Recalibrator().run(rates, outcomes)[100_000:]
    assert predicted.mean() < 1.25 * rates[100_000:].mean()
    assert predicted.min() > 0


@pytest.mark.parametrize("cls", [Recalibrator, MulticlassRecalibrator])
def test_a_file_is_whole_or_not_there(cls, tmp_path):
    recalibrator = cls() if cls is Recalibrator else cls(2)
    recalibrator.save(tmp_path / "state")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert cls.load(tmp_path / "state").to_bytes() == recalibrator.to_bytes()
    (tmp_path / "state").write_bytes(recalibrator.to_bytes()[:-1])
    with pytest.raises(ValueError, match=r"state: the saved forecaster should have"):
        cls.load(tmp_path / "state")
    with pytest.raises(ValueError, match=r"nowhere: cannot be read"):
        cls.load(tmp_path / "nowhere")


def test_a_function_must_score_rows():
    with pytest.raises(ValueError, match="function must be a callable"):
        calibrated(0.5)
    with pytest.raises(ValueError, match="one score per row"):
        calibrated(lambda _: np.ones((2, 2)))(None)


def test_a_single_outcome_of_a_group_is_learned_after_what_came_before():
    """Outcomes of a batch wait for the rest of it; who looks in between makes no difference."""
    players = [Recalibrator(seed=3), Recalibrator(seed=3)]
    for player, looks in zip(players, (False, True), strict=True):
        player.predict_many([0.2, 0.7, 0.4], ids=[0, 1, 2], by=["a", "a", "b"])
        player.predict(0.6, id="single", by="a")
        player.update_many([1, 0], ids=[0, 2])
        if looks:
            player.expected([0.5], by=["a"])
        player.update(1, id="single")
    assert players[0].to_bytes() == players[1].to_bytes()


@pytest.mark.parametrize("make", [Recalibrator, Fleet])
@pytest.mark.parametrize("size", [200, 3000])
def test_what_a_first_batch_taught_is_saved_and_restored(make, size):
    """It is one step, so a bin that forgets may hold more outcomes than single ones would leave."""
    player, scores = make(), np.full(size, 0.4)
    keys = [np.zeros(size, dtype=np.int64)] if make is Fleet else []
    player.predict_many(*keys, scores, ids=range(size))
    player.update_many(np.arange(size) % 3 == 0, ids=range(size))
    blob = player.to_bytes()
    assert make.from_bytes(blob).to_bytes() == blob
