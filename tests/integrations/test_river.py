"""The river classifier: river's own checks, the Recalibrator by hand, and drift survived."""

import copy
import importlib
import math
import pickle
import sys

import numpy as np
import pytest
from river import (
    base,
    checks,
    compose,
    datasets,
    evaluate,
    linear_model,
    metrics,
    naive_bayes,
    preprocessing,
    tree,
)

from calibrant import MulticlassRecalibrator, Recalibrator
from calibrant.integrations.river import CalibratedClassifier
from calibrant.measures import log_loss


def cases():
    """Every check that river has for each of the estimators that it is told to try."""
    for params in CalibratedClassifier._unit_test_params():
        model = CalibratedClassifier(**params)
        for check in checks.yield_checks(model):
            yield pytest.param(model, check, id=f"{model.model}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_river_checks(model, check):
    check(model.clone())


class Oracle(base.Classifier):
    """Says what it is told to say."""

    def __init__(self, says):
        self.says = says
        self.learned = 0

    def learn_one(self, x, _y):
        if "broken" in x:
            raise KeyError("broken")
        self.learned += 1

    def predict_proba_one(self, _x):
        return dict(self.says)


def phishing(rounds=400):
    return list(datasets.Phishing().take(rounds))


def logistic():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def drifting(rounds, seed):
    """A world whose weights turn over: half-way through, what was likely becomes unlikely."""
    random = np.random.default_rng(seed)
    for t in range(rounds):
        x = random.normal(size=3)
        slope = 2.0 if t < rounds / 2 else -1.0
        yield dict(enumerate(x)), bool(random.random() < 1 / (1 + math.exp(-slope * x[0] - 0.5)))


def test_learning_is_a_recalibrator_fed_with_scores_of_before():
    wrapped, model, by_hand = (
        CalibratedClassifier(logistic(), seed=5),
        logistic(),
        Recalibrator(seed=5),
    )
    for x, y in phishing():
        shown = wrapped.predict_proba_one(x)
        score = model.predict_proba_one(x)[True]
        prediction = by_hand.predict(score)
        assert shown == {False: 1.0 - prediction, True: prediction}
        assert wrapped.predict_raw_one(x) == {False: 1.0 - score, True: score}
        wrapped.learn_one(x, y)
        by_hand.update(y)
        model.learn_one(x, y)
    assert wrapped.recalibrator.to_bytes() == by_hand.to_bytes()


def test_asking_changes_nothing_even_where_predictions_are_drawn():
    """An opponent who plays the less expected outcome makes half of the rounds mixed."""
    model, quiet = (CalibratedClassifier(Oracle({False: 0.5, True: 0.5}), seed=3) for _ in "ab")
    recalibrator, mixed = model.recalibrator, 0
    for _ in range(600):
        before = recalibrator.to_bytes()
        shown = model.predict_proba_one({})
        assert model.predict_proba_one({}) == shown
        assert recalibrator.to_bytes() == before
        assert copy.copy(recalibrator).predict(0.5) == shown[True]
        mixed += len(recalibrator.distribution(0.5)[0]) == 2
        y = recalibrator.expected(0.5) < 0.5
        model.learn_one({}, y)
        quiet.learn_one({}, y)
    assert mixed > 100
    assert recalibrator.to_bytes() == quiet.recalibrator.to_bytes()


def test_it_survives_a_turn_of_the_world():
    """A model frozen at half-time is then worse than a coin, 0.69; recalibrated it is not.

    The second half's own entropy is 0.58.
    """

    class Frozen(linear_model.LogisticRegression):
        """Learns the first half only."""

        def learn_one(self, x, y, w=1.0):
            if self.optimizer.n_iterations < 3000:
                super().learn_one(x, y, w)

    model = CalibratedClassifier(Frozen(), seed=1)
    raw, calibrated, outcomes = [], [], []
    for t, (x, y) in enumerate(drifting(6000, seed=2)):
        if t >= 3000:
            raw.append(model.predict_raw_one(x)[True])
            calibrated.append(model.predict_proba_one(x)[True])
            outcomes.append(y)
        model.learn_one(x, y)
    assert log_loss(raw, outcomes) > 1.0
    assert log_loss(calibrated, outcomes) < 0.68


def test_a_learning_model_is_not_made_worse():
    model = CalibratedClassifier(logistic(), seed=1)
    raw, calibrated, outcomes = [], [], []
    for x, y in drifting(6000, seed=4):
        raw.append(model.predict_raw_one(x)[True])
        calibrated.append(model.predict_proba_one(x)[True])
        outcomes.append(y)
        model.learn_one(x, y)
    assert log_loss(calibrated, outcomes) < log_loss(raw, outcomes) - 0.01


@pytest.mark.parametrize(
    ("labels", "model"),
    [
        ((False, True), naive_bayes.GaussianNB()),
        ((np.False_, np.True_), naive_bayes.GaussianNB()),
        ((0, 1), linear_model.LogisticRegression()),
        ((0, 1), tree.HoeffdingTreeClassifier()),
        ((3, 8), naive_bayes.GaussianNB()),
        (("ham", "spam"), naive_bayes.GaussianNB()),
    ],
    ids=str,
)
def test_labels_of_every_kind_give_the_same_numbers(labels, model):
    """Two labels are two labels: a name changes nothing but the keys."""
    named, plain = CalibratedClassifier(model.clone()), CalibratedClassifier(model.clone())
    rows = phishing()
    # The second label to come is the positive one, so False comes first here.
    start = next(t for t, (_, y) in enumerate(rows) if not y)
    for x, y in rows[start:]:
        a, b = named.predict_proba_one(x), plain.predict_proba_one(x)
        assert list(a.values()) == list(b.values())
        named.learn_one(x, labels[y])
        plain.learn_one(x, y)
    assert set(named.predict_proba_one(x)) == set(labels)
    assert named.predict_one(x) in labels


def test_several_labels_are_classes_as_they_come():
    rows = list(datasets.ImageSegments().take(300))
    model = CalibratedClassifier(naive_bayes.GaussianNB(), seed=9)
    for t, (x, y) in enumerate(rows):
        shown, before = model.predict_proba_one(x), model.recalibrator.to_bytes()
        assert model.predict_proba_one(x) == shown
        assert model.recalibrator.to_bytes() == before
        assert not shown or math.isclose(sum(shown.values()), 1.0)
        if t % 50 == 49:
            asked = copy.deepcopy(model).open_one(x, id=t)
            assert asked == shown
        model.learn_one(x, y)
    labels = {y for _, y in rows}
    assert len(labels) == 7
    assert set(shown) == labels
    assert isinstance(model.recalibrator, MulticlassRecalibrator)


def test_each_of_three_labels_counts():
    model = CalibratedClassifier(naive_bayes.GaussianNB())
    for t in range(90):
        model.learn_one({"a": t % 3 + t % 7 / 10}, "xyz"[t % 3])
    assert model.recalibrator.learned == 89  # the model predicted nothing for the first
    for t in range(3):
        assert model.predict_one({"a": t + 0.3}) == "xyz"[t]


def test_a_model_that_has_learned_already_can_be_wrapped():
    trained = naive_bayes.GaussianNB()
    for x, y in phishing(300):
        trained.learn_one(x, y)
    model = CalibratedClassifier(trained)
    x, y = phishing(301)[-1]
    assert model.predict_proba_one(x) == trained.predict_proba_one(x)
    model.learn_one(x, y)
    assert model.recalibrator.learned == 1


def test_in_pipelines_and_rivers_evaluation():
    inside = CalibratedClassifier(logistic(), seed=2)
    outside = preprocessing.StandardScaler() | CalibratedClassifier(
        linear_model.LogisticRegression(), seed=2
    )
    assert isinstance(outside, compose.Pipeline)
    assert isinstance(outside, base.Classifier)
    scores = [
        evaluate.progressive_val_score(phishing(), model, metrics.LogLoss()).get()
        for model in (inside, outside)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)  # a scaler outside learns x sooner
    late = evaluate.progressive_val_score(
        phishing(), inside.clone(), metrics.LogLoss(), delay=20, moment=None
    )
    assert late.get() < math.log(2)


def test_a_clone_has_learned_nothing_and_a_pickle_everything():
    model = CalibratedClassifier(logistic(), seed=4)
    rows = phishing()
    for x, y in rows[:200]:
        model.learn_one(x, y)
    assert model.clone().recalibrator.rounds == 0
    assert model.clone({"seed": 6}).recalibrator.seed == 6
    again = pickle.loads(pickle.dumps(model))
    for x, y in rows[200:]:
        assert again.predict_proba_one(x) == model.predict_proba_one(x)
        again.learn_one(x, y)
        model.learn_one(x, y)


@pytest.mark.parametrize("p", [math.nan, 1.5, -0.1, math.inf])
def test_a_model_without_sense_is_refused_and_nothing_changes(p):
    model = CalibratedClassifier(Oracle({False: 0.5, True: p}))
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\], got .* for the label True"):
        model.predict_proba_one({})
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\]"):
        model.learn_one({}, True)
    assert model.model.learned == model.recalibrator.rounds == 0


def test_a_model_that_fails_to_learn_leaves_the_recalibrator_alone():
    model = CalibratedClassifier(Oracle({False: 0.4, True: 0.6}))
    with pytest.raises(KeyError):
        model.learn_one({"broken": 1}, True)
    assert model.recalibrator.rounds == 0


def test_rounding_is_forgiven():
    model = CalibratedClassifier(Oracle({False: -1e-12, True: 1.0 + 1e-12}))
    model.learn_one({}, True)
    assert model.predict_proba_one({})[True] > 0.9


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, None])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match="seed must be an integer"):
        CalibratedClassifier(logistic(), seed=seed)


@pytest.mark.parametrize(
    "model", [None, "logistic", linear_model.LogisticRegression, linear_model.LinearRegression()]
)
def test_what_is_no_classifier_is_refused(model):
    with pytest.raises(ValueError, match="model must be a classifier with predict_proba_one"):
        CalibratedClassifier(model)


def test_without_river_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "calibrant.integrations.river")
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[river\]'"):
        importlib.import_module("calibrant.integrations.river")
