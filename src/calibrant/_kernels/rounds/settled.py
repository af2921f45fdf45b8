"""What was settled: rounds whose outcomes count, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id
from calibrant._kernels.rounds.round import round_columns

if TYPE_CHECKING:
    from calibrant._kernels.rounds.round import Round
    from calibrant._kernels.rounds.rule import Rule


class RoundError(ValueError):
    """An outcome that cannot be learned: it contradicts an earlier one, or its id is not waiting.

    `answer` says which: "conflict", "unknown" or "expired".
    """

    def __init__(self, message: str, answer: str) -> None:
        super().__init__(message)
        self.answer = answer


class Settled:
    """Rounds that are settled, in the order in which they are learned; each column an array.

    Monitors, scorecards, histories and reports see these and nothing else: what is measured is
    what was learned.
    """

    __slots__ = ("_columns", "_keys", "_rule", "rounds")

    def __init__(
        self, rule: Rule, keys: list[Any], rounds: list[Round], outcomes: Floats | None
    ) -> None:
        self._rule, self._keys, self.rounds = rule, keys, rounds
        self._columns = round_columns(rounds)
        if outcomes is not None:
            self._columns[0] = outcomes

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
    def outcome(self) -> Floats:
        """The outcome that was learned."""
        return self._columns[0]

    @property
    def raw(self) -> Floats:
        """The score as a probability."""
        return self._columns[1]

    @property
    def prediction(self) -> Floats:
        """What was predicted."""
        return self._columns[2]

    @property
    def expected(self) -> Floats:
        """The mean of what might have been predicted."""
        return self._columns[3]

    @property
    def smooth(self) -> Floats:
        """The estimate for ranking; NaN where nobody asked for it."""
        return self._columns[4]

    @property
    def at(self) -> Floats:
        """When it was predicted; NaN where nothing says so, as below."""
        return self._columns[5]

    @property
    def arrived(self) -> Floats:
        """When the outcome arrived."""
        return self._columns[6]

    @property
    def when(self) -> Floats:
        """Since when it counts: its deadline, or its arrival if that is later."""
        return np.fmax(self._columns[6], self._columns[7])

    @property
    def is_silence(self) -> npt.NDArray[np.bool_]:
        """Whether the outcome is that nothing was heard by the deadline."""
        return self._columns[8] > 0.0
