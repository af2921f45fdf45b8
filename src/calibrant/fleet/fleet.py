"""A fleet: the recalibrator for a million keys."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from numbers import Integral
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_unit_series,
    as_weights,
    check_choice,
    check_id,
    check_integer,
    check_real,
    check_same_length,
    check_seed,
    check_weight,
)
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.kernel import Calls, all_or_nothing
from calibrant._kernels.locks import Order, forkable_lock
from calibrant._kernels.rounds.book import ANSWERS
from calibrant._kernels.rounds.learner import listed_ids
from calibrant._kernels.scores.recalibrate import KINDS, as_known
from calibrant._spans import as_span
from calibrant._times import Time, time_of, times_or_one
from calibrant.fleet import file
from calibrant.fleet.known import KnownKey
from calibrant.fleet.monitors import FleetMonitors
from calibrant.fleet.ranking import RANKINGS, ranked
from calibrant.fleet.rows import Batch, Dealt, listed_names, sliceable, taken
from calibrant.fleet.saving import arrays_of, load_shard
from calibrant.fleet.shard import Call, Shard, Table
from calibrant.fleet.watch import MOST_UNSEEN, WATCHED_WITH, shard_settings
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.rounds.policy import Policy
from calibrant.saving import Savable
from calibrant.tables.errors import InputError

#: One key per row, all integers or all strings.
Keys = Sequence[int] | Sequence[str] | npt.NDArray[Any]
Times = Time | Sequence[Time] | npt.NDArray[Any]

MOST_SHARDS = 2**16
#: Rows that `run` plays between two looks for Ctrl-C.
CHUNK = 2**20


class Fleet(Savable):
    """Turn scores into probabilities that stay calibrated, for a million keys.

    All keys share what is learned about the scores, as in a `Recalibrator`. Each key, such as a
    customer, a machine or a shop, then has its own offset and slope, whose weight grows with its
    outcomes; how different keys are is itself learned from all of them. A key takes about 160
    bytes. See `docs/fleet.md` for the rule, and for when to use groups instead.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1]. The draw of a prediction depends on the seed, on its
        key and on how many predictions of the key came before.
    kind : {"probability", "logit", "margin"}, default "probability"
        The kind of the scores, as in `Recalibrator`.
    shards : int, default 1
        The number of shards. The hash of a key determines its shard, and shards share nothing. More
        than one is for `split`: predictions do not depend on how shards are distributed.
    capacity : int, default 100_000
        The maximal number of pending predictions with an id, in each shard; also the number of
        finished ids that are remembered.
    when_full : {"expire", "refuse"}, default "expire"
        What to do at capacity: the oldest pending prediction expires, or the new one is refused.
    monitor : bool, dict or Monitor, default False
        Whether to monitor the raw scores and the expected predictions, and each key (`monitors`). A
        dict has arguments of `Monitor` (every, tolerance, alpha); of a Monitor, only its arguments
        are used. It takes 48 bytes per key.
    silence, after, hold : optional
        As in `Recalibrator`: the outcome of rounds without one at their deadline, the deadline, or
        the age at which every outcome is learned. A fleet learns only at deadlines.

    Examples
    --------
    A thousand shops, thirty outcomes each; the model does not know that shops differ:

    >>> import numpy as np
    >>> from calibrant import Fleet
    >>> random = np.random.default_rng(0)
    >>> shops = random.integers(0, 1000, 30_000)
    >>> scores, offsets = random.normal(-1, 1, 30_000), random.normal(0, 1, 1000)
    >>> outcomes = random.random(30_000) < 1 / (1 + np.exp(-scores - offsets[shops]))
    >>> fleet = Fleet(kind="logit", seed=7)
    >>> predictions = fleet.run(shops, scores, outcomes)
    >>> len(fleet)
    1000
    >>> bool(abs(fleet[17].offset - offsets[17]) < 2 * fleet[17].deviation)
    True

    Outcomes that arrive late are given by id:

    >>> p = fleet.predict_many([17, 4], [0.3, -0.2], ids=["a", "b"])
    >>> fleet.update_many([1, 0], ids=["b", "c"]).tolist()
    ['applied', 'unknown']
    >>> fleet.pending
    1

    Without scores it forecasts an event stream a key:

    >>> events = Fleet()
    >>> _ = events.run(["a", "b"] * 200, None, [1, 0] * 200)
    >>> events.expected(["a", "b"]).round(1).tolist()
    [1.0, 0.0]
    """

    __slots__ = ("_given", "_is_read_only", "_lock", "_policy", "_shards")

    seed: int
    kind: str
    shards: int
    capacity: int
    when_full: str
    monitor: bool | Mapping[str, Any]
    silence: int | None
    after: float | str | None
    hold: float | str | None

    def __init__(
        self,
        seed: int = 0,
        kind: str = "probability",
        *,
        shards: int = 1,
        capacity: int = 100_000,
        when_full: str = "expire",
        monitor: bool | Mapping[str, Any] | Monitor = False,
        silence: int | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
    ) -> None:
        check_seed(seed)
        check_choice("kind", kind, KINDS)
        check_integer("shards", shards, 1, MOST_SHARDS)
        settings = settings_of(monitor, WATCHED_WITH)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        self._policy = Policy.of(
            silence=silence,
            after=after,
            hold=hold,
            capacity=capacity,
            when_full=when_full,
        )
        self._shards = {number: self._new_shard() for number in range(shards)}
        self._lock = forkable_lock(Order.FLEET)
        self._is_read_only = False

    def _new_shard(self) -> Shard:
        settings = settings_of(self.monitor, WATCHED_WITH)
        watch = None if settings is None else shard_settings(settings, self.shards)
        return Shard(self.kind, self.seed, self._policy, watch)

    # -- predicting and learning ----------------------------------------------------------------

    def predict(
        self,
        key: Id,
        score: float | None = None,
        *,
        id: Id | None = None,  # noqa: A002
        parent: Id | None = None,
        at: Time | None = None,
        due: Time | None = None,
    ) -> float:
        """Return the probability of one row, as `predict_many` does for many.

        With an id, the round stays pending until its outcome is given.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet()
        >>> p = fleet.predict("shop 17", 0.3, id="order 1")
        >>> fleet.update(1, id="order 1")
        'applied'
        """
        for name, time in (("at", at), ("due", due)):
            if time is not None:
                time_of(time, name)  # one, not one per row
        keys: Any = [key]
        (found,) = self.predict_many(
            keys,
            None if score is None else [score],
            ids=None if id is None else [id],
            at=at,
            parents=None if parent is None else np.array([parent]),
            due=due,
        ).tolist()
        return float(found)

    def predict_many(
        self,
        keys: Keys,
        scores: npt.ArrayLike | None = None,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        parents: Keys | None = None,
        at: Times | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Return the probability of each row, all from the current state.

        Rounds with ids are pending until `update` or `update_many`; without ids, no rounds are
        opened. An id must be unique within a shard. `at` is the time of the predictions, one for
        all or one per row, for `evict` and `expire`. `parents` has the parent of each key, such as
        an aircraft's carrier, whose offsets are applied before those of the key; `run`, `expected`
        and `smooth` then need them too. `due` has deadlines, one for all or one per row, with
        `silence` or `hold`.
        """
        if ids is not None:
            answers = next(iter(self._shards.values())).rule.answers
            found: Floats = self._open(keys, scores, ids, at, parents, due, answers)
            return found
        self._check_writable()
        batch = self._batch(keys, scores, at, parents)
        if self._policy.has_deadlines:
            raise ValueError("with silence or hold predictions need ids, for their outcomes")
        if due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")

        def body() -> Calls:
            calls: list[Call] = []
            for each in batch.dealt():
                calls += self._shards[each.shard].predict(each.rows, each.at)
            return Calls(calls, np.empty(len(batch)))

        predictions: Floats = all_or_nothing(self._lock, self._new_keys_gone, body)
        return predictions

    def _open(
        self,
        keys: Keys,
        scores: Any,
        ids: Any,
        at: Any = None,
        parents: Any = None,
        due: Any = None,
        answers: Callable[[Any], Any] = list,
    ) -> Any:
        """Do what `predict_many` does with ids; return what is told of the rounds."""
        self._check_writable()
        batch, names = self._batch(keys, scores, at, parents), listed_ids(ids)
        check_same_length("keys", len(batch), "ids", len(names))
        if due is not None and not self._policy.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")

        def body() -> Calls:
            dealt = [(each, self._shards[each.shard]) for each in batch.dealt()]
            named: list[Any] = [taken(names, each.at) for each, _ in dealt]
            for (_, shard), own in zip(dealt, named, strict=True):
                shard.book.check_new_ids(own)
            ends = None if due is None else times_or_one(due, len(batch), "due")
            until = [self._times(each, shard, at, ends) for each, shard in dealt]
            if self._policy.when_full == "refuse":
                for (_, shard), own, (made, _) in zip(dealt, named, until, strict=True):
                    shard.book.check_room(len(own), math.nan if made is None else made[0])
            calls: list[Call] = []
            for (each, shard), own, times in zip(dealt, named, until, strict=True):
                calls += shard.open(each.rows, own, *times, each.at)
            return Calls(calls, [None] * len(batch), answers)

        return all_or_nothing(self._lock, self._new_keys_gone, body)

    def update(
        self,
        outcome: float,
        *,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
        weight: float | None = None,
    ) -> str:
        """Learn the outcome of an id; return "applied", or "repeated" if it had this one before.

        An outcome that contradicts an earlier one, or whose id is not pending, raises a
        `RoundError` and changes nothing. `at` is its time of arrival. `weight` is its weight, as in
        `Recalibrator.update`; weights are divided by their mean in the shard.
        """
        self._check_writable()
        known = check_real("outcome", outcome, 0.0, 1.0)
        share = 1.0 if weight is None else check_weight(weight)
        name = check_id(id)  # nothing waits without one
        if self._policy.silence is not None:
            self._policy.check_whole(known)
        time = math.nan if at is None else time_of(at)

        def body() -> Calls:
            self._let_monitors_see()
            if at is not None:
                self._check_timed()
            ((shard, _),) = self._rows_of([name])
            calls: list[Call] = [(shard.book.update, (name, known, time, share), slice(None))]
            if at is not None and self._policy.has_deadlines:
                calls += self._let_pass(time)
            return Calls(calls)

        answer: str = all_or_nothing(self._lock, lambda: nothing, body)
        return answer

    def update_many(
        self,
        outcomes: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any],
        at: Times | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.str_]:
        """Learn outcomes that arrived together, by id; return the answer to each.

        The answers, one per row: "applied"; "repeated", if the id had this outcome before;
        "conflict", if it had another one, or is given two; "unknown"; "expired". Only rows that are
        applied change anything, invalid input is refused as a whole, and every order of the rows
        ends in the same state. `at` is the time of arrival, one for all or one per row; with
        deadlines, applied outcomes are learned at their deadline. `weights` are those of the
        outcomes, as in `update`.
        """
        self._check_writable()
        names, known = listed_ids(ids), as_unit_series(outcomes, "outcomes")
        check_same_length("ids", len(names), "outcomes", len(known))
        shares = None if weights is None else as_weights(weights, len(known))
        if self._policy.silence is not None:
            self._policy.check_all_whole(known)
        times = None if at is None else times_or_one(at, len(names))

        def body() -> Calls:
            self._let_monitors_see()
            if times is not None:
                self._check_timed()
            calls: list[Call] = []
            for shard, rows in self._rows_of(names):
                when = None if times is None else times[rows]
                own = None if shares is None else shares[rows]
                columns = (taken(names, rows), known[rows], when, False, own)
                calls.append((shard.book.observe, columns, rows))
            if times is not None and self._policy.has_deadlines:
                last = times.max(initial=-np.inf) if hasattr(at, "__len__") else time_of(at)
                calls += self._let_pass(last)
            answers = np.empty(len(names), dtype=np.uint8)
            return Calls(calls, answers, ANSWERS.__getitem__)

        found: npt.NDArray[np.str_] = all_or_nothing(self._lock, lambda: nothing, body)
        return found

    def _check_timed(self) -> None:
        """Refuse an outcome with a time where predictions have none."""
        for shard in self._shards.values():
            self._policy.check_timed(shard.book.is_timed is not False)

    def _let_pass(self, time: float) -> list[Call]:
        """Return the calls that let time pass in all shards, where there are deadlines."""
        return [(shard.book.let_pass, (time,), None) for shard in self._shards.values()]

    def run(
        self,
        keys: Keys,
        scores: npt.ArrayLike | None,
        outcomes: npt.ArrayLike,
        *,
        parents: Keys | None = None,
        at: Times | None = None,
        due: Times | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predict each row and then learn its outcome; return the predictions.

        A compiled loop that gives the same results as `predict` and `update` row by row, bit for
        bit. An outcome that is NaN or None is unknown: the row is predicted, and nothing is
        learned. With `silence` or `hold`, each outcome is known right after its prediction and
        learned at its deadline, where NaN is silence. `weights` are those of the outcomes, as in
        `update`. All or nothing: an invalid row changes nothing, and if it is interrupted with
        Ctrl-C, all rows are learned or none; `rounds` shows which.
        """
        self._check_writable()
        known = as_known(outcomes)
        books = [shard.book for shard in self._shards.values()]
        is_late = at is not None and any(len(book.arrivals) for book in books)
        is_weighed = weights is not None or any(book.weighings >= 0.0 for book in books)
        if self._policy.has_deadlines or due is not None or is_late or is_weighed:
            batch = self._batch(keys, scores, at, parents, len(known))
            ends = None if due is None else times_or_one(due, len(batch), "due")
            shares = None if weights is None else as_weights(weights, len(known))
            played: Floats = all_or_nothing(
                self._lock,
                self._mark,
                lambda: self._play(batch, known, None, at, None, ends, shares)[0][0],
            )
            return played
        if len(known) <= CHUNK:
            batch = self._batch(keys, scores, at, parents, len(known))
            found: Floats = all_or_nothing(
                self._lock, self._new_keys_gone, lambda: self._run(batch, known)
            )
            return found
        predictions = np.empty(len(known))
        columns = [sliceable(each) for each in (keys, scores, at, parents)]
        for each in columns:
            if each is not None and np.ndim(each):
                check_same_length("rows", len(each), "outcomes", len(known))

        def body() -> Floats:
            for first in range(0, len(known), CHUNK):
                rows = slice(first, first + CHUNK)
                key, score, time, parent = (
                    each[rows] if np.ndim(each) else each for each in columns
                )
                batch = self._batch(key, score, time, parent, len(known[rows]))
                predictions[rows] = self._run(batch, known[rows]).make()
            return predictions

        chunks: Floats = all_or_nothing(self._lock, self._mark_without_books, body)
        return chunks

    def play(
        self,
        keys: Keys,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        ids: Sequence[Id | None] | npt.NDArray[Any],
        parents: Keys | None = None,
        at: Times | None = None,
        due: Times | None = None,
    ) -> tuple[Floats, npt.NDArray[np.str_]]:
        """Play a log of predictions and outcomes row by row; return predictions and answers.

        A row with a score and no outcome (NaN) is a prediction, which is pending under its id, if
        it has one. A row with an outcome and no score is the outcome of the id, whose key must be
        that of the prediction. A row with both is predicted and learned at once, as in `run`. The
        results are those of `predict` and `update` row by row, bit for bit, however a log is split
        into batches.

        The answers are "predicted" or those of `update`; an id that was used before is "used", and
        its row changes nothing. The prediction of a row without a score is NaN. With `silence` or
        `hold`, outcomes are learned at deadlines, which `due` may give row by row.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> nan = float("nan")
        >>> predicted, answers = Fleet().play(["a", "a"], [0.5, nan], [nan, 1], ids=["x", "x"])
        >>> answers.tolist()
        ['predicted', 'applied']
        """
        self._check_writable()
        known = as_known(outcomes)
        batch = self._batch(keys, scores, at, parents, len(known), missing=True)
        names = listed_names(ids)
        check_same_length("keys", len(batch), "ids", len(names))
        silent = np.isnan(batch.scores)
        empty = silent & (np.isnan(known) | np.array([name is None for name in names], dtype=bool))
        if empty.any():
            raise ValueError(
                f"row {int(empty.argmax())} has neither a score nor an outcome with its id"
            )
        ends = None if due is None else due_of(due, ~silent)
        with self._lock, uninterrupted:
            told, answers = self._play(batch, known, names, at, None, ends)
        return told[0], ANSWERS[answers]

    def _play(
        self,
        batch: Batch,
        outcomes: Floats,
        names: list[Id | None] | None,
        at: Any,
        known: Floats | None,
        due: Floats | None,
        weights: Floats | None = None,
        *,
        smooth: bool = False,
    ) -> tuple[Floats, npt.NDArray[np.uint8]]:
        """Play the rows of a table; return columns of predictions, and the numbers of the answers.

        The former are predictions, expected predictions and, with `smooth`, the estimates for
        ranking. `known` has the times at which outcomes become known; without it, they are known at
        once. `weights` are those of the outcomes.
        """
        if due is not None and not self._policy.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        if self._policy.silence is not None:
            self._policy.check_all_whole(outcomes)
        size = len(batch)
        told, answers = np.empty((3 if smooth else 2, size)), np.empty(size, dtype=np.uint8)
        self._let_monitors_see()
        dealt = [(each, self._shards[each.shard]) for each in batch.dealt()]
        until = [self._times(each, shard, at, due) for each, shard in dealt]
        for (each, shard), (made, dues) in zip(dealt, until, strict=True):
            rows = len(each.rows.scores)
            own, found = np.empty((len(told), rows)), np.empty(rows, dtype=np.uint8)
            table = Table(
                None if names is None else taken(names, each.at), outcomes[each.at], made,
                None if known is None else known[each.at], dues,
                None if weights is None else weights[each.at],
            )  # fmt: skip
            shard.play(each.rows, table, own, found)
            told[:, each.at], answers[each.at] = own, found
        return told, answers

    def _times(
        self, each: Dealt, shard: Shard, at: Any, ends: Floats | None
    ) -> tuple[Floats | None, Floats | None]:
        """Return when the rows of a shard are made, and when their outcomes count."""
        book, rows = shard.book, each.rows
        return self._policy.times(
            len(rows.scores), None if at is None else rows.times,
            None if ends is None else ends[each.at], book.now, book.is_timed, shard.kernel.rounds,
            self._policy.is_dated(at), ~np.isnan(rows.scores),
        )  # fmt: skip

    def _run(self, batch: Batch, outcomes: Floats) -> Calls:
        self._let_monitors_see()
        calls: list[Call] = []
        for each in batch.dealt():
            calls += self._shards[each.shard].run(each.rows, outcomes[each.at], each.at)
        return Calls(calls, np.empty(len(batch)))

    def _let_monitors_see(self) -> None:
        """Let monitors see what was learned, if it is much: before a call, so none stops midway."""
        for shard in self._shards.values():
            if shard.watch is not None:
                shard.watch.catch_up(MOST_UNSEEN)

    def _new_keys_gone(self) -> Callable[[], None]:
        """Return what forgets the keys that come from now on."""
        counts = [
            (shard, len(shard.index), len(shard.parent_index)) for shard in self._shards.values()
        ]

        def go_back() -> None:
            for shard, keys, parents in counts:
                shard.go_back_to(keys, parents)

        return go_back

    def _mark_without_books(self) -> Callable[[], None]:
        """Return what takes all shards back to where they are now, if no more predictions wait."""
        before = [(shard, shard.copy()) for shard in self._shards.values()]

        def go_back() -> None:
            for shard, copy in before:
                shard.go_back(copy)

        return go_back

    def _mark(self) -> Callable[[], None]:
        """Return what takes all of it back to where it is now, including pending rounds."""
        before = {number: self.shard_arrays(number) for number in self._shards}

        def go_back() -> None:
            self._shards = self.from_shards(self._given, before)._shards

        return go_back

    # -- pending predictions ---------------------------------------------------------------------

    def advance(self, now: Time) -> int:
        """Advance the clock: learn what is due by `now`; return the number of outcomes learned.

        Predictions and outcomes with a time, ``at=...``, also advance the clock, as does each
        prediction if deadlines count predictions. An earlier time changes nothing.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(silence=0, after=30)
        >>> _ = fleet.predict("x", 0.2, id="a", at=100), fleet.predict("y", 0.3, id="b", at=110)
        >>> fleet.update(1, id="a", at=120)                 # learned at 130
        'applied'
        >>> fleet.advance(130), fleet.advance(140)          # at 140, b has no outcome: 0
        (1, 1)
        """
        self._check_writable()

        def body() -> Calls:
            books = [shard.book for shard in self._shards.values()]
            times = [self._policy.time_to_advance(now, book.is_timed) for book in books]
            calls: list[Call] = [
                (book.advance, (time,), number)
                for number, (book, time) in enumerate(zip(books, times, strict=True))
            ]
            return Calls(calls, [0] * len(books), sum)

        learned: int = all_or_nothing(self._lock, lambda: nothing, body)
        return learned

    def _rows_of(self, names: list[Id]) -> Iterator[tuple[Shard, npt.NDArray[np.int64] | slice]]:
        """Return the shards that know some of the ids, with their rows; the first gets others."""
        shards = list(self._shards.values())
        if len(shards) == 1:
            yield shards[0], slice(None)
            return
        owners, left = dict.fromkeys(names, 0), set(names)
        for number, shard in enumerate(shards):
            # Sets look for the fewer in the more: the ids in those of the shard, or the reverse.
            here = left & shard.book.known.keys()
            if shard.book.gone:
                here |= left & shard.book.gone.keys()
            if here:
                owners |= dict.fromkeys(here, number)
                left -= here
            if not left:
                break
        owner = np.array([owners[name] for name in names], dtype=np.int64)
        for number in np.unique(owner).tolist():
            yield shards[number], np.flatnonzero(owner == number)

    # -- looking --------------------------------------------------------------------------------

    @property
    def monitors(self) -> FleetMonitors | None:
        """The monitors of scores, predictions and keys, None without ``monitor=True``."""
        is_watched = self._given["monitor"] not in (False, None)
        return FleetMonitors(self._shards, self._lock) if is_watched else None

    @overload
    def expected(  # type: ignore[overload-overlap]  # a string is a sequence of strings
        self, keys: Id, scores: float | None = None, *, parents: Id | None = None
    ) -> float: ...
    @overload
    def expected(
        self, keys: Keys, scores: npt.ArrayLike | None = None, *, parents: Keys | None = None
    ) -> Floats: ...
    def expected(self, keys: Any, scores: Any = None, *, parents: Any = None) -> Any:
        """Return the mean of what `predict` would draw now, for one key or many; changes nothing.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet()
        >>> fleet.expected("a", 0.5), fleet.expected(["a", "b"], [0.5, 0.5]).tolist()
        (0.5, [0.5, 0.5])
        """
        return self._look(keys, scores, parents, placed=True)

    @overload
    def smooth(  # type: ignore[overload-overlap]  # a string is a sequence of strings
        self, keys: Id, scores: float | None = None, *, parents: Id | None = None
    ) -> float: ...
    @overload
    def smooth(
        self, keys: Keys, scores: npt.ArrayLike | None = None, *, parents: Keys | None = None
    ) -> Floats: ...
    def smooth(self, keys: Any, scores: Any = None, *, parents: Any = None) -> Any:
        """Return the mixture's estimate for ranking, for one key or many; changes nothing.

        It is as fine-grained as the scores. Only the predictions on the grid have the guarantee.
        """
        return self._look(keys, scores, parents, placed=False)

    def _look(self, keys: Any, scores: Any, parents: Any, placed: bool) -> Any:
        if isinstance(keys, str | Integral):
            scores, parents = (None if each is None else [each] for each in (scores, parents))
            return self._look([keys], scores, parents, placed).item()
        batch = self._batch(keys, scores, None, parents)
        means = np.empty(len(batch))
        with self._lock:
            for each in batch.dealt():
                means[each.at] = self._shards[each.shard].expected(each.rows, placed)
        return means

    # -- rows -----------------------------------------------------------------------------------

    def _batch(
        self,
        keys: Keys,
        scores: object,
        at: object,
        parents: object,
        size: int | None = None,
        missing: bool = False,
    ) -> Batch:
        """Return rows, checked: nothing is refused after this."""
        batch = Batch(self.kind, self.shards, keys, scores, at, parents, missing)
        if size is not None:
            check_same_length("keys", len(batch), "outcomes", size)
        for shard in self._shards.values():
            shard.check(batch.keys, batch.parents)
        if len(self._shards) < self.shards:
            numbers = batch.shard_numbers()
            is_elsewhere = ~np.isin(numbers, list(self._shards))
            if is_elsewhere.any():
                row = int(is_elsewhere.argmax())
                raise ValueError(
                    f"the key at position {row} belongs to shard {numbers[row]} of {self.shards}, "
                    "which this fleet does not hold"
                )
        return batch

    # -- what it holds -------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return sum(shard.kernel.rounds for shard in self._shards.values())

    @property
    def learned(self) -> int:
        """Outcomes learned so far."""
        return sum(shard.kernel.learned for shard in self._shards.values())

    @property
    def pending(self) -> int:
        """The number of pending predictions."""
        return sum(len(shard.book) for shard in self._shards.values())

    def waiting(self) -> dict[Id, float]:
        """Return when the pending predictions were made, by id, of those with a time."""
        with self._lock:
            return {
                id_: each.at
                for shard in self._shards.values()
                for id_, each in shard.book.waiting()
                if not math.isnan(each.at) and isinstance(id_, str | int)
            }

    @property
    def expired(self) -> int:
        """The number of predictions with an id that expired before their outcome arrived."""
        return sum(shard.book.expired for shard in self._shards.values())

    @property
    def nbytes(self) -> int:
        """The memory of the keys in bytes, including their index, without pending predictions."""
        return sum(shard.nbytes for shard in self._shards.values())

    def __len__(self) -> int:
        """Return the number of keys."""
        return sum(len(shard.index) for shard in self._shards.values())

    @property
    def key_kind(self) -> str | None:
        """The type of the keys: "int" or "str", None while there are none."""
        kinds = (shard.index.kind for shard in self._shards.values())
        return next((kind for kind in kinds if kind is not None), None)

    def keys(self) -> npt.NDArray[Any]:
        """Return all keys, shard by shard, in order of appearance."""
        with self._lock:
            found = [shard.index.keys() for shard in self._shards.values() if len(shard.index)]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def __iter__(self) -> Iterator[Id]:
        return iter(self.keys().tolist())

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return self._find(key) is not None

    def __getitem__(self, key: Id) -> KnownKey:
        """Return the state of a key."""
        with self._lock:
            found = self._find(key)
            if found is None:
                raise KeyError(key)
            shard, slot = found
            return shard.known(slot)

    def ranked(
        self, by: str = "trouble", count: int = 100, start: int = 0
    ) -> list[tuple[Id, KnownKey]]:
        """Return the top keys by some criterion, and their states, in this order.

        Parameters
        ----------
        by : {"trouble", "outcomes", "predictions"}
            Trouble is how clearly a key differs from the whole: its absolute offset in standard
            deviations of the offset; 0 before its first outcome.
        count, start : int
            How many, after the first `start`. Ties are in order of appearance.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(seed=7)
        >>> _ = fleet.run(["quiet", "busy", "busy", "busy"] * 10, None, [0, 1, 1, 1] * 10)
        >>> [key for key, _ in fleet.ranked("outcomes")]
        ['busy', 'quiet']
        """
        check_choice("by", by, tuple(RANKINGS))
        end = check_integer("start", start, 0) + check_integer("count", count, 0)
        with self._lock:
            return ranked(list(self._shards.values()), by, start, end)

    def _find(self, key: object) -> tuple[Shard, int] | None:
        """Return the shard and the slot of a key; with parents, any shard may hold it."""
        for shard in self._shards.values():
            if len(shard.index):
                slot = int(shard.index.slots([key])[0])
                if slot >= 0:
                    return shard, slot
        return None

    # -- forgetting -----------------------------------------------------------------------------

    def evict(self, idle: float | timedelta | str, now: Time | None = None) -> int:
        """Remove keys whose last prediction is longer ago than `idle`; return how many.

        `idle` is in predictions of the key's shard, or in the time of ``predict(..., at=...)`` if
        `now` is given. A key that reappears starts over. What all keys share is not changed.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet()
        >>> _ = fleet.run(["a", "b", "b", "b"], None, [1, 0, 1, 0])
        >>> fleet.evict(idle=3), "a" in fleet
        (1, False)
        """
        self._check_writable()
        span = as_span(idle, "idle")
        time = None if now is None else time_of(now, "now")
        if span.is_time and time is None:
            raise ValueError(f"idle={idle!r} is a time, so now=... must say what time it is")
        with self._lock, uninterrupted:
            return sum(shard.evict(span.length, time) for shard in self._shards.values())

    def expire(self, *, older_than: int | None = None, before: Time | None = None) -> list[Id]:
        """Expire old predictions; return their ids.

        Their outcomes, should they still come, are refused as expired.

        Parameters
        ----------
        older_than : int, optional
            Expire predictions made more than this number of predictions of their shard ago.
        before : number or date and time, optional
            Expire predictions with an earlier time, ``predict(..., at=...)``.
        """
        self._check_writable()
        if (older_than is None) == (before is None):
            raise ValueError("expire() takes older_than, an integer, or before, a time")
        with self._lock, uninterrupted:
            shards = list(self._shards.values())
            if before is not None:
                time = time_of(before, "before")
                return [name for shard in shards for name in shard.book.expire(before=time)]
            age = check_integer("older_than", older_than, 0)
            return [
                name
                for shard in shards
                for name in shard.book.expire(number=shard.kernel.rounds - age)
            ]

    def forget_ids(self) -> int:
        """Forget all ids: pending predictions are dropped, and every id may be used again.

        For a fleet that continues with ids from another source. Returns how many were pending.
        """
        self._check_writable()
        with self._lock, uninterrupted:
            return sum(shard.book.forget() for shard in self._shards.values())

    def _check_writable(self) -> None:
        if self._is_read_only:
            raise ValueError("this fleet was opened read-only; use Fleet.load to continue it")

    # -- files and bytes -----------------------------------------------------------------------

    def shard_arrays(self, number: int) -> dict[str, npt.NDArray[Any]]:
        """Return everything of one shard as flat arrays by name; `from_shards` reads them."""
        return arrays_of(self._shards[check_integer("number", number, 0, self.shards - 1)])

    @classmethod
    def from_shards(
        cls,
        settings: Mapping[str, Any],
        shards: Mapping[int, Mapping[str, npt.NDArray[Any]]],
        copy: bool = True,
        patience: float | None = None,
    ) -> Self:
        """Return the fleet with these arguments that holds these shards, and no other.

        Without a copy it stands on the arrays and is read-only. An outcome that arrives
        more than `patience` after its prediction is refused as expired.
        """
        fleet = cls(**{**settings, "shards": 1})  # the others are made as they are read
        fleet._given["shards"] = check_integer("shards", settings.get("shards", 1), 1, MOST_SHARDS)
        fleet._shards = {}
        for number in sorted(check_integer("shard", each, 0, fleet.shards - 1) for each in shards):
            shard = fleet._shards[number] = fleet._new_shard()
            load_shard(shard, shards[number], copy)
            if patience is not None:
                shard.book.patience = patience
        fleet._is_read_only = not copy
        return fleet

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to one file, whole or not at all: it is replaced in one step.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant import Fleet
        >>> fleet = Fleet(seed=7)
        >>> _ = fleet.run(["a", "b", "a"], [0.2, 0.8, 0.3], [0, 1, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fleet.save(f"{folder}/fleet")
        ...     again = Fleet.load(f"{folder}/fleet")
        ...     seen = Fleet.open(f"{folder}/fleet").expected(["a"], [0.4])
        >>> bool(again.expected(["a"], [0.4]) == fleet.expected(["a"], [0.4]) == seen)
        True
        """
        with self._lock:
            file.save(path, *self._written())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a fleet from a file written by `save`; it continues exactly as the saved one."""
        return cls._read(path, *file.load(path), copy=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Open a file written by `save` read-only, memory-mapped: keys are read when needed.

        `expected`, `smooth` and the states of keys take no memory of their own. The checksums of
        the whole file are verified first, which reads it once; with ``verify=False``, only that of
        the header is verified, and opening takes no time, however many keys there are.

        A save replaces the file and does not affect an opened one. If another program writes to the
        file meanwhile, results are undefined; if it is truncated, reading the missing part
        terminates the process, as with every memory-mapped file.
        """
        return cls._read(path, *file.open_mapped(path, verify=verify), copy=False)

    @classmethod
    def _read(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        shards: Sequence[Mapping[str, npt.NDArray[Any]]],
        copy: bool,
    ) -> Self:
        try:
            named = dict(zip(settings["shards"], shards, strict=True))
            return cls.from_shards(settings["arguments"], named, copy)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is invalid: {error}", source=os.fspath(path)) from None

    def to_bytes(self) -> bytes:
        """Return the whole fleet as bytes: what `save` writes."""
        with self._lock:
            return b"".join(file.pieces(*self._written()))

    def frozen(self) -> Callable[[], bytes]:
        """Return a function that returns `to_bytes` as of now, whenever it is called.

        It keeps a copy, so this fleet may continue meanwhile, also in another thread.
        """
        with self._lock:
            settings, shards = self._written()
            # The index hands out the arrays that it goes on writing to; all else is a copy.
            copies = [
                {name: each.copy() if "_index_" in name else each for name, each in shard.items()}
                for shard in shards
            ]
        return lambda: b"".join(file.pieces(settings, copies))

    def _written(self) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
        settings = {"arguments": self._given, "shards": list(self._shards)}
        return settings, [arrays_of(shard) for shard in self._shards.values()]

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Restore a fleet from `to_bytes`; it continues exactly as the saved one."""
        return cls._read("the saved fleet", *file.load_bytes(blob), copy=True)

    def split(self, count: int) -> list[Self]:
        """Return `count` fleets, each with some of the shards; `merge` combines them again.

        Each continues as this one would, bit for bit, with the keys of its shards.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(shards=4)
        >>> _ = fleet.run(range(100), None, [0, 1] * 50)
        >>> halves = fleet.split(2)
        >>> [len(half) for half in halves], len(Fleet.merge(halves))
        ([55, 45], 100)
        """
        numbers = list(self._shards)
        if check_integer("count", count, 1) > len(numbers):
            raise ValueError(
                f"a fleet of {len(numbers)} shards cannot be split into {count}; make it with "
                f"Fleet(shards={count}) or more"
            )
        with self._lock:
            return [
                self.from_shards(
                    self._given, {number: self.shard_arrays(number) for number in own.tolist()}
                )
                for own in np.array_split(np.array(numbers), count)
            ]

    @classmethod
    def merge(cls, fleets: Sequence[Fleet]) -> Self:
        """Return one fleet with the shards of all, which must differ; arguments must be equal."""
        if not fleets:
            raise ValueError("merge needs one fleet or more, got none")
        found: dict[int, dict[str, npt.NDArray[Any]]] = {}
        for fleet in fleets:
            if fleet._given != fleets[0]._given:
                raise ValueError(f"{fleet!r} and {fleets[0]!r} are not shards of one fleet")
            for number in fleet._shards:
                if number in found:
                    raise ValueError(f"shard {number} is in two of the fleets")
                found[number] = fleet.shard_arrays(number)
        return cls.from_shards(fleets[0]._given, found)


def nothing() -> None:
    """Go back where only compiled calls change anything."""


def due_of(due: Any, is_predicted: npt.NDArray[np.bool_]) -> Floats:
    """Return the deadlines of rows; of a row that is not predicted it does not matter."""
    if isinstance(due, Sequence | np.ndarray) and not is_predicted.all():
        check_same_length("keys", len(is_predicted), "due", len(due))
        if isinstance(due, np.ndarray) and due.dtype.kind in "iuf":
            due = np.where(is_predicted, due, 0.0)
        else:
            pairs = zip(due, is_predicted.tolist(), strict=True)
            due = [each if has else 0.0 for each, has in pairs]
    return times_or_one(due, len(is_predicted), "due")
