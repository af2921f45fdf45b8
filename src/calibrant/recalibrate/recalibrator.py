"""The recalibrator: sharp, then safe, with outcomes that may come late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, SupportsFloat, overload

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_series, check_choice, check_integer, check_seed
from calibrant._groups import WHOLE
from calibrant._kernels.recalibrate import KINDS, outcome_of
from calibrant._kernels.score_rounds import Round, check_rounds
from calibrant._kernels.smooth import smooth_of
from calibrant._kernels.steps_by_id import predict_by_id, predict_many_by_id, update_by_id
from calibrant._kernels.waiting import Waiting
from calibrant._times import Time, time_of
from calibrant.forecasters.answers import refuses
from calibrant.forecasters.saved_ids import Integers
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.settings import settings_of
from calibrant.monitor.side_by_side import SideBySide
from calibrant.recalibrate import saving
from calibrant.recalibrate.deadlines import deadlines_of, take_deadlines
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.learning import Learning, Names, take_watch
from calibrant.recalibrate.looking import is_one
from calibrant.recalibrate.waiting import Pending, ids_and_times
from calibrant.recalibrate.weights import Weighed
from calibrant.saving import Savable

Times = Time | Sequence[Time] | npt.NDArray[Any]


class Recalibrator(Savable, Weighed, Learning):
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
    full : {"expire", "refuse"}, default "expire"
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
    >>> again.pending
    0
    """

    __slots__ = ("_deadlines", "_given", "_groups", "_monitors", "_waiting")

    capacity: int
    full: str
    max_groups: int
    silence: int | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None
    monitor: bool | Mapping[str, Any]

    def __init__(
        self,
        kind: str = "probability",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        full: str = "expire",
        max_groups: int = 1_000_000,
        silence: int | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        super().__init__(check_choice("kind", kind, KINDS), check_seed(seed))
        self._waiting = Waiting(check_integer("capacity", capacity, 1), refuses(full))
        self._groups = Groups(check_integer("max_groups", max_groups, 0), self.seed)
        self._deadlines = deadlines_of(silence, after, hold)
        if self._deadlines is not None:
            self._attend(self._deadlines.pending)
            self._waiting.on_expiry = self._deadlines.drop
        settings = settings_of(monitor)
        self._monitors = None if settings is None else SideBySide(settings, max_groups)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings

    @property
    def groups(self) -> dict[Id, int]:
        """The names of the groups in the order they came, and how many predictions each made."""
        groups = self._groups
        return dict(zip(groups.names, groups.words.made().tolist(), strict=True))

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting) + super().is_open

    @property
    def is_open(self) -> bool:
        """Whether the last prediction without an id still waits for its outcome."""
        return super().is_open or self._waiting.unnamed is not None

    # -- one by one -----------------------------------------------------------------------------

    def predict(
        self,
        score: SupportsFloat,
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
        if self._deadlines is not None:
            return self._predict_until(score, id, by, at, due)
        if due is not None:
            raise ValueError("due needs silence or hold: what is learned at the deadline?")
        time = None if at is None else time_of(at)
        if id is None and by is None:  # one kernel call, which needs no lock
            prediction = self._predict(score)
            self._waiting.unnamed = None
            return prediction
        if by is None:
            return predict_by_id(self, self._waiting, id, time, score)  # type: ignore[arg-type]
        opened = self._waiting.open(id, time, self._groups.begin, self, score, by)
        if id is None:
            self._give_up()
        return opened.prediction

    def update(
        self,
        outcome: SupportsFloat,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
    ) -> None:
        """Learn an outcome in [0, 1]: of the last prediction without an id, or of an id's.

        It counts for the group of the prediction. An outcome that an id had before is ignored; a
        different one is refused. `at` says when it came, where predictions have deadlines.
        """
        if self._deadlines is not None:
            self._hear(outcome, id, at)
        elif self._monitors is not None:
            self._update_watched(outcome, id)
        elif id is not None:
            update_by_id(self, self._waiting, id, outcome, self._learn)
        elif self._waiting.unnamed is None:
            self._update(outcome)
        else:
            self._waiting.answer(id, outcome_of(outcome), self._learn)

    def _begin_row(self, score: SupportsFloat, by: Id | None) -> Round | Pending:
        return self._begin(score) if by is None else self._groups.begin(self, score, by)

    # -- batches --------------------------------------------------------------------------------

    def predict_many(
        self,
        scores: npt.ArrayLike,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        by: Names | None = None,
        at: Times | None = None,
        due: Times | None = None,
    ) -> Floats:
        """Return the probabilities for many scores as things stand now.

        Each is what `predict` would give in its place. Those with ids wait for their outcomes,
        which `update_many` or `update` bring; without ids nothing waits. `by` gives the group of
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
        waiting = self._waiting
        with waiting.lock:
            names, made = ids_and_times(ids, at, len(as_series(scores, "scores")))
            if names is not None and by is None and self._deadlines is None and due is None:
                return predict_many_by_id(self, waiting, names, made, scores)
            if names is not None:
                waiting.check_new_ids(names)
            until = self._until(scores, names, at, due, made)
            opened: list[Round | Pending]
            if by is None:
                predictions, opened = self._begin_many(scores)  # type: ignore[assignment]
            else:
                opened = self._groups.begin_many(self, scores, by)
                predictions = np.array([each.prediction for each in opened])
            if names is not None:
                waiting.keep_many(names, opened, made)
                if until:
                    self._wait(opened, names, until)
        return predictions

    # -- looking --------------------------------------------------------------------------------

    @overload
    def expected(self, score: SupportsFloat, by: Id | None = None) -> float: ...
    @overload
    def expected(self, score: npt.ArrayLike, by: Names | None = None) -> Floats: ...
    def expected(self, score: Any, by: Any = None) -> Any:
        """Return the mean of what `predict` would draw for this score now; changes nothing.

        Of many scores, the mean of each; `by` then gives the group of each.
        """
        if is_one(score):
            if by is None:
                return super().expected(score)
            with self._waiting.lock:
                last, word = self._groups.look(self, score, by)
                return last.expected(word)
        with self._waiting.lock:
            if by is None:
                return self._expected_many(score)
            return self._groups.expected_many(self, score, by)

    @overload
    def smooth(self, score: SupportsFloat, by: Id | None = None) -> float: ...
    @overload
    def smooth(self, score: npt.ArrayLike, by: Names | None = None) -> Floats: ...
    def smooth(self, score: Any, by: Any = None) -> Any:
        """Return the mixture's word for ranking, for a score or each of many; changes nothing.

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
            return smooth_of(self, score)
        with self._waiting.lock:
            if is_one(score):
                return float(self._groups.smooth_many(self, [score], [by])[0])
            return self._groups.smooth_many(self, score, by)

    def distribution(self, score: SupportsFloat, by: Id | None = None) -> tuple[Floats, Floats]:
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        if by is None:
            return super().distribution(score)
        with self._waiting.lock:
            last, score = self._groups.look(self, score, by)
            return last.distribution(score)

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._waiting.lock:
            state = (
                self._get_state() | self._groups.get_state() | saving.save_waiting(self._waiting)
            )
            if self._deadlines is not None:
                state |= self._deadlines.get_state()
            return self.rounds, state | self._save_watch()

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        own = {name: state.pop(name) for name in self._get_state().keys() & state.keys()}
        own["rounds"] = rounds
        late, ends, watch = saving.take_waiting(state), take_deadlines(state), take_watch(state)
        self._groups.set_state(state)
        saving.check_saved(state, self._groups.get_state())
        self._set_state(own)
        words = self._groups.with_words
        saving.load_waiting(self._waiting, late, rounds, self._check_pending, words)
        unnamed = self._waiting.unnamed
        if unnamed and (isinstance(unnamed, Round) or len(own["open"])):
            raise ValueError("a saved prediction without an id waits beside another")
        if self._deadlines is not None:
            self._deadlines.set_state(ends, self._waiting.named)
        self._load_watch(watch)

    def _check_pending(self, groups: Integers, numbers: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if places.shape[1] == 1 and (groups == WHOLE).all():
            check_rounds(places.reshape(-1), self._get_state()["z"])
        else:
            self._groups.check_pending(groups, numbers, places)
