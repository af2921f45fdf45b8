"""The rule for several classes: rows of probabilities in, rows that sum to one out.

With `silence` each class against the rest has a silence model of its own. For a class that is
announced, silence until the deadline means that it did not happen; for the silent class, that it
did. With labels by the top class nothing can be made of silence before its deadline: what it means
there depends on which class is on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_distributions,
    as_listed,
    check_id,
    describe,
)
from calibrant._kernels.rounds.round import StagedRound
from calibrant._kernels.rounds.rule import Rule
from calibrant._kernels.saved import check_names
from calibrant._kernels.scores.pending import Awaited, PendingKernel
from calibrant._kernels.scores.pending_saving import (
    load_awaited,
    load_pending,
    save_awaited,
    save_pending,
)
from calibrant._kernels.scores.score_rule import check_waits
from calibrant.recalibrate.named_columns import by_name
from calibrant.recalibrate.one_vs_rest import NOT_KNOWN, PerClass
from calibrant.recalibrate.top_label import TopLabel


class ClassRule(Rule):
    """The rounds of one recalibrator of several classes; an outcome is the column of a label."""

    __slots__ = ("awaited", "columns", "engine", "labels", "silences")

    def __init__(self, labels: Sequence[Id], engine: PerClass | TopLabel) -> None:
        self.labels, self.engine = list(labels), engine
        self.columns = {label: column for column, label in enumerate(labels)}
        self.silences: list[PendingKernel] = []
        self.awaited: dict[int, list[Awaited]] = {}

    def attend(self, silent: float | None) -> None:
        """Let what silence says move the words of each class, if a class is silent."""
        if silent is not None and isinstance(self.engine, PerClass):
            columns = range(len(self.labels))
            self.silences = [PendingKernel(int(column == silent)) for column in columns]
            for kernel, silence in zip(self.engine.kernels, self.silences, strict=True):
                kernel._attend(silence)

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self.engine.kernels[0].rounds

    @property
    def learned(self) -> int:
        """Labels learned so far."""
        return self.engine.kernels[0].learned

    def take_over(self, other: ClassRule) -> None:
        """Take over all that another rule has learned."""
        self.engine, self.silences, self.awaited = other.engine, other.silences, other.awaited

    # -- predictions ----------------------------------------------------------------------------

    def check(self, rows: Any, by: Any) -> Floats:  # noqa: ARG002 - classes have no groups
        """Return rows of probabilities, a column a label, or say what is wrong with them."""
        named = by_name(rows, self.labels)
        return as_distributions(named, "probabilities", len(self.labels))

    def begin(self, row: Any, by: Any) -> StagedRound:  # noqa: ARG002
        """Predict one row that was checked."""
        return self.begin_many(np.asarray(row)[None], None)[0]

    def begin_many(self, rows: Floats, by: Any) -> list[StagedRound]:  # noqa: ARG002
        """Predict rows that were checked."""
        if not len(rows):
            return []
        predictions, rounds = self.engine.begin_many(rows)
        for each, row in zip(rounds, predictions, strict=True):
            each.row = row
        return rounds

    def answer(self, r: StagedRound) -> Floats:  # type: ignore[override]
        """Return the row that is predicted."""
        assert r.row is not None
        return r.row

    def answers(self, rounds: list[StagedRound]) -> Floats:
        """Return the rows that are predicted."""
        if not rounds:
            return np.empty((0, len(self.labels)))
        return np.stack([each.row for each in rounds if each.row is not None])

    # -- labels ---------------------------------------------------------------------------------

    def reserve(self, outcomes: int) -> None:
        """Get the memory that so many labels may want."""
        for kernel in self.engine.kernels:
            kernel._reserve(outcomes)

    def learn(self, rounds: list[StagedRound], outcomes: Floats) -> None:
        """Learn labels that count together."""
        self.engine.finish_many(rounds, outcomes)

    def outcome_of(self, outcome: object) -> float:
        """Return the column of a label."""
        return float(self.column(outcome))

    def outcomes_of(self, outcomes: object) -> Floats:
        """Return the columns of labels."""
        return self.columns_of(outcomes).astype(np.float64)

    def column(self, label: object, what: str = "label") -> int:
        """Return the column of a label, or say which labels there are."""
        name = check_id(label, what)
        if name not in self.columns:
            shown = ", ".join(map(repr, self.labels[:10]))
            more = ", ..." if len(self.labels) > 10 else ""
            raise ValueError(f"{what} must be one of {shown}{more}, got {describe(name)}")
        return self.columns[name]

    def columns_of(self, labels: object, *, missing: bool = False) -> npt.NDArray[np.int64]:
        """Return the columns of labels; of one that is None or NaN, that it is not known."""
        given = as_listed(labels, "labels", "a sequence, one a round")
        columns = np.full(len(given), NOT_KNOWN, dtype=np.int64)
        for at, label in enumerate(given):
            if missing and (label is None or label != label):  # noqa: PLR0124 - NaN
                continue
            try:
                columns[at] = self.column(label)
            except ValueError as error:
                raise ValueError(f"{error} at position {at}") from None
        return columns

    def shown(self, outcome: float) -> Id:
        """Return the label of a column."""
        return self.labels[int(outcome)]

    # -- silence --------------------------------------------------------------------------------

    def wait(self, r: StagedRound, now: float) -> None:
        """Count a round that waits for its deadline from `now` on."""
        if self.silences:
            self.awaited[r.number] = [
                silence.open(begun.probability, kernel._waiting_mean(begun), now, r.due)
                for silence, kernel, begun in zip(
                    self.silences, self.engine.kernels, r.rounds, strict=True
                )
            ]

    def observed(self, r: StagedRound, now: float) -> None:
        """Hear of a label before its deadline: of each class, that it is not silence."""
        for column, (silence, each) in enumerate(self._awaited(r)):
            if self._is_announced(r, column):
                silence.come(each, now)

    def mature(self, r: StagedRound) -> None:
        """Learn, at its deadline, how early the label of a round was known."""
        for silence, each in self._awaited(r):
            silence.mature(each)
        self.awaited.pop(r.number, None)

    def drop(self, r: StagedRound) -> None:
        """Forget a round that expired."""
        for silence, each in self._awaited(r):
            silence.drop(each)
        self.awaited.pop(r.number, None)

    def refit(self, now: float) -> None:
        """Fit what silence says, where a fit is due."""
        for kernel in self.engine.kernels:
            kernel._refit(now)

    def _awaited(self, r: StagedRound) -> list[tuple[PendingKernel, Awaited]]:
        return list(zip(self.silences, self.awaited.get(r.number, []), strict=False))

    def save_silences(self) -> dict[str, Any]:
        """Return what is known of silence as arrays by name."""
        state: dict[str, Any] = {}
        for column, silence in enumerate(self.silences):
            waits = [awaited[column] for _, awaited in sorted(self.awaited.items())]
            places, cells = save_awaited(waits)
            parts = save_pending(silence) | {"awaited": places, "awaited_cells": cells}
            state |= {f"{column}_{name}": part for name, part in parts.items()}
        return state

    def load_silences(self, state: dict[str, Any], rounds: list[Any]) -> None:
        """Take over what `save_silences` returned, for rounds that wait for their deadlines."""
        check_names(state, set(self.save_silences()))
        found: list[list[Awaited]] = []
        for column, silence in enumerate(self.silences):
            start = f"{column}_"
            own = {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}
            places, cells = own.pop("awaited"), own.pop("awaited_cells")
            load_pending(silence, own)
            found.append(load_awaited(silence, places, cells))
            announced = [self._is_announced(each, column) for each in rounds]
            check_waits(found[-1], rounds, announced)
        if found:
            numbers = [each.number for each in rounds]
            self.awaited = dict(zip(numbers, map(list, zip(*found, strict=True)), strict=True))

    def _is_announced(self, r: StagedRound, column: int) -> bool:
        """Whether it is known of a class, before the deadline, that it is not silence."""
        silent = self.silences[column].silence
        return not math.isnan(r.outcome) and (r.outcome == column) == (silent == 0)
