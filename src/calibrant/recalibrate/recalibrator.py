"""The recalibrator: sharp, then safe, with outcomes that may come late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_choice, check_id, check_integer, check_seed
from calibrant._kernels.recalibrate import KINDS, RecalibrateKernel, outcome_of
from calibrant._kernels.rounds import check_rounds
from calibrant._kernels.saved import check_names
from calibrant.forecasters.saving import Savable
from calibrant.recalibrate.groups import WHOLE, Groups
from calibrant.recalibrate.saving import Integers, load_waiting, save_waiting
from calibrant.recalibrate.waiting import Pending, RoundsById, Waiting

if TYPE_CHECKING:
    from calibrant.tables import Arrivals


class Recalibrator(Savable, RecalibrateKernel, RoundsById[Pending]):
    """Turn the scores of a model into probabilities that stay calibrated.

    A mixture of online recalibrations gives a mean for the score. The mean is placed on a grid of
    points, and moved only where the outcomes show a point to be biased. `docs/recalibrate.md` says
    how, and `docs/groups.md` how groups share what is learned.

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
    max_groups : int, default 1000
        How many groups `by` may name. A group takes about 15 kB.

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

    __slots__ = ("_given", "_groups", "_waiting")

    capacity: int
    max_groups: int

    def __init__(
        self,
        kind: str = "probability",
        *,
        seed: int = 0,
        capacity: int = 100_000,
        max_groups: int = 1000,
    ) -> None:
        super().__init__(check_choice("kind", kind, KINDS), check_seed(seed))
        self._waiting = Waiting(check_integer("capacity", capacity, 1))
        self._groups = Groups(check_integer("max_groups", max_groups, 0), self.seed)

    @property
    def groups(self) -> dict[Id, int]:
        """The names of the groups in the order they came, and how many predictions each made."""
        groups = self._groups
        return {name: groups.members[at].last.rounds for name, at in groups.index.items()}

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting) + super().is_open

    @property
    def is_open(self) -> bool:
        """Whether the last prediction without an id still waits for its outcome."""
        return super().is_open or self._waiting.unnamed is not None

    def predict(
        self,
        score: SupportsFloat,
        id: Id | None = None,  # noqa: A002
        by: Id | None = None,
    ) -> float:
        """Return the probability for a score, and open a round that waits for its outcome.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(outcome, id)``, however many rounds that
        takes. An id is used once. `by` names the group that the round belongs to, if any.
        """
        if id is None and by is None:  # one kernel call, which needs no lock
            prediction = self._predict(score)
            self._waiting.unnamed = None
            return prediction
        name, waiting = None if id is None else check_id(id), self._waiting
        with waiting.lock:  # as `waiting.open`, without its calls: most steps come here
            if name is not None:
                waiting.check_new(name)
            if by is None:
                begun = self._begin(score)
                pending = Pending(WHOLE, (begun,))
            else:
                pending = self._groups.begin(self, score, by)
                begun = pending.rounds[-1]
            if name is not None:
                waiting.named[name] = pending
            else:
                waiting.unnamed = pending
                self._give_up()
        return begun.prediction

    def update(self, outcome: SupportsFloat, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome in [0, 1]: of the last prediction without an id, or of an id's.

        It counts for the group of the prediction. An outcome that an id had before is ignored; a
        different one is refused.
        """
        if id is None and self._waiting.unnamed is None:
            self._update(outcome)
        else:
            self._waiting.answer(id, outcome_of(outcome), self._learn)

    def _learn(self, pending: Pending, outcome: float) -> None:
        if pending.group == WHOLE:
            self._finish(pending.rounds[0], outcome)
        else:
            self._groups.finish(self, pending, outcome)

    def expected(self, score: SupportsFloat, by: Id | None = None) -> float:
        """Return the mean of what `predict` would draw for this score now; changes nothing."""
        if by is None:
            return super().expected(score)
        with self._waiting.lock:
            last, score = self._groups.look(self, score, by)
            return last.expected(score)

    def distribution(self, score: SupportsFloat, by: Id | None = None) -> tuple[Floats, Floats]:
        """Return the points that `predict` would draw from for this score now, and their weights.

        Changes nothing.
        """
        if by is None:
            return super().distribution(score)
        with self._waiting.lock:
            last, score = self._groups.look(self, score, by)
            return last.distribution(score)

    def run(
        self,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
    ) -> Floats:
        """Predict each score and then learn its outcome; return the predictions.

        Bit for bit what `predict` and `update` without ids give, in compiled loops. `by` gives the
        group of each round, None for a round without one. All or nothing: interrupted with Ctrl-C,
        it is as if `run` had not been called.
        """
        with self._waiting.lock:
            if by is None:
                predictions = super().run(scores, outcomes)
            else:
                predictions = self._groups.run(self, scores, outcomes, by)
            if len(predictions):
                self._waiting.unnamed = None
        return predictions

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._waiting.lock:
            state = self._get_state() | self._groups.get_state() | save_waiting(self._waiting)
            return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        own = {name: state.pop(name) for name in self._get_state()} | {"rounds": rounds}
        late = {name: state.pop(name) for name in save_waiting(self._waiting)}
        self._groups.set_state(state)
        check_names(state, set(self._groups.get_state()))
        self._set_state(own)
        load_waiting(self._waiting, late, rounds, self._check_pending)
        unnamed = self._waiting.unnamed
        if unnamed and (unnamed.group == WHOLE or len(own["open"])):
            raise ValueError("a saved prediction without an id waits beside another")

    def _check_pending(self, group: int, numbers: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made here."""
        if group == WHOLE and places.shape[1] == 1:
            check_rounds(places.reshape(-1), self._get_state()["z"])
        else:
            self._groups.check_pending(group, numbers, places)


def recalibrate_rows(
    recalibrator: Recalibrator,
    scores: Floats,
    outcomes: Floats,
    arrivals: Arrivals,
    by: Sequence[Id] | None = None,
) -> Floats:
    """Return each row's probability, made from the outcomes that had arrived by then.

    The recalibrator is a fresh one, with room for every row; `by` gives the rows' groups. The
    outcome of a row that never arrives is not looked at.
    """
    rows = np.arange(len(scores))
    if np.array_equal(arrivals.order, rows) and np.array_equal(arrivals.known, rows):
        return recalibrator.run(scores, outcomes, by)  # each is known to the next row
    predictions = np.empty(len(scores))
    happened, order = outcomes.tolist(), arrivals.order.tolist()
    groups: Sequence[Id | None] = [None] * len(scores) if by is None else by
    learned = 0
    rounds = zip(scores.tolist(), arrivals.known.tolist(), groups, strict=True)
    for row, (score, known, group) in enumerate(rounds):
        for late in order[learned:known]:
            recalibrator.update(happened[late], id=late)
        learned = known
        predictions[row] = recalibrator.predict(score, id=row, by=group)
    return predictions
