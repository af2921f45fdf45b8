"""Decisions with each prediction, if the stream has a `calibrant.Decider`.

The decider is part of the state, and decisions are part of the log: a replay must repeat them.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Sequence
from typing import Any

from calibrant import Decider
from calibrant._kernels.rounds.round import Round
from calibrant.decide import UnlabelledWarning

#: A decision as it is stored: whether to act, and with which probability.
PACKED = struct.Struct("<?d")
SHARE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
COST = {"type": "number", "exclusiveMinimum": 0}
EXPLORE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
PER = {"oneOf": [{"type": "integer", "minimum": 100}, {"type": "string"}]}
#: The four questions: what each needs, and what it may have.
QUESTIONS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"cost_of_acting": COST, "cost_of_missing": COST}, {"explore": EXPLORE}),
    ({"budget": SHARE}, {"per": PER, "band": SHARE, "cap": COST, "floor": {"type": "number"}}),
    ({"precision": SHARE}, {"explore": EXPLORE}),
    ({"recall": SHARE, "explore": SHARE}, {}),
)
SCHEMA: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object", "additionalProperties": False, "required": list(needed),
            "properties": needed | optional,
        }
        for needed, optional in QUESTIONS
    ]
}  # fmt: skip


class Decisions:
    """The decider of a stream; one that keeps a floor learns from outcomes, by id."""

    __slots__ = ("decider",)

    def __init__(self, decider: Decider) -> None:
        self.decider = decider

    @property
    def learns(self) -> bool:
        """Whether outcomes make a difference."""
        return self.decider.precision is not None or self.decider.recall is not None

    def decide(self, ids: list[str], rounds: list[Round], at: Sequence[float]) -> list[bytes]:
        """Return the decisions on new predictions, in order, as they are stored."""
        decider, times = self.decider, None
        if isinstance(decider.per, str):  # a budget in time, which does not run backwards
            times = [max(each, decider._book.now) for each in at]
            for row in range(1, len(times)):
                times[row] = max(times[row], times[row - 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnlabelledWarning)
            acts, chances = decider.decide_many(
                [each.smooth for each in rounds], ids=ids if self.learns else None, at=times,
                propensities=True,
            )  # fmt: skip
        return [PACKED.pack(*each) for each in zip(acts.tolist(), chances.tolist(), strict=True)]

    def learn(self, settled: list[tuple[Any, Round]]) -> None:
        """Learn the outcomes of rounds, by id."""
        if self.learns:
            ids = [key for key, _ in settled]
            self.decider.update_many([each.outcome for _, each in settled], ids=ids)

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        return self.decider.to_bytes()


def decided(packed: bytes) -> dict[str, Any]:
    """Return a decision as a client is answered."""
    act, chance = PACKED.unpack(packed)
    return {"act": act, "propensity": chance}
