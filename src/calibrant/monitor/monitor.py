"""The monitor: evidence against calibration, an alarm an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    as_series,
    as_unit_series,
    check_choice,
    check_id,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant._groups import WHOLE, numbered
from calibrant._kernels.rounds.settled import Settled
from calibrant._kernels.watch.monitor import MonitorKernel
from calibrant.monitor.bands import Band, Curve, bands_of, curve_of
from calibrant.monitor.clock import Clock, Time, as_time, as_times
from calibrant.monitor.episodes import Episode, interval_of
from calibrant.monitor.late import Expected, Waiting
from calibrant.monitor.saving import loaded_past, saved_episode, saved_evidence
from calibrant.saving import Savable

ALARM = 1
UNKNOWN = -2
#: Episodes that are remembered.
MOST_EPISODES = 10_000
ORDERS = ("arrival", "prediction")
NO_GROUPS = np.empty(0, dtype=np.int64)
NO_BLOCKS = np.empty(0, dtype=np.uint8)


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
    block : int, optional
        Outcomes of one block, at most so many, may hang together in any way. Rounds with the same
        `at` are a block; without times, each `block` rounds are one. It costs power.
    order : {"arrival", "prediction"}, default "arrival"
        When late outcomes are played: as they come, or in the order of their predictions.
    patience : int, default 10_000
        How many predictions may wait for late outcomes. The oldest one too many expires: in the
        order of prediction it counts as the outcome that speaks least for an alarm.
    max_groups : int, default 10_000
        How many groups `by` may name. A group takes 80 bytes.

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

    __slots__ = ("_clock", "_episodes", "_given", "_groups", "_waiting")

    every: int
    tolerance: float
    alpha: float | None
    block: int | None
    order: str
    patience: int
    max_groups: int

    def __init__(
        self,
        every: int = 1_000_000,
        *,
        tolerance: float = 0.02,
        alpha: float | None = None,
        block: int | None = None,
        order: str = "arrival",
        patience: int = 10_000,
        max_groups: int = 10_000,
    ) -> None:
        threshold = float(check_integer("every", every, 100, 10**15))
        check_real("tolerance", tolerance, 0.0, 0.4999)
        if alpha is not None:
            threshold = 1.0 / check_real("alpha", alpha, 1e-15, 0.5)
        rounds = 1 if block is None else check_integer("block", block, 2, 10**9)
        in_order = check_choice("order", order, ORDERS) == "prediction"
        check_integer("max_groups", max_groups, 0, 10**9)
        super().__init__(threshold, float(alpha or 0.0), float(tolerance), rounds)
        self._groups: dict[Id, int] = {}
        self._episodes: list[Episode] = []
        self._clock = Clock()
        self._waiting = Waiting(in_order, check_integer("patience", patience, 1, 10**9))

    @property
    def state(self) -> str:
        """Whether an episode lasts ("miscalibrated") or not ("calibrated", as far as one sees)."""
        open_ = self._episodes and self._episodes[-1].end is None
        return "miscalibrated" if open_ else "calibrated"

    @property
    def episodes(self) -> list[Episode]:
        """The episodes so far, the oldest first; of more than 10,000, the last 10,000."""
        return list(self._episodes)

    # -- rounds ------------------------------------------------------------------------------------

    def update(
        self,
        prediction: SupportsFloat,
        outcome: SupportsFloat | None,
        by: Id | None = None,
        at: Any = None,
    ) -> Episode | None:
        """Take a prediction and its outcome; return an episode that begins or ends with it.

        `at` is the round's time: a number, a date or text. In the order of prediction, an outcome
        of None will never come.
        """
        if by is None and at is None and outcome is not None and not self._waiting.named:
            event = self._watch(prediction, outcome, WHOLE)
            return self._note(event, self.rounds - 1, None) if event else None
        self._waiting.check_overtaken()
        return self._update(prediction, outcome, by, None if at is None else as_time(at))

    def _update(self, prediction: Any, outcome: Any, by: Any, at: Time | None) -> Episode | None:
        if outcome is None and not self._waiting.in_order:
            raise ValueError('outcome must be a number in [0, 1]; None is for order="prediction"')
        self._check(prediction, 0.0 if outcome is None else outcome)
        group = (
            WHOLE if by is None else self._groups.get(by, UNKNOWN) if type(by) is str else UNKNOWN
        )
        if group == UNKNOWN:
            group = self._numbers([by])[0]
        found = None
        if self._given["block"] and self._in_block and at not in (None, self._clock.last):
            event = self._end_block()
            found = self._note(event, self.rounds - 1, self._clock.last) if event else None
        if at is not None:
            self._clock.note(self.rounds, at)
        event = self._watch(prediction, outcome, group)
        return self._note(event, self.rounds - 1, at) if event else found

    def run(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        times: Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> list[Episode]:
        """Take many rounds; return the episodes that begin or end in them.

        Bit for bit what `update` gives, in compiled loops. All or nothing: interrupted with
        Ctrl-C, it is as if `run` had not been called. In the order of prediction, outcomes that
        are NaN will never come.
        """
        return self._play(predictions, outcomes, by, times, None)

    def trace(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        times: Sequence[Any] | npt.NDArray[Any] | None = None,
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
        evidence = np.empty(len(as_series(predictions, "predictions")))
        self._play(predictions, outcomes, by, times, evidence)
        return evidence / self._threshold

    def _play(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Any,
        times: Any,
        evidence: Floats | None,
    ) -> list[Episode]:
        self._waiting.check_overtaken()
        p, y = as_unit_series(predictions, "predictions"), self._waiting.as_outcomes(outcomes)
        check_same_length("predictions", len(p), "outcomes", len(y))
        clock = [] if times is None else as_times(times, len(p))
        names = None
        if by is not None:
            names = as_listed(by, "by", "one group a round")
            check_same_length("by", len(names), "predictions", len(p))
        self._begin()
        before = self._save()
        try:
            return self._run_all(p, y, names, clock, np.empty(0) if evidence is None else evidence)
        except BaseException:
            self._load(*before)
            raise
        finally:
            self._finish()

    def _run_all(
        self, p: Floats, y: Floats, names: Any, times: list[Time], evidence: Floats
    ) -> list[Episode]:
        groups = NO_GROUPS if names is None else np.array(self._numbers(names), dtype=np.int64)
        fresh = NO_BLOCKS
        if self._given["block"] and times:
            before = [self._clock.last, *times[:-1]]
            changed = [a != b for a, b in zip(before, times, strict=True)]
            fresh = np.array(changed, dtype=np.uint8)
        found: list[Episode] = []
        at, noted, first = 0, 0, self.rounds
        while at < len(p):
            last = self._clock.last
            at, event = self._run(p, y, groups, fresh, evidence, at)
            self._clock.note_all(first + noted, times[noted:at])
            noted = at
            if event:
                if event != ALARM and found:
                    found.pop()  # it began in these rounds too
                time = None if not times else times[at - 1] if at else last
                found.append(self._note(event, first + at - 1, time))
        return found

    # -- rounds that are settled -------------------------------------------------------------------

    def see(self, settled: Settled) -> None:
        """Take rounds that are settled, with what was expected of them."""
        if len(settled) == 1:
            self.update(float(settled.expected[0]), float(settled.outcome[0]), settled.by[0])
        else:
            self.run(settled.expected, settled.outcome, settled.by)

    def copy(self) -> tuple[int, dict[str, Any]]:
        """Return what is known now, for `go_back`."""
        return self._save()

    def go_back(self, before: tuple[int, dict[str, Any]]) -> None:
        """Return to what `copy` gave."""
        self._load(*before)

    # -- late outcomes -----------------------------------------------------------------------------

    def expect(
        self,
        id: Id,  # noqa: A002
        prediction: SupportsFloat,
        by: Id | None = None,
        at: Any = None,
    ) -> list[Episode]:
        """Let a prediction wait for its outcome, which `settle` brings.

        Returns the episodes that begin or end because the oldest that waited expired.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> monitor = Monitor(order="prediction")
        >>> _ = monitor.expect("a", 0.3), monitor.expect("b", 0.6)
        >>> monitor.settle("b", 1)  # held until "a" is settled
        []
        >>> monitor.rounds
        0
        >>> monitor.settle("a", 0)
        []
        >>> monitor.rounds
        2
        """
        self._check(prediction, 0.0)
        time = None if at is None else as_time(at)
        group = None if by is None else check_id(by, "by")
        if group is not None:
            self._numbers([group])
        ready = self._waiting.open(id, Expected(float(prediction), group, time))
        return self._play_ready(ready)

    def settle(self, id: Id, outcome: SupportsFloat | None) -> list[Episode]:  # noqa: A002
        """Bring the outcome of a prediction that waits; None if it will never come.

        Returns the episodes that begin or end.
        """
        if outcome is not None:
            self._check(0.0, outcome)
        return self._play_ready(
            self._waiting.settle(id, None if outcome is None else float(outcome))
        )

    def _play_ready(self, ready: list[Expected]) -> list[Episode]:
        events = (self._update(each.prediction, each.outcome, each.by, each.at) for each in ready)
        return [episode for episode in events if episode is not None]

    # -- what it saw -------------------------------------------------------------------------------

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
        return bands_of(*self._ranges(), check_real("level", level, 0.5, 0.9999))

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
        return curve_of(*self._ranges())

    def reset(self) -> None:
        """Forget all evidence. An open episode ends here; the rounds go on counting."""
        if self.state == "miscalibrated":
            self._end_episode(self.rounds, self._clock.last)
        super().reset()

    # -- groups, episodes, saving ------------------------------------------------------------------

    def _numbers(self, names: Sequence[object]) -> list[int]:
        """Return the number of each group, new ones included, or raise and change nothing."""
        numbers, new = numbered(names, self._groups, self._given["max_groups"])
        if new:
            self._set_group_count(len(self._groups) + len(new))
            self._groups = {**self._groups, **new}
        return numbers

    def _note(self, event: int, alarm: int, at: Time | None) -> Episode:
        """Keep what an event says of the episodes, and return the episode."""
        if event != ALARM:
            return self._end_episode(alarm, at)
        onset, low, high, group, bias, visits = self._episode()
        name = None if group == WHOLE else list(self._groups)[group]
        band = interval_of(bias, visits, low, high, *self._ranges())
        episode = Episode(
            alarm, onset, None, low, high, name, bias, *band, at, self._clock.at(onset)
        )
        self._episodes = [*self._episodes[1 - MOST_EPISODES :], episode]
        return episode

    def _end_episode(self, end: int, at: Time | None) -> Episode:
        self._episodes[-1] = replace(self._episodes[-1], end=end, end_at=at)
        return self._episodes[-1]

    def _save(self) -> tuple[int, dict[str, Any]]:
        state = {
            **saved_evidence(self._get_state()),
            "groups": list(self._groups),
            "episodes": [saved_episode(each) for each in self._episodes],
            "clock": self._clock.save(),
            "waiting": [[name, *each] for name, each in self._waiting.named.items()],
        }
        return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        past = loaded_past(state, rounds, self._given, self._threshold)
        self._set_state(past.evidence, rounds)
        self._groups = {name: at for at, name in enumerate(past.groups)}
        self._episodes, self._clock, self._waiting.named = past.episodes, past.clock, past.waiting
