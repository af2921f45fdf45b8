"""The decider: act on a probability or not, by costs, a budget, or a floor."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, SupportsFloat, overload

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    Id,
    as_unit_series,
    check_integer,
    check_real,
    check_same_length,
    check_seed,
    describe,
)
from calibrant._kernels.decide.budget_rule import BudgetRule, RowWindow, TimeWindow
from calibrant._kernels.decide.decision_rule import (
    DecisionRule,
    load_decisions,
    save_decisions,
)
from calibrant._kernels.decide.threshold_rules import CostRule, PrecisionRule, RecallRule
from calibrant._kernels.interrupts import uninterrupted
from calibrant._kernels.rounds.learner import Learner
from calibrant._kernels.saved import check_names
from calibrant._kernels.scores.recalibrate import as_known
from calibrant._spans import Span, as_span
from calibrant._times import Time, time_of, times_or_one
from calibrant.decide.costs import LARGEST, threshold_of_costs, thresholds_of_costs
from calibrant.decide.lower_bound import bound_of_sums
from calibrant.rounds.policy import Policy
from calibrant.rounds.saving import integers, load_book, save_book, take_book, waiting_rounds
from calibrant.saving import Savable

Booleans = npt.NDArray[np.bool_]
Times = Time | Sequence[Time] | npt.NDArray[Any]
#: A window of fewer rows has no useful histogram; one of more takes 10 MB.
LEAST_ROWS, MOST_ROWS = 100, 10_000_000
#: A range of probabilities with this many rows without an outcome raises a warning.
LONG_UNLABELLED = 10_000
SMALLEST = 1e-6


class UnlabelledWarning(UserWarning):
    """None of the last 10,000 rows in some range of probabilities has an outcome.

    A decider with outcomes checks for such ranges every 10,000 rows. Neither a decider nor a
    recalibrator can detect a change there. ``explore=`` acts on a few such rows.

    Examples
    --------
    >>> import warnings
    >>> from calibrant.decide import UnlabelledWarning
    >>> warnings.simplefilter("ignore", UnlabelledWarning)
    """


class Decider(Savable, Learner):
    """Decide, row by row, whether to act on a probability.

    There are four criteria, chosen by their arguments: minimal cost (`cost_of_acting` and
    `cost_of_missing`, or `costs`); a share of the rows (`budget`); as many rows as possible with a
    share of events among them (`precision`); as few rows as possible that include a share of the
    events (`recall`). See `docs/decide.md` for the guarantee of each, and when not to use it. The
    probabilities should be calibrated, and as fine-grained as `Recalibrator.smooth`.

    Parameters
    ----------
    cost_of_acting, cost_of_missing : float, optional
        The cost of acting, and the cost of an event that was not acted on.
    costs : array_like of shape (2, 2), optional
        Instead: the costs of not acting if the event does not happen and if it does, then those of
        acting. A row may have its own: ``decide(..., costs=...)``.
    budget : float in (0, 1), optional
        The share of the rows to act on.
    per : int, timedelta or text such as "1d", default 10_000
        The window in which the budget is kept: a number of rows, or a time (rows then need
        ``at=...``).
    band : float, default 0.2
        The allowed deviation of a window from the budget, as a share of it. Ignored if `cap` and
        `floor` are given.
    cap, floor : float, optional
        The limits of a window, as multiples of the budget: ``cap=2, floor=0`` leaves room for
        bursts. In every window of `per` rows, both hold, whatever the probabilities are. In windows
        of time, only the cap does, since the number of rows to come is unknown.
    precision : float in (0, 1), optional
        The share of events among the rows that are acted on. Learns from outcomes.
    recall : float in (0, 1), optional
        The share of the events that should be acted on. Learns from outcomes; needs `explore`.
    explore : float in [0, 1), default 0
        Also act on this share of the other rows, chosen at random, so that their outcomes become
        known. They count as acted on.
    seed : int, default 0
        Seed of the draws, in [0, 2**64 - 1].
    capacity, when_full, silence, after, hold
        For late outcomes, as in `Recalibrator`.

    Examples
    --------
    >>> from calibrant import Decider
    >>> decider = Decider(cost_of_acting=1, cost_of_missing=20)
    >>> decider.decide(0.04), decider.decide(0.06)
    (False, True)

    In every 1,000 rows between 40 and 60 are acted on, those with the highest probabilities:

    >>> import numpy as np
    >>> probabilities = np.random.default_rng(0).beta(1, 9, 20_000)
    >>> acts = Decider(budget=0.05, per=1000).decide_many(probabilities)
    >>> windows = np.convolve(acts, np.ones(1000), "valid")
    >>> bool(windows.min() >= 40 and windows.max() <= 60)
    True
    >>> bool(probabilities[acts].mean() > 3 * probabilities.mean())
    True

    A floor of the precision is kept by what becomes of the rows acted on, by id:

    >>> decider = Decider(precision=0.7)
    >>> decider.decide(0.8, id="a"), decider.decide(0.1, id="b")
    (True, False)
    >>> decider.update(0, id="a")
    'applied'
    >>> bool(decider.threshold > 0.7)
    True
    """

    __slots__ = ()

    cost_of_acting: float | None
    cost_of_missing: float | None
    costs: list[list[float]] | None
    budget: float | None
    per: int | timedelta | str
    band: float
    cap: float | None
    floor: float | None
    precision: float | None
    recall: float | None
    explore: float
    seed: int
    capacity: int
    when_full: str
    silence: int | None
    after: float | timedelta | str | None
    hold: float | timedelta | str | None
    _rule: DecisionRule

    def __init__(
        self,
        *,
        cost_of_acting: float | None = None,
        cost_of_missing: float | None = None,
        costs: npt.ArrayLike | None = None,
        budget: float | None = None,
        per: int | timedelta | str = 10_000,
        band: float = 0.2,
        cap: float | None = None,
        floor: float | None = None,
        precision: float | None = None,
        recall: float | None = None,
        explore: float = 0.0,
        seed: int = 0,
        capacity: int = 100_000,
        when_full: str = "expire",
        silence: int | None = None,
        after: float | timedelta | str | None = None,
        hold: float | timedelta | str | None = None,
    ) -> None:
        draws = check_seed(seed), check_real("explore", explore, 0.0, 1.0 - SMALLEST)
        asked = [
            cost_of_acting is not None or cost_of_missing is not None or costs is not None,
            budget is not None, precision is not None, recall is not None,
        ]  # fmt: skip
        if sum(asked) != 1:
            raise ValueError(
                "a Decider is asked one question: costs (cost_of_acting and cost_of_missing, or "
                f"costs), budget, precision or recall; got {sum(asked)} of them"
            )
        if budget is None and (cap is not None or floor is not None):
            raise ValueError("cap and floor belong to a budget")
        window = checked_window(per)
        check_real("band", band, 0.0, 1e9)
        rule: DecisionRule
        if budget is not None:
            share = check_share("budget", budget)
            rule = BudgetRule(*draws, share, *window_of(share, window, band, cap, floor))
        elif precision is not None:
            rule = PrecisionRule(*draws, check_share("precision", precision))
        elif recall is not None:
            if explore == 0.0:
                raise ValueError(
                    "recall needs explore, such as 0.02: what is never acted on has no outcomes, "
                    "and the missed events would never be known"
                )
            rule = RecallRule(*draws, check_share("recall", recall))
        else:
            table = cost_matrix(cost_of_acting, cost_of_missing, costs)
            rule = CostRule(*draws, threshold_of_costs(table))
            if costs is not None:
                self._given["costs"] = table
        policy = Policy.of(
            silence=silence, after=after, hold=hold, capacity=capacity,
            when_full=when_full,
        )  # fmt: skip
        super().__init__(rule, policy)

    # -- what it is at ---------------------------------------------------------------------------

    @property
    def threshold(self) -> float:
        """The current threshold: the next row is acted on from this probability on.

        With a budget, cap and floor may override it.
        """
        rule = self._rule
        if isinstance(rule, CostRule):
            return rule.threshold
        if isinstance(rule, BudgetRule):
            return 1.0 / (1.0 + math.exp(-max(min(rule.threshold, 700.0), -700.0)))
        assert isinstance(rule, PrecisionRule | RecallRule)
        return 1.0 / (1.0 + math.exp(-max(min(rule.theta, 700.0), -700.0)))

    @property
    def cost_matrix(self) -> list[list[float]] | None:
        """The costs as a matrix, as `costs` has them; None where something else decides."""
        if not isinstance(self._rule, CostRule):
            return None
        return cost_matrix(self.cost_of_acting, self.cost_of_missing, self.costs)

    @property
    def acted(self) -> int:
        """The number of rows that were acted on so far."""
        return self._rule.acted

    @property
    def explored(self) -> int:
        """The number of rows that were acted on only to explore."""
        return self._rule.explored

    @property
    def observed_precision(self) -> float:
        """The mean known outcome of rows that were acted on, NaN if there is none."""
        rule = self._rule
        return rule.hits / rule.judged if rule.judged else math.nan

    def precision_bound(self, *, alpha: float = 0.05) -> float:
        """Return a lower bound of the precision, with confidence 1 - alpha.

        It holds at all times at once, so look as often as you like; see
        `calibrant.decide.precision_bound` for its assumptions.

        Examples
        --------
        >>> from calibrant import Decider
        >>> decider = Decider(precision=0.5)
        >>> for row in range(1000):
        ...     _ = decider.decide(0.8, id=row)
        ...     _ = decider.update(row % 5 > 0, id=row)
        >>> decider.observed_precision
        0.8
        >>> round(decider.precision_bound(), 2)
        0.76
        """
        rule, level = self._rule, check_real("alpha", alpha, 1e-12, 0.5)
        return bound_of_sums(rule.judged, rule.hits, rule.spread, level)

    # -- decisions ------------------------------------------------------------------------------

    def decide(
        self,
        probability: SupportsFloat,
        *,
        id: Id | None = None,  # noqa: A002
        at: Time | None = None,
        due: Time | None = None,
        costs: npt.ArrayLike | None = None,
    ) -> bool:
        """Return whether to act on a row.

        With an id, the row is pending until ``update(outcome, id=...)``; without one, the next
        `update` without an id gives its outcome. `at` is the time of the row, for a budget in time.
        `costs` are those of this row, for a decider by costs.
        """
        p = check_real("probability", probability, 0.0, 1.0)
        beside = self._beside(None if at is None else np.array([time_of(at)]), costs, None)
        row = p if beside is None else (p, float(beside[0]))
        if beside is not None:
            self._rule.check_one(row, None)  # before anything else may change
        acts: bool = self._predict(row, id, None, at, due)
        self._look_for_unlabelled(1)
        return acts

    @overload
    def decide_many(
        self,
        probabilities: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = ...,
        at: Times | None = ...,
        due: Times | None = ...,
        costs: npt.ArrayLike | None = ...,
        propensities: Literal[False] = ...,
    ) -> Booleans: ...
    @overload
    def decide_many(
        self,
        probabilities: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = ...,
        at: Times | None = ...,
        due: Times | None = ...,
        costs: npt.ArrayLike | None = ...,
        propensities: Literal[True],
    ) -> tuple[Booleans, Floats]: ...
    def decide_many(
        self,
        probabilities: npt.ArrayLike,
        *,
        ids: Sequence[Id] | npt.NDArray[Any] | None = None,
        at: Times | None = None,
        due: Times | None = None,
        costs: npt.ArrayLike | None = None,
        propensities: bool = False,
    ) -> Booleans | tuple[Booleans, Floats]:
        """Return whether to act on each row, as `decide` does, in order.

        Rows with ids are pending until their outcomes are given; ids are required for a floor of
        precision or recall, which needs outcomes. With `propensities`, also return the probability
        that each row had of being acted on: a row with less than 1 that was acted on was explored.
        Keep propensities in the log.

        Examples
        --------
        >>> from calibrant import Decider
        >>> decider = Decider(cost_of_acting=1, cost_of_missing=2, explore=0.25, seed=1)
        >>> acts, chances = decider.decide_many([0.9, 0.1, 0.2, 0.3], propensities=True)
        >>> chances.tolist()
        [1.0, 0.25, 0.25, 0.25]
        >>> decider.explored == int((acts & (chances < 1)).sum())
        True
        """
        p = as_unit_series(probabilities, "probabilities")
        times = None if at is None else times_or_one(at, len(p))
        beside = self._beside(times, costs, len(p))
        if ids is None and (self.precision is not None or self.recall is not None):
            raise ValueError(
                "a floor of precision or recall is kept by outcomes, and without ids= none can "
                "come; run(probabilities, outcomes) decides rows whose outcomes are there"
            )
        if ids is None and not self._book.has_deadlines and due is None:
            acts, chances = np.empty(len(p), dtype=np.uint8), np.empty(len(p))
            with self._book.lock, uninterrupted:
                if beside is not None:
                    self._rule.check(np.column_stack([p, beside]), None)
                if times is not None and len(p):
                    self._book.let_pass(float(times.max()))
                self._rule.decide_many(p, beside, acts, chances)
                self._book.unnamed = None
            found = acts.astype(np.bool_)
        else:
            rows = p if beside is None else np.column_stack([p, beside])
            rounds = self._open(rows, ids, None, at, due)
            found = self._rule.answers(rounds).astype(np.bool_)
            chances = self._rule.propensities(rounds)
        self._look_for_unlabelled(len(p))
        return (found, chances) if propensities else found

    def run(
        self,
        probabilities: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        at: Times | None = None,
        known: Times | None = None,
        due: Times | None = None,
    ) -> Booleans:
        """Decide row by row, each from the outcomes that were known by then.

        An outcome is known right after its row, or from the time `known` on; NaN is never known.
        Returns whether each row was acted on. All or nothing: if it is interrupted, the state is as
        before the call.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import Decider
        >>> random = np.random.default_rng(0)
        >>> probabilities = random.random(20_000)
        >>> happened = random.random(20_000) < probabilities
        >>> acts = Decider(precision=0.7).run(probabilities, happened)
        >>> round(float(happened[acts].mean()), 2)
        0.72
        """
        return self._run(probabilities, outcomes, at=at, known=known, due=due)[0]

    def _run(
        self, probabilities: npt.ArrayLike, outcomes: npt.ArrayLike, *, at: Any = None,
        known: Any = None, due: Any = None,
    ) -> tuple[Booleans, Floats]:  # fmt: skip
        """Do what `run` does; also return the probability of acting on each row."""
        p, y = as_unit_series(probabilities, "probabilities"), as_known(outcomes)
        check_same_length("outcomes", len(y), "probabilities", len(p))
        if known is not None and at is None:
            raise ValueError("known needs at: an outcome is late for rows that came before it")
        times = None if at is None else times_or_one(at, len(p))
        beside = self._beside(times, None, len(p))

        def body() -> tuple[Booleans, Floats]:
            told, *_ = self._play_table(
                p if beside is None else np.column_stack([p, beside]), y, at=times,
                known=None if known is None else times_or_one(known, len(p), "known"),
                due=None if due is None else times_or_one(due, len(p), "due"),
                is_dated=self._book.policy.is_dated(at),
            )  # fmt: skip
            return told[0] > 0.5, told[1]

        return self._all_or_nothing(body)

    def _beside(
        self, times: Floats | None, costs: npt.ArrayLike | None, rows: int | None
    ) -> Floats | None:
        """Return what a row has besides its probability: its time, or its own threshold."""
        if costs is not None:
            if not isinstance(self._rule, CostRule):
                raise ValueError("costs of a row need a Decider that decides by costs")
            return thresholds_of_costs(costs, rows)
        if not self._is_timed:
            return None
        if times is None:
            raise ValueError(f"a budget per {self.per} needs the time of each row, at=...")
        return times

    @property
    def _is_timed(self) -> bool:
        return isinstance(self._rule, BudgetRule) and self._rule.is_timed

    # -- outcomes -------------------------------------------------------------------------------

    def unlabelled(self, *, rows: int = LONG_UNLABELLED) -> list[tuple[float, float]]:
        """Return the ranges of probabilities of which so many rows came since the last outcome.

        Examples
        --------
        >>> from calibrant import Decider
        >>> decider = Decider(cost_of_acting=1, cost_of_missing=2)
        >>> _ = decider.decide_many([0.15] * 500)
        >>> decider.unlabelled(rows=500)
        [(0.1, 0.2)]
        """
        least = check_integer("rows", rows, 1)
        since = self._rule.since_labelled()
        return [
            (k / len(since), (k + 1) / len(since))
            for k, count in enumerate(since)
            if count >= least
        ]

    def _look_for_unlabelled(self, made: int) -> None:
        """Warn, now and then, of ranges without outcomes, if this decider is given any."""
        rule = self._rule
        if rule.rounds // LONG_UNLABELLED == (rule.rounds - made) // LONG_UNLABELLED:
            return
        ranges = self.unlabelled() if rule.learned else []
        if ranges:
            named = ", ".join(f"{low:g} to {high:g}" for low, high in ranges)
            warnings.warn(
                f"no outcome of the last {LONG_UNLABELLED:,} rows with a probability of {named}: "
                "what happens there is not known any more; explore=0.02 or so acts on a few",
                UnlabelledWarning,
                stacklevel=3,
            )

    # -- saving ---------------------------------------------------------------------------------

    def _save(self) -> tuple[int, dict[str, Any]]:
        with self._book.lock:
            waiting = save_decisions(waiting_rounds(self._book))
            return self.rounds, self._rule.get_state() | save_book(self._book) | waiting

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        book = take_book(state)
        waiting = {name: state.pop(name) for name in save_decisions([])}
        check_names(state, set(self._rule.get_state()))
        self._rule.set_state(state, rounds)
        numbers = integers(book, "waiting_numbers", low=0)
        loaded = load_decisions(waiting, numbers, self._rule.explore)
        if int(waiting["waiting_acts"].sum()) + self._rule.judged > self._rule.acted:
            raise ValueError("saved acted must count those that wait and those that are judged")
        load_book(self._book, book, loaded, rounds)
        last = state.get("window_last")
        if last is not None and last > self._book.now:
            raise ValueError("saved window_last must not be later than the saved clock")
        if self._is_timed and self._book.is_timed is False:
            raise ValueError("saved clock_timed must not be 0 where a budget is per time")


def check_share(name: str, value: object) -> float:
    """Return a share strictly between 0 and 1."""
    try:
        return check_real(name, value, SMALLEST, 1.0 - SMALLEST)
    except ValueError:
        raise ValueError(f"{name} must be a number in (0, 1), got {describe(value)}") from None


def cost_matrix(acting: object, missing: object, costs: npt.ArrayLike | None) -> list[list[float]]:
    """Return the costs as a matrix, from it or from its two numbers."""
    if costs is not None:
        if acting is not None or missing is not None:
            raise ValueError("costs and cost_of_acting, cost_of_missing exclude each other")
        threshold_of_costs(costs)
        table: list[list[float]] = np.array(costs, dtype=np.float64).tolist()
        return table
    if acting is None or missing is None:
        raise ValueError("cost_of_acting and cost_of_missing go together")
    act = check_real("cost_of_acting", acting, 0.0, LARGEST)
    miss = check_real("cost_of_missing", missing, 0.0, LARGEST)
    if not act < miss:
        raise ValueError(
            f"cost_of_acting must be less than cost_of_missing, got {act!r} and {miss!r}: "
            "acting would never pay"
        )
    return [[0.0, miss], [act, act]]


def window_of(
    budget: float, per: int | Span, band: object, cap: object, floor: object
) -> tuple[RowWindow | TimeWindow, bool]:
    """Return the window of a budget, and whether there is no floor."""
    width = check_real("band", band, 0.0, 1.0 / budget)
    most = check_real("cap", 1.0 + width if cap is None else cap, SMALLEST, 1e9)
    lowest = 0.0 if cap is not None else max(1.0 - width, 0.0)
    least = check_real("floor", lowest if floor is None else floor, 0.0, 1e9)
    if least > most:
        raise ValueError(f"floor must not be above cap, got floor={least:g} and cap={most:g}")
    if isinstance(per, Span):
        return TimeWindow(per.length, most * budget, least * budget), least == 0.0
    highest = min(math.floor(most * budget * per + 1e-9), per)
    fewest = math.ceil(least * budget * per - 1e-9)
    if fewest > highest or highest < 1:
        raise ValueError(
            f"no window can hold this: between {least:g} and {most:g} times {budget * per:g} rows "
            f"(budget={budget:g} of per={per}) lies no whole number above 0; a larger per or a "
            "wider band does it"
        )
    return RowWindow(per, highest, fewest), fewest == 0


def checked_window(per: object) -> int | Span:
    """Return a window as a number of rows, or as a time."""
    if isinstance(per, int | np.integer) and not isinstance(per, bool | np.timedelta64):
        return check_integer("per", per, LEAST_ROWS, MOST_ROWS)
    span = as_span(per, "per")
    if not span.is_time:
        raise ValueError(f'per must be a whole number of rows, or a time such as "1d", got {per!r}')
    return span
