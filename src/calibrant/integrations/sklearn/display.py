"""The reliability diagram, by scikit-learn's conventions for displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d

from calibrant._checks import Floats, describe
from calibrant.integrations.sklearn.classifier import OnlineCalibratedClassifier
from calibrant.measures import ReliabilityTable
from calibrant.report.figures import ReliabilityDiagram
from calibrant.report.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CalibrationDisplay:
    """Predicted against observed, with counts and intervals, before and after.

    Made by `from_estimator` or `from_predictions`, which compute and draw; `plot` draws again.
    The intervals are Wilson's, and the strip below counts the rows of each bin. To compare two
    estimators, give the other one's probabilities as `y_raw`, rather than the same axes twice.

    Parameters
    ----------
    diagram : ReliabilityDiagram
        The numbers; the last of its tables is that of the estimator.
    estimator_name : str
        What the legend says.
    pos_label : int, float, bool or str
        The class whose probability it is.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve of the estimator.
    raw_line_ : matplotlib Line2D or None
        That of the raw probabilities, if there are any.
    ax_ : matplotlib Axes
        The axes with the curves; the counts are in its child.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from calibrant.integrations.sklearn import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions(
    ...     [0, 0, 1, 0], [0.1, 0.2, 0.6, 0.6], y_raw=[0.1, 0.2, 0.9, 0.9], n_bins=2)
    >>> display.prob_pred, display.prob_true
    (array([0.15, 0.6 ]), array([0. , 0.5]))
    >>> display.line_.get_label(), display.raw_line_.get_label()
    ('Classifier', 'Classifier (raw)')
    """

    def __init__(self, diagram: ReliabilityDiagram, *, estimator_name: str, pos_label: Any) -> None:
        self.diagram = diagram
        self.estimator_name = estimator_name
        self.pos_label = pos_label

    @property
    def table(self) -> ReliabilityTable:
        """The estimator's numbers, one row per bin: counts, means and intervals."""
        return self.diagram.tables[self.estimator_name]

    @property
    def prob_pred(self) -> Floats:
        """The mean predicted probability of each bin that holds any row."""
        return self.table.mean_prediction[self.table.count > 0]

    @property
    def prob_true(self) -> Floats:
        """The share of rows of the positive class in the same bins."""
        return self.table.mean_outcome[self.table.count > 0]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 15,
        level: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        raw: bool = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a fitted classifier on data that it has not seen.

        Parameters
        ----------
        estimator : classifier
            With ``predict_proba``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        pos_label : int, float, bool or str, default None
            The class to look at; None stands for the second of two.
        name : str, default None
            What the legend says; the estimator's class if not given.
        raw : bool, default True
            For an `OnlineCalibratedClassifier` whose estimator gives probabilities: draw those too.
        n_bins, level, ax, **kwargs
            As in `from_predictions`.
        """
        classes = list(estimator.classes_)
        if pos_label is None and len(classes) == 2:
            pos_label = classes[1]
        if pos_label not in classes:
            raise ValueError(f"pos_label must be one of {classes}, got {describe(pos_label)}")
        column = classes.index(pos_label)
        y_raw = None
        if raw and isinstance(estimator, OnlineCalibratedClassifier):
            model = estimator.estimator_
            y_raw = model.predict_proba(X)[:, column] if hasattr(model, "predict_proba") else None
        return cls.from_predictions(
            y, estimator.predict_proba(X)[:, column], y_raw=y_raw, n_bins=n_bins, level=level,
            pos_label=pos_label, name=name or type(estimator).__name__, ax=ax, **kwargs,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: npt.ArrayLike,
        *,
        y_raw: npt.ArrayLike | None = None,
        n_bins: int = 15,
        level: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_prob : array-like of shape (n_samples,)
            The predicted probabilities of the positive class.
        y_raw : array-like of shape (n_samples,), default None
            The probabilities before recalibration, to draw beside the others.
        n_bins : int, default 15
            Bins of equal width.
        level : float, default 0.95
            Confidence level of the intervals.
        pos_label : int, float, bool or str, default None
            The positive class; may be left out where the labels are 0 and 1, or -1 and 1.
        name : str, default None
            What the legend says; "Classifier" if not given.
        ax : matplotlib Axes, default None
            Where to draw; on a new figure if not given.
        **kwargs
            For the estimator's curve, as in ``Line2D.set``.
        """
        labels = column_or_1d(y_true)
        if pos_label is None:
            if not any(np.isin(labels, pair).all() for pair in ([0, 1], [-1, 1])):
                raise ValueError(
                    "pos_label must be given where y_true holds others than 0 and 1 or -1 and 1, "
                    f"here {describe(np.unique(labels).tolist())}"
                )
            pos_label = 1
        name = name or "Classifier"
        before = {} if y_raw is None else {f"{name} (raw)": y_raw}
        diagram = ReliabilityDiagram.from_several(
            {**before, name: y_prob}, labels == pos_label, bins=n_bins, level=level
        )
        display = cls(diagram, estimator_name=name, pos_label=pos_label)
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw, on `ax` or on a new figure of pyplot's, and return the display itself.

        `kwargs` are for the estimator's curve, as in ``Line2D.set``.
        """
        if ax is None:
            with styled():  # says what to install where matplotlib is missing
                import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra, and slow to import

                _, ax = plt.subplots(figsize=(4.8, 5.4), layout="constrained")
        self.ax_ = self.diagram.plot(ax)
        self.figure_ = self.ax_.figure
        lines = {line.get_label(): line for line in self.ax_.lines}
        *before, name = self.diagram.tables
        self.line_ = lines[name]
        self.raw_line_ = lines[before[0]] if before else None
        self.line_.set(**kwargs)
        return self
