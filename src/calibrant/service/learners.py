"""What learns in a stream: a recalibrator for all rows, or a fleet with something for each key.

Both are asked in the same words by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrant import Fleet, Recalibrator
from calibrant._checks import Floats
from calibrant.forecasters.memories import Memory
from calibrant.service.definition import Definition
from calibrant.service.keys import Key, as_integer, same_kind
from calibrant.service.problems import Problem, bad_value
from calibrant.service.rankings import Rankings
from calibrant.service.watching import KeyWatch

Said = tuple[list[float], list[float], list[float]]


class OneForAll:
    """A recalibrator, with groups if rows name them."""

    name = "recalibrator"
    #: It has no keys to watch.
    watch: KeyWatch | None = None

    def __init__(self, recalibrator: Recalibrator, definition: Definition) -> None:
        self.recalibrator, self._is_timed = recalibrator, definition.is_timed

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self.recalibrator.rounds

    def say(
        self,
        ids: list[str],
        scores: list[float],
        by: list[str | None] | None,
        keys: Sequence[Key] | None,  # noqa: ARG002 - its rows have none
        at: Sequence[float],
        due: list[float] | None,
    ) -> Said:
        """Predict new rows; return what is expected, the smooth word, and what is said of each."""
        recalibrator, timed = self.recalibrator, self._is_timed
        if len(ids) == 1:  # three times as fast as a batch of one
            score, group = scores[0], None if by is None else by[0]
            looked = recalibrator.expected(score, group), recalibrator.smooth(score, group)
            said = recalibrator.predict(
                score, ids[0], group, at[0] if timed else None, None if due is None else due[0]
            )
            return [looked[0]], [looked[1]], [said]
        table = np.array(scores)
        looked_at = recalibrator.expected(table, by), recalibrator.smooth(table, by)
        many = recalibrator.predict_many(table, ids, by, list(at) if timed else None, due)
        return looked_at[0].tolist(), looked_at[1].tolist(), many.tolist()

    def learn(self, ids: list[str], outcomes: list[float], at: float | None) -> None:
        """Learn the outcomes of rows that wait."""
        if len(ids) == 1:
            self.recalibrator.update(outcomes[0], ids[0], at)
        else:
            check_applied(self.recalibrator.update_many(outcomes, ids, at))

    def pass_to(self, now: float) -> None:
        """Let time pass."""
        self.recalibrator.advance(now)

    def give_up(self, before: int) -> None:
        """Wait no longer for the predictions before this number."""
        self.recalibrator.expire(older_than=self.recalibrator.rounds - before)

    def seen(self, scores: Floats, by: str | None, key: str | None) -> tuple[Floats, Floats]:
        """Return what is expected of scores now, and the smooth word; nothing changes."""
        if key is not None:
            raise Problem(422, "this stream is not keyed", field="key", allowed="no key")
        groups = None if by is None else [by] * len(scores)
        return self.recalibrator.expected(scores, groups), self.recalibrator.smooth(scores, groups)

    def experts(self) -> list[Memory]:
        """Return what predictions rest on, in words, the heaviest first."""
        return self.recalibrator.weights()

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with keys: nothing does."""
        return 0

    def frozen(self) -> Callable[[], dict[str, bytes]]:
        """Return a function that gives the whole state as of now, as parts of a snapshot."""
        blob = self.recalibrator.to_bytes()
        return lambda: {self.name: blob}


