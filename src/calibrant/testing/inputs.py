"""What a class under test is given: scores, outcomes, and what it must refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Id
from calibrant.testing.calls import Calls, EventCalls, KeyedCalls, NumberCalls

Array = npt.NDArray[Any]

NOT_FINITE: tuple[Any, ...] = (float("nan"), float("inf"), -float("inf"))
NOT_NUMBERS: tuple[Any, ...] = (
    "0.5", b"1", None, 1j, [0.5], [0, 1], object(), np.array([0.5]), np.array([0.5, 0.5]), 10**400,
)  # fmt: skip
NOT_PROBABILITIES: tuple[Any, ...] = (*NOT_FINITE, -0.1, 1.1, 2, -1, -1e-300, *NOT_NUMBERS)
NOT_CLASSES: tuple[Any, ...] = (
    -1, 0.0, 1.0, True, "0", b"0", None, 1j, [0], np.array([0]), object(),
)  # fmt: skip
NOT_IDS: tuple[Any, ...] = (True, 1.5, b"a", ("a",), ["a"], float("nan"), object(), 2**1024)
NOT_COUNTS: tuple[Any, ...] = (-1, 1.5, "1", None, True)
NOT_SEEDS: tuple[Any, ...] = (2**64, *NOT_COUNTS)
NOT_SERIES: tuple[Any, ...] = (0.5, "01", ["0", "1"], None, np.array(1.0), object())


@dataclass(frozen=True)
class Inputs:
    """What a recalibrator is given in its checks.

    Parameters
    ----------
    make : function of (kind, rounds, random)
        Returns scores and outcomes, one per round, as `run` takes them. `kind` is one of `kinds`,
        `random` a NumPy generator.
    bad_scores, bad_outcomes : tuple
        What `predict` and `update` must refuse.
    further : mapping of str to function of (round)
        Further arguments, such as ``by``: the value for each round, counted from 0. `predict` gets
        one of them, `run` a list.
    kinds : tuple of str
        What the scores are worth. One of them is "switching": in mid-stream they get a new meaning.
    calls : Calls, optional
        How the class is asked, unless as a `Recalibrator` is.
    not_series : tuple, optional
        What many scores or outcomes must not be.

    Examples
    --------
    >>> from calibrant.testing import probabilities
    >>> inputs = probabilities()
    >>> scores, outcomes = inputs.stream("honest", 100, seed=1)
    >>> len(scores) == len(outcomes) == 100
    True
    """

    make: Callable[[str, int, np.random.Generator], tuple[Array, ...]]
    bad_scores: tuple[Any, ...]
    bad_outcomes: tuple[Any, ...]
    further: Mapping[str, Callable[[int], Any]] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("honest", "inverted", "switching", "constant", "ends")
    calls: Calls = field(default_factory=Calls)
    not_series: tuple[Any, ...] = NOT_SERIES

    def stream(self, kind: str, rounds: int, seed: int) -> tuple[Array, ...]:
        """Return scores and outcomes."""
        return self.make(kind, rounds, np.random.default_rng([seed, rounds]))

    def more(self, t: int) -> dict[str, Any]:
        """Return the further arguments of round t."""
        return {name: value(t) for name, value in self.further.items()}

    def lists(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return the further arguments of some rounds, as `run` takes them."""
        rounds = range(start, stop)
        return {name: [value(t) for t in rounds] for name, value in self.further.items()}


