"""The recalibrator of numbers: a model's forecast in, a predictive distribution out."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_listed,
    check_integer,
    check_real,
    check_same_length,
    check_seed,
    describe,
)
from calibrant._groups import known_group
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.numbers.number_rule import LARGEST, NumberKernel, NumberRule
from calibrant._kernels.rounds.learner import Learner
from calibrant._times import Time
from calibrant.forecasters.memories import Memory, heaviest_first
from calibrant.measures.quantile_functions import as_levels
from calibrant.monitor.numbers import NumberMonitor
from calibrant.monitor.settings import settings_of
from calibrant.recalibrate.distribution import Distribution, as_given, as_given_rows
from calibrant.recalibrate.saving import WATCH, load_groups, prefixed, save_groups, taken
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

HALF = (
    0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.44, 0.47,
)  # fmt: skip
#: The default levels of quantiles.
LEVELS = (*HALF, 0.5, *(round(1.0 - level, 2) for level in reversed(HALF)))
#: Seasons that are always looked at, counted in rounds.
PERIODS = (7, 24, 48, 168, 336)
LONGEST_PERIOD = 100_000
#: What of a monitor may be asked for.
WATCHED = ("every", "tolerance")

LOCATIONS = (
    "the forecast",
    "the forecast plus a moving offset",
    "the forecast plus what past residuals and seasons explain",
)
SPREADS = (
    "the spread of a long time",
    "the spread of a long time, a shape that adapts",
    "the spread of a long time, a shape that adapts fast",
    "the spread of the last month or so",
    "the spread of the last rounds",
    "a spread that is learned",
    "a spread that is learned, a shape that adapts",
)


class NumberRecalibrator(Savable, Learner):
    """Turn a model's forecasts of numbers into distributions that stay calibrated.

    90% of the outcomes lie in the 90% interval, and so on for every level, while the model or the
    world changes: see `docs/numbers.md`. The coverage of every level is guaranteed for every
    sequence of outcomes (`docs/numbers-proof.md`, Theorem 1); that the intervals are narrow is only
    measured. There is nothing to tune.

    Parameters
    ----------
    levels : sequence of float, optional
        The levels of the quantiles, two or more inside (0, 1). The default are 33, from 0.01 to
        0.99; any other level is read between them.
    periods : sequence of int, default (7, 24, 48, 168, 336)
        Lengths of seasons, in rounds. Each takes 33 bytes per round of its length; with ``()``
        there are none.
    bounds : (low, high), optional
        Bounds of the outcomes, None for no bound: ``(0, None)`` for a demand.
    seed : int, default 0
        Seed of `Distribution.sample`; nothing else is drawn.
    capacity : int, default 100_000
        The maximal number of pending predictions with an id, about 1 kB each; also the number of
        finished ids that are remembered.
    when_full : {"expire", "refuse"}, default "expire"
        What to do at capacity: the oldest pending prediction expires, or the new one is refused.
    max_groups : int, default 1000
        The maximal number of groups in `by`. A group takes 40 kB.
    hold : number, timedelta or text such as "30d", optional
        Learn every outcome at this age, or when it arrives if that is later.
    monitor : bool, dict or NumberMonitor, default False
        Whether to monitor the distributions (`monitors`). A dict may have `every` and `tolerance`;
        of a NumberMonitor, only these arguments are used.

    Notes
    -----
    Until the first outcomes are known, every quantile is the forecast. An infinite quantile means
    that the coverage of a level was wrong by ten standard deviations or more, which happens under
    attack, but has never happened on a real stream so far.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import NumberRecalibrator
    >>> random = np.random.default_rng(0)
    >>> forecasts = random.normal(size=5000)
    >>> outcomes = forecasts + random.normal(0, np.repeat([1.0, 3.0], 2500))  # noise that grows
    >>> recalibrator = NumberRecalibrator()
    >>> quantiles = recalibrator.run(forecasts, outcomes)
    >>> quantiles.shape
    (5000, 33)
    >>> distribution = recalibrator.predict(0.5, id="a")
    >>> low, high = distribution.interval(0.9)
    >>> 4.0 < high - 0.5 < 6.0
    True
    >>> recalibrator.update(1.3, id="a")
    'applied'
    """

    __slots__ = ()

    periods: Sequence[int]
    bounds: Sequence[float | None] | None
    seed: int
    capacity: int
    when_full: str
    max_groups: int
    hold: float | timedelta | str | None
    monitor: bool | Mapping[str, Any]
    _rule: NumberRule

    def __init__(
        self,
        levels: Sequence[float] | npt.NDArray[Any] | None = None,
        *,
        periods: Sequence[int] = PERIODS,
        bounds: Sequence[float | None] | None = None,
        seed: int = 0,
        capacity: int = 100_000,
        when_full: str = "expire",
        max_groups: int = 1000,
        hold: float | timedelta | str | None = None,
        monitor: bool | Mapping[str, Any] | NumberMonitor = False,
    ) -> None:
        tau = as_levels(LEVELS if levels is None else levels)
        seasons = check_periods(periods)
        low, high = check_bounds(bounds)
        self._given["levels"] = None if levels is None else tau.tolist()
        self._given["periods"] = seasons
        self._given["bounds"] = None if bounds is None else list(bounds)
        self._given["seed"] = check_seed(seed)
        policy = Policy.of(
            silence=None, after=None, hold=hold, capacity=capacity, when_full=when_full
        )
        kernel = NumberKernel(tau, seasons, low, high)
        most = check_integer("max_groups", max_groups, 0, sys.maxsize)
        watched = watched_with(monitor)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else watched
        super().__init__(
            NumberRule(kernel, most),
            policy,
            None if watched is None else NumberMonitor(
                **watched, max_groups=min(most, 10**9), patience=min(capacity, 10**9)
            ),
        )  # fmt: skip

    @property
    def levels(self) -> Floats:
        """The levels of the quantiles."""
        levels: Floats = self._rule.whole.levels.tau
        return levels

    @property
    def groups(self) -> dict[Id, int]:
        """The names of the groups in order of appearance, with their numbers of predictions."""
        return {name: kernel.begun for name, kernel in self._rule.groups.items()}

    @property
    def monitors(self) -> NumberMonitor | None:
        """The monitor of the distributions, None without ``monitor=True``.

        It bets when a number is predicted, and is paid when the outcome is learned.

        Examples
        --------
        >>> from calibrant import NumberRecalibrator
        >>> recalibrator = NumberRecalibrator(monitor=True)
        >>> _ = recalibrator.predict(3.0, id="a")
        >>> recalibrator.update(3.5, id="a")
        'applied'
        >>> recalibrator.monitors.rounds, recalibrator.monitors.state
        (1, 'calibrated')
        """
        watcher: NumberMonitor | None = self._book.watcher
        return watcher

    # -- predictions ----------------------------------------------------------------------------

    def predict(
        self,
        forecast: SupportsFloat | None = None,
        *,
        id: Id | None = None,  # noqa: A002
        by: Id | None = None,
        at: Time | None = None,
        due: Time | None = None,
        quantiles: npt.ArrayLike | None = None,
        levels: npt.ArrayLike | None = None,
        scale: SupportsFloat | None = None,
    ) -> Distribution:
        """Return the distribution of a number, and open a round.

        Without an id, the outcome is given by the next `update` without one; another `predict`
        without an id drops the round. With an id, the round is pending until
        ``update(outcome, id=...)``. `by`, `at` and `due` are as in `Recalibrator.predict`. A
        forecast that is NaN is missing, and replaced by the recent mean of outcomes.

        `quantiles` of the model, at `levels` or at those of the recalibrator, or its `scale`, the
        standard deviation of a normal distribution, are mixed with the learned distributions, with
        weights that depend on their losses. The forecast is then their median by default.

        Examples
        --------
        >>> from calibrant import NumberRecalibrator
        >>> recalibrator = NumberRecalibrator()
        >>> recalibrator.predict(quantiles=[-20, 2, 70], levels=[0.05, 0.5, 0.95]).interval(0.9)
        (-20.0, 70.0)
        """
        is_bare = quantiles is None and levels is None and scale is None
        row: Any = forecast
        if not is_bare or type(forecast) is not float:
            row = as_given(forecast, quantiles, levels, scale, self.levels)
        begun: Any = self._open_one(row, id, by, at, due)
        return Distribution._of(begun.levels, begun.quantiles, (self._given["seed"], begun.number))

    def predict_many(
        self,
        forecasts: npt.ArrayLike | None = None,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        at: Any = None,
        due: Any = None,
        quantiles: npt.ArrayLike | None = None,
        levels: npt.ArrayLike | None = None,
        scales: npt.ArrayLike | None = None,
    ) -> Distribution:
        """Return the distributions of many numbers, all from the current state.

        Each is what `predict` would return in its place. Rounds with ids are pending; without ids,
        no rounds are opened.

        Examples
        --------
        >>> from calibrant import NumberRecalibrator
        >>> recalibrator = NumberRecalibrator()
        >>> distributions = recalibrator.predict_many([3.0, 4.0], ids=["a", "b"])
        >>> distributions.median.tolist()
        [3.0, 4.0]
        >>> recalibrator.update_many([3.5, 3.7], ids=["a", "b"]).tolist()
        ['applied', 'applied']
        """
        rows = as_given_rows(forecasts, quantiles, levels, scales, self.levels)
        number = self.rounds
        values: Floats = self._predict_many(rows, ids, self._names(by), at, due)
        return Distribution._of(self.levels, values, (self.seed, number))

    def distribution(
        self,
        forecast: SupportsFloat | None = None,
        *,
        by: Id | None = None,
        quantiles: npt.ArrayLike | None = None,
        levels: npt.ArrayLike | None = None,
        scale: SupportsFloat | None = None,
    ) -> Distribution:
        """Return what `predict` would return now; changes nothing.

        Examples
        --------
        >>> from calibrant import NumberRecalibrator
        >>> NumberRecalibrator().distribution(3.0).median
        3.0
        """
        row = as_given(forecast, quantiles, levels, scale, self.levels)
        with self._book.lock, uninterrupted:  # it is predicted, and taken back
            values: Floats = self._rule.look(row, by)
            return Distribution._of(self.levels, values, (self.seed, self.rounds))

    def run(
        self,
        forecasts: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        by: Sequence[Id | None] | npt.NDArray[Any] | None = None,
        at: Any = None,
        due: Any = None,
        quantiles: npt.ArrayLike | None = None,
        levels: npt.ArrayLike | None = None,
        scales: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predict each number and then learn its outcome; return the quantiles, a row each.

        The results are those of `predict` and `update` row by row, bit for bit. An outcome that is
        NaN or None is unknown: the row is predicted, and nothing is learned. With `hold`, each
        outcome is known right after its prediction and learned at its deadline. `weights` are the
        weights of the outcomes, as in `update`. All or nothing: if it is interrupted with Ctrl-C,
        the state is as before the call.
        """
        rule, names = self._rule, self._names(by)
        given = as_given_rows(forecasts, quantiles, levels, scales, self.levels)
        rows, known = rule.check(given, names), rule.known_outcomes(outcomes)
        check_same_length("forecasts", len(rows), "outcomes", len(known))
        is_weighed = weights is not None or self._is_weighed
        if self._book.has_deadlines or is_weighed or at is not None or due is not None:
            return self._play(rows, known, names, at=at, due=due, opened=[], weights=weights)

        def body() -> Floats:
            if len(rows):
                self._book.forget_unnamed()
            found = rule.run(rows, names, known)
            if self.monitors is not None:
                came = ~np.isnan(known)
                groups = None if names is None else [names[row] for row in np.flatnonzero(came)]
                self.monitors.run(found[came], self.levels, known[came], groups)
            return found

        return self._all_or_nothing(body)

    def fit(
        self, forecasts: npt.ArrayLike, outcomes: npt.ArrayLike, *, by: Any = None, **more: Any
    ) -> Self:
        """Learn from history, oldest row first, as `run` does; return the recalibrator itself.

        Examples
        --------
        >>> from calibrant import NumberRecalibrator
        >>> NumberRecalibrator().fit([1.0, 2.0, 3.0], [1.5, 2.5, 2.0]).learned
        3
        """
        self.run(forecasts, outcomes, by=by, **more)
        return self

    def _names(self, by: Any) -> list[Any] | None:
        return None if by is None else as_listed(by, "by", "names, one per row")

    # -- looking --------------------------------------------------------------------------------

    def weights(self, *, by: Id | None = None) -> list[Memory]:
        """Return what predictions are based on now, in words, by decreasing weight.

        The weights are means over all levels and sum to 1. A large weight on what past residuals
        explain means that the model omits information that it could use.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import NumberRecalibrator
        >>> outcomes = np.random.default_rng(0).normal(size=2000).cumsum()
        >>> recalibrator = NumberRecalibrator()
        >>> _ = recalibrator.run(outcomes[:-1], outcomes[1:])   # a forecast that says it all
        >>> recalibrator.weights()[0].words.startswith("the forecast,")
        True
        """
        rule = self._rule
        kernel = rule.whole if by is None else known_group(rule.groups, by)
        with self._book.lock:
            weights = kernel.mixture.weights().mean(axis=1)
        words = [f"{place}, {spread}" for place in LOCATIONS for spread in SPREADS]
        return heaviest_first(words, weights.tolist())

    @property
    def is_caught(self) -> bool:
        """Whether the safety net is active at some level, so that quantiles are infinite."""
        with self._book.lock:
            return bool(self._rule.whole.net.is_caught(self.learned))

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            rule, rounds = self._rule, waiting_rounds(self._book)
            whole = rule.whole.save([rule.whole_of(each) for each in rounds])
            state = save_book(self._book) | save_groups(rule, rounds, whole)
            if self.monitors is not None:
                seen, saved = self.monitors._save()
                state |= prefixed(WATCH, {"rounds": seen, **saved})
            return self.rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        rule, book = self._rule, take_book(state)
        if self.monitors is not None:
            watch = taken(state, WATCH)
            self.monitors._load(watch.pop("rounds"), watch)
            seen = self.monitors.monitors.values()
            if any(each.rounds > rounds or each._last_key >= rounds for each in seen):
                raise ValueError("the saved monitors must have seen rounds that were predicted")
        waiting = load_groups(rule, state, rounds, "forecasts")
        low, high = rule.whole.low, rule.whole.high
        bounds = max(low, -LARGEST), min(high, LARGEST)
        load_book(self._book, book, waiting, rounds, bounds=bounds)


