"""The recalibration rivals against their slow references, and one thing that each is known for."""

from functools import partial

import numpy as np
import pytest

from calibrant.forecasters.rivals import Foster1999
from calibrant.measures import brier, cal1, log_loss, murphy
from calibrant.recalibrate.rivals import (
    HOPS,
    TOPS,
    Calibeating,
    KuleshovErmon,
    OnlineBeta,
    OnlinePlatt,
    Raw,
    WindowedRefit,
)
from calibrant.recalibrate.rivals.windowed_refit import isotonic_knots, sigmoid_line
from naive import recalibration_rivals as naive

STREAMS = range(12)
RIVALS = {
    "raw": Raw,
    "platt": OnlinePlatt,
    "beta": OnlineBeta,
    "tops": TOPS,
    "hops": partial(HOPS, seed=3),
    "kuleshov-ermon": partial(KuleshovErmon, seed=3),
    "calibeating": Calibeating,
    "isotonic": partial(WindowedRefit, "isotonic", window=60, every=25),
    "sigmoid": partial(WindowedRefit, "sigmoid", window=60, every=25),
}
every_rival = pytest.mark.parametrize("make", RIVALS.values(), ids=RIVALS)


def random_scores(number, rounds=250):
    """Scores with ends and ties; outcomes that follow them, invert them, or are fractional."""
    random = np.random.default_rng(number)
    scores = random.random(rounds)
    scores[random.random(rounds) < 0.1] = 0.0
    scores[random.random(rounds) < 0.1] = 1.0
    tied = random.random(rounds) < 0.3
    scores[tied] = np.round(scores[tied], 1)
    truth = [scores, 1 - scores, np.full(rounds, 0.2)][number % 3]
    outcomes = (random.random(rounds) < truth).astype(float)
    if number % 4 == 3:
        outcomes = 0.25 + outcomes / 2
    return scores, outcomes


def logit(p):
    return np.log(p / (1 - p))


def expit(x):
    return 1 / (1 + np.exp(-x))


# -- the slow references ---------------------------------------------------------------------------

TWINS = {
    "platt": (OnlinePlatt, naive.platt),
    "platt, other settings": (
        partial(OnlinePlatt, gamma=0.5, ridge=1.0),
        partial(naive.platt, gamma=0.5, ridge=1.0),
    ),
    "beta": (OnlineBeta, naive.beta),
    "tops": (TOPS, partial(naive.tops, bins=10)),
    "tops, 4 bins": (partial(TOPS, 4), partial(naive.tops, bins=4)),
    "hops": (partial(HOPS, 5, seed=11), partial(naive.hops, bins=5, seed=11)),
    "kuleshov-ermon": (
        partial(KuleshovErmon, 4, partial(Foster1999, 8), seed=11),
        partial(naive.kuleshov_ermon, bins=4, inner_bins=8, seed=11),
    ),
    "calibeating": (Calibeating, partial(naive.calibeating, bins=20)),
    "isotonic": (
        partial(WindowedRefit, "isotonic", window=60, every=25),
        partial(naive.refit, method="isotonic", window=60, every=25),
    ),
}


@pytest.mark.parametrize(("make", "twin"), TWINS.values(), ids=TWINS)
def test_agrees_with_its_twin(make, twin):
    for number in STREAMS:
        scores, outcomes = random_scores(number)
        assert make().run(scores, outcomes).tolist() == pytest.approx(
            twin(scores, outcomes), abs=1e-9
        )


def test_the_sigmoid_refit_agrees_with_its_twin():
    # Both are minimisers with tolerances of their own.
    for number in STREAMS:
        scores, outcomes = random_scores(number)
        predictions = WindowedRefit("sigmoid", window=60, every=25).run(scores, outcomes)
        twin = naive.refit(scores, outcomes, "sigmoid", 60, 25)
        assert predictions.tolist() == pytest.approx(twin, abs=1e-3)
        assert (predictions[25:] != scores[25:]).mean() > 0.9


# -- the round -------------------------------------------------------------------------------------


