"""Regressors of river and scikit-learn whose prediction intervals stay calibrated."""

import numpy as np
import pytest
from river import checks, linear_model
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor

from calibrant import NumberRecalibrator
from calibrant.integrations.river import CalibratedClassifier, CalibratedRegressor
from calibrant.integrations.sklearn import OnlineCalibratedRegressor


def rows(seed=0, size=3000):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 2))
    noise = random.normal(size=size) * np.where(np.arange(size) < size // 2, 1.0, 3.0)
    return X, X @ [1.0, -2.0] + noise


def test_river_intervals_cover_and_looking_changes_nothing():
    X, y = rows()
    model = CalibratedRegressor(linear_model.LinearRegression(), periods=())
    inside = []
    for row, outcome in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        interval = model.predict_one(x, with_interval=True)
        assert interval == model.predict_one(x, with_interval=True)
        inside.append(interval.lower <= outcome <= interval.upper)
        model.learn_one(x, outcome)
    assert np.mean(inside[200:]) == pytest.approx(0.9, abs=0.02)
    assert model.recalibrator.learned == 3000


def test_river_outcomes_by_id():
    model = CalibratedRegressor(linear_model.LinearRegression())
    model.open_one({"a": 1.0}, id="a")
    model.open_one({"a": 2.0}, id="b")
    model.learn_one({"a": 2.0}, 3.0, id="b")
    assert (model.recalibrator.learned, model.recalibrator.pending) == (1, 1)
    with pytest.raises(ValueError, match="unknown"):
        model.learn_one({"a": 2.0}, 3.0, id="never")


def cases():
    """Every check that river has for a regressor of its own kind."""
    for arguments in CalibratedRegressor._unit_test_params():
        model = CalibratedRegressor(**arguments)
        for check in checks.yield_checks(model):
            yield pytest.param(model, check, id=check.__name__)


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_river_checks(model, check):
    check(model.clone())


def test_sklearn_fit_and_partial_fit():
    X, y = rows(1)
    model = OnlineCalibratedRegressor(LinearRegression()).fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:1400]).T
    # One state predicts all rows: chance moves the share by 0.015, and what it has learned by more.
    assert ((y[1000:1400] > low) & (y[1000:1400] < high)).mean() == pytest.approx(0.9, abs=0.07)
    before = model.recalibrator_.to_bytes()
    model.predict_quantile(X[:10], [0.1, 0.9])
    assert model.recalibrator_.to_bytes() == before
    model.partial_fit(X[1000:2500], y[1000:2500])  # the noise is three times as wide now
    low, high = model.predict_interval(X[2500:]).T
    assert ((y[2500:] > low) & (y[2500:] < high)).mean() == pytest.approx(0.9, abs=0.07)


def test_sklearn_frozen_and_online():
    X, y = rows(2)
    frozen = FrozenEstimator(LinearRegression().fit(X[:500], y[:500]))
    model = OnlineCalibratedRegressor(frozen).fit(X[500:1400], y[500:1400])
    assert model.recalibrator_.learned == 900
    assert np.array_equal(model.predict(X), frozen.predict(X))
    online = OnlineCalibratedRegressor(SGDRegressor(random_state=0)).fit(X[:600], y[:600])
    before = online.predict(X[:5])
    online.partial_fit(X[600:], y[600:])
    assert not np.array_equal(online.predict(X[:5]), before)
    with pytest.raises(ValueError, match="cv=5 needs more than 5 rows"):
        OnlineCalibratedRegressor().fit(X[:4], y[:4])


def test_sample_weights_teach_the_estimator_and_the_recalibrator():
    random = np.random.default_rng(5)
    X, weight = random.normal(size=(400, 2)), random.uniform(0.5, 4.0, 400)
    y = X @ [1.0, -2.0] + random.normal(size=400)
    model = OnlineCalibratedRegressor(cv=1).fit(X[:300], y[:300], sample_weight=weight[:300])
    first = Ridge().fit(X[:150], y[:150], sample_weight=weight[:150])
    by_hand = NumberRecalibrator(periods=())
    by_hand.run(first.predict(X[150:300]), y[150:300], weights=weight[150:300])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()
    model.partial_fit(X[300:], y[300:], sample_weight=weight[300:])
    by_hand.run(model.estimator_.predict(X[300:]), y[300:], weights=weight[300:])
    assert model.recalibrator_.to_bytes() == by_hand.to_bytes()


def test_rivers_weights_teach_the_model_and_the_recalibrator():
    """`w` is river's word for a weight."""
    number = CalibratedRegressor(linear_model.LinearRegression())
    binary = CalibratedClassifier(linear_model.LogisticRegression())
    for outcome in (1.0, 0.0, 1.0):
        number.learn_one({"a": outcome}, outcome, w=3.0)
        binary.learn_one({"a": outcome}, bool(outcome), w=3.0)
    for model in (number, binary):
        assert (model.recalibrator._book.weighed, model.recalibrator._book.weighings) == (9.0, 3.0)
        with pytest.raises(ValueError, match="weight must be"):
            model.learn_one({"a": 1.0}, 1, w=-1.0)
        assert model.recalibrator.learned == 3