def watched_with(monitor: object) -> dict[str, Any] | None:
    """Return the arguments of the requested monitor, None if there is none."""
    if isinstance(monitor, NumberMonitor):
        monitor = {name: monitor._given[name] for name in WATCHED}
    return settings_of(monitor, WATCHED)


def check_periods(periods: object) -> list[int]:
    """Return the lengths of seasons, all distinct."""
    listed = as_listed(periods, "periods", "a sequence of integers")
    found = [check_integer("each of the periods", each, 2, LONGEST_PERIOD) for each in listed]
    if len(set(found)) < len(found) or sum(found) > LONGEST_PERIOD:
        raise ValueError(
            f"periods must be distinct and at most {LONGEST_PERIOD} rounds in all, "
            f"got {describe(periods)}"
        )
    return found


def check_bounds(bounds: object) -> tuple[float, float]:
    """Return the least and the greatest outcome, infinite where there is no bound."""
    if bounds is None:
        return -math.inf, math.inf
    listed = as_listed(bounds, "bounds", "(low, high), None for no bound")
    if len(listed) != 2:
        raise ValueError(f"bounds must be (low, high), None for no bound, got {describe(bounds)}")
    low, high = (
        end if each is None else check_real(f"the {which} of bounds", each, -LARGEST, LARGEST)
        for each, end, which in zip(listed, (-math.inf, math.inf), ("low", "high"), strict=True)
    )
    if not low < high:
        raise ValueError(f"bounds must be (low, high) with low < high, got {describe(bounds)}")
    return low, high