@every_rival
def test_run_is_the_same_as_steps(make):
    scores, outcomes = random_scores(5)
    stepped = make()
    predictions = []
    for score, outcome in zip(scores, outcomes, strict=True):
        predictions.append(stepped.predict(score))
        stepped.update(outcome)
    whole, halves = make(), make()
    assert whole.run(scores, outcomes).tolist() == predictions
    assert [
        *halves.run(scores[:99], outcomes[:99]), *halves.run(scores[99:], outcomes[99:])
    ] == predictions  # fmt: skip
    assert stepped.rounds == whole.rounds == len(scores)
    assert stepped.learned == whole.learned == len(scores)
    assert all(0 <= p <= 1 for p in predictions)
    assert all(type(p) is float for p in predictions)


@every_rival
def test_asking_more_than_once_does_not_matter(make):
    scores, outcomes = random_scores(6)
    rival = make()
    for expected, score, outcome in zip(
        make().run(scores, outcomes), scores, outcomes, strict=True
    ):
        rival.predict(1 - score)
        rival.predict(0.05)
        assert rival.predict(score) == rival.predict(score) == expected
        rival.update(outcome)


@every_rival
def test_late_outcomes_are_learned_as_they_come(make):
    """Predictions are those of a rival that gets the same rounds at once, in order of arrival."""
    scores, outcomes = random_scores(8)
    arrivals = np.arange(len(scores)) + np.random.default_rng(8).integers(0, 9, len(scores))
    rival, at_once = make(), make()
    for now, score in enumerate(scores):
        assert rival.predict(score, id=now) == at_once.predict(score)
        if now % 3 == 0:  # a round without an id, asked for between others
            assert rival.predict(0.3) == at_once.predict(0.3)
        for late in np.flatnonzero(arrivals == now).tolist():
            rival.update(outcomes[late], id=late)
            rival.update(outcomes[late], id=late)  # told twice, counted once
            at_once.predict(scores[late])
            at_once.update(outcomes[late])
        if now % 3 == 0:
            rival.update(1)
            at_once.predict(0.3)
            at_once.update(1)
    assert rival.learned == at_once.learned
    assert rival.pending == (arrivals >= len(scores)).sum()


def test_late_outcomes_that_cannot_be():
    """They are refused as those of a Recalibrator are, and nothing changes."""
    rival = OnlinePlatt()
    rival.run([0.2, 0.7], [1, 0])
    for id_ in "abc":
        rival.predict(0.5, id=id_)
    rival.update(1, id="a")
    expected = rival.predict(0.3)
    for outcome, id_, message in [
        (1, "d", "'d' is unknown"),
        (0, "a", "'a' had the outcome 1.0, and now gets 0.0"),
        (2, "b", "outcome must be a number"),
        (1, 1.5, "id must be a string or an integer"),
    ]:
        with pytest.raises(ValueError, match=message):
            rival.update(outcome, id=id_)
    for id_ in "ab":
        with pytest.raises(ValueError, match="was predicted already"):
            rival.predict(0.5, id=id_)
    assert rival.predict(0.3) == expected
    assert (rival.rounds, rival.learned) == (7, 3)
    assert rival.pending == 3  # b, c and the one without an id
    assert rival.expire(older_than=3) == ["b"]
    with pytest.raises(ValueError, match="'b' expired"):
        rival.update(1, id="b")
    assert rival.pending == 2


@every_rival
def test_bad_input_is_refused_before_anything_changes(make):
    scores, outcomes = random_scores(7)
    expected = make().run(scores, outcomes)
    rival = make()
    with pytest.raises(ValueError, match="none is pending"):
        rival.update(1)
    rival.run(scores[:120], outcomes[:120])
    with pytest.raises(ValueError, match="none is pending"):
        rival.update(1)
    for bad in (float("nan"), -0.1, 1.5, float("inf"), "0.5", None, [0.5, 0.5]):
        with pytest.raises(ValueError, match="score must be"):
            rival.predict(bad)
    for bad_scores, bad_outcomes, message in [
        ([0.5, 2.0], [0, 1], r"scores must be in \[0, 1\], got 2.0 at position 1"),
        ([0.5, 0.5], [0, 2], r"outcomes must be in \[0, 1\], got 2.0 at position 1"),
        ([0.5], [0, 1], "scores and outcomes must have the same length, got 1 and 2"),
        ([[0.5]], [1], "scores must be one-dimensional"),
        ("0.5", [1], "scores must be a one-dimensional array"),
    ]:
        with pytest.raises(ValueError, match=message):
            rival.run(bad_scores, bad_outcomes)
    assert rival.predict(scores[120]) == expected[120]
    for bad in (float("nan"), -1, 2, "1", None):
        with pytest.raises(ValueError, match="outcome must be"):
            rival.update(bad)
    with pytest.raises(ValueError, match=r"scores? must be"):
        rival.predict(-1)
    rival.update(outcomes[120])  # still the answer to the good score
    assert rival.learned == 121
    assert (rival.run(scores[121:], outcomes[121:]) == expected[121:]).all()
    assert len(rival.run([], [])) == 0


