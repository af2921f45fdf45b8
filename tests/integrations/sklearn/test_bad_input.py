"""What the scikit-learn classifier refuses, and that a refusal changes nothing."""

import importlib
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from calibrant.integrations.sklearn import OnlineCalibratedClassifier
from integrations.worlds import world


class Scores(ClassifierMixin, BaseEstimator):
    """Gives the scores that it is told to give."""

    def __init__(self, scores=None):
        self.scores = scores

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(self.scores)[: len(X)]


def test_what_cannot_be_done_is_refused():
    X, y = world(60, 15)
    with pytest.raises(ValueError, match="response_method must be one of"):
        OnlineCalibratedClassifier(response_method="predict").fit(X, y)
    with pytest.raises(ValueError, match="must have decision_function, got GaussianNB"):
        OnlineCalibratedClassifier(GaussianNB(), response_method="decision_function").fit(X, y)
    with pytest.raises(ValueError, match="cv must be an integer at least 1, got 0"):
        OnlineCalibratedClassifier(cv=0).fit(X, y)
    with pytest.raises(ValueError, match="seed must be an integer"):
        OnlineCalibratedClassifier(LogisticRegression(), random_state=-1).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes, got 1"):
        OnlineCalibratedClassifier(GaussianNB()).fit(X, np.ones(60))
    with pytest.raises(NotFittedError):
        OnlineCalibratedClassifier(FrozenEstimator(GaussianNB())).fit(X, y)
    with pytest.raises(ValueError, match="one score per class, 4 a row, got 6"):
        OnlineCalibratedClassifier(SVC(decision_function_shape="ovo")).fit(X, np.arange(60) % 4)


def test_a_batch_that_is_refused_changes_nothing():
    X, y = world(300, 16)
    model = OnlineCalibratedClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"classes must be \[0 1\] as before"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    strange = y.copy()
    strange[7] = 5
    with pytest.raises(ValueError, match=r"the model knows, 0, 1, got 5 \(int\) at position 7"):
        model.partial_fit(X, strange)
    with pytest.raises(ValueError, match="y must hold the classes"):
        model.partial_fit(X, np.where(y, "yes", "no"))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("p", [np.nan, 1.5, -0.1, np.inf])
def test_scores_that_are_no_probabilities_are_refused(p):
    X, y = world(4, 17)
    scores = [[0.5, 0.5], [0.5, 0.5], [0.5, p], [0.5, 0.5]]
    model = OnlineCalibratedClassifier(FrozenEstimator(Scores(scores).fit(X, [0, 1, 0, 1])))
    with pytest.raises(ValueError, match=rf"must be in \[0, 1\], got {p} at position 2 of X"):
        model.fit(X, y)


def test_rounding_is_forgiven():
    X, y = world(2, 17)
    scores = np.array([[-1e-7, 1 + 1e-7], [1 + 1e-7, -1e-7]])
    model = OnlineCalibratedClassifier(FrozenEstimator(Scores(scores).fit(X, [0, 1])))
    assert model.fit(X, y).raw_scores(X).ravel().tolist() == [1.0, 0.0]


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [n for n in sys.modules if n.startswith("calibrant.integrations.sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[sklearn\]'"):
        importlib.import_module("calibrant.integrations.sklearn")
