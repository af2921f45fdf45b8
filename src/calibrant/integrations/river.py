"""A river classifier whose probabilities stay calibrated. Needs the extra ``river``.

`CalibratedRegressor`, in `river_regressor`, does so for the intervals of a regressor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from calibrant._checks import Id, check_id, check_integer, check_seed, describe
from calibrant.integrations import ROUNDING
from calibrant.recalibrate import Recalibrator
from calibrant.recalibrate.one_vs_rest import nth_seed, summing_to_one

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
    and gives that probability and the outcome to a `Recalibrator`, which so learns only out of
    sample. ``predict_proba_one`` changes nothing, however often it is asked. What it gives is
    the very prediction that ``learn_one`` will count if it comes next, draw included, so that the
    exact calibration errors of the predictions shown are those that the recalibrator controls.

    Of two labels, one has a recalibrator and the other what it leaves; the one is True, or the
    label that came second. From the third label on, each has its own, one against the rest, and
    their predictions are divided by their sum. Until a second label has come, and where the model
    itself gives no probabilities yet, its own probabilities are passed on.

    Labels that come late are given by id: ``open_one(x, id)`` predicts and waits, and
    ``learn_one(x, y, id=...)`` teaches the model x and y, and the recalibrators what the model had
    predicted when it was asked, however much it has learned since. A label that is never announced
    is not for this class, since the model would have to learn it too: give the model's scores to a
    ``Recalibrator(silence=...)``.

    Parameters
    ----------
    model : river.base.Classifier
        Any classifier with ``predict_proba_one``, pipelines included.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1]; further labels count up from it.
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

    A label that comes late:

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
        self._labels: list[Any] = []
        self._recalibrators: dict[Any, Recalibrator] = {}
        if not self._multiclass:  # its labels are False and True, by river's convention
            self._meet(True)

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing, tree  # noqa: PLC0415 - for river's checks

        yield {"model": preprocessing.StandardScaler() | linear_model.LogisticRegression()}
        yield {"model": tree.HoeffdingTreeClassifier(), "seed": 1}

    @property
    def recalibrators(self) -> Mapping[Any, Recalibrator]:
        """The recalibrator of each label that has one, to read."""
        return MappingProxyType(self._recalibrators)

    def predict_raw_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the model's own probabilities, to set beside the calibrated ones."""
        return self.model.predict_proba_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the calibrated probability of each label; changes nothing."""
        raw = _checked(self.predict_raw_one(x, **kwargs))
        if not raw or not self._recalibrators:
            return raw
        return self._together(
            recalibrator._whole.next_prediction(raw.get(label, 0.0))
            for label, recalibrator in self._recalibrators.items()
        )

    def _together(self, predictions: Iterable[float]) -> dict[Any, float]:
        """Return the probability of each label from what the recalibrators predict."""
        labels = self._labels if len(self._labels) == 2 else self._recalibrators
        rows = summing_to_one(np.array(list(predictions)))
        return dict(zip(labels, rows.tolist(), strict=True))

    def open_one(self, x: dict[Any, Any], id: Id, **kwargs: Any) -> dict[Any, float]:  # noqa: A002
        """Return the calibrated probability of each label, and wait for the label of this id.

        It is what ``predict_proba_one`` gives. An id is used once.
        """
        raw, name = _checked(self.predict_raw_one(x, **kwargs)), check_id(id)
        if name in self._early or self._labels_waiting(name):
            raise ValueError(f"id {name!r} was predicted already and waits for its label")
        opened = {
            label: recalibrator.predict(raw.get(label, 0.0), id=name)
            for label, recalibrator in self._recalibrators.items()
            if raw
        }
        if opened:
            return self._together(opened.values())
        self._early[name] = None
        if len(self._early) > self.capacity:
            del self._early[next(iter(self._early))]
        return raw

    def _labels_waiting(self, name: Id) -> list[Any]:
        """Return the labels whose recalibrators predicted under an id, and wait."""
        found = self._recalibrators.items()
        return [label for label, each in found if each._book.round_of(name) is not None]

    def learn_one(
        self,
        x: dict[Any, Any],
        y: Any,
        id: Id | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> None:
        """Teach the model x and its label, and the recalibrators what it had predicted.

        With the id of ``open_one``, what it had predicted then; otherwise what it says now.
        """
        if id is not None:
            self._learn_late(x, y, check_id(id), **kwargs)
            return
        raw = _checked(self.predict_raw_one(x))
        self.model.learn_one(x, y, **kwargs)
        for label in (*raw, y):
            self._meet(label)
        if not raw:
            return  # the model gave no probabilities yet
        for label, recalibrator in self._recalibrators.items():
            recalibrator.predict(raw.get(label, 0.0))
            recalibrator.update(y == label)

    def _learn_late(self, x: dict[Any, Any], y: Any, name: Id, **kwargs: Any) -> None:
        labels = self._labels_waiting(name)
        if not labels and name not in self._early:
            raise ValueError(
                f"id {name!r} does not wait for its label: open_one() did not predict it, "
                "it had its label, or it expired"
            )
        self.model.learn_one(x, y, **kwargs)
        self._early.pop(name, None)
        for label in labels:
            self._recalibrators[label].update(y == label, id=name)
        self._meet(y)

    def _meet(self, label: Any) -> None:
        """Give a label that is new a recalibrator, unless it is what another one leaves."""
        if isinstance(label, bool | np.bool_) and not self._labels:
            self._labels.append(False)  # so that of the two it is True that has one
        if label in self._labels:
            return
        self._labels.append(label)
        # Of two labels, the first is what the second leaves; a third makes it count for itself.
        newcomers = {1: [], 3: [self._labels[0], label]}.get(len(self._labels), [label])
        for one in newcomers:
            seed = nth_seed(self.seed, len(self._recalibrators))
            self._recalibrators[one] = Recalibrator(seed=seed, capacity=self.capacity)


def _checked(raw: dict[Any, float]) -> dict[Any, float]:
    """Return a model's probabilities without their rounding, or name the one that is none."""
    for label, probability in raw.items():
        if not -ROUNDING <= probability <= 1.0 + ROUNDING:  # also refuses NaN
            raise ValueError(
                f"the model must give probabilities in [0, 1], "
                f"got {describe(probability)} for the label {label!r}"
            )
    return {label: min(max(float(p), 0.0), 1.0) for label, p in raw.items()}