@pytest.mark.parametrize("rows", [3, 60, 2_000])
@pytest.mark.parametrize("shape", ["fine", "coarse", "separated"])
def test_refits_are_those_of_scikit_learn(rows, shape):
    isotonic = pytest.importorskip("sklearn.isotonic")
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(rows)
    scores = random.random(rows).round(1 if shape == "coarse" else 16)
    outcomes = (random.random(rows) < scores**2).astype(float)
    if shape == "separated":
        outcomes = (scores > np.median(scores)).astype(float)
    outcomes[:2] = 0.0, 1.0
    new = np.linspace(0.0, 1.0, 101)
    fit = isotonic.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    theirs = fit.fit(scores, outcomes).predict(new)
    ours = np.interp(new, *isotonic_knots(scores, outcomes))
    assert ours.tolist() == pytest.approx(theirs.tolist(), abs=1e-12)
    x = np.log(np.clip(scores, 1e-3, 0.999) / (1.0 - np.clip(scores, 1e-3, 0.999)))
    line = linear.LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10)
    line.fit(x[:, None], outcomes)
    assert sigmoid_line(scores, outcomes) == pytest.approx(
        (line.coef_[0, 0], line.intercept_[0]), abs=1e-6
    )


# -- what each is known for ------------------------------------------------------------------------


def distorted(distort, rounds=20_000, seed=0):
    """Return honest probabilities, outcomes that follow them, and the distorted scores."""
    random = np.random.default_rng(seed)
    truth = random.uniform(0.05, 0.95, rounds)
    return truth, (random.random(rounds) < truth).astype(float), distort(truth)


@pytest.mark.parametrize("slope", [2.0, -0.7])
def test_platt_undoes_a_line_in_the_logit(slope):
    truth, outcomes, scores = distorted(lambda p: expit(slope * logit(p) + 0.5))
    rival = OnlinePlatt()
    predictions = rival.run(scores, outcomes)
    # logit(truth) = (logit(score) - 0.5) / slope. A is about n F, with F the Fisher information a
    # round, so the step is (c / n) F^-1 g with c = 1 / gamma = 10: stochastic approximation, whose
    # covariance is c^2 / (2 c - 1) = 5.3 times F^-1 / n. The information about either coefficient
    # is at least 0.1 on these streams: 4 standard deviations are 4 sqrt(5.3 / 2000) = 0.21.
    assert rival.coefficients == pytest.approx((1 / slope, -0.5 / slope), abs=0.21)
    # The mean square of p - truth is at most 5.3 / n * max p (1 - p) * trace(F^-1 F) = 2.7 / n on
    # average, and 9.2 times that with probability 1e-4 (chi-square of two): 0.04 for n = 15,000.
    assert np.sqrt(np.mean((predictions - truth)[-5_000:] ** 2)) < 0.041
    assert np.sqrt(np.mean((scores - truth) ** 2)) > 0.1


def test_beta_undoes_what_platt_cannot():
    """Cubed scores: log(truth) is in the beta family, log(1 - truth) nearly, the logit is not."""
    truth, outcomes, scores = distorted(lambda p: p**3)
    beta = OnlineBeta().run(scores, outcomes)
    platt = OnlinePlatt().run(scores, outcomes)
    regret = log_loss(beta, outcomes) - log_loss(truth, outcomes)
    assert regret < 0.6 * (log_loss(platt, outcomes) - log_loss(truth, outcomes))


