"""What is specific to each kind of stream.

The store, log, clock, deadlines, groups, snapshots and events of a stream are the same for all
kinds. The fields of a row, the learner, the answers and the measures are declared here, once per
kind: the rest of the service uses `Definition.of_kind` and has no special cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from calibrant._kernels.rounds.round import Round
from calibrant.service.store.records import PredictionRow
from calibrant.service.stream.learners import Learner
from calibrant.service.stream.measures import Measures

if TYPE_CHECKING:
    from calibrant.service.stream.definition import Definition

#: What became of a row to predict: what is stored, and "applied", "repeated" or "conflict".
Answer = tuple[PredictionRow, str]
#: Fields that rows of every kind may have.
COMMON = frozenset(("id", "by", "key", "at", "due"))


class Inputs(NamedTuple):
    """The inputs of predictions: one number per row, and further ones, packed, if there are."""

    scores: list[float | None]
    given: list[bytes] | None = None


class Answered(NamedTuple):
    """What is stored of predictions: a probability and its smooth estimate, or packed numbers."""

    probability: Sequence[float | None]
    smooth: Sequence[float | None]
    predicted: Sequence[bytes | None]


class Kind(ABC):
    """One kind of stream."""

    #: The value of the setting `kind`, and what the kind is called in the documentation.
    name: str
    title: ClassVar[str]
    #: The settings that a stream of this kind does not have.
    lacks: ClassVar[frozenset[str]]
    #: Those that it must have.
    requires: ClassVar[frozenset[str]] = frozenset()
    #: The fields of a row to predict beside the common ones, with their JSON schemas, and those
    #: that every row needs.
    fields: ClassVar[dict[str, dict[str, Any]]]
    needs: ClassVar[frozenset[str]]
    #: The panels of its own on a stream's page: a script and a template of this name.
    panels: ClassVar[str]
    #: What its rows and settings are called in the OpenAPI document.
    model: ClassVar[str]
    #: The JSON schema of an outcome.
    outcome: ClassVar[dict[str, Any]]

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The fields that a row to predict may have."""
        return COMMON | self.fields.keys()

    @cached_property
    def needed(self) -> frozenset[str]:
        """The fields that a row to predict must have."""
        return self.needs | {"id"}

    @abstractmethod
    def check(self, definition: Definition) -> None:
        """Reject settings that cannot be combined."""

    # -- rows -----------------------------------------------------------------------------------

    @abstractmethod
    def inputs(self, rows: list[dict[str, Any]], seen: set[str], definition: Definition) -> Inputs:
        """Return what rows give to predict from, or raise a `Problem`; `seen` are their fields."""

    @abstractmethod
    def outcomes(self, rows: list[dict[str, Any]], definition: Definition) -> list[float]:
        """Return the outcomes of rows, or raise a `Problem`."""

    def label(self, outcome: float, definition: Definition) -> float | int | str:  # noqa: ARG002
        """Return an outcome as it was reported."""
        return outcome

    @abstractmethod
    def answered(self, rounds: list[Round]) -> Answered:
        """Return what is stored of predictions."""

    @abstractmethod
    def waiting(self, one: Round) -> Mapping[str, Any]:
        """Return what was predicted of a pending row, as the view of those has it."""

    @abstractmethod
    def shown(self, answers: list[Answer], definition: Definition) -> list[Mapping[str, Any]]:
        """Return what a client is answered."""

    @abstractmethod
    def exported(
        self, scores: list[Any], predicted: list[Any], definition: Definition
    ) -> dict[str, list[float | None]]:
        """Return the columns that an export has beside those of all kinds."""

    # -- state ----------------------------------------------------------------------------------

    @abstractmethod
    def learner(self, definition: Definition) -> Learner:
        """Return what learns in a stream, before its first row."""

    @abstractmethod
    def restored(self, parts: Mapping[str, Any], definition: Definition) -> Learner:
        """Return what learns in a stream, from the parts of a snapshot."""

    @abstractmethod
    def measures(self, definition: Definition) -> Measures:
        """Return what measures a stream, before its first row."""
