"""The recalibrator: sharp, then safe, with outcomes that may be late."""

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
from calibrant._kernels.scores.recalibrate import KINDS, RecalibrateKernel, as_known
from calibrant._kernels.scores.score_rounds import check_rounds
from calibrant._kernels.scores.score_rule import ScoreRule
from calibrant._kernels.scores.smooth import smooth_of
from calibrant._times import Time
from calibrant.checks import Columns, check_columns, refuse
from calibrant.checks.outcomes import too_many
from calibrant.forecasters.memories import Memory, heaviest_first
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.monitor.side_by_side import SideBySide
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.saving import (
    PENDING,
    WATCH,
    load_monitors,
    load_rounds,
    load_silence,
    prefixed,
    save_rounds,
    save_silence,
    take_rounds,
    taken,
)
from calibrant.recalibrate.weights import WORDS, group_weights, words
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import Integers, load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

Times = Time | Sequence[Time] | npt.NDArray[Any]
#: One name a row, None for a row without one.
Names = Sequence[Id | None] | npt.NDArray[Any]


class Recalibrator(Savable, Learner):
    """Turn the scores of a model into probabilities that stay calibrated.

    A mixture of online recalibrations, some of which use the last outcomes, estimates a mean. It is
    placed on a grid of points, and moved only if outcomes show that a point is biased: see
    `docs/recalibrate.md`, and `docs/groups.md` for how groups share what is learned.

    Parameters
    ----------
    kind : {"probability", "logit", "margin"}, default "probability"
        The kind of the scores: probabilities in [0, 1]; log odds; or numbers in any unit that
        increase with the probability and are 0 where the model is undecided.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1]. The draw of a prediction depends on the seed and on
        how many predictions came before.
    capacity : int, default 100_000
        The maximal number of pending predictions with an id; also the number of finished ids that
        are remembered, so that an outcome given twice is counted once.
    when_full : {"expire", "refuse"}, default "expire"
        What to do at capacity: the oldest pending prediction expires (`expired` counts them), or
        the new one is refused.
    max_groups : int, default 1_000_000
        The maximal number of groups in `by`. A group takes about 300 bytes, and 19 kB more once it
        has enough outcomes for its own curve.
    silence : {0, 1}, optional
        The outcome that is not reported: the outcome of predictions without one at their deadline.
        The other outcome is used as soon as it arrives, and the silence of the rest as partial
        evidence (`docs/silence.md`). Predictions then need an id.
    after : number, timedelta or text such as "30d", optional
        The deadline with `silence`, counted from the prediction: in predictions, or in time if
        predictions have times (``at=...``). A row may have its own deadline, ``due=...``.
    hold : number, timedelta or text, optional
        Learn every outcome at this age, or when it arrives if that is later: for delays that
        depend on the outcome if both kinds are reported.
    monitor : bool, dict or Monitor, default False
        Whether to monitor the raw scores and the expected predictions side by side (`monitors`). A
        dict has arguments of `Monitor` (every, tolerance, alpha, block); of a Monitor, only its
        arguments are used. The monitors get outcomes when these are learned.

    Notes
    -----
    Threads may share a recalibrator if all predictions have ids: calls with an id or a group wait
    for one another and for a `run`, and so does a fork of the process. A call with neither raises
    a RuntimeError during the `run` of another thread.

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

    Outcomes that arrive late are given by id:

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

    What is saved includes the pending predictions:

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
        policy = Policy.of(
            silence=silence, after=after, hold=hold, capacity=capacity, when_full=when_full
        )
        whole = RecalibrateKernel(check_choice("kind", kind, KINDS), check_seed(seed))
        groups = Groups(check_integer("max_groups", max_groups, 0, sys.maxsize), whole.seed)
        settings = None if monitor is False else settings_of(monitor)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        super().__init__(
            ScoreRule(whole, groups, None if silence is None else PendingKernel(int(silence))),
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
        """The names of the groups in order of appearance, with their numbers of predictions."""
        groups = self._groups
        return dict(zip(groups.names, groups.estimates.made().tolist(), strict=True))

    @property
    def pending(self) -> int:
        """The number of pending predictions."""
        return len(self._book) + self._whole.is_open

    @property
    def is_open(self) -> bool:
        """Whether the last prediction without an id is still pending."""
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
        """Return the probability for a score, and open a round.

        Without an id, the outcome is given by the next `update` without one; another `predict`
        without an id drops the round. With an id, the round is pending until
        ``update(outcome, id)``, for any number of rounds. An id must be unique. `by` is the group
        of the round, if any, `at` the time of the prediction, for deadlines and
        ``expire(before=...)``, and `due` the deadline of this row, with `silence` or `hold`.
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
        """Return the probabilities for many scores, all from the current state.

        Each is what `predict` would return in its place. Rounds with ids are pending until
        `update_many` or `update`; without ids, no rounds are opened. More ids than `capacity`
        raise a warning, because the first would expire at once. `by` has the group of
        each row, None for a row without one, and `at` is one time for all rows or one per row.

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
        weights: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predict each score and then learn its outcome; return the predictions.

        A compiled loop that gives the same results as `predict` and `update` row by row, bit for
        bit. `by` has the group of each round, None for a round without one. An outcome that is NaN
        or None is unknown: the row is predicted, and nothing is learned. With `silence` or `hold`,
        each outcome is known right after its prediction and learned at its deadline, where NaN is
        silence; `at` and `due` then are the times and deadlines of the rows. `weights` are the
        weights of the outcomes, as in `update`. All or nothing: if it is interrupted with Ctrl-C,
        the state is as before the call.
        """
        is_weighed = weights is not None or self._is_weighed
        if self._book.has_deadlines or is_weighed or at is not None or due is not None:
            return self._play(scores, as_known(outcomes), by, at=at, due=due, weights=weights)
        return self._run(scores, outcomes, by=by)[0]

    def fit(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        by: Names | None = None,
        at: Times | None = None,
        due: Times | None = None,
        weights: npt.ArrayLike | None = None,
        allow: str | Sequence[str] = (),
    ) -> Self:
        """Learn from history, oldest row first, as `run` does; return the recalibrator itself.

        Unlike `run`, it checks the rows first: rows that are sorted by outcome, for example, raise
        a ValueError, and other problems a warning. `allow` lists checks to skip, such as "order"
        (`docs/checks.md`).

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
        self.run(scores, outcomes, by=by, at=at, due=due, weights=weights)
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

        Returns the predictions, the raw scores and expected predictions in two rows if `means` or
        a monitor need them, and the estimates for ranking if requested.
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
    def expected(self, score: SupportsFloat, *, by: Id | None = None) -> float: ...
    @overload
    def expected(self, score: npt.ArrayLike, *, by: Names | None = None) -> Floats: ...
    def expected(self, score: Any, *, by: Any = None) -> Any:
        """Return the mean of what `predict` would draw for this score now; changes nothing.

        For many scores, the mean of each; `by` then has the group of each.
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
    def smooth(self, score: SupportsFloat, *, by: Id | None = None) -> float: ...
    @overload
    def smooth(self, score: npt.ArrayLike, *, by: Names | None = None) -> Floats: ...
    def smooth(self, score: Any, *, by: Any = None) -> Any:
        """Return the mixture's estimate for ranking, for a score or each of many; changes nothing.

        It is as fine-grained as the scores, and hardly affected by experts that remember only a few
        events. Only the predictions on the grid have the guarantee; see `docs/production.md` for
        when to use which.

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

    def distribution(self, score: SupportsFloat, *, by: Id | None = None) -> tuple[Floats, Floats]:
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        if by is None:
            return self._whole.distribution(score)
        with self._book.lock:
            last, score = self._groups.look(self._whole, score, by)
            return last.distribution(score)

    def weights(self, *, by: Id | None = None) -> list[Memory]:
        """Return what predictions are based on now, in words, by decreasing weight.

        A drift is a correction that forgets, the faster the shorter its memory; a fixed one
        forgets nothing. If outcomes arrive in batches, memories are counted in batches, as in "the
        last 2 batches, 6,000 outcomes". With `by`, the weights of a group, which combine what is
        learned from all rounds and from its own. The weights sum to 1.

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
            batch = round(rule.whole._batch_size())
            if by is not None:
                weights = group_weights(weights, rule.groups, rule.groups.find(by)[1])
        of_weights = words(batch) if batch else WORDS
        return heaviest_first(of_weights[: len(weights)], weights.tolist())

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            rounds = waiting_rounds(self._book)
            state = self._whole._get_state() | self._groups.get_state()
            state |= save_book(self._book) | save_rounds(rounds)
            state |= save_silence(self._rule.silence, rounds)
            if self.monitors is not None:
                state |= prefixed(WATCH, self.monitors.save())
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
        if self.pending + self.learned + self.expired > rounds:
            raise ValueError("what waits, is learned or expired must have been predicted")
        kernel = self._rule.silence
        silent = 0 if kernel is None else kernel.silence
        load_silence(kernel, silence, waiting, self._book.now, rounds, silent)
        load_monitors(self.monitors, watch, rounds)

    def _check_rounds(self, groups: Integers, numbers: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if places.shape[1] == 1 and (groups == WHOLE).all():
            check_rounds(places.reshape(-1), self._whole._get_state()["z"])
        else:
            self._groups.check_pending(groups, numbers, places)


def is_one(score: object) -> bool:
    """Return whether this is at most one score, not several."""
    return isinstance(score, str | bytes) or not getattr(score, "shape", hasattr(score, "__len__"))
