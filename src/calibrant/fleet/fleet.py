"""A fleet: the recalibrator for a million keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_unit_series,
    check_choice,
    check_integer,
    check_same_length,
    check_seed,
)
from calibrant._kernels.forking import forkable_lock
from calibrant._kernels.rounds.book import ANSWERS
from calibrant._kernels.rounds.learner import listed_ids
from calibrant._kernels.scores.recalibrate import KINDS, as_known
from calibrant._spans import as_span
from calibrant._times import Time, time_of, times_or_one
from calibrant.fleet.kept import Kept
from calibrant.fleet.monitors import FleetMonitors
from calibrant.fleet.rows import Batch, Dealt, listed_names, sliceable, taken
from calibrant.fleet.shard import Shard, Table
from calibrant.fleet.watch import MOST_UNSEEN, WATCHED_WITH, shard_settings
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.rounds.policy import Policy, silence_of

#: One key a row, all integers or all strings.
Keys = Sequence[int] | Sequence[str] | npt.NDArray[Any]
Times = Time | Sequence[Time] | npt.NDArray[Any]

MOST_SHARDS = 2**16
#: Rows that `run` plays between two looks for Ctrl-C.
CHUNK = 2**20


class Fleet(Kept):
    """Turn scores into probabilities that stay calibrated, for a million keys.

    All keys share what is learned of the scores, as in a `Recalibrator`. Each key, a customer, a
    machine or a shop, then has an offset and a slope of its own, which count as far as its outcomes
    speak; how different keys are is itself learned from all of them. A key takes about 160 bytes.
    `docs/fleet.md` says how, and when to use groups instead.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1]. The draw of a prediction depends on the seed, on its
        key and on how many predictions of the key came before.
    kind : {"probability", "logit", "margin"}, default "probability"
        What the scores are, as in `Recalibrator`.
    shards : int, default 1
        A key belongs to one of so many shards, by its hash, and shards share nothing. More than one
        is for `split`: what a fleet says does not depend on how its shards are dealt out.
    capacity : int, default 100_000
        How many predictions with an id may wait for their outcomes, in each shard; also how many
        finished ids are remembered.
    monitor : bool, dict or Monitor, default False
        Whether to watch the raw scores and the expected predictions, and each key: `monitors`. A
        dict has arguments of `Monitor` (every, tolerance, alpha); of a Monitor, only its arguments
        are taken. It takes 48 bytes a key.
    silence, after, hold : optional
        As in `Recalibrator`: the outcome that no news until the deadline means, how long to wait
        for news, or the age at which every outcome is learned. A fleet learns at deadlines only.

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

    Outcomes that come late are given by id:

    >>> p = fleet.predict([17, 4], [0.3, -0.2], ids=["a", "b"])
    >>> fleet.update(["b", "c"], [1, 0]).tolist()
    ['applied', 'unknown']
    >>> fleet.pending
    1

    Without scores it forecasts an event stream a key:

    >>> events = Fleet()
    >>> _ = events.run(["a", "b"] * 200, None, [1, 0] * 200)
    >>> events.expected(["a", "b"]).round(1).tolist()
    [1.0, 0.0]
    """

    __slots__ = ()

    seed: int
    kind: str
    shards: int
    capacity: int
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
        monitor: bool | Mapping[str, Any] | Monitor = False,
        silence: int | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
    ) -> None:
        check_seed(seed)
        check_choice("kind", kind, KINDS)
        numbers = range(check_integer("shards", shards, 1, MOST_SHARDS))
        settings = settings_of(monitor, WATCHED_WITH)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        watch = None if settings is None else shard_settings(settings, shards)
        self._given |= {"after": plain_span(after), "hold": plain_span(hold)}
        self._policy = Policy.of(
            silence=silence_of(silence), after=after, hold=hold, capacity=capacity
        )
        self._shards = {number: Shard(kind, seed, self._policy, watch) for number in numbers}
        self._lock = forkable_lock()
        self._is_open = False  # for reading only?

    # -- predicting and learning ----------------------------------------------------------------

    def predict(
        self,
        keys: Keys,
        scores: npt.ArrayLike | None = None,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        at: Times | None = None,
        parents: Keys | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Return the probability of each row as things stand now.

        Rows with ids wait for their outcomes, which `update` brings; without ids nothing waits. An
        id is used once in a shard. `at` says when rows are predicted, one time for all or one a row,
        for `evict` and `expire`. `parents` names what each key belongs to: an aircraft's carrier.
        Its offsets count below those of the key. `run`, `expected` and `smooth` then get them too.
        `due` gives deadlines, one for all or one a row, where there is `silence` or `hold`.
        """
        if ids is not None:
            rounds = self._open(keys, scores, ids, at, parents, due)
            return next(iter(self._shards.values())).rule.answers(rounds)
        self._check_open()
        batch = self._batch(keys, scores, at, parents)
        if self._policy.has_deadlines:
            raise ValueError("with silence or hold predictions need ids, for their outcomes")
        if due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        predictions = np.empty(len(batch))
        with self._lock:
            for each in batch.dealt():
                shard = self._shards[each.shard]
                predictions[each.at] = shard.predict(each.rows)
        return predictions

    def _open(
        self,
        keys: Keys,
        scores: Any,
        ids: Any,
        at: Any = None,
        parents: Any = None,
        due: Any = None,
    ) -> list[Any]:
        """Do what `predict` does with ids; return the rounds."""
        self._check_open()
        batch, names = self._batch(keys, scores, at, parents), listed_ids(ids)
        check_same_length("keys", len(batch), "ids", len(names))
        if due is not None and not self._policy.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        rounds = [None] * len(batch)
        with self._lock:
            dealt = [(each, self._shards[each.shard]) for each in batch.dealt()]
            named: list[Any] = [taken(names, each.at) for each, _ in dealt]
            for (_, shard), own in zip(dealt, named, strict=True):
                shard.book.check_new_ids(own)
            ends = None if due is None else times_or_one(due, len(batch), "due")
            until = [self._times(each, shard, at, ends) for each, shard in dealt]
            for (each, shard), own, times in zip(dealt, named, until, strict=True):
                opened = shard.open(each.rows, own, *times)
                if isinstance(each.at, slice):
                    return opened
                for row, one in zip(each.at.tolist(), opened, strict=True):
                    rounds[row] = one
        return rounds

    def update(
        self,
        ids: Sequence[Id] | npt.NDArray[Any],
        outcomes: npt.ArrayLike,
        at: Times | None = None,
    ) -> npt.NDArray[np.str_]:
        """Learn outcomes that came together, by id; return what became of each.

        The answers, one a row: "applied"; "repeated", if the id had this outcome before;
        "conflict", if it had or gets another one too; "unknown"; "expired". Only rows that are
        applied change anything, bad input is refused as a whole, and every order of the rows ends
        in the same state. `at` says when the outcomes arrived, one time for all or one a row; with
        deadlines, "applied" ones are learned at theirs.
        """
        self._check_open()
        names, known = listed_ids(ids), as_unit_series(outcomes, "outcomes")
        check_same_length("ids", len(names), "outcomes", len(known))
        if self._policy.silence is not None:
            self._policy.check_all_whole(known)
        times = None if at is None else times_or_one(at, len(names))
        answers = np.empty(len(names), dtype=np.uint8)
        with self._lock:
            self._let_monitors_see()
            if times is not None:
                for shard in self._shards.values():
                    self._policy.check_timed(shard.book.is_timed is not False)
            for shard, rows in self._rows_of(names):
                when = None if times is None else times[rows]
                answers[rows] = shard.book.observe(taken(names, rows), known[rows], when)
            if times is not None:
                last = times.max(initial=-np.inf) if hasattr(at, "__len__") else time_of(at)
                for shard in self._shards.values():  # time passes in all of them
                    shard.book.let_pass(last)
        return ANSWERS[answers]

    def run(
        self,
        keys: Keys,
        scores: npt.ArrayLike | None,
        outcomes: npt.ArrayLike,
        at: Times | None = None,
        parents: Keys | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Predict each row and then learn its outcome; return the predictions.

        Bit for bit what `predict` and `update` give row by row, in compiled loops. An outcome that
        is NaN or None is not known: the row is predicted, and nothing is learned. With `silence` or
        `hold` each outcome is known right after its prediction and learned at its deadline, NaN
        being silence. All or nothing: interrupted with Ctrl-C, or with a bad row, it is as if `run`
        had not been called.
        """
        self._check_open()
        known = as_known(outcomes)
        late = [shard.book for shard in self._shards.values() if len(shard.book.arrivals)]
        if self._policy.has_deadlines or due is not None or (at is not None and late):
            batch = self._batch(keys, scores, at, parents, len(known))
            ends = None if due is None else times_or_one(due, len(batch), "due")
            with self._lock, self._undone_if_stopped():
                return self._play(batch, known, None, at, None, ends)[0]
        if len(known) <= CHUNK:
            with self._lock:
                return self._run(self._batch(keys, scores, at, parents, len(known)), known)
        predictions = np.empty(len(known))
        columns = [sliceable(each) for each in (keys, scores, at, parents)]
        for each in columns:
            if each is not None and np.ndim(each):
                check_same_length("rows", len(each), "outcomes", len(known))
        with self._lock, self._whole_or_not_at_all():
            for first in range(0, len(known), CHUNK):
                rows = slice(first, first + CHUNK)
                key, score, time, parent = (
                    each[rows] if np.ndim(each) else each for each in columns
                )
                batch = self._batch(key, score, time, parent, len(known[rows]))
                predictions[rows] = self._run(batch, known[rows])
        return predictions

    def play(
        self,
        keys: Keys,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        ids: Sequence[Id | None] | npt.NDArray[Any],
        at: Times | None = None,
        parents: Keys | None = None,
        due: Times | None = None,
    ) -> tuple[Floats, npt.NDArray[np.str_]]:
        """Play a log of predictions and outcomes row by row; return predictions and answers.

        A row with a score and no outcome (NaN) is a prediction that waits under its id, if it has
        one. A row with an outcome and no score is the outcome of the id, whose key must be that of
        the prediction. A row with both is predicted and learned at once, as in `run`. Bit for bit
        what `predict` and `update` give row by row, wherever a log is cut into batches.

        The answers are "predicted" or those of `update`; an id that was used before is "used", and
        its row changes nothing. The prediction of a row without one is NaN. With `silence` or
        `hold` outcomes are learned at deadlines, which `due` may give row by row.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> nan = float("nan")
        >>> said, answers = Fleet().play(["a", "a"], [0.5, nan], [nan, 1], ids=["x", "x"])
        >>> answers.tolist()
        ['predicted', 'applied']
        """
        self._check_open()
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
        with self._lock:
            predictions, answers = self._play(batch, known, names, at, None, ends)
        return predictions, ANSWERS[answers]

    def _play(
        self,
        batch: Batch,
        outcomes: Floats,
        names: list[Id | None] | None,
        at: Any,
        known: Floats | None,
        due: Floats | None,
    ) -> tuple[Floats, npt.NDArray[np.uint8]]:
        """Play the rows of a table; return predictions, and the numbers of the answers.

        `known` says when each outcome becomes known; without it that is at once.
        """
        if due is not None and not self._policy.has_deadlines:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        if self._policy.silence is not None:
            self._policy.check_all_whole(outcomes)
        size = len(batch)
        predictions, answers = np.empty(size), np.empty(size, dtype=np.uint8)
        self._let_monitors_see()
        dealt = [(each, self._shards[each.shard]) for each in batch.dealt()]
        until = [self._times(each, shard, at, due) for each, shard in dealt]
        for (each, shard), (made, dues) in zip(dealt, until, strict=True):
            own = len(each.rows.scores)
            told, found = np.empty((2, own)), np.empty(own, dtype=np.uint8)
            table = Table(
                None if names is None else taken(names, each.at), outcomes[each.at], made,
                None if known is None else known[each.at], dues,
            )  # fmt: skip
            shard.play(each.rows, table, told, found)
            predictions[each.at], answers[each.at] = told[0], found
        return predictions, answers

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

    def _run(self, batch: Batch, outcomes: Floats) -> Floats:
        self._let_monitors_see()
        if self.shards == 1:
            return self._shards[0].run(batch.rows, outcomes)
        predictions = np.empty(len(batch))
        for each in batch.dealt():
            shard = self._shards[each.shard]
            predictions[each.at] = shard.run(each.rows, outcomes[each.at])
        return predictions

    def _let_monitors_see(self) -> None:
        """Let monitors see what was learned, if it is much: before a call, so none stops midway."""
        for shard in self._shards.values():
            if shard.watch is not None:
                shard.watch.catch_up(MOST_UNSEEN)

    @contextmanager
    def _whole_or_not_at_all(self) -> Iterator[None]:
        """Let all shards go back to where they are now if the body is interrupted."""
        before = {number: shard.copy() for number, shard in self._shards.items()}
        try:
            yield
        except BaseException:
            for number, shard in self._shards.items():
                shard.go_back(before[number])
            raise

    @contextmanager
    def _undone_if_stopped(self) -> Iterator[None]:
        """Let all of it go back to where it is now, what waits included."""
        before = {number: self.shard_arrays(number) for number in self._shards}
        try:
            yield
        except BaseException:
            self._shards = self.from_shards(self._given, before)._shards
            raise

    # -- what waits -----------------------------------------------------------------------------

    def advance(self, now: Time) -> int:
        """Let time pass: learn what is due by `now`; return how many outcomes that were.

        Predictions and outcomes that say when they are, ``at=...``, do this by themselves, as does
        a prediction where deadlines count predictions. An earlier time changes nothing.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(silence=0, after=30)
        >>> _ = fleet.predict(["x", "y"], [0.2, 0.3], ids=["a", "b"], at=[100, 110])
        >>> fleet.update(["a"], [1], at=120).tolist()       # learned at 130
        ['applied']
        >>> fleet.advance(130), fleet.advance(140)          # at 140, nothing was heard of b: 0
        (1, 1)
        """
        self._check_open()
        with self._lock:
            shards = list(self._shards.values())
            times = [self._policy.time_to_advance(now, shard.book.is_timed) for shard in shards]
            return sum(shard.book.advance(time) for shard, time in zip(shards, times, strict=True))

    def _rows_of(self, names: list[Id]) -> Iterator[tuple[Shard, npt.NDArray[np.int64] | slice]]:
        """Return the shards that know some of the ids, each with its rows; the first gets others."""
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
        """What watches scores, predictions and keys, with ``monitor=True``; else None."""
        is_watched = self._given["monitor"] not in (False, None)
        return FleetMonitors(self._shards, self._lock) if is_watched else None

    def expected(
        self, keys: Keys, scores: npt.ArrayLike | None = None, parents: Keys | None = None
    ) -> Floats:
        """Return the mean of what `predict` would draw for each row now; changes nothing."""
        return self._seen(keys, scores, parents, placed=True)

    def smooth(
        self, keys: Keys, scores: npt.ArrayLike | None = None, parents: Keys | None = None
    ) -> Floats:
        """Return the mixture's own word for each row, to rank by; changes nothing.

        As fine as the scores are. Only what `predict` places on its grid has the guarantee.
        """
        return self._seen(keys, scores, parents, placed=False)

    def _seen(self, keys: Keys, scores: object, parents: Keys | None, placed: bool) -> Floats:
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


def due_of(due: Any, is_predicted: npt.NDArray[np.bool_]) -> Floats:
    """Return the deadlines of rows; what is said of one that is not predicted does not matter."""
    if isinstance(due, Sequence | np.ndarray) and not is_predicted.all():
        check_same_length("keys", len(is_predicted), "due", len(due))
        if isinstance(due, np.ndarray) and due.dtype.kind in "iuf":
            due = np.where(is_predicted, due, 0.0)
        else:
            pairs = zip(due, is_predicted.tolist(), strict=True)
            due = [each if has else 0.0 for each, has in pairs]
    return times_or_one(due, len(is_predicted), "due")


def plain_span(span: float | timedelta | str | None) -> float | str | None:
    """Return a span as it can be saved."""
    is_time = isinstance(span, timedelta | np.timedelta64)
    return f"{as_span(span, 'a span').length:.6f}s" if is_time else span  # type: ignore[return-value]
