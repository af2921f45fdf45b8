"""The recalibrator of several classes: rows of scores in, rows that sum to one out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

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
    describe,
)
from calibrant._groups import known_group
from calibrant._kernels.classes.class_mixture import words_of
from calibrant._kernels.classes.class_rule import ClassLearner, ClassRule
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.scores.pending import PendingKernel
from calibrant._times import Time
from calibrant.forecasters.memories import Memory, heaviest_first
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.monitor.side_by_side import SideBySide
from calibrant.recalibrate.named_columns import by_name, named_row
from calibrant.recalibrate.saving import (
    PENDING,
    WATCH,
    load_groups,
    load_monitors,
    load_silence,
    prefixed,
    save_groups,
    save_silence,
    taken,
)
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

KINDS = ("probability", "logit")
MOST_CLASSES = 2**16


class MulticlassRecalibrator(Savable, ClassLearner):
    """Turn a model's scores of several classes into probabilities that stay calibrated.

    A mixture of temperatures, biases, base rates and confusions, each with several memories,
    estimates a row. Its likeliest class is the *named* class, whose probability is placed on the
    grid of `Recalibrator`; the others share the rest in proportion. Proved in `docs/multiclass.md`:
    a log loss near that of the best expert in the mixture, and the calibration of the named class,
    whatever happens.

    Parameters
    ----------
    classes : int, sequence of str or int, or None
        The number of classes, labelled 0, 1, ...; or their labels, in the order of the columns. At
        most 65,536. With None, classes are discovered: scores are then dicts or data frames, and
        every new name or label becomes a class.
    kind : {"probability", "logit"}, default "probability"
        The kind of the scores: rows that sum to one, or any finite numbers, whose softmax is used.
        A probability may be 0: it counts as half of the smallest one seen.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    capacity : int, default 100_000
        The maximal number of pending predictions with an id; also the number of finished ids that
        are remembered, so that a label given twice is counted once. Each takes 8 bytes per class,
        and all of them together at most 16 MB more.
    when_full : {"expire", "refuse"}, default "expire"
        What to do at capacity: the oldest pending prediction expires, or the new one is refused.
    max_groups : int, default 1000
        The maximal number of groups in `by`. A group takes as much memory as the whole.
    silence : str or int, optional
        The class that is not reported: the class of predictions without a label at their deadline.
        The others are used as soon as they arrive (`docs/silence.md`). Predictions then need an
        id.
    after : number, timedelta or text such as "30d", optional
        The deadline with `silence`, as in `Recalibrator`. A row may have its own, ``due=...``.
    hold : number, timedelta or text, optional
        Learn every label at this age, or when it arrives if that is later.
    monitor : bool, dict or Monitor, default False
        Whether to monitor the probability of the named class, in the scores and as predicted, side
        by side (`monitors`), as in `Recalibrator`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import MulticlassRecalibrator
    >>> random = np.random.default_rng(0)
    >>> truth = random.dirichlet([1, 1, 1], 5000)
    >>> labels = (random.random((5000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    >>> sharpened = truth**3 / (truth**3).sum(axis=1, keepdims=True)  # a model too sure of itself
    >>> recalibrator = MulticlassRecalibrator(3, seed=7)
    >>> predictions = recalibrator.run(sharpened, labels)
    >>> recalibrator.expected([0.9, 0.05, 0.05]).round(1).tolist()
    [0.6, 0.2, 0.2]

    Labels that arrive late are given by id:

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

    kind: str
    seed: int
    capacity: int
    when_full: str
    max_groups: int
    silence: Id | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None
    monitor: bool | Mapping[str, Any]
    _rule: ClassRule

    def __init__(
        self,
        classes: int | Sequence[Id] | None,
        kind: str = "probability",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        when_full: str = "expire",
        max_groups: int = 1000,
        silence: Id | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        labels = check_classes(classes, silence)
        self._given["classes"] = None if classes is None else labels
        silent = None if silence is None else column_of(silence, labels)
        policy = Policy.of(
            silence=silent,
            after=after,
            hold=hold,
            capacity=capacity,
            when_full=when_full,
            classes=len(labels),
        )
        groups = check_integer("max_groups", max_groups, 0, sys.maxsize)
        settings = None if monitor is False else settings_of(monitor)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        rule = ClassRule(
            labels,
            check_choice("kind", kind, KINDS),
            check_seed(seed),
            grows=classes is None,
            silent=silent,
            silence=None if silent is None else PendingKernel(0),
            max_groups=groups,
        )
        watcher = None if settings is None else SideBySide(settings, groups, patience=capacity)
        super().__init__(rule, policy, watcher)

    @property
    def classes(self) -> list[Id]:
        """The labels in the order of the columns."""
        return list(self._rule.labels)

    @property
    def groups(self) -> dict[Id, int]:
        """The names of the groups in order of appearance, with their numbers of predictions."""
        return {name: kernel.begun for name, kernel in self._rule.groups.items()}

    @property
    def monitors(self) -> SideBySide | None:
        """The monitors of the named class, None without ``monitor=True``."""
        watcher: SideBySide | None = self._book.watcher
        return watcher

    def add_class(self, label: Id) -> None:
        """Have one more class, in a column after the others; nothing is known of it yet.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> recalibrator = MulticlassRecalibrator(["cat", "dog"])
        >>> recalibrator.add_class("fox")
        >>> recalibrator.predict([0.2, 0.8, 0.0]).shape
        (3,)
        """
        name = check_id(label, "label")
        with self._book.lock:
            labels = self._rule.labels
            if name in labels or len(labels) >= MOST_CLASSES:
                raise ValueError(
                    f"label must be a new class, one of at most {MOST_CLASSES}, "
                    f"got {describe(name)}"
                )
            with uninterrupted:
                self._rule.add_class(name)
                if self._given["classes"] is not None:
                    self._given["classes"] = list(labels)

    # -- predictions ----------------------------------------------------------------------------

    def _predict_named(self, probabilities: Any, *given: Any) -> Floats:
        """Predict a row whose columns have names."""
        with self._new_labels():
            row = named_row(probabilities, self._rule.labels, self._add)
            prediction: Floats = self._predict(row, *given)
        return prediction

    def predict_many(
        self,
        probabilities: Any,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        at: Any = None,
        due: Any = None,
    ) -> Floats:
        """Return the recalibrated rows for many rows, all from the current state.

        Each is what `predict` would return in its place. Rounds with ids are pending until
        `update_many` or `update`; without ids, no rounds are opened. `at` is one time for all rows,
        or one per row.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> recalibrator = MulticlassRecalibrator(["cat", "dog"])
        >>> _ = recalibrator.predict_many([[0.9, 0.1], [0.4, 0.6]], ids=["a", "b"])
        >>> recalibrator.update_many(["dog", "cat"], ids=["b", "a"]).tolist()
        ['applied', 'applied']
        """
        with self._new_labels():
            given = self._table(probabilities)
            rows: Floats = self._predict_many(given, ids, names_of(by), at, due)
        return rows

    def run(
        self,
        probabilities: Any,
        labels: Sequence[Id | None] | npt.NDArray[Any],
        *,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        at: Any = None,
        due: Any = None,
        weights: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predict each row and then learn its label; return the rows predicted.

        A compiled loop that gives the same results as `predict` and `update` without ids, bit for
        bit. The columns of a data frame are matched with the labels by name; those of an array are
        in their order. A label that is None or NaN is unknown: the row is predicted, and nothing is
        learned. All or nothing: if it is interrupted with Ctrl-C, the state is as before the call.
        With `silence` or `hold`, each label is known right after its prediction and learned at its
        deadline, as in `Recalibrator.run`, and `weights` are as there. With ``classes=None``, all
        classes of the call exist from its start.
        """
        rule, names = self._rule, names_of(by)

        def body() -> Floats:
            given = self._table(probabilities)
            columns = rule.columns_of(labels, missing=True)
            if rule.grows:
                given = self._table(probabilities)
            rows = rule.check(given, names)
            check_same_length("probabilities", len(rows), "labels", len(columns))
            if len(rows) == 0:
                return rows
            is_plain = not self._book.has_deadlines and self.monitors is None
            is_weighed = weights is not None or self._is_weighed
            if not is_plain or is_weighed or at is not None or due is not None:
                return self._play(rows, columns, names, at=at, due=due, opened=[], weights=weights)
            self._book.forget_unnamed()
            return rule.run(rows, names, columns)

        return self._all_or_nothing(body)

    def fit(self, probabilities: Any, labels: Any, *, by: Any = None, **more: Any) -> Self:
        """Learn from history, oldest row first, as `run` does; return the recalibrator itself.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> MulticlassRecalibrator(2).fit([[0.3, 0.7], [0.8, 0.2]], [1, 0]).learned
        2
        """
        self.run(probabilities, labels, by=by, **more)
        return self

    # -- labels ---------------------------------------------------------------------------------

    def _update_named(
        self, outcome: Any, name: Id | None, at: Time | None, weight: float | None
    ) -> str | None:
        """Learn a label that may be new."""
        with self._new_labels():
            return Learner.update(self, outcome, id=name, at=at, weight=weight)

    def update_many(
        self, outcomes: Any, *, ids: Any, at: Any = None, weights: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.str_]:
        """Learn labels that arrived together, by id; return the answer to each.

        As `Recalibrator.update_many`.
        """
        with self._new_labels():
            return super().update_many(outcomes, ids=ids, at=at, weights=weights)

    @contextmanager
    def _new_labels(self) -> Iterator[None]:
        """Remove labels added in the body if it is refused."""
        with uninterrupted:
            before = len(self._rule.labels)
            try:
                yield
            except BaseException:
                self._rule.forget_labels(before)
                raise

    @property
    def _add(self) -> Any:
        """What adds a label that a row names, if there may be more."""
        return self._add_label if self._rule.grows else None

    def _add_label(self, label: Id) -> None:
        name = check_id(label, "each of the classes")
        if len(self._rule.labels) >= MOST_CLASSES:
            raise ValueError(f"classes must be at most {MOST_CLASSES}")
        if name not in self._rule.columns:
            self._rule.add_label(name)

    # -- looking --------------------------------------------------------------------------------

    def expected(self, probabilities: Any, *, by: Any = None) -> Floats:
        """Return the row of `predict` with the draw replaced by its mean; changes nothing.

        For several rows, each of them.
        """
        rows: Floats = self._looked(probabilities, by)[2]
        return rows

    def smooth(self, probabilities: Any, *, by: Any = None) -> Floats:
        """Return the mixture's row, which is not placed on the grid, for ranking.

        For several rows, each of them. Changes nothing.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> MulticlassRecalibrator(3).smooth([0.5, 0.25, 0.25]).round(2).tolist()
        [0.49, 0.26, 0.26]
        """
        mixed = self._looked(probabilities, by)[0].astype(np.float64)
        rows: Floats = mixed / mixed.sum(axis=-1, keepdims=True)
        return rows

    def named(self, probabilities: Any, *, by: Any = None) -> Any:
        """Return the label of the class that `predict` makes the likeliest, of each row.

        Examples
        --------
        >>> from calibrant import MulticlassRecalibrator
        >>> MulticlassRecalibrator(["cat", "dog"]).named([0.2, 0.8])
        'dog'
        """
        found = self._looked(probabilities, by)[1]
        labels = self._rule.labels
        return labels[int(found)] if np.ndim(found) == 0 else [labels[int(at)] for at in found]

    def _next(self, probabilities: Any) -> Floats:
        """Return the row that `predict` would give now, draw included; changes nothing."""
        row: Floats = self._looked(probabilities, None)[3]
        return row

    def _looked(self, probabilities: Any, by: Any) -> tuple[Any, ...]:
        """Return what the rule's look does, of one row or of many."""
        is_one = not is_table(probabilities)
        labels = self._rule.labels
        with self._new_labels():
            if is_one:
                row = named_row(probabilities, labels, self._refuse_label)
                try:
                    rows: Any = np.asarray(row)
                except ValueError:  # a list of lists of different lengths
                    rows = np.empty(())
                if rows.ndim != 1:
                    raise ValueError(
                        f"probabilities must be one row of {len(labels)}, "
                        f"got {describe(probabilities)}"
                    )
                rows, names = rows[None], None if by is None else [by]
            else:
                rows = by_name(probabilities, labels, self._refuse_label)
                names = names_of(by)
        with self._book.lock:
            found = self._rule.look(rows, names)
        return tuple(each[0] for each in found) if is_one else found

    @property
    def _refuse_label(self) -> Any:
        """What refuses a label that a row names, where a look must change nothing."""

        def refuse(label: object) -> None:
            raise ValueError(f"class {describe(label)} was neither predicted nor observed yet")

        return refuse if self._rule.grows else None

    def weights(self, *, by: Id | None = None) -> list[Memory]:
        """Return what predictions are based on now, in words, by decreasing weight.

        The weights sum to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import MulticlassRecalibrator
        >>> random = np.random.default_rng(0)
        >>> labels = (random.random((3000, 1)) > [0.6, 0.9]).sum(axis=1)
        >>> recalibrator = MulticlassRecalibrator(3)
        >>> recalibrator.weights()[0].words
        'the scores as they are'
        >>> _ = recalibrator.run(random.dirichlet([1, 1, 1], 3000), labels)  # worthless scores
        >>> recalibrator.weights()[0].words
        'base rates'
        """
        rule = self._rule
        kernel = rule.whole if by is None else known_group(rule.groups, by)
        with self._book.lock:
            weights = kernel.weights().tolist()
        return heaviest_first(words_of(len(self.classes)), weights)

    def __sizeof__(self) -> int:
        """Return the memory of everything learned, in bytes."""
        kernels = [self._rule.whole, *self._rule.groups.values()]
        return object.__sizeof__(self) + sum(map(sys.getsizeof, kernels))

    # -- saving ---------------------------------------------------------------------------------

    @classmethod
    def _check_size(cls, saved: Saved) -> None:
        """Refuse more classes than the saved state holds, before anything is made."""
        labels, bases = saved.state["labels"], saved.state["whole_mixture_bases"]
        given = saved.parameters["classes"]
        if not isinstance(labels, list) or np.size(bases) != 3 * len(labels):
            raise ValueError("saved labels must be those of the saved base rates")
        if given is not None and check_classes(given, None) != labels:
            raise ValueError("saved labels must be the saved classes")

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            rule, rounds = self._rule, waiting_rounds(self._book)
            state = save_book(self._book) | {"labels": list(rule.labels)}
            state |= save_groups(rule, rounds, rule.save(rounds))
            state |= save_silence(rule.silence, rounds)
            if self.monitors is not None:
                state |= prefixed(WATCH, self.monitors.save())
            return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        rule, book = self._rule, take_book(state)
        silence, watch = taken(state, PENDING), taken(state, WATCH)
        labels = check_classes(state.pop("labels"), None, least=0)
        if labels[: len(rule.labels)] != rule.labels:
            raise ValueError("saved labels must begin with the classes")
        for label in labels[len(rule.labels) :]:
            rule.add_class(label)
        waiting = load_groups(rule, state, rounds, "rows", is_inside=True)
        load_book(self._book, book, waiting, rounds, len(labels))
        silent = 0 if rule.silence is None else rule.columns[self._given["silence"]]
        load_silence(rule.silence, silence, waiting, self._book.now, rounds, silent)
        load_monitors(self.monitors, watch, rounds)

    def _table(self, probabilities: Any) -> Any:
        """Return rows in the order of the labels, if their columns have names."""
        return by_name(probabilities, self._rule.labels, self._add)


def names_of(by: Any) -> list[Any] | None:
    """Return the names of groups, one per row."""
    return None if by is None else as_listed(by, "by", "names, one per row")


def is_table(probabilities: object) -> bool:
    """Return whether these are several rows, not at most one."""
    if isinstance(probabilities, list | tuple) and isinstance(
        next(iter(probabilities), 0), Mapping
    ):
        return True
    try:
        return np.ndim(probabilities) == 2  # type: ignore[arg-type]
    except ValueError:  # a list of lists of different lengths
        return False


def column_of(label: object, labels: Sequence[Id]) -> int:
    """Return the column of the silent class; the error for an unknown one lists the classes."""
    name = check_id(label, "silence")
    if name not in labels:
        shown = ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")
        raise ValueError(f"silence must be one of {shown}, got {describe(name)}")
    return labels.index(name)


def check_classes(classes: object, silence: object, *, least: int = 2) -> list[Id]:
    """Return the labels of two classes or more; without classes, of the one that is silence."""
    if classes is None:
        return [] if silence is None else [check_id(silence, "silence")]
    if isinstance(classes, int | np.integer):
        return list(range(check_integer("classes", classes, 2, MOST_CLASSES)))
    listed = as_listed(classes, "classes", "a number or a sequence")
    labels = [check_id(label, "each of the classes") for label in listed]
    if len(labels) < least or len(set(labels)) != len(labels):
        raise ValueError(
            f"classes must be two labels or more, all distinct, got {describe(labels)}"
        )
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"classes must be at most {MOST_CLASSES}, got {len(labels)}")
    return labels
