"""The recalibrator: sharp, then safe, with outcomes that may come late."""

from __future__ import annotations

from typing import Any, Self, SupportsFloat

from calibrant._checks import check_choice, check_integer, check_seed
from calibrant._kernels.recalibrate import KINDS, RecalibrateKernel, outcome_of
from calibrant.forecasters.saving import Saved, pack, unpack
from calibrant.recalibrate.waiting import Id, Waiting, check_id


class Recalibrator(RecalibrateKernel):
    """Turn the scores of a model into probabilities that stay calibrated.

    A mixture of online recalibrations follows the scores; its word is placed on a grid of points
    and moved only where the outcomes show a point to be biased. `docs/recalibrate.md` says how.

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
        are remembered, so that an outcome told twice is counted once.

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

    Outcomes that come late are told by id:

    >>> first, second = recalibrator.predict(0.9, id="a"), recalibrator.predict(0.2, id="b")
    >>> recalibrator.update(1, id="b")
    >>> recalibrator.pending
    1
    """

    __slots__ = ("_waiting",)

    def __init__(
        self, kind: str = "probability", *, seed: int = 0, capacity: int = 100_000
    ) -> None:
        super().__init__(check_choice("kind", kind, KINDS), check_seed(seed))
        self._waiting = Waiting(check_integer("capacity", capacity, 1))

    @property
    def capacity(self) -> int:
        """The bound on the predictions waiting, as given."""
        return self._waiting.capacity

    @property
    def pending(self) -> int:
        """How many predictions wait for their outcomes."""
        return len(self._waiting.rounds) + self.is_open

    def predict(self, score: SupportsFloat, id: Id | None = None) -> float:  # noqa: A002
        """Return the probability for a score, and open a round that waits for its outcome.

        Without an id, the next `update` without one answers it; a further `predict` without an
        id gives it up. With one, it waits until ``update(outcome, id)``, however many rounds that
        takes. An id is used once.
        """
        if id is None:
            return self._predict(score)
        name = check_id(id)
        self._waiting.check_new(name)
        begun = self._begin(score)
        self._waiting.rounds[name] = begun
        return begun[3]

    def update(self, outcome: SupportsFloat, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome in [0, 1]: of the last prediction without an id, or of an id's.

        An outcome that an id had before is ignored; a different one is refused.
        """
        if id is None:
            self._update(outcome)
            return
        name, y = check_id(id), outcome_of(outcome)
        if not self._waiting.is_repeat(name, y):
            self._finish(self._waiting.rounds[name], y)
            self._waiting.finish(name, y)

    def expire(self, *, older_than: int) -> list[Id]:
        """Give up waiting for predictions made more than `older_than` predictions ago.

        Returns their ids, oldest first. Their outcomes, should they still come, are refused as
        unknown. A prediction without an id does not expire: the next one replaces it.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator()
        >>> _ = [recalibrator.predict(0.5, id=day) for day in range(5)]
        >>> recalibrator.expire(older_than=3)
        [0, 1]
        """
        age = check_integer("older_than", older_than, 0)
        return self._waiting.expire(self.rounds - age)

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes, the waiting predictions included; without pickle.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> recalibrator = Recalibrator(seed=7)
        >>> _ = recalibrator.predict(0.7, id=1)
        >>> again = Recalibrator.from_bytes(recalibrator.to_bytes())
        >>> again.update(1, id=1)
        >>> again.pending
        0
        """
        state = self._get_state() | self._waiting.get_state()
        return pack(Saved(type(self).__name__, self._arguments(), self.rounds, state))

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return the recalibrator that `to_bytes` saved; it continues exactly as that one would."""
        saved = unpack(blob)
        if saved.name != cls.__name__:
            raise ValueError(f"these bytes hold a {saved.name}, not a {cls.__name__}")
        try:
            recalibrator = cls(**saved.parameters)
            state = {**saved.state, "rounds": saved.rounds}
            late = {name: state.pop(name) for name in recalibrator._waiting.get_state()}
        except (KeyError, TypeError) as error:
            raise ValueError(f"the saved {cls.__name__} makes no sense: {error}") from None
        recalibrator._set_state(state)
        recalibrator._waiting.set_state(late, saved.rounds, state["z"])
        return recalibrator

    def _arguments(self) -> dict[str, Any]:
        return {"kind": self.kind, "seed": self.seed, "capacity": self.capacity}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({arguments})"