def outcomes_alone() -> Inputs:
    """Return inputs for a forecaster, which gets no scores."""

    def outcomes(kind: str, rounds: int, random: np.random.Generator) -> tuple[Array]:
        if kind == "fractional":
            return (random.random(rounds),)
        t = np.arange(rounds)
        means = {
            "steady": np.full(rounds, 0.6),
            "rare": np.full(rounds, 0.01),
            "switching": np.where(t < rounds // 2, 0.1, 0.9),
            "alternating": t % 2,
        }[kind]
        return ((random.random(rounds) < means).astype(np.float64),)

    return Inputs(
        outcomes,
        bad_scores=(),
        bad_outcomes=NOT_PROBABILITIES,
        kinds=("steady", "rare", "switching", "alternating", "fractional"),
    )


def events() -> Inputs:
    """Return inputs for a forecaster of events whose rounds have ids.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.testing import check_recalibrator, events
    >>> check_recalibrator(EventForecaster, events())
    """
    return replace(outcomes_alone(), calls=EventCalls())


def one_number(
    score_of: Callable[[Array], Array], kind: str, rounds: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Return scores and outcomes in [0, 1]; those of the inverted kind are fractions."""
    p = np.full(rounds, 0.7) if kind == "constant" else random.random(rounds)
    if kind == "ends":
        p[::2] = np.round(p[::2])
    chances = {
        "inverted": 1 - p,
        "switching": np.where(np.arange(rounds) < rounds // 2, p, 1 - p),
        "ends": np.full(rounds, 0.3),
    }.get(kind, p)
    outcomes = random.random(rounds) < chances
    if kind == "inverted":
        return score_of(p), np.where(outcomes, 0.9, 0.2)
    return score_of(p), outcomes.astype(np.float64)


def probabilities() -> Inputs:
    """Return inputs for a recalibrator of scores in [0, 1]; `check_recalibrator` begins with them.

    Examples
    --------
    >>> from calibrant.testing import probabilities
    >>> 1.1 in probabilities().bad_scores
    True
    """
    return Inputs(
        lambda *given: one_number(lambda p: p, *given), NOT_PROBABILITIES, NOT_PROBABILITIES
    )


def numbers() -> Inputs:
    """Return inputs for a recalibrator of logits or margins: any finite number is a score.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.testing import check_recalibrator, numbers
    >>> check_recalibrator(Recalibrator, numbers(), kind="logit")
    """

    def logits(p: Array) -> Array:
        inside = np.clip(p, 1e-9, 1 - 1e-9)
        return np.asarray(np.log(inside / (1 - inside)))

    return Inputs(
        lambda *given: one_number(logits, *given), (*NOT_FINITE, *NOT_NUMBERS), NOT_PROBABILITIES
    )


def by_turns(names: Sequence[Id | None], part: str = "by") -> dict[str, Callable[[int], Any]]:
    """Return the further argument that names the group or key of a round; none without names."""
    return {part: lambda t: names[(t + t // 5) % len(names)]} if names else {}


def grouped(names: Sequence[Id | None] = ("a", "b", 7, None)) -> Inputs:
    """Return inputs for a recalibrator of scores in [0, 1] whose rounds are in groups (`by`).

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.testing import check_recalibrator, grouped
    >>> check_recalibrator(Recalibrator, grouped())
    """
    return replace(probabilities(), further=by_turns(names))


def keyed(keys: Sequence[Id] = ("a", "b", "c")) -> Inputs:
    """Return inputs for a fleet: scores in [0, 1], each of a key.

    Examples
    --------
    >>> from calibrant import Fleet
    >>> from calibrant.testing import check_recalibrator, keyed
    >>> check_recalibrator(Fleet, keyed())
    """
    given = probabilities()
    # Without scores, None, a fleet forecasts.
    bad, not_series = (
        tuple(each for each in table if each is not None)
        for table in (given.bad_scores, NOT_SERIES)
    )
    return replace(
        given,
        further=by_turns(keys, "key"),
        calls=KeyedCalls(),
        bad_scores=bad,
        not_series=not_series,
    )


def class_probabilities(classes: int, names: Sequence[Id | None] = ()) -> Inputs:
    """Return inputs for a recalibrator of classes 0, 1, ...: rows that sum to one, and labels.

    With names, rounds are in groups (`by`).

    Examples
    --------
    >>> from calibrant import MulticlassRecalibrator
    >>> from calibrant.testing import check_recalibrator, class_probabilities
    >>> check_recalibrator(MulticlassRecalibrator, class_probabilities(3), classes=3)
    """

    def rows(kind: str, rounds: int, random: np.random.Generator) -> tuple[Array, Array]:
        p = random.dirichlet(np.ones(classes), rounds)
        if kind == "constant":
            p[:] = 1 / classes
        elif kind == "ends":
            p[::2] = np.eye(classes)[p[::2].argmax(axis=1)]
        chances = {
            "inverted": p[:, ::-1],
            "switching": np.where(np.arange(rounds)[:, None] * 2 < rounds, p, p[:, ::-1]),
            "ends": np.full((rounds, classes), 1 / classes),
        }.get(kind, p)
        labels = (random.random((rounds, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return p, labels

    row = np.full(classes, 1 / classes)
    others = np.zeros(classes - 1)
    bad_rows = (
        row / 2, row[:-1], row[None], [*others, float("nan")], [*others - 1.0, float(classes)],
        [*others, "1"], [[1.0], *others], 0.5, "01", None, object(),
    )  # fmt: skip
    return Inputs(rows, bad_rows, (classes, *NOT_CLASSES), further=by_turns(names))


def forecasts(names: Sequence[Id | None] = ()) -> Inputs:
    """Return inputs for a recalibrator of numbers: forecasts, some of them missing, and outcomes.

    With names, rounds are in groups (`by`).

    Examples
    --------
    >>> from calibrant import NumberRecalibrator
    >>> from calibrant.testing import check_recalibrator, forecasts
    >>> check_recalibrator(NumberRecalibrator, forecasts(), periods=())
    """

    def numbers_of(kind: str, rounds: int, random: np.random.Generator) -> tuple[Array, Array]:
        m = np.zeros(rounds) if kind == "constant" else random.normal(size=rounds)
        noise = random.normal(size=rounds)
        outcomes = {
            "honest": (random.random(rounds) < 0.4).astype(np.float64),  # counts of at most one
            "inverted": noise - m,
            "switching": m + noise * np.where(np.arange(rounds) < rounds // 2, 1.0, 30.0),
            "constant": np.where(np.arange(rounds) < rounds // 2, 1.0, 2.0),
            "ends": 1e9 * np.round(noise),
        }[kind]
        if kind == "ends":
            m[::3] = np.nan
        return m, outcomes

    missing = float("nan")
    bad = tuple(
        each
        for each in (*NOT_FINITE, *NOT_NUMBERS)
        if each is not None and each is not NOT_FINITE[0]
    )
    return Inputs(
        numbers_of, bad, (missing, None, *bad), further=by_turns(names), calls=NumberCalls()
    )