def test_raw_returns_the_scores():
    scores, outcomes = random_scores(8)
    assert (Raw().run(scores, outcomes) == scores).all()


def test_calibeating_takes_away_the_reliability_part():
    """Foster and Hart: the Brier score is that of the scores without their reliability part.

    Nearly: with m_k the mean of a bin's first k outcomes, and n v their spread about m_n, the
    identity sum_k (1 - 1/k) (y_k - m_(k-1))^2 = n v leaves at most sum_k 1/k <= 1 + log n a bin.
    """
    _, outcomes, scores = distorted(lambda p: np.round(20 * (1 - p)) / 20)
    parts = murphy(scores, outcomes)
    predictions = Calibeating().run(scores, outcomes)
    assert parts.reliability > 0.1
    slack = 21 * (1 + np.log(len(scores))) / len(scores)
    assert brier(predictions, outcomes) <= brier(scores, outcomes) - parts.reliability + slack
    assert murphy(np.round(predictions, 2), outcomes).reliability < parts.reliability / 20


@pytest.mark.parametrize("switch", [50, 1000])
@pytest.mark.parametrize("make", [HOPS, partial(KuleshovErmon, 10, partial(Foster1999, 10))])
def test_calibrated_against_hostile_scores(make, switch):
    """In each of M = 10 bins Foster's N = 10 points have E[Cal1] <= n/(2N) + sqrt(N n).

    Summed over bins, Cauchy-Schwarz gives T/(2N) + sqrt(M N T); Cal1 of the whole is no
    larger than the sum over bins. The bound is for the worst case, on average over draws; on
    these streams one seed stays below it.
    """
    random = np.random.default_rng(switch)
    rounds = 20_000
    scores = random.random(rounds)
    truth = np.where(np.arange(rounds) // switch % 2 == 0, scores, 1 - scores)
    outcomes = (random.random(rounds) < truth).astype(float)
    bound = rounds / 20 + np.sqrt(100 * rounds)
    assert cal1(np.round(Raw().run(scores, outcomes), 1), outcomes) > bound
    assert cal1(make(seed=1).run(scores, outcomes), outcomes) <= bound


def test_calibeating_reads_a_zigzag_that_platt_cannot():
    random = np.random.default_rng(4)
    scores = (random.integers(0, 10, 20_000) + 0.5) / 10
    truth = np.where(np.round(10 * scores - 0.5) % 2 == 0, 0.1, 0.9)
    outcomes = (random.random(len(scores)) < truth).astype(float)
    assert brier(Calibeating(100).run(scores, outcomes), outcomes) < 0.1
    assert brier(OnlinePlatt().run(scores, outcomes), outcomes) > 0.23


def test_tops_lowers_the_error_of_platt_in_its_own_bins():
    _, outcomes, scores = distorted(lambda p: p**4)
    platt = OnlinePlatt().run(scores, outcomes)
    tops = TOPS().run(scores, outcomes)
    bins = np.minimum((platt * 10).astype(int), 9)

    def error(p):
        return sum(abs((p - outcomes)[bins == b].sum()) for b in range(10)) / len(p)

    assert error(tops) < error(platt) / 2


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_refits_forget_what_left_the_window(method):
    scores, outcomes = random_scores(3, 2_000)[0], np.zeros(2_000)
    outcomes[:1000] = scores[:1000] > 0.5
    outcomes[1000:] = scores[1000:] < 0.5
    rival = WindowedRefit(method, window=300, every=100)
    rival.run(scores, outcomes)
    fresh = WindowedRefit(method, window=300, every=300)
    fresh.run(scores[-300:], outcomes[-300:])
    probes = [0.0, 0.1, 0.4, 0.6, 0.9, 1.0]
    assert [rival.predict(p) for p in probes] == [fresh.predict(p) for p in probes]


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_a_window_of_one_kind_keeps_the_old_map(method):
    rival = WindowedRefit(method, window=10, every=10)
    rival.run([0.3] * 10, [1] * 10)
    assert rival.predict(0.3) == 0.3
