"""The recalibrator of several classes: rows of probabilities in, rows that sum to one out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved
from calibrant._checks import (
    Floats,
    Id,
    as_distributions,
    as_listed,
    check_choice,
    check_id,
    check_integer,
    check_same_length,
    check_seed,
    check_unmasked,
    describe,
)
from calibrant._kernels.waiting import Waiting
from calibrant._times import Time, time_of
from calibrant.forecasters.answers import refuses
from calibrant.recalibrate.class_deadlines import SettlingClasses, class_deadlines_of
from calibrant.recalibrate.deadlines import take_deadlines
from calibrant.recalibrate.named_columns import by_name, named_row
from calibrant.recalibrate.one_vs_rest import NOT_KNOWN, PerClass
from calibrant.recalibrate.saving import check_saved, load_waiting, save_waiting, take_waiting
from calibrant.recalibrate.top_label import TopLabel
from calibrant.recalibrate.waiting import Pending, named
from calibrant.saving import Savable

MODES = ("per-class", "top-label")
#: With "per-class", so many take about 1 GB.
MOST_CLASSES = 2**16


class MulticlassRecalibrator(Savable, SettlingClasses):
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
    full : {"expire", "refuse"}, default "expire"
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

    One class may be silence, here after 30 predictions:

    >>> orders = MulticlassRecalibrator(["kept", "returned", "lost"], silence="kept", after=30)
    >>> for order in range(40):
    ...     row = orders.predict([0.8, 0.15, 0.05], id=order)
    >>> orders.update("lost", id=35)
    >>> orders.learned, orders.pending      # the first eleven were kept
    (11, 29)
    """

    __slots__ = ("_columns", "_deadlines", "_engine", "_given", "_labels", "_waiting")

    mode: str
    seed: int
    capacity: int
    full: str
    silence: Id | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None

    def __init__(
        self,
        classes: int | Sequence[Id],
        mode: str = "per-class",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        full: str = "expire",
        silence: Id | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
    ) -> None:
        self._labels = self._given["classes"] = check_classes(classes)
        self._columns = {label: column for column, label in enumerate(self._labels)}
        self._waiting = Waiting(check_integer("capacity", capacity, 1), refuses(full))
        engine = PerClass if check_choice("mode", mode, MODES) == "per-class" else TopLabel
        self._engine: PerClass | TopLabel = engine(len(self._labels), check_seed(seed))
        silent = None if silence is None else self._column(silence, "silence")
        kernels = self._engine.kernels if engine is PerClass else ()
        self._deadlines = class_deadlines_of(silent, after, hold, kernels)
        if self._deadlines is not None:
            self._waiting.on_expiry = self._deadlines.drop

    @property
    def classes(self) -> list[Id]:
        """The labels in the order of the columns."""
        return list(self._labels)

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self._engine.kernels[0].rounds

    @property
    def learned(self) -> int:
        """Labels learned so far."""
        return self._engine.kernels[0].learned

    def predict(
        self,
        probabilities: npt.ArrayLike,
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
        row = self._row(probabilities)
        if self._deadlines is not None or due is not None:
            rows = self.predict_many(row[None], None if id is None else [id], at, due)
            return rows.reshape(-1)
        time = None if at is None else time_of(at)
        pending = self._waiting.open(id, time, self._engine.begin, row)
        return self._engine.predicted(row, pending)

    def update(
        self,
        label: Id,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
    ) -> None:
        """Learn which class happened: of the last prediction without an id, or of an id's.

        A label that an id had before is ignored; a different one is refused. `at` says when it
        came, where predictions have deadlines.
        """
        if self._deadlines is not None:
            with self._waiting.lock:
                if not self._hear(self._column(label), check_id(id), at):
                    return
        self._waiting.answer(id, self._column(label), self._engine.finish, self._labels)

    def predict_many(
        self,
        probabilities: npt.ArrayLike,
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
        rows, waiting = self._rows(probabilities), self._waiting
        with waiting.lock:
            names, times = named(waiting, ids, at, len(rows))
            until = self._until(len(rows), names, at, due)
            predictions, opened = self._engine.begin_many(rows)
            if names is not None:
                waiting.keep_many(names, opened, times)
                if until:
                    self._wait(opened, names, until)
        return predictions

    def _learn_many(self, predictions: list[Pending], outcomes: Floats) -> None:
        self._engine.finish_many(predictions, outcomes)

    def _outcomes(self, outcomes: object) -> Floats:
        return self._columns_of(outcomes).astype(np.float64)

    def run(
        self, probabilities: npt.ArrayLike, labels: Sequence[Id | None] | npt.NDArray[Any]
    ) -> Floats:
        """Predict each row and then learn its label; return the rows predicted.

        What `predict` and `update` without ids give, bit for bit, in compiled loops. The columns of
        a data frame are matched with the labels by name; those of an array are in their order. A
        label that is None or NaN is not known: the row is predicted, and nothing is learned. All or
        nothing: interrupted with Ctrl-C, it is as if `run` had not been called.
        """
        rows = self._rows(probabilities)
        columns = self._columns_of(labels, missing=True)
        check_same_length("probabilities", len(rows), "labels", len(columns))
        if len(rows) == 0:
            return rows
        with self._waiting.lock:
            predictions = self._engine.run(rows, columns)
            self._waiting.unnamed = None
        return predictions

    def expected(self, probabilities: npt.ArrayLike) -> Floats:
        """Return the row that `predict` gives now if each draw takes its mean; changes nothing.

        Of several rows, each of them. The classes are put together after the means are taken, not
        before.
        """
        many = is_table(probabilities)
        rows = self._rows(probabilities) if many else self._row(probabilities)[None]
        with self._waiting.lock:
            means = self._engine.expected(rows)
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
        with self._waiting.lock:
            state = self._engine.get_state() | save_waiting(self._waiting)
            return self.rounds, state | (self._deadlines.get_state() if self._deadlines else {})

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        late, ends = take_waiting(state), take_deadlines(state)
        self._engine.set_state(state)
        check_saved(state, self._engine.get_state())
        if self.rounds != rounds:
            raise ValueError(f"saved rounds are {rounds} and {self.rounds}")
        highest = len(self._labels) - 1.0
        if (np.asarray(late["finished_outcomes"]) % 1.0).any():
            raise ValueError("saved finished_outcomes must be numbers of classes")
        engine = self._engine
        load_waiting(self._waiting, late, rounds, engine.check_pending, engine.with_words, highest)
        if self._deadlines is not None:
            self._deadlines.set_state(ends, self._waiting.named, highest)

    def _rows(self, probabilities: npt.ArrayLike) -> Floats:
        rows = by_name(probabilities, self._labels)
        return as_distributions(rows, "probabilities", len(self._labels))

    def _row(self, probabilities: npt.ArrayLike) -> Floats:
        check_unmasked(probabilities, "probabilities")
        given = named_row(probabilities, self._labels)
        try:
            row = np.asarray(given)
        except ValueError:  # a list of lists of different lengths
            row = np.empty(())
        if row.ndim != 1:
            raise ValueError(
                f"probabilities must be one row of {len(self._labels)}, "
                f"got {describe(probabilities)}"
            )
        checked: Floats = self._rows(row[None])[0]
        return checked

    def _column(self, label: object, what: str = "label") -> int:
        """Return the column of a label, or say which labels there are."""
        name = check_id(label, what)
        if name not in self._columns:
            shown = ", ".join(map(repr, self._labels[:10]))
            more = ", ..." if len(self._labels) > 10 else ""
            raise ValueError(f"{what} must be one of {shown}{more}, got {describe(name)}")
        return self._columns[name]

    def _columns_of(self, labels: object, *, missing: bool = False) -> npt.NDArray[np.int64]:
        given = as_listed(labels, "labels", "a sequence, one a round")
        columns = np.full(len(given), NOT_KNOWN, dtype=np.int64)
        for at, label in enumerate(given):
            if missing and (label is None or is_nan(label)):
                continue
            try:
                columns[at] = self._column(label)
            except ValueError as error:
                raise ValueError(f"{error} at position {at}") from None
        return columns


def is_nan(label: object) -> bool:
    """Return whether a label is the number that stands for none."""
    return isinstance(label, float | np.floating) and math.isnan(label)


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
