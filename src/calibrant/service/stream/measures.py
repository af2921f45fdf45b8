"""The measures of a stream's settled rows: monitors, scorecards and a history.

Each kind of stream has its own `Measures`; the engine and the views use only these methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from calibrant import Episode, Monitor
from calibrant._checks import Floats
from calibrant._kernels.rounds.settled import Settled, Steps
from calibrant.checks import Finding
from calibrant.service.stream import models


class EpisodeChange(NamedTuple):
    """An episode that began or ended; `of` is "raw" or "calibrated".

    `question` names the event that came too often or too rarely, where a prediction is no
    probability of one.
    """

    of: str
    is_over: bool
    episode: Episode
    question: str | None = None


class Timed(NamedTuple):
    """Steps of monitors, when each was, and the group of each if there are groups."""

    rows: Steps
    at: Floats
    by: list[Any] | None


class Watching(Protocol):
    """What a view asks of a monitor."""

    @property
    def state(self) -> str: ...  # noqa: D102

    @property
    def evidence(self) -> float: ...  # noqa: D102


class Measures(ABC):
    """The measures of a stream's predictions so far."""

    @property
    @abstractmethod
    def monitors(self) -> Mapping[str, Watching]:
        """The monitor of the "calibrated" predictions, and of the "raw" ones if they have any."""

    @abstractmethod
    def episodes(self, of: str) -> list[models.EpisodeView]:
        """Return the episodes of one of the monitors, the oldest first."""

    @abstractmethod
    def take(
        self, rows: Settled, steps: Timed, times: Floats, waiting: Floats
    ) -> list[EpisodeChange]:
        """Measure settled rows, and show all steps to the monitors; return what began or ended.

        `times` says since when rows are settled, and `waiting` how many waited after each.
        """

    @abstractmethod
    def spread(self, rows: Settled) -> Floats:
        """Return the variance that each outcome adds to the bias of its group."""

    @abstractmethod
    def headline(self) -> models.Headline:
        """Return the few figures of a stream's summary."""

    @abstractmethod
    def scorecard(self) -> Mapping[str, Any]:
        """Return all measures."""

    @abstractmethod
    def history(self, points: int) -> models.HistoryView | models.NumberHistoryView:
        """Return what was predicted and observed through time."""

    def findings(self, *, has_silence: bool) -> list[Finding]:  # noqa: ARG002
        """Return what checks find in the rows, where any apply."""
        return []

    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """Return what is saved, by name: each has `to_bytes`."""

    @abstractmethod
    def load(self, parts: Mapping[str, Any]) -> None:
        """Restore what was saved."""


def watch(
    of: str, monitor: Monitor, steps: Timed, said: Floats, outcomes: Floats
) -> tuple[list[EpisodeChange], Floats]:
    """Show steps to a monitor; return what began or ended, and the evidence after each outcome."""
    before = monitor.episodes
    evidence = np.zeros(len(steps.rows))
    monitor.play_steps(steps.rows.numbers, said, outcomes, steps.by, steps.at.tolist(), evidence)
    found: list[EpisodeChange] = []
    if monitor.episodes == before:  # mostly: a comparison of the same objects
        return found, evidence[~np.isnan(outcomes)]
    known = set(before)
    for episode in monitor.episodes:
        if episode in known:
            continue
        # As it was at its alarm.
        begun = replace(episode, end=None, end_at=None, recovered=None, recovered_at=None)
        if begun not in known:
            found.append(EpisodeChange(of, False, begun))
        if episode.end is not None:
            found.append(EpisodeChange(of, True, episode))
    return found, evidence[~np.isnan(outcomes)]