class ByKey:
    """A fleet: what all keys share, and an offset and a slope for each."""

    name = "fleet"

    def __init__(self, fleet: Fleet, definition: Definition) -> None:
        self.fleet, self._is_timed = fleet, definition.is_timed
        self.watch = KeyWatch(fleet, definition.kind) if definition.watch_keys else None
        self.rankings = Rankings(fleet, self.watch)

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return self.fleet.rounds

    def say(
        self,
        ids: list[str],
        scores: list[float],
        by: list[str | None] | None,  # noqa: ARG002 - its rows have none
        keys: Sequence[Key] | None,
        at: Sequence[float],
        due: list[float] | None,
    ) -> Said:
        """Predict new rows; return what is expected, the smooth word, and what is said of each."""
        assert keys is not None
        fleet, named = self.fleet, same_kind(keys)
        expected, smooth = fleet.expected(named, scores), fleet.smooth(named, scores)
        times = list(at) if self._is_timed else None
        said = fleet.predict(named, scores, ids, times, due=due)
        return expected.tolist(), smooth.tolist(), said.tolist()

    def learn(self, ids: list[str], outcomes: list[float], at: float | None) -> None:
        """Learn the outcomes of rows that wait."""
        check_applied(self.fleet.update(ids, outcomes, at))

    def pass_to(self, now: float) -> None:
        """Let time pass."""
        self.fleet.advance(now)

    def give_up(self, before: int) -> None:
        """Wait no longer for the predictions before this number."""
        self.fleet.expire(older_than=self.fleet.rounds - before)

    def seen(self, scores: Floats, by: str | None, key: str | None) -> tuple[Floats, Floats]:
        """Return what is expected of scores now, and the smooth word; nothing changes.

        Without a key, of one that was never seen: what all share.
        """
        if by is not None:
            raise Problem(422, "a keyed stream has no groups", field="by", allowed="no by")
        asked = same_kind([self.unseen() if key is None else self.key_of(key)] * len(scores))
        return self.fleet.expected(asked, scores), self.fleet.smooth(asked, scores)

    def unseen(self) -> Key:
        """Return a key of the right kind that no row had."""
        key: Key = -(2**63) if self.fleet.key_kind == "int" else ""
        while key in self.fleet:
            key = key + 1 if isinstance(key, int) else key + " "
        return key

    def key_of(self, text: str) -> Key:
        """Return a key that was written in an address, or raise a `Problem`."""
        key: Key | None = text
        if self.fleet.key_kind == "int":
            key = as_integer(text)
        if key is None or key not in self.fleet:
            raise Problem(404, f"there is no key {text[:60]!r} in this stream", field="key")
        return key

    def check(self, keys: Sequence[Key]) -> None:
        """Refuse keys of another kind than those that are there."""
        known, words = self.fleet.key_kind, {"int": "integers", "str": "text"}
        given = type(keys[0]).__name__
        if known is not None and known != given:
            raise bad_value(
                f"the keys of this stream are {words[known]}, got {words[given]}",
                "key", words[known],
            )  # fmt: skip

    def experts(self) -> list[Memory]:
        """Refuse: what counts differs from key to key."""
        raise Problem(
            404, "what a keyed stream rests on differs from key to key: "
            "/keys says how much the outcomes of each count"
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with keys."""
        return self.fleet.nbytes

    def frozen(self) -> Callable[[], dict[str, bytes]]:
        """Return a function that gives the whole state as of now, in any thread."""
        parts = {self.name: self.fleet.frozen()}
        if self.watch is not None:
            parts[self.watch.name] = self.watch.frozen()
        return lambda: {name: part() for name, part in parts.items()}


Learner = OneForAll | ByKey


def fresh_learner(definition: Definition) -> Learner:
    """Return what learns in a stream, before its first row."""
    if definition.keyed:
        return ByKey(definition.fleet(), definition)
    return OneForAll(definition.recalibrator(), definition)


def saved_learner(parts: dict[str, Any], definition: Definition) -> Learner:
    """Return what learns in a stream, from the parts of a snapshot."""
    if definition.keyed:
        learner = ByKey(Fleet.from_bytes(parts[ByKey.name]), definition)
        if learner.watch is not None:
            learner.watch.load(parts[KeyWatch.name])
        return learner
    return OneForAll(Recalibrator.from_bytes(parts[OneForAll.name]), definition)


def check_applied(answers: Any) -> None:
    """Make sure that all outcomes were learned: the ledger lets no other through."""
    if (answers != "applied").any():
        raise AssertionError("what learns and the ledger disagree on what waits")
