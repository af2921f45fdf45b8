"""A scikit-learn classifier whose probabilities are recalibrated batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import (
    _safe_indexing,
    check_random_state,
    get_tags,
)
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from calibrant._checks import Floats, check_choice, check_integer, check_seed, describe
from calibrant.integrations import ROUNDING
from calibrant.integrations.sklearn.labels import (
    Codes,
    checked,
    classes_of,
    codes_of,
    labels_of,
    of_rows,
    rows_with_labels,
)
from calibrant.recalibrate import MulticlassRecalibrator, Recalibrator

RESPONSES = ("auto", "predict_proba", "decision_function")


def learn(
    recalibrator: Recalibrator | MulticlassRecalibrator,
    scores: Floats,
    codes: Codes,
    weights: npt.NDArray[Any] | None,
) -> None:
    """Let a recalibrator learn the classes of rows, one after the other."""
    if isinstance(recalibrator, Recalibrator):
        recalibrator.run(scores[:, 0], codes == 1, weights=weights)
    else:
        recalibrator.run(scores, codes, weights=weights)


def weights_in(params: dict[str, Any]) -> npt.NDArray[Any] | None:
    """Return the weights among the parameters of a fit, None without."""
    weights = params.get("sample_weight")
    return None if weights is None else np.asarray(weights)


def _can_follow(classifier: OnlineCalibratedClassifier) -> bool:
    """Whether there is anything that `partial_fit` could start from."""
    estimator = classifier._model()
    return (
        hasattr(classifier, "estimator_")
        or isinstance(estimator, FrozenEstimator)
        or hasattr(estimator, "partial_fit")
    )


class OnlineCalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Recalibrate a classifier's probabilities, out of sample, and continue with new batches.

    - ``fit`` treats the rows as unordered, as scikit-learn does. Each of ``cv`` folds is scored by
      a clone of the estimator that was fitted on the others, and the recalibrator learns from these
      scores and the outcomes in random order. Finally, the estimator is fitted on all rows.
    - ``fit`` with a ``FrozenEstimator``, a model that is already deployed, has the recalibrator
      learn from its scores on X, in random order; the model must not have been fitted on X.
    - ``partial_fit`` takes the rows in order of time, oldest first, and later than all before. It
      scores the batch with the current model, has the recalibrator learn from it, and then calls
      the estimator's ``partial_fit``. An estimator without ``partial_fit``, or a frozen one, is not
      changed.

    A row with a late label is passed to ``partial_fit`` once the label is known; until then, its
    label may be missing there. There are no ids, so this class does not support labels that are
    never reported: pass ``raw_scores`` to a ``Recalibrator(silence=...)`` instead.

    With ``shuffle=False``, ``fit`` also takes the rows in order of time: it splits them into ``cv +
    1`` stretches, and scores each with a clone that is fitted on all rows before it. Rows selected
    by a cross-validation are not in order of time.

    ``predict_proba`` is pure: it returns the mean of what the recalibrator would draw (its
    ``expected``). See `docs/integrations.md` for the consequences.

    Parameters
    ----------
    estimator : classifier, default None
        The classifier to recalibrate; None stands for ``SGDClassifier(loss="log_loss")``.
    response_method : {"auto", "predict_proba", "decision_function"}, default "auto"
        Which scores of the estimator to use; "auto" prefers probabilities.
    cv : int, default 5
        The number of folds of ``fit``, at least two, and at most the number of rows of the rarest
        class; without `shuffle`, the number of stretches that are scored. A stretch is skipped if
        some class does not occur before it.
    shuffle : bool, default True
        Whether the rows of ``fit`` are unordered; False if they are in order of time.
    random_state : int, RandomState or None, default 0
        Seed of the draws, of the random order, and of the default estimator. With None, a different
        seed is used each time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimator_ : classifier
        The fitted estimator, or the frozen one.
    recalibrator_ : Recalibrator or MulticlassRecalibrator
        Of the second of two classes, or of three classes or more.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the estimator has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from calibrant.integrations.sklearn import OnlineCalibratedClassifier
    >>> X = np.random.default_rng(0).normal(size=(6000, 1))
    >>> y = np.random.default_rng(1).random(6000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> deployed = LogisticRegression().fit(X[:2000], y[:2000])
    >>> model = OnlineCalibratedClassifier(FrozenEstimator(deployed))
    >>> model = model.partial_fit(X[2000:], ~y[2000:])   # the world has turned over
    >>> deployed.predict_proba([[1.0]]).round(1), model.predict_proba([[1.0]]).round(1)
    (array([[0.3, 0.7]]), array([[0.7, 0.3]]))
    """

    # The labels are for this classifier, not something to be routed.
    __metadata_request__partial_fit = {"classes": UNUSED}  # noqa: RUF012 - as scikit-learn reads it

    def __init__(
        self,
        estimator: Any = None,
        *,
        response_method: str = "auto",
        cv: int = 5,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.response_method = response_method
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state

    # -- learning -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the estimator, and have the recalibrator learn its out-of-sample scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; in order of time if `shuffle` is False.
        y : array-like of shape (n_samples,)
            Their labels.
        **params
            For the estimator's ``fit``; those with one value per row are split like the rows.
            ``sample_weight`` also weights the rows in the recalibrator.
        """
        X, y = checked(X, y)
        weights, params = weights_in(params), self._routed("fit", params)
        estimator = self._model()
        if isinstance(estimator, FrozenEstimator):
            classes = classes_of(estimator)
            codes = codes_of(y, classes)
            pieces = iter([(estimator, np.arange(len(codes)))])
        else:
            classes, codes = np.unique(y, return_inverse=True)
            estimator = clone(estimator).fit(X, y, **params)
            cut = self._folds if self.shuffle else self._stretches
            pieces = self._models(estimator, X, y, params, cut(codes))
        recalibrator = self._fresh(estimator, len(classes))
        scored = [
            (self._scores(model, _safe_indexing(X, rows), len(classes)), codes[rows], rows)
            for model, rows in pieces
        ]
        if scored:
            scores, happened, at = (np.concatenate(parts) for parts in zip(*scored, strict=True))
            order = np.arange(len(happened))
            if self.shuffle:
                check_random_state(self.random_state).shuffle(order)
            heavy = None if weights is None else weights[at[order]]
            learn(recalibrator, scores[order], happened[order], heavy)
        return self._keep(estimator, classes, recalibrator)

    @available_if(_can_follow)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> Self:
        """Learn from a new batch: first the recalibrator from its scores, then the estimator.

        Parameters
        ----------
        X, y
            As in ``fit``; the rows are later than all before. Here a label may be missing (NaN,
            None or ``pandas.NA``): of such a row nothing is learned.
        classes : array-like of shape (n_classes,), default None
            All labels that may ever occur: required in the first call, unless ``fit`` was called
            before or the estimator is frozen.
        **params
            For the estimator's ``partial_fit``; ``sample_weight`` as in ``fit``.
        """
        weights, params = weights_in(params), self._routed("partial_fit", params)
        known = self._classes_of_stream(classes)
        rows = rows_with_labels(y)
        if rows is not None:
            check_consistent_length(X, y)
            if not len(rows) and hasattr(self, "estimator_"):
                return self
            params = of_rows(params, rows, len(y))
            weights = None if weights is None else weights[rows]
            X, y = _safe_indexing(X, rows), labels_of(y, rows)
        X, y = checked(X, y)
        codes = codes_of(y, known, rows)
        is_fitted = hasattr(self, "estimator_")
        estimator = self.estimator_ if is_fitted else clone(self._model())
        is_frozen = isinstance(estimator, FrozenEstimator)
        scores = self._scores(estimator, X, len(known)) if is_fitted or is_frozen else None
        if not is_frozen and hasattr(estimator, "partial_fit"):
            estimator.partial_fit(X, y, classes=known, **params)
        recalibrator = self.recalibrator_ if is_fitted else self._fresh(estimator, len(known))
        if scores is not None:
            learn(recalibrator, scores, codes, weights)
        return self._keep(estimator, known, recalibrator)

    # -- predicting ---------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated probability of each class for each row of X; changes nothing.

        An array of shape (n_samples, n_classes).
        """
        scores = self.raw_scores(X)
        if isinstance(self.recalibrator_, MulticlassRecalibrator):
            return self.recalibrator_.expected(scores)
        second = self.recalibrator_._whole._expected_many(scores[:, 0])
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the highest calibrated probability for each row of X."""
        most = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[most]
        return labels

    def raw_scores(self, X: Any) -> Floats:
        """Return the estimator's own scores, for comparison with the calibrated probabilities.

        An array of shape (n_samples, n_classes); of two classes, (n_samples, 1) with the score of
        the second.
        """
        check_is_fitted(self)
        return self._scores(self.estimator_, X, len(self.classes_))

    # -- conventions --------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where ``fit`` and ``partial_fit`` send their further arguments."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add(estimator=self._model(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._model()).input_tags
        return tags

    # -- inside -------------------------------------------------------------------------------

    def _model(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return SGDClassifier(loss="log_loss", random_state=self.random_state)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not get_config()["enable_metadata_routing"]:
            return params
        routed: dict[str, Any] = process_routing(self, method, **params).estimator[method]
        return routed

    def _folds(self, codes: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Yield the rows to fit a clone on and those that it scores, for each fold.

        There are none if some class has but one row.
        """
        splits = min(max(2, check_integer("cv", self.cv, 1)), int(np.bincount(codes).min()))
        if splits >= 2:
            random = check_random_state(self.random_state)
            folds = StratifiedKFold(splits, shuffle=True, random_state=random)
            yield from folds.split(np.zeros(len(codes)), codes)

    def _stretches(self, codes: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Yield the rows before a stretch of time and those of it.

        A stretch is passed over if the rows before it do not hold all classes.
        """
        pieces = np.array_split(np.arange(len(codes)), check_integer("cv", self.cv, 1) + 1)
        for stretch in pieces[1:]:
            before = np.arange(stretch[0]) if len(stretch) else stretch
            if len(np.unique(codes[before])) == codes.max() + 1:
                yield before, stretch

    def _models(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        params: dict[str, Any],
        pieces: Iterator[tuple[Codes, Codes]],
    ) -> Iterator[tuple[Any, Codes]]:
        """Yield a clone fitted on some rows, and the others that it is to score."""
        for rows, others in pieces:
            some = of_rows(params, rows, len(y))
            yield clone(estimator).fit(_safe_indexing(X, rows), y[rows], **some), others

    def _response(self, estimator: Any) -> str:
        asked = check_choice("response_method", self.response_method, RESPONSES)
        for name in RESPONSES[1:] if asked == "auto" else (asked,):
            if hasattr(estimator, name):
                return name
        raise ValueError(
            f"the estimator must have {' or '.join(RESPONSES[1:]) if asked == 'auto' else asked}, "
            f"got {describe(estimator)}"
        )

    def _scores(self, estimator: Any, X: Any, classes: int) -> Floats:
        """Return a column of scores for each class, or for the second of two."""
        name = self._response(estimator)
        scores = np.asarray(getattr(estimator, name)(X), dtype=np.float64)
        if name == "predict_proba":
            sound, allowed = (scores >= -ROUNDING) & (scores <= 1.0 + ROUNDING), "in [0, 1]"
        else:
            sound, allowed = np.isfinite(scores), "finite"
        if not sound.all():
            place = tuple(np.argwhere(~sound)[0])
            raise ValueError(
                f"{name} of the estimator must be {allowed}, "
                f"got {float(scores[place])!r} at position {place[0]} of X"
            )
        if name == "predict_proba":
            scores = scores[:, 1 if scores.shape[1] == 2 else 0 :].clip(0.0, 1.0)
        else:
            scores = scores.reshape(len(scores), -1)
        if scores.shape[1] != _columns(classes):  # such as those of pairs of classes
            raise ValueError(
                f"the estimator must give one score per class, {_columns(classes)} a row, "
                f"got {scores.shape[1]}"
            )
        return scores

    def _fresh(self, estimator: Any, classes: int) -> Recalibrator | MulticlassRecalibrator:
        if classes < 2:
            raise ValueError(f"y must hold at least two classes, got {classes}")
        is_probability = self._response(estimator) == "predict_proba"
        state = self.random_state
        if state is None or isinstance(state, np.random.RandomState):
            state = check_random_state(state).randint(2**31 - 1)
        seed = check_seed(state)
        if classes == 2:
            return Recalibrator("probability" if is_probability else "margin", seed=seed)
        return MulticlassRecalibrator(
            classes, "probability" if is_probability else "logit", seed=seed
        )

    def _classes_of_stream(self, classes: Any) -> npt.NDArray[Any]:
        """Return the labels that `partial_fit` may meet."""
        if hasattr(self, "classes_"):
            known = self.classes_
        elif isinstance(self._model(), FrozenEstimator):
            known = classes_of(self._model())
        elif classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        else:
            return np.unique(np.asarray(classes))
        if classes is not None and set(np.asarray(classes).tolist()) != set(known.tolist()):
            raise ValueError(f"classes must be {known} as before, got {describe(classes)}")
        return known

    def _keep(
        self,
        estimator: Any,
        classes: npt.NDArray[Any],
        recalibrator: Recalibrator | MulticlassRecalibrator,
    ) -> Self:
        self.classes_ = classes
        self.estimator_ = estimator
        self.recalibrator_ = recalibrator
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self


def _columns(classes: int) -> int:
    """Return how many scores a row has: of two classes, the second's does for both."""
    return 1 if classes == 2 else classes
