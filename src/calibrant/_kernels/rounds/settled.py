"""Predicted and settled rounds, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.round import numbers_of, round_columns

if TYPE_CHECKING:
    from calibrant._kernels.rounds.round import Round
    from calibrant._kernels.rounds.rule import Rule


class RoundError(ValueError):
    """An outcome that cannot be learned: it contradicts an earlier one, or its id is not pending.

    `answer` says which: "conflict", "unknown" or "expired".

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.rounds import RoundError
    >>> recalibrator = Recalibrator()
    >>> _ = recalibrator.predict(0.9, id="a"), recalibrator.update(1, id="a")
    >>> try:
    ...     recalibrator.update(0, id="a")
    ... except RoundError as error:
    ...     print(error.answer)
    conflict
    """

    def __init__(self, message: str, answer: str) -> None:
        super().__init__(message)
        self.answer = answer

    __module__ = "calibrant.rounds"  # where users find it


class Settled:
    """Settled rounds, in the order in which they are learned; each column is an array.

    Scorecards, histories and reports use only these, so they measure exactly what was
    learned.

    Attributes
    ----------
    outcome : array
        The outcome that was learned.
    raw, prediction, expected : array
        The score as a probability, the prediction, and its mean before the draw.
    smooth : array
        The estimate for ranking; NaN if it was not requested.
    at, arrived, due : array
        When it was predicted, when the outcome arrived, and the deadline; NaN for none.
    """

    __slots__ = (
        "_is_silence", "_keys", "_rule", "arrived", "at", "due", "expected", "outcome",
        "prediction", "raw", "rounds", "smooth",
    )  # fmt: skip

    def __init__(
        self, rule: Rule, keys: list[Any], rounds: list[Round], outcomes: Floats | None
    ) -> None:
        self._rule, self._keys, self.rounds = rule, keys, rounds
        (
            self.outcome, self.raw, self.prediction, self.expected, self.smooth, self.at,
            self.arrived, self.due, self._is_silence,
        ) = round_columns(rounds)  # fmt: skip
        if outcomes is not None:
            self.outcome = outcomes

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def ids(self) -> list[Id | None]:
        """The id of each; None for a row of a table without ids."""
        return [key if isinstance(key, str | int) else None for key in self._keys]

    @property
    def by(self) -> list[Id | None]:
        """The group or key of each; None for a round without one."""
        return [self._rule.group_of(each) for each in self.rounds]

    @property
    def when(self) -> Floats:
        """Since when each counts: its deadline, or its arrival if that is later."""
        return np.asarray(np.fmax(self.arrived, self.due))

    @property
    def is_silence(self) -> npt.NDArray[np.bool_]:
        """Whether the outcome is silence, because none arrived by the deadline."""
        return np.asarray(self._is_silence > 0.0)


class Steps:
    """The steps shown to a watcher: new pending predictions, and outcomes, in order.

    Attributes
    ----------
    numbers : array of int
        The number of the round.
    outcome : array
        The outcome that was learned; NaN if the round was predicted.
    raw, expected : array
        The score as a probability, and the mean of the prediction before the draw.
    rounds : list
        The rounds themselves.
    """

    __slots__ = ("_rule", "expected", "numbers", "outcome", "raw", "rounds")

    def __init__(self, rule: Rule, rounds: list[Round], outcomes: Floats) -> None:
        self._rule, self.rounds = rule, rounds
        self.outcome = rule.events(rounds, outcomes)
        self.numbers, self.raw, self.expected = numbers_of(rounds)

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def by(self) -> list[Id | None]:
        """The group or key of each; None for a round without one."""
        return [self._rule.group_of(each) for each in self.rounds]
