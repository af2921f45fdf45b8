"""A river classifier whose probabilities stay calibrated. Needs the extra ``river``.

`CalibratedRegressor`, in `river_regressor`, does so for the intervals of a regressor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calibrant._checks import Id, check_id, check_integer, check_seed, describe
from calibrant.integrations import ROUNDING, weight_in
from calibrant.recalibrate import MulticlassRecalibrator, Recalibrator

try:
    from river import base
except ImportError as error:
    raise ImportError(
        "calibrant.integrations.river needs river: pip install 'calibrant[river]'"
    ) from error

from calibrant.integrations.river_regressor import CalibratedRegressor

__all__ = ["CalibratedClassifier", "CalibratedRegressor"]


class CalibratedClassifier(base.Wrapper[base.Classifier], base.Classifier):
    """Recalibrate the probabilities of a river classifier while both of them learn.

    ``learn_one(x, y)`` takes the model's probability for x before it learns y, teaches it x and y,
    and gives that probability and the outcome to a recalibrator, which so learns only out of
    sample. ``predict_proba_one`` changes nothing, however often it is called. What it gives is
    the very prediction that ``learn_one`` will count if it comes next, draw included, so that the
    exact calibration errors of the predictions shown are those that the recalibrator controls.

    A classifier of False and True has a `Recalibrator` of True. One of any labels has a
    `MulticlassRecalibrator`, to which every label that the model or the stream names is a class
    from then on. Where the model itself gives no probabilities yet, nothing is recalibrated.

    Labels that arrive late are given by id: ``open_one(x, id=...)`` predicts and waits, and
    ``learn_one(x, y, id=...)`` teaches the model x and y, and the recalibrator what the model had
    predicted when it was asked, however much it has learned since. A label that is never announced
    is not for this class, since the model would have to learn it too: give the model's scores to a
    ``Recalibrator(silence=...)``.

    Parameters
    ----------
    model : river.base.Classifier
        Any classifier with ``predict_proba_one``, pipelines included.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    capacity : int, default 100_000
        How many predictions may wait for their labels by id; the oldest expire.

    Examples
    --------
    >>> from random import Random
    >>> from river import naive_bayes
    >>> from calibrant.integrations.river import CalibratedClassifier
    >>> model = CalibratedClassifier(naive_bayes.BernoulliNB(), seed=7)
    >>> random = Random(1)
    >>> for t in range(6000):
    ...     hot = t % 2 == 0
    ...     x = {"a": hot, "b": hot, "c": hot}  # one feature thrice: naive Bayes is too sure
    ...     model.learn_one(x, random.random() < (2 / 3 if hot else 1 / 3))
    >>> x = {"a": True, "b": True, "c": True}   # of the hot ones, two thirds
    >>> round(model.predict_raw_one(x)[True], 1), round(model.predict_proba_one(x)[True], 1)
    (0.9, 0.7)

    A label that arrives late:

    >>> _ = model.open_one(x, id="order 17")
    >>> model.learn_one(x, True, id="order 17")
    """

    def __init__(self, model: base.Classifier, *, seed: int = 0, capacity: int = 100_000) -> None:
        if isinstance(model, type) or not hasattr(model, "predict_proba_one"):
            raise ValueError(
                f"model must be a classifier with predict_proba_one, got {describe(model)}"
            )
        self.model = model
        self.seed = check_seed(seed)
        self.capacity = check_integer("capacity", capacity, 1)
        # Ids that wait, oldest first, and of which there was nothing to recalibrate yet.
        self._early: dict[Id, None] = {}
        self._labels: list[Any] = []  # their places are the classes of the recalibrator
        self.recalibrator: Recalibrator | MulticlassRecalibrator
        if self._multiclass:
            self.recalibrator = MulticlassRecalibrator(None, seed=self.seed, capacity=capacity)
        else:  # its labels are False and True, by river's convention
            self.recalibrator = Recalibrator(seed=self.seed, capacity=capacity)
            self._labels += [False, True]

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing, tree  # noqa: PLC0415 - for river's checks

        yield {"model": preprocessing.StandardScaler() | linear_model.LogisticRegression()}
        yield {"model": tree.HoeffdingTreeClassifier(), "seed": 1}

    def predict_raw_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the model's own probabilities, to set beside the calibrated ones."""
        return self.model.predict_proba_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the calibrated probability of each label; changes nothing."""
        raw = _checked(self.predict_raw_one(x, **kwargs))
        if not raw or not any(label in self._labels for label in raw):
            return raw
        if isinstance(self.recalibrator, Recalibrator):
            return self._shown(self.recalibrator._whole.next_prediction(raw.get(True, 0.0)))
        if len(self.recalibrator.classes or ()) < 2:
            return raw  # one class is certain: there is nothing to recalibrate
        known = {label: p for label, p in raw.items() if label in self._labels}
        return self._shown(self.recalibrator._next(self._row(known)))

    def _row(self, raw: dict[Any, float]) -> dict[int, float]:
        """Return a model's probabilities by the places of their labels, summing to one."""
        total = sum(raw.values())
        places = {label: place for place, label in enumerate(self._labels)}
        if total <= 0.0:
            return {places[label]: 1.0 / len(raw) for label in raw}
        return {places[label]: p / total for label, p in raw.items()}

    def _shown(self, predicted: Any) -> dict[Any, float]:
        """Return the probability of each label from what the recalibrator predicts."""
        if isinstance(self.recalibrator, Recalibrator):
            return {False: 1.0 - predicted, True: predicted}
        labels = (self._labels[place] for place in self.recalibrator.classes)  # type: ignore[index]
        return dict(zip(labels, predicted.tolist(), strict=True))

    def _meet(self, labels: Any) -> None:
        """Give labels that are new their places."""
        self._labels += [label for label in dict.fromkeys(labels) if label not in self._labels]

    def _predict(self, raw: dict[Any, float], name: Id | None) -> dict[Any, float]:
        """Predict, and wait for the label."""
        if isinstance(self.recalibrator, Recalibrator):
            return self._shown(self.recalibrator.predict(raw.get(True, 0.0), id=name))
        self._meet(raw)
        return self._shown(self.recalibrator.predict(self._row(raw), id=name))

    def _learn(self, y: Any, name: Id | None, weight: float | None) -> None:
        """Let the recalibrator learn a label."""
        if isinstance(self.recalibrator, Recalibrator):
            self.recalibrator.update(bool(y), id=name, weight=weight)
            return
        self._meet([y])
        self.recalibrator.update(self._labels.index(y), id=name, weight=weight)

    def open_one(
        self,
        x: dict[Any, Any],
        *,
        id: Id,  # noqa: A002
        **kwargs: Any,
    ) -> dict[Any, float]:
        """Return the calibrated probability of each label, and wait for the label of this id.

        It is what ``predict_proba_one`` gives. An id is used once.
        """
        raw, name = _checked(self.predict_raw_one(x, **kwargs)), check_id(id)
        if name in self._early or self._waits(name):
            raise ValueError(f"id {name!r} was predicted already and is still pending")
        if raw:
            return self._predict(raw, name)
        self._early[name] = None
        if len(self._early) > self.capacity:
            del self._early[next(iter(self._early))]
        return raw

    def _waits(self, name: Id) -> bool:
        """Return whether the recalibrator predicted under an id, and waits."""
        return self.recalibrator._book.round_of(name) is not None

    def learn_one(
        self,
        x: dict[Any, Any],
        y: Any,
        *,
        id: Id | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> None:
        """Teach the model x and its label, and the recalibrator what it had predicted.

        With the id of ``open_one``, what it had predicted then; otherwise what it says now. A
        weight, ``w``, says how much the label teaches both.
        """
        weight = weight_in(kwargs)
        if id is not None:
            self._learn_late(x, y, check_id(id), **kwargs)
            return
        raw = _checked(self.predict_raw_one(x))
        self.model.learn_one(x, y, **kwargs)
        if raw:  # else the model gave no probabilities yet
            self._predict(raw, None)
            self._learn(y, None, weight)

    def _learn_late(self, x: dict[Any, Any], y: Any, name: Id, **kwargs: Any) -> None:
        is_waiting = self._waits(name)
        if not is_waiting and name not in self._early:
            raise ValueError(
                f"no prediction with id {name!r} is pending: open_one() did not predict it, "
                "it has its label, or it expired"
            )
        weight = weight_in(kwargs)
        self.model.learn_one(x, y, **kwargs)
        self._early.pop(name, None)
        if is_waiting:
            self._learn(y, name, weight)


def _checked(raw: dict[Any, float]) -> dict[Any, float]:
    """Return a model's probabilities without their rounding, or name the one that is none."""
    for label, probability in raw.items():
        if not -ROUNDING <= probability <= 1.0 + ROUNDING:  # also refuses NaN
            raise ValueError(
                f"the model must give probabilities in [0, 1], "
                f"got {describe(probability)} for the label {label!r}"
            )
    return {label: min(max(float(p), 0.0), 1.0) for label, p in raw.items()}
