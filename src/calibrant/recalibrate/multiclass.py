"""The recalibrator of several classes: rows of probabilities in, rows that sum to one out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved
from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    check_choice,
    check_id,
    check_integer,
    check_same_length,
    check_seed,
    check_unmasked,
    describe,
)
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.saved import check_names
from calibrant._times import Time
from calibrant.recalibrate.class_rule import ClassRule
from calibrant.recalibrate.named_columns import named_row
from calibrant.recalibrate.one_vs_rest import NOT_KNOWN, PerClass
from calibrant.recalibrate.recalibrator import PENDING, taken
from calibrant.recalibrate.saving import load_rounds, save_rounds, take_rounds
from calibrant.recalibrate.top_label import TopLabel
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

MODES = ("per-class", "top-label")
#: With "per-class", so many take about 1 GB.
MOST_CLASSES = 2**16


class MulticlassRecalibrator(Savable, Learner):
    """Turn a model's probabilities of several classes into ones that stay calibrated.

    `docs/multiclass.md` says how, and what each mode promises.

    Parameters
    ----------
    classes : int or sequence of str or int
        How many classes, labelled 0, 1, ...; or their labels, in the order of the columns. At
        most 65,536.
    mode : {"per-class", "top-label"}, default "per-class"
        Recalibrate each class against the rest and divide by the sum; or recalibrate the
        probability of the likeliest class, given which one it is, and let the others keep their
        proportions.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    capacity : int, default 100_000
        How many predictions with an id may wait for their labels; also how many finished ids are
        remembered, so that a label that comes twice is counted once.
    when_full : {"expire", "refuse"}, default "expire"
        What happens when one more would wait: the oldest expires, or the new one is refused.
    silence : str or int, optional
        The class that is not announced: a prediction without a label by its deadline was of this
        one. The others are used as soon as they come (`docs/silence.md`), with "per-class"; with
        "top-label" all are learned at the deadlines. Predictions then have an id.
    after : number, timedelta or text such as "30d", optional
        The deadline with `silence`, as in `Recalibrator`. A row may have its own, ``due=...``.
    hold : number, timedelta or text, optional
        Learn every label at this age, or when it comes if that is later.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import MulticlassRecalibrator
    >>> random = np.random.default_rng(0)
    >>> truth = random.dirichlet([1, 1, 1], 5000)
    >>> labels = (random.random((5000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    >>> sharpened = truth**3 / (truth**3).sum(axis=1, keepdims=True)  # a model too sure of itself
    >>> recalibrator = MulticlassRecalibrator(3, mode="top-label", seed=7)
    >>> predictions = recalibrator.run(sharpened, labels)
    >>> recalibrator.expected([0.9, 0.05, 0.05]).round(1).tolist()
    [0.6, 0.2, 0.2]

    Labels that come late are given by id:

    >>> row = recalibrator.predict([0.1, 0.2, 0.7], id="a")
    >>> recalibrator.update(2, id="a")
    'applied'

    One class may be silence, here after 30 predictions:

    >>> orders = MulticlassRecalibrator(["kept", "returned", "lost"], silence="kept", after=30)
    >>> for order in range(40):
    ...     row = orders.predict([0.8, 0.15, 0.05], id=order)
    >>> orders.update("lost", id=35)
    'applied'
    >>> orders.learned, orders.pending      # the first eleven were kept
    (11, 29)
    """

    __slots__ = ()

    mode: str
    seed: int
    capacity: int
    when_full: str
    silence: Id | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None
    _rule: ClassRule

    def __init__(
        self,
        classes: int | Sequence[Id],
        mode: str = "per-class",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        when_full: str = "expire",
        silence: Id | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
    ) -> None:
        labels = self._given["classes"] = check_classes(classes)
        engine = PerClass if check_choice("mode", mode, MODES) == "per-class" else TopLabel
        rule = ClassRule(labels, engine(len(labels), check_seed(seed)))
        silent = None if silence is None else float(rule.column(silence, "silence"))
        policy = Policy.of(
            silence=silent, after=after, hold=hold, capacity=capacity, when_full=when_full
        )
        rule.attend(silent)
        super().__init__(rule, policy)

    @property
    def classes(self) -> list[Id]:
        """The labels in the order of the columns."""
        return list(self._rule.labels)

    @property
    def _engine(self) -> PerClass | TopLabel:
        return self._rule.engine

    def predict(
        self,
        probabilities: npt.ArrayLike,
        *,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
        due: Time | None = None,
    ) -> Floats:
        """Return the recalibrated row, which sums to one, and open a round.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(label, id)``. An id is used once. `at`
        says when it is predicted, for deadlines and ``expire(before=...)``, and `due` is the
        deadline of this row, with `silence` or `hold`.
        """
        row: Floats = self._predict(self._row(probabilities), id, None, at, due)
        return row

    def predict_many(
        self,
        probabilities: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        at: Any = None,
        due: Any = None,
    ) -> Floats:
        """Return the recalibrated rows for many, as things stand now.

        Each is what `predict` would give in its place. Those with ids wait for their labels, which
        `update_many` or `update` bring; without ids nothing waits. `at` is one time for all rows,
        or one a row.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> recalibrator = MulticlassRecalibrator(["cat", "dog"])
        >>> _ = recalibrator.predict_many([[0.9, 0.1], [0.4, 0.6]], ids=["a", "b"])
        >>> recalibrator.update_many(["dog", "cat"], ids=["b", "a"]).tolist()
        ['applied', 'applied']
        """
        rows: Floats = self._predict_many(probabilities, ids, None, at, due)
        return rows

    def run(
        self,
        probabilities: npt.ArrayLike,
        labels: Sequence[Id | None] | npt.NDArray[Any],
        *,
        at: Any = None,
        due: Any = None,
    ) -> Floats:
        """Predict each row and then learn its label; return the rows predicted.

        What `predict` and `update` without ids give, bit for bit, in compiled loops. The columns of
        a data frame are matched with the labels by name; those of an array are in their order. A
        label that is None or NaN is not known: the row is predicted, and nothing is learned. All or
        nothing: interrupted with Ctrl-C, it is as if `run` had not been called. With `silence` or
        `hold` each label is known right after its prediction and learned at its deadline, as in
        `Recalibrator.run`.
        """
        rule = self._rule
        rows = rule.check(probabilities, None)
        columns = rule.columns_of(labels, missing=True)
        check_same_length("probabilities", len(rows), "labels", len(columns))
        if len(rows) == 0:
            return rows
        with self._book.lock:
            if self._book.has_deadlines or at is not None or due is not None:
                opened: list[Any] = []
                outcomes = np.where(columns == NOT_KNOWN, np.nan, columns)
                self._play(rows, outcomes, at=at, due=due, opened=opened)
                return rule.answers(opened)
            predictions = rule.engine.run(rows, columns)
            self._book.unnamed = None
        return predictions

    def expected(self, probabilities: npt.ArrayLike) -> Floats:
        """Return the row that `predict` gives now if each draw takes its mean; changes nothing.

        Of several rows, each of them. The classes are put together after the means are taken, not
        before.
        """
        many = is_table(probabilities)
        rows = self._rule.check(probabilities, None) if many else self._row(probabilities)[None]
        with self._book.lock:
            means = self._rule.engine.expected(rows)
        return means if many else means[0]

    @classmethod
    def _check_size(cls, saved: Saved) -> None:
        """Refuse more classes than there are saved recalibrators, before any is made."""
        parameters, state = saved.parameters, saved.state
        if parameters.get("mode", MODES[0]) == MODES[0]:
            classes = len(check_classes(parameters["classes"]))
            if np.size(state["class_rounds"]) != classes:
                raise ValueError(f"saved class_rounds must be of {classes} classes")

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            state = self._rule.engine.get_state() | save_book(self._book)
            state |= save_rounds(waiting_rounds(self._book))
            silences = self._rule.save_silences()
            return self.rounds, state | {PENDING + k: part for k, part in silences.items()}

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        book, tokens, silences = take_book(state), take_rounds(state), taken(state, PENDING)
        engine = self._rule.engine
        engine.set_state(state)
        check_names(state, set(engine.get_state()))
        if self.rounds != rounds:
            raise ValueError(f"saved rounds are {rounds} and {self.rounds}")
        waiting = load_rounds(tokens, engine.check_pending, engine.words_of)
        load_book(self._book, book, waiting, rounds, len(self._rule.labels))
        self._rule.load_silences(silences, [each for _, each in self._book.waiting()])

    def _row(self, probabilities: npt.ArrayLike) -> Floats:
        check_unmasked(probabilities, "probabilities")
        given = named_row(probabilities, self._rule.labels)
        try:
            row = np.asarray(given)
        except ValueError:  # a list of lists of different lengths
            row = np.empty(())
        if row.ndim != 1:
            raise ValueError(
                f"probabilities must be one row of {len(self._rule.labels)}, "
                f"got {describe(probabilities)}"
            )
        checked: Floats = self._rule.check(row[None], None)[0]
        return checked


def is_table(probabilities: object) -> bool:
    """Return whether these are several rows, and not one or none."""
    try:
        return np.ndim(probabilities) == 2  # type: ignore[arg-type]
    except ValueError:  # a list of lists of different lengths
        return False


def check_classes(classes: object) -> list[Id]:
    """Return the labels of two classes or more."""
    if isinstance(classes, int | np.integer):
        return list(range(check_integer("classes", classes, 2, MOST_CLASSES)))
    listed = as_listed(classes, "classes", "a number or a sequence")
    labels = [check_id(label, "each of the classes") for label in listed]
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise ValueError(
            f"classes must be two labels or more, all distinct, got {describe(labels)}"
        )
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"classes must be at most {MOST_CLASSES}, got {len(labels)}")
    return labels
