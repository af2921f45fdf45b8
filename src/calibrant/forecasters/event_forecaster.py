"""EventForecaster, the default: sharp from the past, and calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_listed, check_integer, check_seed
from calibrant._kernels.contexts import BUILT_IN_PERIODS, LONGEST_PERIOD, MOST_GIVEN
from calibrant._kernels.event import EventKernel
from calibrant._kernels.event_rounds import EventRound, save_event_rounds
from calibrant.forecasters.answers import refuses
from calibrant.forecasters.memories import Memory, describe_experts, heaviest_first
from calibrant.forecasters.rounds_by_id import RoundsById
from calibrant.forecasters.saved_ids import ID_PARTS, load_ids, save_ids
from calibrant.forecasters.watched import Watched
from calibrant.monitor import Monitor

MOST_AHEAD = 10_000


class EventForecaster(Watched, EventKernel, RoundsById[EventRound]):
    """Predict from what followed the same past before.

    Three stages. *Sharp* mixes many memories: the last outcomes, recent means, hidden states,
    seasons, the calendar. The mixture's log loss exceeds that of the best of them by little,
    whatever the outcomes; docs/events.md has the bound. *Repair* moves its word to what happened
    when it said the like before. *Safe*, which `Recalibrator` has too, places the word on a grid
    of points and moves it only off points that are known to be biased.
    That Cal2 stays small, for hostile outcomes too, is measured and not proved.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    periods : int or list of int, optional
        Seasons to look for, in rounds, besides 7, 24, 48, 168 and 365: at most eight, each in
        [2, 10000].
    ahead : int, default 1
        How many rounds ahead to forecast, in [1, 10000]: the prediction of a round uses the
        outcomes of those that are at least so many rounds earlier, and of no others.
    capacity : int, default 10000
        How many rounds with an id may wait for their outcomes, at about 1 kB each; also how many
        finished ids are remembered, so that an outcome that comes twice is counted once.
    full : {"expire", "refuse"}, default "expire"
        What happens when one more would wait: the oldest expires (`expired` counts them), or the
        new one is refused.
    monitor : bool, dict or Monitor, default False
        Whether to watch the expected predictions: `watched_by`. A dict has arguments of `Monitor`
        (every, tolerance, alpha, block); of a Monitor, only its arguments are taken. It sees an
        outcome when it is given, with what was expected of its round when that was predicted.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.measures import brier
    >>> from calibrant.streams import alternating
    >>> outcomes = alternating(1000, every=3).outcomes
    >>> forecaster = EventForecaster(seed=7)
    >>> predictions = forecaster.run(outcomes)
    >>> round(forecaster.predict(), 2), round(brier(predictions, outcomes), 3)
    (1.0, 0.005)

    Ten rounds ahead it is nearly as good, since what alternates is known for long:

    >>> predictions = EventForecaster(seed=7, ahead=10).run(outcomes)
    >>> brier(predictions[500:], outcomes[500:]) < 0.001
    True

    Outcomes that come late are given by id, in any order:

    >>> forecaster = EventForecaster()
    >>> monday, tuesday = forecaster.predict(id="monday"), forecaster.predict(id="tuesday")
    >>> forecaster.update(1, id="tuesday")
    >>> forecaster.rounds, forecaster.learned, forecaster.pending
    (2, 1, 1)
    """

    __slots__ = ("_monitor",)

    periods: int | list[int] | None
    ahead: int
    capacity: int
    full: str
    monitor: bool | Mapping[str, Any]

    def __init__(
        self,
        seed: int = 0,
        *,
        periods: int | Sequence[int] | None = None,
        ahead: int = 1,
        capacity: int = 10_000,
        full: str = "expire",
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        super().__init__(
            check_seed(seed),
            self._check_periods(periods),
            check_integer("ahead", ahead, 1, MOST_AHEAD),
            check_integer("capacity", capacity, 1),
            refuses(full),
        )
        self._attach(monitor)

    def _check_periods(self, periods: int | Sequence[int] | None) -> list[int]:
        """Return the periods to add to the built-in ones."""
        if periods is None:
            return []
        if hasattr(periods, "__len__"):
            given = as_listed(periods, "periods", "an integer or a list of integers")
            self._given["periods"] = given  # a list is what a saved one reads back as
        else:
            given = [periods]
        if len(given) > MOST_GIVEN:
            raise ValueError(f"periods must be at most {MOST_GIVEN}, got {len(given)}")
        checked = [check_integer("each of the periods", each, 2, LONGEST_PERIOD) for each in given]
        return [each for each in dict.fromkeys(checked) if each not in BUILT_IN_PERIODS]

    def run(self, outcomes: npt.ArrayLike, *, times: npt.ArrayLike | None = None) -> Floats:
        """Run one round an outcome and return the predictions, each made before its outcome.

        All or nothing: interrupted with Ctrl-C, it is as if `run` had not been called.

        Parameters
        ----------
        outcomes : array_like
            Numbers in [0, 1].
        times : array_like, optional
            When each outcome happens, in order.
        """
        return self._run_watched(super().run, outcomes, times=times)

    def memory(self) -> list[Memory]:
        """Return what this round's forecast draws on, the heaviest first.

        Examples
        --------
        >>> from calibrant import EventForecaster
        >>> from calibrant.streams import cycle
        >>> forecaster = EventForecaster()
        >>> _ = forecaster.run(cycle(5000, period=24, seed=1).outcomes)
        >>> heaviest = forecaster.memory()[0]
        >>> print(f"{heaviest.words}: {heaviest.weight:.0%}")
        the place in a period of 24: 99%
        """
        return heaviest_first(describe_experts(*self._described()), self._weights().tolist())

    def _learn_many(self, predictions: list[EventRound], outcomes: Floats) -> None:
        with self._seen(np.array([each.expected for each in predictions]), outcomes):
            self._finish_many(predictions, outcomes)

    def _save(self) -> tuple[int, dict[str, Any]]:
        waiting = self._waiting
        with waiting.lock:
            rounds, state = super()._save()
            late = save_event_rounds(list(waiting.named.values()), self._contexts)
            return rounds, state | save_ids(waiting) | {"waiting_rounds": late}

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        named = {name: state.pop(name) for name in ID_PARTS}
        late = {"waiting_rounds": state.pop("waiting_rounds"), "z": state["z"]}
        super()._load(rounds, state)
        ids = load_ids(named, self.capacity, rounds)
        waiting = self._load_rounds(late, "waiting_rounds", rounds, state["opened"])
        held = {each.number for each in self._held_rounds()}
        if rounds != self.learned + len(held) + len(waiting) + ids.expired:
            raise ValueError(f"saved rounds, learned, waiting and expired, must be {rounds}")
        if not held.isdisjoint(each.number for each in waiting):
            raise ValueError("a saved round is held and waits at once")
        if len(waiting) != len(ids.named):
            raise ValueError("saved waiting_rounds must be as many as waiting_ids")
        if self._monitor is not None and self._monitor.rounds > self.learned + len(held):
            raise ValueError("the saved monitor must have seen outcomes that were given")
        ids.give(self._waiting, waiting)
