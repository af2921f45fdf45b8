"""The recalibrator: sharp, then safe, with outcomes that may come late."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, SupportsFloat, overload

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    as_series,
    check_choice,
    check_integer,
    check_seed,
)
from calibrant._groups import MAX_GROUPS, WHOLE
from calibrant._kernels.kernel import Calls, all_or_nothing
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.saved import check_names
from calibrant._kernels.scores.pending import PendingKernel
from calibrant._kernels.scores.pending_saving import load_pending, save_pending
from calibrant._kernels.scores.recalibrate import KINDS, RecalibrateKernel, as_known
from calibrant._kernels.scores.score_rounds import check_rounds
from calibrant._kernels.scores.score_rule import ScoreRule, load_waits, save_waits
from calibrant._kernels.scores.smooth import smooth_of
from calibrant._times import Time
from calibrant.checks import Columns, check_columns, refuse
from calibrant.checks.outcomes import too_many
from calibrant.forecasters.memories import Memory, heaviest_first
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.monitor.side_by_side import SideBySide
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.saving import load_rounds, save_rounds, take_rounds
from calibrant.recalibrate.weights import group_weights, words
from calibrant.rounds.policy import Policy, silence_of
from calibrant.rounds.saving import Integers, load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

Times = Time | Sequence[Time] | npt.NDArray[Any]
#: One name a row, None for a row without one.
Names = Sequence[Id | None] | npt.NDArray[Any]
#: How the names of the saved parts of monitors and of what silence says begin.
WATCH, PENDING = "watch_", "pending_"


class Recalibrator(Savable, Learner):
    """Turn the scores of a model into probabilities that stay calibrated.

    A mixture of online recalibrations, some of which look at the last outcomes, gives a mean. It is
    placed on a grid of points, and moved only where outcomes show a point to be biased:
    `docs/recalibrate.md`. `docs/groups.md` says how groups share what is learned.

    Parameters
    ----------
    kind : {"probability", "logit", "margin"}, default "probability"
        What the scores are: probabilities in [0, 1]; log odds; or numbers of any unit that grow
        with the probability and are 0 where the model is undecided.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1]. The draw of a prediction depends on the seed and on
        how many predictions came before.
    capacity : int, default 100_000
        How many predictions with an id may wait for their outcomes; also how many finished ids
        are remembered, so that an outcome that comes twice is counted once.
    when_full : {"expire", "refuse"}, default "expire"
        What happens when one more would wait: the oldest expires (`expired` counts them), or the
        new one is refused.
    max_groups : int, default 1_000_000
        How many groups `by` may name. A group takes about 300 bytes, and 19 kB more once its own
        outcomes are enough for a curve of its own.
    silence : {0, 1}, optional
        The outcome that is not announced: a prediction without one by its deadline had this. The
        other is used as soon as it comes, without taking the silence of the rest for more than
        it says so far (`docs/silence.md`). Predictions then have an id.
    after : number, timedelta or text such as "30d", optional
        The deadline with `silence`, counted from the prediction: in predictions, or in time where
        predictions say when they are made (``at=...``). A row may have its own, ``due=...``.
    hold : number, timedelta or text, optional
        Learn every outcome at this age, or when it comes if that is later: for delays that depend
        on the outcome when both kinds do come.
    monitor : bool, dict or Monitor, default False
        Whether to watch the raw scores and the expected predictions side by side: `monitors`. A
        dict has arguments of `Monitor` (every, tolerance, alpha, block); of a Monitor, only its
        arguments are taken. Outcomes are seen when they are learned.

    Notes
    -----
    Threads may share a recalibrator if each names its predictions by id: steps with an id or a
    group wait for one another and for a `run`, and so does a fork of the process. A step with
    neither is refused with a RuntimeError while another thread's `run` is at work on what all
    share.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Recalibrator
    >>> random = np.random.default_rng(0)
    >>> scores = random.random(10_000)
    >>> outcomes = random.random(10_000) < 1 - scores  # the model has it upside down
    >>> recalibrator = Recalibrator(seed=7)
    >>> predictions = recalibrator.run(scores, outcomes)
    >>> round(recalibrator.expected(0.9), 1)
    0.1

    Outcomes that come late are given by id:

    >>> first, second = recalibrator.predict(0.9, id="a"), recalibrator.predict(0.2, id="b")
    >>> recalibrator.update(1, id="b")
    'applied'
    >>> recalibrator.pending
    1

    Groups share what is learned of all, until they have evidence of their own:

    >>> _ = recalibrator.run(scores, outcomes, by=["a", "b"] * 5000)
    >>> recalibrator.groups
    {'a': 5000, 'b': 5000}
    >>> round(recalibrator.expected(0.9, by="c"), 1)  # a group never seen
    0.1

    What is saved includes the predictions that wait:

    >>> again = Recalibrator.from_bytes(recalibrator.to_bytes())
    >>> again.update(0, id="a")
    'applied'
    >>> again.pending
    0
    """

    __slots__ = ()

    kind: str
    seed: int
    capacity: int
    when_full: str
    max_groups: int
    silence: int | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None
    monitor: bool | Mapping[str, Any]
    _rule: ScoreRule

    def __init__(
        self,
        kind: str = "probability",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        when_full: str = "expire",
        max_groups: int = MAX_GROUPS,
        silence: int | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        silent = silence_of(silence)
        policy = Policy.of(
            silence=silent, after=after, hold=hold, capacity=capacity, when_full=when_full
        )
        whole = RecalibrateKernel(check_choice("kind", kind, KINDS), check_seed(seed))
        groups = Groups(check_integer("max_groups", max_groups, 0, sys.maxsize), whole.seed)
        settings = None if monitor is False else settings_of(monitor)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        super().__init__(
            ScoreRule(whole, groups, None if silent is None else PendingKernel(int(silent))),
            policy,
            None if settings is None else SideBySide(settings, max_groups, patience=capacity),
        )

    @property
    def _whole(self) -> RecalibrateKernel:
        return self._rule.whole

    @property
    def _groups(self) -> Groups:
        groups: Groups = self._rule.groups
        return groups

    @property
    def groups(self) -> dict[Id, int]:
        """The names of the groups in the order they came, and how many predictions each made."""
        groups = self._groups
        return dict(zip(groups.names, groups.estimates.made().tolist(), strict=True))

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._book) + self._whole.is_open

    @property
    def is_open(self) -> bool:
        """Whether the last prediction without an id still waits for its outcome."""
        return self._whole.is_open or self._book.unnamed is not None

    @property
    def monitors(self) -> SideBySide | None:
        """What watches the scores and the predictions, with ``monitor=True``; else None.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator(monitor={"every": 100_000, "tolerance": 0.01})
        >>> _ = recalibrator.predict(0.2, id="a")
        >>> recalibrator.update(1, id="a")
        'applied'
        >>> recalibrator.monitors.calibrated.rounds
        1
        """
        watcher: SideBySide | None = self._book.watcher
        return watcher

    # -- predictions ----------------------------------------------------------------------------

    def predict(
        self,
        score: SupportsFloat,
        *,
        id: Id | None = None,  # noqa: A002
        by: Id | None = None,
        at: Time | None = None,
        due: Time | None = None,
    ) -> float:
        """Return the probability for a score, and open a round that waits for its outcome.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(outcome, id)``, however many rounds that
        takes. An id is used once. `by` names the group that the round belongs to, if any, and
        `at` says when it is predicted, for deadlines and ``expire(before=...)``, and `due` is the
        deadline of this row, with `silence` or `hold`.
        """
        prediction: float = self._predict(score, id, by, at, due)
        return prediction

    def predict_many(
        self,
        scores: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        by: Names | None = None,
        at: Times | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Return the probabilities for many scores as things stand now.

        Each is what `predict` would give in its place. Those with ids wait for their outcomes,
        which `update_many` or `update` bring; without ids nothing waits. More ids than `capacity`
        are warned of, because the first would expire at once. `by` gives the group of
        each row, None for a row without one, and `at` one time for all rows or one a row.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> recalibrator.predict_many([0.2, 0.7], ids=["a", "b"], at=20260701).shape
        (2,)
        >>> recalibrator.pending
        2
        """
        predictions: Floats = self._predict_many(scores, ids, by, at, due)
        if ids is not None and len(predictions) > self.capacity and self.when_full == "expire":
            warnings.warn(too_many(len(predictions), self.capacity).message, stacklevel=2)
        return predictions

    # -- tables ---------------------------------------------------------------------------------

    def run(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        by: Names | None = None,
        at: Times | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Predict each score and then learn its outcome; return the predictions.

        Bit for bit what `predict` and `update` give row by row, in compiled loops. `by` gives the
        group of each round, None for a round without one. An outcome that is NaN or None is not
        known: the row is predicted, and nothing is learned. With `silence` or `hold` each outcome
        is known right after its prediction and learned at its deadline, NaN being silence; `at` and
        `due` then say when rows are predicted and due. All or nothing: interrupted with Ctrl-C, it
        is as if `run` had not been called.
        """
        if self._book.has_deadlines or at is not None or due is not None:
            return self._play(scores, as_known(outcomes), by, at=at, due=due)
        return self._run(scores, outcomes, by=by)[0]

    def fit(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        by: Names | None = None,
        at: Times | None = None,
        due: Times | None = None,
        allow: str | Sequence[str] = (),
    ) -> Self:
        """Learn from history, oldest row first, as `run` does; return the recalibrator itself.

        Unlike `run` it looks at the rows first: those that are sorted by outcome, say, are refused
        with a ValueError, and of others it warns. `allow` names checks to accept anyway,
        "order" for instance (`docs/checks.md`).

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator().fit([0.9, 0.8, 0.7], [0, 0, 1])
        >>> recalibrator.learned
        3
        """
        given, known = as_series(scores, "scores"), as_known(outcomes)
        if given.dtype.kind in "fiub" and len(given) == len(known):  # or `run` says what is wrong
            columns = Columns(
                known, given.astype(np.float64), kind=self.kind,
                has_silence=self.silence is not None, has_hold=self.hold is not None,
            )  # fmt: skip
            found = check_columns(columns, allow)
            refuse(found)
            for finding in found:
                if finding.is_open:
                    warnings.warn(finding.message, stacklevel=2)
        self.run(scores, outcomes, by=by, at=at, due=due)
        return self

    def _run(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        by: Names | None,
        means: bool = False,
        smooth: bool = False,
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Play rounds whose outcomes are known at once.

        Returns the predictions, the raw scores and expected predictions in two rows if these
        `means` are asked for or somebody watches, and the estimates for ranking if asked for.
        """
        size = len(as_series(scores, "scores"))
        monitors = self.monitors
        watched = None if monitors is None and not means else np.empty((2, size))
        ranked = np.empty((2, size)) if smooth else None

        whole, groups, book = self._whole, self._groups, self._book
        numbered: list[tuple[Integers, list[Id]]] = []

        def mark() -> Callable[[], None]:
            if by is not None:
                numbered.append(groups.numbers_of(by, size))
            seen = None if monitors is None else monitors.copy()
            copies = groups.copies(whole, numbered[0][0] if numbered else None)
            undo = Calls([*copies, (setattr, (book, "unnamed", book.unnamed), None)])

            def go_back() -> None:
                if monitors is not None and seen is not None:
                    monitors.go_back(seen)
                undo.make()

            return go_back

        def body() -> tuple[Floats, Floats | None, Floats | None]:
            if numbered:
                numbers, new = numbered[0]
                predictions = groups.run(whole, scores, outcomes, numbers, new, ranked, watched)
            else:
                predictions = whole._run_means(scores, outcomes, None, ranked, watched)[0]
            if monitors is not None and watched is not None:
                y, names = as_known(outcomes), None if by is None else as_listed(by, "by", "names")
                known = np.flatnonzero(~np.isnan(y))
                of_known = None if names is None else [names[row] for row in known.tolist()]
                monitors.run(watched[0, known], watched[1, known], y[known], of_known)
            if len(predictions):
                book.unnamed = None
            return predictions, watched, None if ranked is None else ranked[1]

        found: tuple[Floats, Floats | None, Floats | None] = all_or_nothing(book.lock, mark, body)
        return found

    # -- looking --------------------------------------------------------------------------------

    @overload
    def expected(self, score: SupportsFloat, by: Id | None = None) -> float: ...
    @overload
    def expected(self, score: npt.ArrayLike, by: Names | None = None) -> Floats: ...
    def expected(self, score: Any, by: Any = None) -> Any:
        """Return the mean of what `predict` would draw for this score now; changes nothing.

        Of many scores, the mean of each; `by` then gives the group of each.
        """
        whole, groups = self._rule.whole, self._rule.groups
        if is_one(score):
            if by is None:
                return whole.expected(score)
            with self._book.lock:
                last, estimate = groups.look(whole, score, by)
                return last.expected(estimate)
        with self._book.lock:
            if by is None:
                return whole._expected_many(score)
            return groups.expected_many(whole, score, by)

    @overload
    def smooth(self, score: SupportsFloat, by: Id | None = None) -> float: ...
    @overload
    def smooth(self, score: npt.ArrayLike, by: Names | None = None) -> Floats: ...
    def smooth(self, score: Any, by: Any = None) -> Any:
        """Return the mixture's estimate for ranking, for a score or each of many; changes nothing.

        As fine as the scores are, and hardly moved by experts that remember only a few events.
        Only what `predict` places on its grid has the guarantee; `docs/production.md` says which
        to use when.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> recalibrator.smooth([0.501, 0.502]).round(3).tolist()
        [0.501, 0.502]
        >>> len(set(recalibrator.expected([0.501, 0.502])))
        1
        """
        if is_one(score) and by is None:
            return smooth_of(self._whole, score)
        with self._book.lock:
            if is_one(score):
                return float(self._groups.smooth_many(self._whole, [score], [by])[0])
            return self._groups.smooth_many(self._whole, score, by)

    def distribution(self, score: SupportsFloat, by: Id | None = None) -> tuple[Floats, Floats]:
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        if by is None:
            return self._whole.distribution(score)
        with self._book.lock:
            last, score = self._groups.look(self._whole, score, by)
            return last.distribution(score)

    def weights(self, by: Id | None = None) -> list[Memory]:
        """Return what predictions rest on now, each in words with its weight, the heaviest first.

        A drift is a correction that forgets, the faster the shorter its memory; a fixed one
        forgets nothing. Where outcomes come in batches, memories are counted in these, as in "the
        last 2 batches, 6,000 outcomes". With `by`, those of a group, which rests on what is learned
        of all and on its own. The weights sum to 1.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> from calibrant.streams import markov
        >>> outcomes = markov(5000, order=2, seed=1).outcomes
        >>> recalibrator = Recalibrator()
        >>> recalibrator.weights()[0].words
        'the score as it is'
        >>> _ = recalibrator.run([0.5] * 5000, outcomes)  # scores that know no past
        >>> recalibrator.weights()[0].words
        'the last 2 outcomes'
        """
        with self._book.lock:
            rule = self._rule
            waiting = 1.0 if rule.silence is None else float(rule.silence.weights[0])
            experts = rule.whole._weights(placed=by is None)
            weights: Floats = np.append(experts * waiting, 1.0 - waiting)
            batch = rule.whole._batch_size()
            if by is not None:
                weights = group_weights(weights, rule.groups, rule.groups.find(by)[1])
        return heaviest_first(words(round(batch))[: len(weights)], weights.tolist())

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            rounds = waiting_rounds(self._book)
            state = self._whole._get_state() | self._groups.get_state()
            state |= save_book(self._book) | save_rounds(rounds)
            if self._rule.silence is not None:
                places, cells = save_waits(rounds)
                parts = save_pending(self._rule.silence)
                parts |= {"awaited": places, "awaited_cells": cells}
                state |= {PENDING + name: part for name, part in parts.items()}
            if self.monitors is not None:
                state |= {WATCH + name: part for name, part in self.monitors.save().items()}
            return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        whole, groups = self._whole, self._groups
        own = {name: state.pop(name) for name in whole._get_state().keys() & state.keys()}
        book, tokens = take_book(state), take_rounds(state)
        silence, watch = taken(state, PENDING), taken(state, WATCH)
        groups.set_state(state)
        check_names(state, set(groups.get_state()))
        whole._set_state(own | {"rounds": rounds})
        waiting = load_rounds(tokens, self._check_rounds, groups.estimates_of)
        load_book(self._book, book, waiting, rounds)
        if self._book.unnamed is not None and whole.is_open:
            raise ValueError("a saved prediction without an id waits beside another")
        if self._rule.silence is not None:
            places, cells = silence.pop("awaited"), silence.pop("awaited_cells")
            load_pending(self._rule.silence, silence)
            load_waits(self._rule.silence, waiting, places, cells, self._rule.silence.silence)
        else:
            check_names(silence, set())
        monitors = self.monitors
        if monitors is None:
            check_names(watch, set())
            return
        check_names(watch, set(monitors.save()))
        monitors.load(watch)
        both = (monitors.raw, monitors.calibrated)
        if monitors.raw.rounds != monitors.calibrated.rounds or any(
            each.rounds > self.rounds or each._last_key >= self.rounds for each in both
        ):
            raise ValueError("the saved monitors must have seen rounds that were predicted")

    def _check_rounds(self, groups: Integers, numbers: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if places.shape[1] == 1 and (groups == WHOLE).all():
            check_rounds(places.reshape(-1), self._whole._get_state()["z"])
        else:
            self._groups.check_pending(groups, numbers, places)


def is_one(score: object) -> bool:
    """Return whether this is one score, or no score at all, and not many."""
    return isinstance(score, str | bytes) or not getattr(score, "shape", hasattr(score, "__len__"))


def taken(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the parts out of a state whose names begin so, without the prefix."""
    names = [name for name in state if name.startswith(prefix)]
    return {name.removeprefix(prefix): state.pop(name) for name in names}
