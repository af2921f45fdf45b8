"""Predictions of several kernels that wait for their outcomes.

Which prediction an id stands for is kept in the compiled `Waiting`; what every recalibrator does
with those that wait is in `RoundsById`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calibrant._checks import Id, check_same_length
from calibrant._kernels.group_words import WordRound
from calibrant._kernels.score_rounds import Round
from calibrant._kernels.waiting import Waiting
from calibrant._times import times_or_one
from calibrant.forecasters.answers import listed_ids


class Pending(NamedTuple):
    """What is remembered of a prediction that several kernels made.

    `group` is the number of its group, WHOLE for none. `rounds` is what each kernel needs to learn
    from the outcome; the first kernel sees every prediction, the last makes the one returned.
    `word` is what the group said in between, if it is one of a recalibrator's groups.
    """

    group: int
    rounds: tuple[Round, ...]
    word: WordRound | None = None

    @property
    def number(self) -> int:
        """How many predictions came before it."""
        return self.rounds[0].number

    @property
    def batch(self) -> int:
        """The number of the first prediction made in the same call."""
        return self.rounds[0].batch

    @property
    def prediction(self) -> float:
        """What was predicted."""
        return self.rounds[-1].prediction


def first_rounds(predictions: Sequence[Round | Pending]) -> list[Round]:
    """Return the round of the kernel that sees every prediction."""
    return [each if isinstance(each, Round) else each.rounds[0] for each in predictions]


def ids_and_times(
    ids: object, at: object, rounds: int
) -> tuple[list[Id] | None, list[float] | None]:
    """Return the ids and the times of many predictions."""
    times = None if at is None else times_or_one(at, rounds).tolist()
    if ids is None:
        return None, times
    names = listed_ids(ids)
    check_same_length("ids", len(names), "scores", rounds)
    return names, times


def named(
    waiting: Waiting[Any], ids: object, at: object, rounds: int
) -> tuple[list[Id] | None, list[float] | None]:
    """Return the ids, none of them taken, and the times of many new predictions."""
    names, times = ids_and_times(ids, at, rounds)
    if names is not None:
        waiting.check_new_ids(names)
    return names, times
