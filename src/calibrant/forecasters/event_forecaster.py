"""EventForecaster, the default: sharp from the past, and calibrated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, as_listed, check_integer, check_seed
from calibrant._kernels.events.contexts import BUILT_IN_PERIODS, LONGEST_PERIOD, MOST_GIVEN
from calibrant._kernels.events.event import EventKernel, EventRule
from calibrant._kernels.events.event_rounds import save_event_rounds
from calibrant._kernels.kernel import all_or_nothing, own_outcomes
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.saved import check_names, integer
from calibrant._times import Time
from calibrant.forecasters.base import Forecaster
from calibrant.forecasters.memories import Memory, describe_experts, heaviest_first
from calibrant.measures.distributions import Distributions
from calibrant.monitor import Monitor
from calibrant.monitor.settings import monitor_from, settings_of
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import load_book, save_book, take_book, waiting_rounds

MOST_AHEAD = 10_000
#: The prefix of the names of the saved parts of the monitor.
WATCH = "watch_"


class EventForecaster(Forecaster, EventKernel):
    """Predict events from past outcomes alone.

    There are three stages. *Sharp* mixes many models of the past: the last outcomes, recent means,
    hidden states, seasons, the calendar. The mixture's log loss exceeds that of the best of them by
    little, whatever the outcomes; the bound is in docs/events.md. *Repair* corrects its estimate by
    what was observed after similar estimates. *Safe*, as in `Recalibrator`, places it on a grid of
    points, and moves it only away from points that are known to be biased.
    One step ahead, with each outcome known before the next prediction, Cal2 is proved to be at
    most of the order of T^(1/3) log T against any outcomes (docs/safe-proof.md); further ahead and
    with late outcomes it is measured.

    Parameters
    ----------
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    periods : int or list of int, optional
        Lengths of seasons, in rounds, in addition to 7, 24, 48, 168 and 365: at most eight, each in
        [2, 10000].
    ahead : int, default 1
        How many rounds ahead to forecast, in [1, 10000]: the prediction of a round uses only the
        outcomes of rounds that are at least this many rounds earlier.
    capacity : int, default 10000
        The maximal number of pending rounds with an id, at about 1 kB each; also the number of
        finished ids that are remembered, so that an outcome given twice is counted once.
    when_full : {"expire", "refuse"}, default "expire"
        What to do at capacity: the oldest pending round expires (`expired` counts them), or the
        new one is refused.
    monitor : bool, dict or Monitor, default False
        Whether to monitor the expected predictions (`watched_by`). A dict has arguments of
        `Monitor` (every, tolerance, alpha, block); of a Monitor, only its arguments are used. It
        judges each round by what was known when it was predicted, `ahead` rounds before its
        outcome.

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

    Outcomes that arrive late are given by id, in any order:

    >>> forecaster = EventForecaster()
    >>> monday, tuesday = forecaster.predict(id="monday"), forecaster.predict(id="tuesday")
    >>> forecaster.update(1, id="tuesday")
    'applied'
    >>> forecaster.rounds, forecaster.learned, forecaster.pending
    (2, 1, 1)
    """

    __slots__ = ()

    periods: int | list[int] | None
    ahead: int
    capacity: int
    when_full: str
    monitor: bool | Mapping[str, Any]

    def __init__(
        self,
        seed: int = 0,
        *,
        periods: int | Sequence[int] | None = None,
        ahead: int = 1,
        capacity: int = 10_000,
        when_full: str = "expire",
        monitor: bool | Mapping[str, Any] | Monitor = False,
    ) -> None:
        super().__init__(
            check_seed(seed),
            self._check_periods(periods),
            check_integer("ahead", ahead, 1, MOST_AHEAD),
        )
        settings = settings_of(monitor)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        watcher = None
        if settings is not None:
            watcher = monitor_from(settings, 0, ahead=ahead, patience=capacity)
        self._late = Learner(
            EventRule(self), Policy.of(capacity=capacity, when_full=when_full), watcher
        )
        if watcher is not None:
            self._tell(watcher.update)

    def _check_periods(self, periods: int | Sequence[int] | None) -> list[int]:
        """Return the periods to add to the built-in ones."""
        if periods is None:
            return []
        if hasattr(periods, "__len__"):
            given = as_listed(periods, "periods", "an integer or a list of integers")
            self._given["periods"] = given  # a saved one is loaded as a list
        else:
            given = [periods]
        if len(given) > MOST_GIVEN:
            raise ValueError(f"periods must be at most {MOST_GIVEN}, got {len(given)}")
        checked = [check_integer("each of the periods", each, 2, LONGEST_PERIOD) for each in given]
        return [each for each in dict.fromkeys(checked) if each not in BUILT_IN_PERIODS]

    def run(self, outcomes: npt.ArrayLike, *, at: npt.ArrayLike | None = None) -> Floats:
        """Run one round per outcome and return the predictions, each made before its outcome.

        All or nothing: interrupted with Ctrl-C, it is as if `run` had not been called.

        Parameters
        ----------
        outcomes : array_like
            Numbers in [0, 1].
        at : array_like, optional
            When each outcome happens, in order.
        """
        if self._monitor is None:
            return super().run(outcomes, at=at)
        y, monitor, run = own_outcomes(outcomes), self._monitor, super().run

        def body() -> Floats:
            predictions, means = self._run_with_means(run, y, at=at)
            monitor.run(means, y)
            return predictions

        found: Floats = all_or_nothing(self._late._book.lock, self._mark, body)
        return found

    def trace(self, outcomes: npt.ArrayLike) -> tuple[Floats, Distributions]:
        """Play like `run`; return the predictions and each round's whole distribution."""
        if self._monitor is None:
            return super().trace(outcomes)
        y, monitor, trace = own_outcomes(outcomes), self._monitor, super().trace

        def body() -> tuple[Floats, Distributions]:
            predictions, distributions = trace(y)
            parts = distributions.weights * distributions.points
            starts = distributions.starts[:-1]
            monitor.run(np.add.reduceat(parts, starts) if len(starts) else parts, y)
            return predictions, distributions

        found: tuple[Floats, Distributions] = all_or_nothing(
            self._late._book.lock, self._mark, body
        )
        return found

    def _mark(self) -> Callable[[], None]:
        """Return a function that restores the current state."""
        rounds, state = self._save()
        return lambda: self._load(rounds, dict(state))

    # -- rounds by id ---------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """The number of pending rounds."""
        return self._late.pending

    @property
    def expired(self) -> int:
        """The number of rounds with an id that expired before their outcome arrived."""
        return self._late.expired

    def update_many(
        self, outcomes: npt.ArrayLike, *, ids: Sequence[Id] | npt.NDArray[Any]
    ) -> npt.NDArray[np.str_]:
        """Learn outcomes that arrived together, by id; return the answer to each.

        As in `Recalibrator.update_many`.
        """
        return self._late.update_many(outcomes, ids=ids)

    def expire(self, *, older_than: int | None = None, before: Time | None = None) -> list[Id]:
        """Expire old rounds, as in `Recalibrator.expire`; return their ids."""
        return self._late.expire(older_than=older_than, before=before)

    def forget_ids(self) -> int:
        """Forget all ids: pending predictions are dropped, and every id may be used again."""
        return self._late.forget_ids()

    @property
    def _monitor(self) -> Monitor | None:
        monitor: Monitor | None = self._late._book.watcher
        return monitor

    @property
    def watched_by(self) -> Monitor | None:
        """The monitor of the expected predictions, with ``monitor=True``; else None.

        Examples
        --------
        >>> from calibrant import EventForecaster
        >>> forecaster = EventForecaster(monitor=True)
        >>> _ = forecaster.run([0, 1] * 500)
        >>> forecaster.watched_by.rounds, forecaster.watched_by.state
        (1000, 'calibrated')
        """
        return self._monitor

    def weights(self) -> list[Memory]:
        """Return what this round's forecast is based on, with the largest weight first.

        Examples
        --------
        >>> from calibrant import EventForecaster
        >>> from calibrant.streams import cycle
        >>> forecaster = EventForecaster()
        >>> _ = forecaster.run(cycle(5000, period=24, seed=1).outcomes)
        >>> heaviest = forecaster.weights()[0]
        >>> print(f"{heaviest.words}: {heaviest.weight:.0%}")
        the place in a period of 24: 99%
        """
        return heaviest_first(describe_experts(*self._described()), self._weights().tolist())

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        book = self._late._book
        with book.lock:
            rounds, state = super()._save()
            late = save_event_rounds(waiting_rounds(book), self._contexts)
            state |= save_book(book) | {"waiting_rounds": late}
            if self._monitor is not None:
                seen, parts = self._monitor._save()
                state |= {WATCH + name: part for name, part in {**parts, "seen": seen}.items()}
            return rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        parts = {name: state.pop(name) for name in list(state) if name.startswith(WATCH)}
        book = take_book(state)
        late = {"waiting_rounds": state.pop("waiting_rounds"), "z": state["z"]}
        super()._load(rounds, state)
        waiting = self._load_rounds(late, "waiting_rounds", rounds, state["opened"])
        load_book(self._late._book, book, list(waiting), rounds)
        held = {each.number for each in self._held_rounds()}
        if rounds != self.learned + len(held) + len(waiting) + self.expired:
            raise ValueError(f"saved rounds, learned, waiting and expired, must be {rounds}")
        if not held.isdisjoint(each.number for each in waiting):
            raise ValueError("a saved round is held and waits at once")
        if self._monitor is None:
            check_names(parts, set())
            return
        seen = integer(parts, WATCH + "seen", low=0, high=rounds)
        del parts[WATCH + "seen"]
        self._monitor._load(seen, {k.removeprefix(WATCH): v for k, v in parts.items()})
        if self._monitor._last_key >= rounds:
            raise ValueError("the saved monitor must have seen rounds that were predicted")
