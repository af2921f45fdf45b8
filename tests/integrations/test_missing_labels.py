"""Labels that are missing, or come late, in scikit-learn's and river's classifiers."""

import numpy as np
import pandas as pd
import pytest
from river import linear_model, naive_bayes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier

from calibrant import Recalibrator
from calibrant.integrations.river import CalibratedClassifier
from calibrant.integrations.sklearn import OnlineCalibratedClassifier
from integrations.worlds import world

# -- scikit-learn: partial_fit ----------------------------------------------------------------


def some_missing(y, how):
    """Return labels of which every third is missing, and which are known."""
    known = np.arange(len(y)) % 3 != 0
    if how == "NaN":
        return np.where(known, y, np.nan), known
    labels = [label if has else None for label, has in zip(y.tolist(), known, strict=True)]
    if how == "pandas.NA":
        return pd.Series(labels, dtype="Int64"), known
    return labels if how == "list" else np.array(labels, dtype=object), known


@pytest.mark.parametrize("how", ["NaN", "list", "array", "pandas.NA"])
@pytest.mark.parametrize("frozen", [False, True])
def test_of_rows_without_a_label_nothing_is_learned(how, frozen):
    X, y = world(900, 0)
    labels, known = some_missing(y[300:], how)
    models = []
    for _ in range(2):
        estimator = SGDClassifier(loss="log_loss", random_state=0).fit(X[:300], y[:300])
        if frozen:
            estimator = FrozenEstimator(estimator)
        model = OnlineCalibratedClassifier(estimator)
        models.append(model.partial_fit(X[:300], y[:300], classes=[0, 1]))
    weights = {} if frozen else {"sample_weight": np.linspace(1, 2, 600)}
    fewer = {name: value[known] for name, value in weights.items()}
    models[0].partial_fit(X[300:], labels, **weights)
    models[1].partial_fit(X[300:][known], y[300:][known], **fewer)
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    before = models[0].predict_proba(X)
    models[0].partial_fit(X[:5], [np.nan] * 5)  # none has come: nothing changes
    np.testing.assert_array_equal(models[0].predict_proba(X), before)


def test_a_bad_label_is_named_by_its_place_among_all():
    X, y = world(300, 0)
    model = OnlineCalibratedClassifier(FrozenEstimator(LogisticRegression().fit(X, y)))
    with pytest.raises(ValueError, match=r"got 7.0 \(float\) at position 2"):
        model.partial_fit(X[:3], [np.nan, 1, 7])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(X[:2], [np.nan, 1, 0])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X[:3], [np.nan, 1, 0])  # where all rows are there at once, labels are too


# -- river: learn_one by id -------------------------------------------------------------------


def rows(rounds, seed=0):
    random = np.random.default_rng(seed)
    for t in range(rounds):
        x = {"a": float(random.normal()), "b": float(random.normal())}
        yield x, bool(random.random() < 1 / (1 + np.exp(-2 * x["a"] - t / rounds)))


def test_late_labels_teach_what_was_predicted_then():
    model = CalibratedClassifier(linear_model.LogisticRegression(), seed=3)
    by_hand, twin = Recalibrator(seed=3), linear_model.LogisticRegression()
    waiting = []
    for t, (x, y) in enumerate(rows(600)):
        predicted = model.open_one(x, id=t)
        assert predicted[True] == by_hand.predict(twin.predict_proba_one(x)[True], id=t)
        assert predicted[False] == 1 - predicted[True]
        waiting.append((t, x, y))
        if len(waiting) > 20:
            late, features, label = waiting.pop(0 if t % 2 else 7)
            model.learn_one(features, label, id=late)
            twin.learn_one(features, label)
            by_hand.update(label, id=late)
    assert model.recalibrator.learned == by_hand.learned == 580
    assert model.recalibrator.to_bytes() == by_hand.to_bytes()


def test_what_is_opened_is_what_would_be_predicted_and_labels_may_be_new():
    model = CalibratedClassifier(naive_bayes.GaussianNB())
    for t, (x, y) in enumerate(rows(300)):
        shown = model.predict_proba_one(x)
        assert model.open_one(x, id=t) == shown
        model.learn_one(x, "abc"[t % 3] if y else "d", id=t)
    assert set(model.predict_proba_one(x)) == set("abcd")
    assert sum(model.predict_proba_one(x).values()) == pytest.approx(1)


def test_an_id_that_does_not_wait_is_refused_and_the_model_learns_nothing():
    model = CalibratedClassifier(linear_model.LogisticRegression(), capacity=2)
    x = {"a": 1.0}
    for name in ("first", "second", "third"):
        model.open_one(x, id=name)
    before = model.predict_raw_one(x)
    for name in ("first", "nobody"):
        with pytest.raises(ValueError, match=f"no prediction with id '{name}' is pending"):
            model.learn_one(x, True, id=name)
    with pytest.raises(ValueError, match="id 'third' was predicted already"):
        model.open_one(x, id="third")
    assert model.predict_raw_one(x) == before
    model.learn_one(x, True, id="third")
    with pytest.raises(ValueError, match="it has its label"):
        model.learn_one(x, True, id="third")
