"""The monitor: evidence against calibration, one alarm per episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    as_series,
    as_unit_series,
    check_id,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant._groups import WHOLE, numbered
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.rounds.settled import Steps
from calibrant._kernels.watch.monitor import MonitorKernel
from calibrant._times import times_of
from calibrant.monitor.bands import Band, Curve, bands_of, curve_of
from calibrant.monitor.clock import Clock, Time, as_time, as_times
from calibrant.monitor.episodes import Episode, interval_of
from calibrant.monitor.saving import loaded_past, saved_episode, saved_evidence
from calibrant.saving import Savable

Integers = npt.NDArray[np.int64]

ALARM = 1
#: Episodes that are remembered.
MOST_EPISODES = 10_000
NO_GROUPS: Integers = np.empty(0, dtype=np.int64)
NO_BLOCKS = np.empty(0, dtype=np.uint8)
NO_EVIDENCE = np.empty(0)


class Mark(NamedTuple):
    """The state of a monitor before some outcomes."""

    kernel: Any
    groups: dict[Id, int]
    episodes: list[Episode]


class Arrivals(NamedTuple):
    """Outcomes in the order in which they become known, and those that never become known.

    An outcome that becomes known at the time of a prediction counts as later, since clocks with
    coarse ticks do not show which came first.

    Attributes
    ----------
    after : array of int
        For each row, how many predictions are made before its outcome is known: the number of the
        first row that may use it, or the number of rows if none may.
    order : array of int
        The rows whose outcomes become known, first to last.
    never : list of int
        The others.
    """

    after: Integers
    order: Integers
    never: list[int]

    @classmethod
    def of(cls, times: Any, available: Any, rounds: int) -> Arrivals:
        """Return the arrivals of outcomes that became `available` by the clock of `times`.

        None, NaN and NaT stand for never.
        """
        if times is None:
            raise ValueError("available needs times, by the same clock: when predictions were made")
        if isinstance(available, np.ndarray) and available.dtype.kind in "fM":
            never = np.isnan(available)
            listed: Any = available
        else:
            listed = as_listed(available, "available", "when each outcome became known")
            never = np.array([is_never(each) for each in listed], dtype=np.bool_)
        check_same_length("available", len(listed), "predictions", rounds)
        known, some = np.full(rounds, np.nan), np.flatnonzero(~never)
        kept = listed[some] if isinstance(listed, np.ndarray) else [listed[row] for row in some]
        known[some] = times_of(kept, len(some), "available", "outcomes")
        return cls.at(times_of(times, rounds, "times", "predictions"), known)

    @classmethod
    def at(cls, made: Floats, known: Floats) -> Arrivals:
        """Return the arrivals, given the times of predictions and of outcomes; NaN: never.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.monitor.monitor import Arrivals
        >>> arrivals = Arrivals.at(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.5, np.nan]))
        >>> arrivals.after, arrivals.order, arrivals.waits
        (array([3, 2, 3]), array([1, 0]), array([inf,  0., inf]))
        """
        back = np.flatnonzero(np.diff(made) < 0.0)
        if len(back):
            raise ValueError(f"times must not decrease, they do at position {int(back[0]) + 1}")
        early = known < made
        if early.any():
            row = int(early.argmax())
            raise ValueError(f"available must not be before times, it is at position {row}")
        never = np.isnan(known)
        after = np.searchsorted(made, known, side="right").astype(np.int64)
        order = np.lexsort((np.arange(len(made)), known, after))
        return cls(after, order[~never[order]], np.flatnonzero(never).tolist())

    @property
    def waits(self) -> Floats:
        """How many others are predicted before each outcome is known; infinite if it never is."""
        rounds = len(self.after)
        return np.where(self.after < rounds, self.after - np.arange(rounds) - 1.0, np.inf)


#: Every outcome becomes known before the next prediction.
IMMEDIATE = Arrivals(NO_GROUPS, NO_GROUPS, [])


def is_never(time: object) -> bool:
    """Whether a time stands for never: None, NaN or NaT."""
    return time is None or (isinstance(time, float | np.generic) and bool(np.isnan(time)))


class Monitor(Savable, MonitorKernel):
    """Monitor predictions and outcomes, and raise an alarm when they are no longer calibrated.

    The null is that in every round, the probability of the event, given what was known when it was
    predicted, is within `tolerance` of the prediction. Rounds that are pending at the same time may
    depend on one another in any way, and outcomes may arrive at any time, or never. Evidence
    against the null is collected in ranges of predictions of five sizes, and in groups. Under the
    null, the probability of an alarm within n predictions is at most n / `every`, however often one
    looks, and whatever the number of ranges and groups. See docs/monitor.md for the proof, and for
    what cannot be detected.

    Parameters
    ----------
    every : int, default 1_000_000
        The number of rounds per expected false alarm, at least 100.
    tolerance : float, default 0.02
        The tolerated miscalibration, in [0, 0.5). With 0, any real model eventually raises an
        alarm.
    alpha : float, optional
        Instead of `every`: the probability of any false alarm, at any time, in (0, 0.5].
    block : int, optional
        If it is unknown when outcomes become known: outcomes of a block, of at most this size,
        become known together, at its end. Rounds with the same `at` are a block; without times,
        each `block` rounds are one. It reduces power.
    ahead : int, default 1
        How many rounds ahead predictions are made; this many are pending.
    patience : int, default 10_000
        The maximal number of pending predictions, at 64 bytes each. Beyond it, the oldest is
        dropped and its stakes are lost, which is safe but reduces power.
    max_groups : int, default 10_000
        The maximal number of groups in `by`. A group takes 100 bytes.

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

    Outcomes that arrive late, by id:

    >>> _ = monitor.expect("monday", 0.3), monitor.expect("tuesday", 0.6)
    >>> monitor.settle("tuesday", 1)
    []
    >>> monitor.pending
    1
    """

    __slots__ = ("_clock", "_episodes", "_given", "_groups", "_ids")

    every: int
    tolerance: float
    alpha: float | None
    block: int | None
    ahead: int
    patience: int
    max_groups: int

    def __init__(
        self,
        every: int = 1_000_000,
        *,
        tolerance: float = 0.02,
        alpha: float | None = None,
        block: int | None = None,
        ahead: int = 1,
        patience: int = 10_000,
        max_groups: int = 10_000,
    ) -> None:
        threshold = float(check_integer("every", every, 100, 10**15))
        check_real("tolerance", tolerance, 0.0, 0.4999)
        if alpha is not None:
            threshold = 1.0 / check_real("alpha", alpha, 1e-15, 0.5)
        rounds = 1 if block is None else check_integer("block", block, 2, 10**9)
        check_integer("ahead", ahead, 1, 10**9)
        if rounds > 1 and ahead > 1:
            raise ValueError(
                f"block={block} and ahead={ahead} cannot be combined: give one of them"
            )
        check_integer("patience", patience, 1, 10**9)
        check_integer("max_groups", max_groups, 0, 10**9)
        super().__init__(
            threshold, float(alpha or 0.0), float(tolerance), rounds, ahead,
            max(patience, rounds, ahead),
        )  # fmt: skip
        self._groups: dict[Id, int] = {}
        self._episodes: list[Episode] = []
        self._clock = Clock()
        self._ids: dict[Id, int] = {}  # the keys of pending predictions by id

    @property
    def state(self) -> str:
        """The state: "miscalibrated" while an episode is open, else "calibrated"."""
        return "miscalibrated" if self._open else "calibrated"

    @property
    def episodes(self) -> list[Episode]:
        """The episodes so far, the oldest first; of more than 10,000, the last 10,000.

        Those of groups may overlap.
        """
        return list(self._episodes)

    # -- rounds ------------------------------------------------------------------------------------

    def update(
        self,
        prediction: SupportsFloat,
        outcome: SupportsFloat,
        by: Id | None = None,
        at: Any = None,
    ) -> Episode | None:
        """Take a prediction and its outcome; return an episode that begins or ends with it.

        `at` is the round's time: a number, a date or text.
        """
        if by is None and at is None:
            episode: Episode | Literal[False] | None = self._watch_alone(prediction, outcome)
            if episode is not False:
                return episode
        self._check(prediction, outcome)
        time = None if at is None else as_time(at)
        with uninterrupted:
            return self._update(prediction, outcome, by, time)

    def _update(
        self, prediction: SupportsFloat, outcome: SupportsFloat, by: Id | None, time: Time | None
    ) -> Episode | None:
        """Do what `update` does, with checked arguments."""
        group = self._number(by)
        found: list[Episode] = []
        if self._in_block and time not in (None, self._clock.last):
            self._end_block()
            self._release_into(found, self._clock.last)
        if time is not None:
            self._clock.note(self.rounds, time)
        event = self._watch(prediction, outcome, group)
        if event < 0:
            self._release_into(found, time)
            key = self._last_key + 1
            self._note_into(found, self._ask(key, float(prediction), group), time)
            event = self._take(key, float(outcome))
        self._note_into(found, event, time)
        self._release_into(found, time)
        return found[-1] if found else None

    def _note_into(self, found: list[Episode], event: int, at: Time | None) -> None:
        """Add the episodes of a step; an episode that both began and ended there counts once."""
        if event:
            episode = self._note(event, at)
            begun = [(each.alarm, each.group) for each in found]
            if (episode.alarm, episode.group) in begun:
                found[begun.index((episode.alarm, episode.group))] = episode
            else:
                found.append(episode)

    def _release_into(self, found: list[Episode], at: Time | None) -> None:
        """Count the outcomes that are held and now due."""
        while (event := self._release()) >= 0:
            self._note_into(found, event, at)

    def run(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        times: Sequence[Any] | npt.NDArray[Any] | None = None,
        available: Sequence[Any] | npt.NDArray[Any] | Arrivals | None = None,
        evidence: Floats | None = None,
    ) -> list[Episode]:
        """Take many rounds; return the episodes that begin or end in them.

        Bit for bit what `update` gives, in compiled loops. All or nothing: interrupted with
        Ctrl-C, it is as if `run` had not been called.

        Parameters
        ----------
        predictions, outcomes : array_like of shape (T,)
            Numbers in [0, 1].
        by : array_like of shape (T,), optional
            The group of each round.
        times : array_like of shape (T,), optional
            When each prediction was made: numbers, dates or text.
        available : array_like of shape (T,), optional
            When each outcome became known, by the same clock; without it, before the next
            prediction was made. None or NaN: never, and its outcome may be NaN. Or the `Arrivals`
            themselves, without times.
        evidence : array of float of shape (T,), optional
            Takes the evidence after each round, as `trace` returns it.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> monitor = Monitor(every=1000)
        >>> monitor.run([0.2, 0.3, 0.2], [1, 0, 1], times=[1, 2, 3], available=[4, 2, 3])
        []
        >>> monitor.rounds, monitor.pending
        (3, 0)
        """
        p = as_unit_series(predictions, "predictions")
        coming = IMMEDIATE
        if available is not None:
            if self._given["block"]:
                raise ValueError("available and block cannot be combined: give one of them")
            coming = available if isinstance(available, Arrivals) else (
                Arrivals.of(times, available, len(p))
            )  # fmt: skip
            outcomes = np.array(as_series(outcomes, "outcomes"), dtype=np.float64)
            # Outcomes that never become known may have any value.
            outcomes[[row for row in coming.never if row < len(outcomes)]] = 0.0
        y = as_unit_series(outcomes, "outcomes")
        check_same_length("predictions", len(p), "outcomes", len(y))
        trace = NO_EVIDENCE if evidence is None else evidence
        check_same_length("evidence", len(trace), "predictions", len(p) if len(trace) else 0)
        moments = [] if times is None else as_times(times, len(p))
        names = None
        if by is not None:
            names = as_listed(by, "by", "one group a round")
            check_same_length("by", len(names), "predictions", len(p))
        clock, before = self._clock, None
        found: list[Episode] = []
        try:
            with uninterrupted:
                self._begin()
                marks = clock.every, clock.last, list(clock.marks)
                before = self._get_state(), self.rounds, self._groups, list(self._episodes)
            groups = NO_GROUPS if names is None else np.array(self._numbers(names), dtype=np.int64)
            fresh = NO_BLOCKS
            if self._given["block"] and moments:
                changed = [a != b for a, b in pairwise([clock.last, *moments])]
                fresh = np.array(changed, dtype=np.uint8)
            asked, came, noted, first = 0, 0, 0, self.rounds
            total = len(coming.order) if len(coming.after) else len(p)
            while asked < len(p) or came < total or self._has_due:
                last = clock.last
                asked, came, event = self._run(
                    p, y, groups, fresh, coming.after, coming.order, trace, asked, came
                )
                if moments:
                    clock.note_all(first + noted, moments[noted:asked])
                noted = asked
                if event:
                    self._note_into(found, event, moments[asked - 1] if moments and asked else last)
            for row in coming.never:
                self._drop(self._last_key - len(p) + 1 + row)
        except BaseException:
            if before is not None:
                with uninterrupted:
                    state, rounds, self._groups, self._episodes = before
                    self._set_state(state, rounds)
                    clock.every, clock.last, clock.marks = marks
            raise
        finally:
            if before is not None:
                self._finish()
        trace /= self._threshold
        return found

    def trace(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        times: Sequence[Any] | npt.NDArray[Any] | None = None,
        available: Sequence[Any] | npt.NDArray[Any] | None = None,
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
        self.run(predictions, outcomes, by, times, available, evidence)
        return evidence

    # -- rounds of a learner that is monitored -----------------------------------------------------

    def watch(self, steps: Steps) -> None:
        """Take new pending predictions, and outcomes with the predictions expected for them."""
        self.play_steps(steps.numbers, steps.expected, steps.outcome, steps.by)

    def watch_one(
        self,
        key: int,
        raw: float,  # noqa: ARG002 - what watches the scores too is SideBySide
        expected: float,
        outcome: float,
        by: Id | None,
    ) -> None:
        """Do what `watch` does with one step."""
        group = WHOLE if by is None or not self._given["max_groups"] else self._number(by)
        found: list[Episode] = []
        if self._has_due:
            self._release_into(found, None)
        is_new = outcome != outcome  # noqa: PLR0124 - NaN
        event = self._ask(key, expected, group) if is_new else self._take(key, outcome)
        if event:
            self._note_into(found, event, None)
        if self._has_due:
            self._release_into(found, None)

    def play_steps(
        self,
        keys: npt.NDArray[np.int64],
        p: Floats,
        y: Floats,
        by: Sequence[Id | None] | None,
        times: Sequence[float] = (),
        evidence: Floats = NO_EVIDENCE,
    ) -> None:
        """Take steps in order: a prediction where the outcome is NaN, else the outcome of its key.

        An outcome whose prediction is no longer pending changes nothing. An infinite
        one drops its prediction. `times`, if given, has the time of each step; `evidence`
        receives the evidence after each step, as `trace` returns it.
        """
        groups = NO_GROUPS
        if by is not None and self._given["max_groups"] and any(each is not None for each in by):
            groups = np.array(self._numbers(by), dtype=np.int64)
        at, found = 0, list[Episode]()
        if len(times):
            self._clock.note_all(
                self.rounds, [times[row] for row in np.flatnonzero(np.isnan(y)).tolist()]
            )
        while at < len(keys) or self._has_due:
            at, event = self._play_some(keys, p, y, groups, evidence, at)
            self._note_into(found, event, times[at - 1] if len(times) and at else None)
        if len(evidence):
            evidence /= self._threshold

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop pending predictions: their stakes are lost."""
        for key in numbers:
            self._drop(key)

    def mark(self, outcomes: int) -> Mark:
        """Return the current state for `go_back`, valid for at most so many outcomes."""
        return Mark(self._mark(outcomes), self._groups, list(self._episodes))

    def copy(self) -> tuple[int, dict[str, Any]]:
        """Return a full copy of the current state for `go_back`."""
        return self._save()

    def go_back(self, before: Mark | tuple[int, dict[str, Any]]) -> None:
        """Return to a state from `mark` or `copy`."""
        if isinstance(before, Mark):
            self._go_back(before.kernel)
            self._groups, self._episodes = before.groups, before.episodes
        else:
            self._load(*before)

    # -- late outcomes -----------------------------------------------------------------------------

    def expect(
        self,
        id: Id,  # noqa: A002
        prediction: SupportsFloat,
        by: Id | None = None,
        at: Any = None,
    ) -> list[Episode]:
        """Add a pending prediction, whose outcome is given by `settle`.

        Bets are placed now, based on what is known now. Returns the episodes that begin or end.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> monitor = Monitor()
        >>> _ = monitor.expect("a", 0.3), monitor.expect("b", 0.6)
        >>> _ = monitor.settle("b", 1), monitor.settle("a", None)  # the outcome of a never came
        >>> monitor.rounds, monitor.pending
        (2, 0)
        """
        self._check(prediction, 0.0)
        name = check_id(id)
        if name in self._ids:
            raise ValueError(f"id {name!r} was predicted already and is still pending")
        time = None if at is None else as_time(at)
        found: list[Episode] = []
        with uninterrupted:
            group = self._number(by)
            self._release_into(found, time)
            if time is not None:
                self._clock.note(self.rounds, time)
            self._ids[name] = self._last_key + 1
            if len(self._ids) > self._given["patience"]:
                self._drop(self._ids.pop(next(iter(self._ids))))
            self._note_into(found, self._ask(self._last_key + 1, float(prediction), group), time)
        return found

    def settle(self, id: Id, outcome: SupportsFloat | None, at: Any = None) -> list[Episode]:  # noqa: A002
        """Give the outcome of a pending prediction, None if it will never be known.

        `at` is the time at which it arrived. Returns the episodes that begin or end.
        """
        if outcome is not None:
            self._check(0.0, outcome)
        time = self._clock.last if at is None else as_time(at)
        name = check_id(id)
        if name not in self._ids:
            raise ValueError(f"no prediction with id {name!r} is pending")
        found: list[Episode] = []
        with uninterrupted:
            key = self._ids.pop(name)
            if outcome is None:
                self._drop(key)
            else:
                self._note_into(found, self._take(key, float(outcome)), time)
                self._release_into(found, time)
        return found

    # -- results -----------------------------------------------------------------------------------

    def bands(self, level: float = 0.95) -> list[Band]:
        """Return the bias of each range of predictions since the last restart, with its band.

        A band holds at all times at once: with probability `level` it always contains the mean of
        the expected values, however these change. Each range has its own band. Ranges without
        rounds are left out. Rounds that are pending at the same time may depend on one another:
        bands are then computed from blocks of as many rounds as are pending; they are wider, and
        hold as long as no outcome takes longer than a block.

        Examples
        --------
        >>> from calibrant import Monitor
        >>> Monitor().bands()
        []
        """
        return bands_of(*self._ranges(), check_real("level", level, 0.5, 0.9999))

    def curve(self) -> Curve:
        """Return predicted and observed in each range since the last restart.

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
        """Forget all evidence. Open episodes end here; the count of rounds continues."""
        with uninterrupted:
            for group, recovered in self._open:
                self._end_episode(group, self.rounds, self._clock.last, recovered)
            super().reset()

    # -- groups, episodes, saving ------------------------------------------------------------------

    def _number(self, by: Id | None) -> int:
        """Return the number of a group, which may be new."""
        known = self._groups.get(by) if type(by) is str else None
        return WHOLE if by is None else self._numbers([by])[0] if known is None else known

    def _numbers(self, names: Sequence[object]) -> list[int]:
        """Return the number of each group, new ones included, or raise and change nothing."""
        numbers, new = numbered(names, self._groups, self._given["max_groups"])
        if new:
            self._set_group_count(len(self._groups) + len(new))
            self._groups = {**self._groups, **new}
        return numbers

    def _note(self, event: int, at: Time | None) -> Episode:
        """Record an event of an episode, and return the episode."""
        if event != ALARM:
            group, recovered = self._ended
            return self._end_episode(group, self.rounds - 1, at, recovered)
        onset, low, high, group, bias, visits = self._episode()
        name = self._name(group)
        band = interval_of(bias, visits, low, high, *self._ranges())
        episode = Episode(
            self.rounds - 1, onset, None, low, high, name, bias, *band, at, self._clock.at(onset)
        )
        self._episodes = [*self._episodes, episode]
        if len(self._episodes) > MOST_EPISODES and (over := self._oldest_over()) is not None:
            del self._episodes[over]
        return episode

    def _oldest_over(self) -> int | None:
        return next((row for row, each in enumerate(self._episodes) if each.end is not None), None)

    def _name(self, group: int) -> Id | None:
        return None if group == WHOLE else list(self._groups)[group]

    def _end_episode(self, group: int, end: int, at: Time | None, recovered: int) -> Episode:
        """End the open episode of a group, or of a range."""
        name = self._name(group)
        lasting = [row for row, each in enumerate(self._episodes) if each.end is None]
        row = next(row for row in reversed(lasting) if self._episodes[row].group == name)
        self._episodes[row] = replace(
            self._episodes[row], end=end, end_at=at, recovered=min(recovered, end + 1),
            recovered_at=self._clock.at(recovered),
        )  # fmt: skip
        return self._episodes[row]

    def _save(self) -> tuple[int, dict[str, Any]]:
        state = {
            **saved_evidence(self._get_state()),
            "groups": list(self._groups),
            "episodes": [saved_episode(each) for each in self._episodes],
            "clock": self._clock.save(),
            "ids": [[name, key] for name, key in self._ids.items()],
        }
        return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        past = loaded_past(state, rounds, self._given, self._threshold)
        self._set_state(past.evidence, rounds)
        self._groups = {name: at for at, name in enumerate(past.groups)}
        self._episodes, self._clock, self._ids = past.episodes, past.clock, past.ids
