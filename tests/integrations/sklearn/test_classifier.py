"""The scikit-learn classifier: its own checks, the Recalibrator by hand, and drift survived."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from calibrant import MulticlassRecalibrator, Recalibrator
from calibrant.integrations.sklearn import OnlineCalibratedClassifier
from calibrant.measures import log_loss
from integrations.worlds import world


def expected_failures(classifier):
    """What of scikit-learn's checks does not apply, and why."""
    if classifier.estimator is None:
        return {}
    return {
        "check_n_features_in_after_fitting": "an estimator that cannot learn in parts has "
        "partial_fit after fit: the check looks for it on a fitted one and calls it on a clone"
    }


@parametrize_with_checks(
    [
        OnlineCalibratedClassifier(),
        OnlineCalibratedClassifier(LogisticRegression(), cv=2),
        OnlineCalibratedClassifier(LinearSVC(), cv=2),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # on its toy data
def test_sklearn_checks(estimator, check):
    check(estimator)


class Renamed(ClassifierMixin, BaseEstimator):
    """A fitted classifier with other names for its classes, in an order of their own."""

    def __init__(self, model, names):
        self.model, self.names = model, names
        self.classes_ = np.array(names)

    def __getattr__(self, name):
        if name in ("predict_proba", "decision_function"):
            return getattr(self.model, name)
        raise AttributeError(name)

    def fit(self, *_):
        raise AssertionError("a frozen model is never fitted")

    def __sklearn_is_fitted__(self):
        return True


def three_classes(rounds, seed):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=rounds)
    return random.normal(size=(rounds, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y], y


# -- equal to the Recalibrator by hand ------------------------------------------------------------


def test_a_frozen_estimator_is_a_recalibrator_fed_with_its_scores():
    X, y = world(3000, 0)
    deployed = GaussianNB().fit(X[:500], y[:500])
    scores = deployed.predict_proba(X)[:, 1]
    by_hand = Recalibrator(seed=5)
    by_hand.run(scores[500:2000], y[500:2000])

    model = OnlineCalibratedClassifier(FrozenEstimator(deployed), random_state=5, shuffle=False)
    model.fit(X[500:2000], y[500:2000])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()
    wanted = [by_hand.expected(score) for score in scores[2000:]]
    np.testing.assert_array_equal(model.predict_proba(X[2000:])[:, 1], wanted)

    in_parts = clone(model)
    for start in range(500, 2000, 100):
        in_parts.partial_fit(X[start : start + 100], y[start : start + 100])
    assert in_parts.recalibrator_.to_bytes() == by_hand.to_bytes()


def test_fit_teaches_scores_of_models_that_saw_earlier_rows_only():
    X, y = world(1000, 1)
    model = OnlineCalibratedClassifier(LogisticRegression(), cv=3, shuffle=False, random_state=2)
    model.fit(X, y)
    by_hand = Recalibrator(seed=2)
    for before in (250, 500, 750):
        earlier = LogisticRegression().fit(X[:before], y[:before])
        stretch = slice(before, before + 250)
        by_hand.run(earlier.predict_proba(X[stretch])[:, 1], y[stretch])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()
    np.testing.assert_array_equal(model.estimator_.coef_, LogisticRegression().fit(X, y).coef_)


def test_fit_takes_rows_as_a_set_and_teaches_each_out_of_fold():
    """The folds of scikit-learn, and then the order that the same generator draws."""
    X, y = world(1000, 1)
    model = OnlineCalibratedClassifier(LogisticRegression(), cv=4, random_state=2).fit(X, y)
    scores, happened = [], []
    folds = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(2))
    for fit, rest in folds.split(X, y):
        others = LogisticRegression().fit(X[fit], y[fit])
        scores.extend(others.predict_proba(X[rest])[:, 1])
        happened.extend(y[rest])
    order = np.arange(1000)
    np.random.RandomState(2).shuffle(order)
    by_hand = Recalibrator(seed=2)
    by_hand.run(np.array(scores)[order], np.array(happened)[order])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()


def test_rows_that_a_cross_validation_picked_are_not_taken_for_a_drift():
    """StratifiedKFold leaves a tail of one class: learned in order, that cost 0.58 a row."""
    X, y = make_classification(4000, weights=[0.77], flip_y=0.2, random_state=5)
    plain = LogisticRegression()
    raw, calibrated = (
        cross_val_score(model, X, y, cv=3, scoring="neg_log_loss").mean()
        for model in (plain, OnlineCalibratedClassifier(plain))
    )
    assert calibrated > raw - 0.01


@pytest.mark.parametrize("cls", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("names", [["no", "yes"], ["yes", "no"], ["c", "a", "b"]])
def test_a_deployed_model_has_its_classes_in_its_own_order(cls, names):
    """Some models list their classes as they met them, not sorted."""
    X, y = three_classes(900, 3) if len(names) == 3 else world(900, 3)
    deployed = Renamed(cls().fit(X[:300], y[:300]), names)
    labels = np.array(names)[y.astype(int)]
    plain = OnlineCalibratedClassifier(FrozenEstimator(cls().fit(X[:300], y[:300])))
    model = OnlineCalibratedClassifier(FrozenEstimator(deployed))
    plain.fit(X[300:600], y[300:600]).partial_fit(X[600:], y[600:])
    model.fit(X[300:600], labels[300:600]).partial_fit(X[600:], labels[600:], classes=sorted(names))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.classes_.tolist() == names
    with pytest.raises(
        ValueError, match=r"that the model knows, '.*', got 1 \(int\) at position 0"
    ):
        model.fit(X[:2], [1, 0])


def test_partial_fit_scores_a_batch_before_learning_it():
    X, y = world(1000, 2)
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    model = OnlineCalibratedClassifier(clone(sgd), random_state=4)
    by_hand, online = Recalibrator(seed=4), clone(sgd)
    for start in range(0, 1000, 100):
        batch = slice(start, start + 100)
        model.partial_fit(X[batch], y[batch], classes=[0, 1])
        if start:
            by_hand.run(online.predict_proba(X[batch])[:, 1], y[batch])
        online.partial_fit(X[batch], y[batch], classes=[0, 1])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()
    np.testing.assert_array_equal(model.estimator_.coef_, online.coef_)
    np.testing.assert_array_equal(model.raw_scores(X)[:, 0], online.predict_proba(X)[:, 1])


def test_a_fitted_estimator_that_cannot_learn_in_parts_stays_as_it_is_and_is_followed():
    X, y = world(1000, 3)
    model = OnlineCalibratedClassifier(LogisticRegression())
    assert not hasattr(model, "partial_fit")
    model.fit(X[:500], y[:500])
    coefficients, learned = model.estimator_.coef_.copy(), model.recalibrator_.learned
    model.partial_fit(X[500:], y[500:])
    assert model.recalibrator_.learned == learned + 500
    np.testing.assert_array_equal(model.estimator_.coef_, coefficients)


def test_a_frozen_estimator_never_learns():
    X, y = world(400, 3)
    inner = SGDClassifier(loss="log_loss", random_state=0).fit(X[:100], y[:100])
    coefficients = inner.coef_.copy()
    model = OnlineCalibratedClassifier(FrozenEstimator(inner)).fit(X[100:200], y[100:200])
    model.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(inner.coef_, coefficients)


def test_three_classes():
    X, y = three_classes(1500, 0)
    names = np.array(["ash", "beech", "oak"])[y]
    deployed = GaussianNB().fit(X[:500], names[:500])
    model = OnlineCalibratedClassifier(FrozenEstimator(deployed), shuffle=False, random_state=7)
    model.fit(X[500:], names[500:])
    scores = deployed.predict_proba(X)
    by_hand = MulticlassRecalibrator(3, seed=7)
    by_hand.run(scores[500:], y[500:])
    np.testing.assert_array_equal(model.predict_proba(X), by_hand.expected(scores))
    as_good = (deployed.predict(X) == names).mean() - 0.02
    assert (model.predict(X) == names).mean() > as_good > 0.7
    assert model.classes_.tolist() == ["ash", "beech", "oak"]


def test_margins_are_told_as_margins():
    X, y = world(1000, 5)
    model = OnlineCalibratedClassifier(LinearSVC(), random_state=1).fit(X, y)
    assert model.recalibrator_.kind == "margin"
    np.testing.assert_array_equal(model.raw_scores(X)[:, 0], model.estimator_.decision_function(X))
    forced = OnlineCalibratedClassifier(LogisticRegression(), response_method="decision_function")
    assert forced.fit(X, y).recalibrator_.kind == "margin"
    several = OnlineCalibratedClassifier(LinearSVC()).fit(*three_classes(600, 1))
    assert several.recalibrator_.kind == "logit"


# -- what it is for -------------------------------------------------------------------------------


def after_the_turn(model):
    """Return the log loss, raw and calibrated, of batches after the world has turned over."""
    raw, calibrated, outcomes = [], [], []
    for start in range(20):
        X, y = world(100, 100 + start, turned=True)
        raw.append(model.raw_scores(X)[:, 0])
        calibrated.append(model.predict_proba(X)[:, 1])
        outcomes.append(y)
        model.partial_fit(X, y)
    y = np.concatenate(outcomes)
    return log_loss(np.concatenate(raw), y), log_loss(np.concatenate(calibrated), y)


@pytest.mark.parametrize(
    "estimator",
    [GaussianNB(), GradientBoostingClassifier(n_estimators=20, random_state=0)],
    ids=str,
)
def test_a_deployed_model_survives_a_turn_of_the_world(estimator):
    """Raw, it is worse than a coin, 0.69; the turned world's own entropy is 0.58."""
    X, y = world(2000, 6)
    model = OnlineCalibratedClassifier(FrozenEstimator(estimator.fit(X[:1000], y[:1000])))
    raw, calibrated = after_the_turn(model.fit(X[1000:], y[1000:]))
    assert raw > 1.0
    assert calibrated < 0.68


def test_an_estimator_that_learns_in_parts_survives_it_too():
    X, y = world(2000, 6)
    hasty = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.5, random_state=0)
    raw, calibrated = after_the_turn(OnlineCalibratedClassifier(hasty).fit(X, y))
    assert calibrated < raw - 0.05


def test_on_data_without_drift_it_costs_little():
    X, y = world(6000, 7)
    model = OnlineCalibratedClassifier(LogisticRegression()).fit(X[:4000], y[:4000])
    raw = log_loss(model.raw_scores(X[4000:])[:, 0], y[4000:])
    calibrated = log_loss(model.predict_proba(X[4000:])[:, 1], y[4000:])
    assert calibrated < raw + 0.01


# -- conventions ----------------------------------------------------------------------------------


def test_labels_in_order_pass_over_stretches_before_all_are_seen():
    X, y = world(600, 8)
    order = np.argsort(y, kind="stable")
    model = OnlineCalibratedClassifier(LogisticRegression(), cv=5, shuffle=False)
    model.fit(X[order], y[order])
    zeros = int((y == 0).sum())
    first = next(edge for edge in range(100, 600, 100) if edge > zeros)
    assert model.recalibrator_.learned == 600 - first


@pytest.mark.parametrize("as_", [np.asarray, np.ndarray.tolist, pd.DataFrame, sparse.csr_array])
def test_rows_of_every_kind(as_):
    X, y = world(300, 9)
    wanted = OnlineCalibratedClassifier(LogisticRegression()).fit(X, y).predict_proba(X)
    model = OnlineCalibratedClassifier(LogisticRegression()).fit(as_(X), y)
    np.testing.assert_allclose(model.predict_proba(as_(X)), wanted, atol=1e-6)
    assert model.n_features_in_ == 3


def test_names_of_features_come_from_the_estimator():
    X, y = world(300, 9)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = OnlineCalibratedClassifier(LogisticRegression()).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_inside_pipelines_and_searches():
    X, y = world(400, 10)
    pipeline = make_pipeline(StandardScaler(), OnlineCalibratedClassifier())
    search = GridSearchCV(
        pipeline, {"onlinecalibratedclassifier__cv": [2, 4]}, scoring="neg_log_loss", cv=2
    )
    assert search.fit(X, y).best_score_ > -0.69


def test_weights_are_cut_with_the_rows():
    X, y = world(400, 11)
    weight = np.random.default_rng(0).random(400)
    model = OnlineCalibratedClassifier(LogisticRegression(), cv=1, shuffle=False)
    model.fit(X, y, sample_weight=weight)
    first = LogisticRegression().fit(X[:200], y[:200], sample_weight=weight[:200])
    by_hand = Recalibrator()
    by_hand.run(first.predict_proba(X[200:])[:, 1], y[200:], weights=weight[200:])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()
    with sklearn.config_context(enable_metadata_routing=True):
        asks = LogisticRegression().set_fit_request(sample_weight=True)
        routed = OnlineCalibratedClassifier(asks, cv=1).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(routed.estimator_.coef_, model.estimator_.coef_)
        refuses = LogisticRegression().set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            OnlineCalibratedClassifier(refuses).fit(X, y, sample_weight=weight)


def test_a_pickle_continues_exactly():
    X, y = world(600, 12)
    model = OnlineCalibratedClassifier().fit(X[:300], y[:300])
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X[300:450], y[300:450])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_predicting_changes_nothing():
    X, y = world(300, 13)
    model = OnlineCalibratedClassifier().fit(X, y)
    before = pickle.dumps(model)
    first = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), first)
    assert pickle.dumps(model) == before


def test_random_state():
    X, y = world(300, 14)
    seeds = [
        OnlineCalibratedClassifier(LogisticRegression(), random_state=state)
        .fit(X, y)
        .recalibrator_.seed
        for state in (3, np.random.RandomState(1), np.random.RandomState(1), None, None)
    ]
    assert seeds[0] == 3
    assert seeds[1] == seeds[2]
    assert seeds[3] != seeds[4]
