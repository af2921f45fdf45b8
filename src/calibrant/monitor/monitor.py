"""The monitor: evidence against calibration, an alarm an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    check_id,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant._kernels.monitor import MonitorKernel
from calibrant.forecasters.saving import Savable
from calibrant.measures.rounds import as_rounds
from calibrant.monitor.bands import Band, largest_sum
from calibrant.monitor.episodes import Episode

ALARM = 1
WHOLE = -1
#: Normal quantile of a 95 % interval.
TWO_SIDED = 1.959963984540054
#: Numbers of a saved episode.
FIELDS = 9


class Curve(NamedTuple):
    """What was said and what happened since the last restart, a range of predictions each."""

    low: Floats
    high: Floats
    rounds: Floats
    mean_prediction: Floats
    mean_outcome: Floats


class Monitor(Savable, MonitorKernel):
    """Watch predictions and outcomes, and ring when they are no longer calibrated.

    The null is that in every round the chance of the event, given all that was known, is within
    `tolerance` of the prediction. Evidence against it is gathered in ranges of predictions of five
    sizes, and in groups. While the null holds, the chance of an alarm within n rounds is at most
    n / `every`, however often one looks, and whatever the number of ranges and groups;
    docs/monitor.md has the proof, and says what the alarm cannot see.

    Parameters
    ----------
    every : int, default 1_000_000
        At most one false alarm in so many rounds is to be expected, at least 100.
    tolerance : float, default 0.02
        How far off is near enough, in [0, 0.5). With 0, any real model rings in the end.
    alpha : float, optional
        Instead of `every`: the chance of ever a false alarm, in (0, 0.5].
    max_groups : int, default 10_000
        How many groups `by` may name. A group takes 96 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Monitor
    >>> random = np.random.default_rng(0)
    >>> predictions = random.random(20_000)
    >>> outcomes = random.random(20_000) < np.where(
    ...     np.arange(20_000) < 10_000, predictions, predictions * 0.7)  # the world changed
    >>> monitor = Monitor(every=1_000_000)
    >>> for episode in monitor.run(predictions, outcomes):
    ...     print(episode)
    Since round 10,..., predictions ... have been too high by ...
    >>> monitor.state
    'miscalibrated'

    One round at a time; `update` returns an episode when it begins, and when it ends:

    >>> monitor.reset()
    >>> monitor.update(0.3, 1) is None
    True
    """

    __slots__ = ("_episodes", "_given", "_groups")

    every: int
    tolerance: float
    alpha: float | None
    max_groups: int

    def __init__(
        self,
        every: int = 1_000_000,
        *,
        tolerance: float = 0.02,
        alpha: float | None = None,
        max_groups: int = 10_000,
    ) -> None:
        threshold = float(check_integer("every", every, 100, 10**15))
        check_real("tolerance", tolerance, 0.0, 0.4999)
        if alpha is not None:
            threshold = 1.0 / check_real("alpha", alpha, 1e-15, 0.5)
        check_integer("max_groups", max_groups, 0)
        super().__init__(threshold, float(alpha or 0.0), float(tolerance))
        self._groups: dict[Id, int] = {}
        self._episodes: list[Episode] = []

    @property
    def state(self) -> str:
        """Whether an episode lasts ("miscalibrated") or not ("calibrated", as far as one sees)."""
        open_ = self._episodes and self._episodes[-1].end is None
        return "miscalibrated" if open_ else "calibrated"

    @property
    def episodes(self) -> list[Episode]:
        """All episodes so far, the oldest first."""
        return list(self._episodes)

    def update(
        self, prediction: SupportsFloat, outcome: SupportsFloat, by: Id | None = None
    ) -> Episode | None:
        """Take a prediction and its outcome; return an episode that begins or ends with it."""
        group = WHOLE if by is None else self._numbers([by])[0]
        event = self._watch(prediction, outcome, group)
        return self._note(event, self.rounds - 1) if event else None

    def run(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
    ) -> list[Episode]:
        """Take many rounds; return the episodes that begin or end in them.

        Bit for bit what `update` gives, in compiled loops.
        """
        return self._play(predictions, outcomes, by, np.empty(0))

    def trace(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
    ) -> Floats:
        """Do what `run` does; return the evidence after each round, as a share of an alarm's.

        The evidence itself, not its logarithm: 1 is an alarm, and it keeps its value until the
        episode is over.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> bool(Monitor(every=100).trace([0.5] * 50, [1] * 50)[-1] >= 1)
        True
        """
        p, _ = as_rounds(predictions, outcomes)
        evidence = np.empty(len(p))
        self._play(p, outcomes, by, evidence)
        return evidence / self._threshold

    def _play(
        self, predictions: npt.ArrayLike, outcomes: npt.ArrayLike, by: Any, evidence: Floats
    ) -> list[Episode]:
        p, y = as_rounds(predictions, outcomes)
        groups = np.empty(0, dtype=np.int64)
        if by is not None:
            names = as_listed(by, "by", "one group a round")
            check_same_length("by", len(names), "predictions", len(p))
            groups = np.array(self._numbers(names), dtype=np.int64)
        found: list[Episode] = []
        at, first = 0, self.rounds
        while at < len(p):
            at, event = self._run(p, y, groups, evidence, at)
            if event:
                episode = self._note(event, first + at - 1)
                if event != ALARM and found:
                    found.pop()  # it began in these rounds too
                found.append(episode)
        return found

    def bands(self, level: float = 0.95) -> list[Band]:
        """Return the bias of each range of predictions since the last restart, with its band.

        A band holds at all times at once: with chance `level` it never leaves out the mean of
        what was to be expected, whatever that does. Each range has a band of its own. Ranges
        without rounds are left out.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> Monitor().bands()
        []
        """
        alpha = 1.0 - check_real("level", level, 0.5, 0.9999)
        edges, ranges = self._ranges()
        n, said, happened, V = ranges.T
        half = largest_sum(V, alpha / 2.0) / np.maximum(n, 1.0)
        bias = (happened - said) / np.maximum(n, 1.0)
        return [
            Band(
                float(edges[i]), float(edges[i + 1]), int(n[i]), float(bias[i]),
                max(float(bias[i] - half[i]), -1.0), min(float(bias[i] + half[i]), 1.0),
            )
            for i in np.flatnonzero(n)
        ]  # fmt: skip

    def curve(self) -> Curve:
        """Return what was said and what happened in each range since the last restart.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> monitor = Monitor()
        >>> _ = monitor.run([0.25, 0.25], [1, 0])
        >>> monitor.curve().mean_outcome
        array([0.5])
        """
        edges, ranges = self._ranges()
        some = ranges[:, 0] > 0
        n, said, happened, _ = ranges[some].T
        return Curve(edges[:-1][some], edges[1:][some], n, said / n, happened / n)

    def reset(self) -> None:
        """Forget all evidence. An open episode ends here; the rounds go on counting."""
        if self.state == "miscalibrated":
            self._episodes[-1] = replace(self._episodes[-1], end=self.rounds)
        super().reset()

    def _numbers(self, names: Sequence[object]) -> list[int]:
        """Return the number of each group, new ones included, or raise and change nothing."""
        index, most = dict(self._groups), self._given["max_groups"]
        numbers = []
        for at, given in enumerate(names):
            if given is None:
                numbers.append(WHOLE)
                continue
            try:
                name = check_id(given, "by")
            except ValueError as error:
                raise ValueError(f"{error} at position {at}") from None
            if name not in index and len(index) >= most:
                raise ValueError(f"by names more than max_groups={most} groups: {name!r} is new")
            numbers.append(index.setdefault(name, len(index)))
        if len(index) > len(self._groups):
            self._add_groups(len(index))
            self._groups = index
        return numbers

    def _note(self, event: int, alarm: int) -> Episode:
        """Keep what an event says of the episodes, and return the episode."""
        if event != ALARM:
            self._episodes[-1] = replace(self._episodes[-1], end=alarm)
            return self._episodes[-1]
        onset, low, high, group, bias, visits = self._episode()
        edges, ranges = self._ranges()
        inside = (edges[:-1] >= low) & (edges[1:] <= high)
        n, _, _, V = ranges[inside].sum(axis=0)
        half = TWO_SIDED * float(np.sqrt(V / max(n, 1.0) / visits))
        name = None if group == WHOLE else list(self._groups)[group]
        episode = Episode(
            alarm, onset, None, low, high, name, bias, max(bias - half, -1.0), min(bias + half, 1.0)
        )
        self._episodes.append(episode)
        return episode

    def _save(self) -> tuple[int, dict[str, Any]]:
        fields = [
            [e.alarm, e.onset, -1 if e.end is None else e.end, e.low, e.high, e.bias, e.bias_low,
             e.bias_high, -1 if e.group is None else self._groups[e.group]]
            for e in self._episodes
        ]  # fmt: skip
        state = {
            **self._get_state(),
            "groups": list(self._groups),
            "episodes": np.array(fields, dtype=np.float64).reshape(-1),
        }
        return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        names = [check_id(name, "saved group") for name in state.pop("groups")]
        if len(set(names)) < len(names):
            raise ValueError("saved groups must differ")
        table = state.pop("episodes")
        self._groups = {name: at for at, name in enumerate(names)}
        self._episodes = [_episode_of(row, names, rounds) for row in table.reshape(-1, FIELDS)]
        self._set_state({**state, "rounds": rounds, "groups": len(names)})
        if (state["named"] >= 0) != (self.state == "miscalibrated"):
            raise ValueError("the saved episodes do not fit the saved evidence")


def _episode_of(row: Floats, names: Sequence[Id], rounds: int) -> Episode:
    """Return a saved episode, or raise ValueError."""
    alarm, onset, end, group = (int(row[i]) for i in (0, 1, 2, 8))
    shares = [float(value) for value in row[3:8]]
    low, high, bias, bias_low, bias_high = shares
    if not (0 <= onset <= alarm < rounds and -1 <= end <= rounds and -1 <= group < len(names)):
        raise ValueError("a saved episode lies outside of the saved rounds")
    if not (0 <= low <= high <= 1 and -1 <= bias_low <= bias <= bias_high <= 1):
        raise ValueError("a saved episode has an impossible range or bias")
    name = None if group == WHOLE else names[group]
    return Episode(
        alarm, onset, None if end < 0 else end, low, high, name, bias, bias_low, bias_high
    )
