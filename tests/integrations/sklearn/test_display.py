"""The display: its numbers are the reliability table's, and it keeps scikit-learn's habits."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from calibrant.integrations.sklearn import CalibrationDisplay, OnlineCalibratedClassifier


@pytest.fixture(autouse=True)
def no_windows():
    backend = mpl.get_backend()
    mpl.use("agg")
    yield
    plt.close("all")
    mpl.use(backend)


@pytest.fixture
def predictions():
    random = np.random.default_rng(0)
    p = random.random(500)
    return (random.random(500) < p**2).astype(int), p


def names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_numbers_are_those_of_scikit_learn(predictions):
    y, p = predictions
    display = CalibrationDisplay.from_predictions(y, p, n_bins=7, name="square")
    happened, predicted = calibration_curve(y, p, n_bins=7)
    np.testing.assert_allclose(display.prob_true, happened)
    np.testing.assert_allclose(display.prob_pred, predicted)
    np.testing.assert_allclose(display.line_.get_xydata(), np.c_[predicted, happened])
    assert display.table.count.sum() == 500
    assert display.estimator_name == "square"
    assert display.pos_label == 1
    assert names(display.ax_) == ["square"]
    assert display.raw_line_ is None


def test_before_and_after(predictions):
    y, p = predictions
    display = CalibrationDisplay.from_predictions(y, p**2, y_raw=p, color="red")
    assert names(display.ax_) == ["Classifier (raw)", "Classifier"]
    assert np.abs(display.prob_true - display.prob_pred).mean() < 0.1
    predicted, happened = display.raw_line_.get_data()
    assert (predicted - happened)[3:-3].min() > 0.05
    assert display.line_.get_color() == "red"
    assert display.raw_line_.get_color() != "red"


def test_it_draws_where_it_is_told_and_again(predictions):
    figure, ax = plt.subplots()
    display = CalibrationDisplay.from_predictions(*predictions, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot(linewidth=3) is display
    assert display.ax_ is not ax
    assert display.line_.get_linewidth() == 3
    assert display.figure_.number in plt.get_fignums()  # pyplot will show it


def test_labels(predictions):
    y, p = predictions
    wanted = CalibrationDisplay.from_predictions(y, p).prob_true
    for labels, positive in [
        (y.astype(bool), None), (2 * y - 1, None), (np.where(y, "yes", "no"), "yes"),
    ]:  # fmt: skip
        display = CalibrationDisplay.from_predictions(labels, p, pos_label=positive)
        np.testing.assert_array_equal(display.prob_true, wanted)
    with pytest.raises(ValueError, match=r"pos_label must be given .* \['no', 'yes'\]"):
        CalibrationDisplay.from_predictions(labels, p)
    with pytest.raises(ValueError, match="pos_label must be given"):
        CalibrationDisplay.from_predictions(y + 1, p)


def test_bad_predictions(predictions):
    y, p = predictions
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=r"predictions must be in \[0, 1\], got 1.5 at position 3"):
        CalibrationDisplay.from_predictions(y, np.where(np.arange(500) == 3, 1.5, p))
    with pytest.raises(ValueError, match="same length"):
        CalibrationDisplay.from_predictions(y[1:], p)
    assert plt.get_fignums() == before


@pytest.fixture
def rows():
    random = np.random.default_rng(1)
    y = random.integers(3, size=900)
    return random.normal(size=(900, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y], y


def test_of_an_estimator(rows):
    X, y = rows
    model = GaussianNB().fit(X, y > 0)
    display = CalibrationDisplay.from_estimator(model, X, y > 0, n_bins=5)
    wanted = CalibrationDisplay.from_predictions(y > 0, model.predict_proba(X)[:, 1], n_bins=5)
    np.testing.assert_array_equal(display.prob_true, wanted.prob_true)
    assert display.pos_label
    assert names(display.ax_) == ["GaussianNB"]


def test_of_a_calibrated_estimator_shows_it_raw_too(rows):
    X, y = rows
    deployed = GaussianNB().fit(X[:300], y[:300])
    model = OnlineCalibratedClassifier(FrozenEstimator(deployed)).fit(X[300:600], y[300:600])
    late = X[600:], y[600:]
    display = CalibrationDisplay.from_estimator(model, *late, pos_label=2)
    assert names(display.ax_) == ["OnlineCalibratedClassifier (raw)", "OnlineCalibratedClassifier"]
    raw = CalibrationDisplay.from_predictions(late[1] == 2, deployed.predict_proba(late[0])[:, 2])
    # A bin that hardly anything falls into is drawn apart from the line.
    np.testing.assert_array_equal(display.raw_line_.get_ydata(), raw.line_.get_ydata())
    assert set(raw.line_.get_ydata()) <= set(raw.prob_true)
    alone = CalibrationDisplay.from_estimator(model, *late, pos_label=2, raw=False, name="late")
    assert names(alone.ax_) == ["late"]
    with pytest.raises(ValueError, match=r"pos_label must be one of .*, got None"):
        CalibrationDisplay.from_estimator(model, *late)


def test_margins_are_not_drawn_as_probabilities(rows):
    X, y = rows
    model = OnlineCalibratedClassifier(LinearSVC()).fit(X, y == 0)
    assert CalibrationDisplay.from_estimator(model, X, y == 0).raw_line_ is None


def test_without_matplotlib_the_error_says_what_to_install(predictions, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[plot\]'"):
        CalibrationDisplay.from_predictions(*predictions)
