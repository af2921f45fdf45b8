"""Families of streams with a memory: the mean of a round depends on the outcomes before it.

The means are the true conditional probabilities, given the past outcomes and all parameters: no
forecaster can expect a lower log loss than theirs. The excess loss of a forecaster is due to what
it has not learned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrant._checks import Floats, check_integer, check_real, check_seed
from calibrant.streams.stream import Stream, generators


class Conditional(ABC):
    """A process: the mean of its next outcome, given the past outcomes."""

    @abstractmethod
    def mean(self) -> float:
        """Return the mean of the next outcome."""

    @abstractmethod
    def show(self, outcome: int) -> None:
        """Add an outcome to the past."""


class Table(Conditional):
    """A Markov chain: each of the 2^order pasts has its own mean."""

    def __init__(self, order: int, random: np.random.Generator) -> None:
        self.means: list[float] = random.random(2**order).tolist()
        self.past, self.mask = 0, 2**order - 1

    def mean(self) -> float:  # noqa: D102 - as in Conditional
        return self.means[self.past]

    def show(self, outcome: int) -> None:  # noqa: D102
        self.past = (2 * self.past + outcome) & self.mask


class Phases(Conditional):
    """A season: each phase has its own mean."""

    def __init__(self, period: int, random: np.random.Generator) -> None:
        self.means: list[float] = random.random(period).tolist()
        self.phase = 0

    def mean(self) -> float:  # noqa: D102 - as in Conditional
        return self.means[self.phase]

    def show(self, outcome: int) -> None:  # noqa: ARG002, D102
        self.phase = (self.phase + 1) % len(self.means)


class Filter(Conditional):
    """A hidden chain of two states, seen through its outcomes: the forward algorithm."""

    def __init__(self, low: float, high: float, stay_low: float, stay_high: float) -> None:
        self.says = (low, high)
        self.stay = (stay_low, stay_high)
        self.second = (1.0 - stay_low) / (2.0 - stay_low - stay_high)  # as in the long run

    def mean(self) -> float:  # noqa: D102 - as in Conditional
        return (1.0 - self.second) * self.says[0] + self.second * self.says[1]

    def show(self, outcome: int) -> None:  # noqa: D102
        first, second = (q if outcome else 1.0 - q for q in self.says)
        first, second = (1.0 - self.second) * first, self.second * second
        second /= first + second
        self.second = (1.0 - second) * (1.0 - self.stay[0]) + second * self.stay[1]


class Renewal(Conditional):
    """Alternating runs of zeros and ones, with lengths uniform between two numbers."""

    def __init__(self, shortest: int, longest: int) -> None:
        self.shortest, self.longest = shortest, longest
        self.side, self.length = 0, 0

    def mean(self) -> float:  # noqa: D102 - as in Conditional
        ends = 0.0
        if self.length >= self.shortest:
            ends = 1.0 / (self.longest - self.length + 1)
        return 1.0 - ends if self.side else ends

    def show(self, outcome: int) -> None:  # noqa: D102
        self.length = self.length + 1 if outcome == self.side else 1
        self.side = outcome


def _played(
    name: str,
    parameters: dict[str, Any],
    seed: int,
    processes: Sequence[tuple[Conditional, int]],
) -> Stream:
    """Draw outcomes from processes in sequence, each for a number of rounds."""
    _, generator = generators(seed)
    rounds = sum(length for _, length in processes)
    draws = generator.random(rounds).tolist()
    means: Floats = np.empty(rounds)
    outcomes: Floats = np.empty(rounds)
    playing = [process for process, length in processes for _ in range(length)]
    for t, process in enumerate(playing):
        means[t] = mean = process.mean()
        outcomes[t] = outcome = int(draws[t] < mean)
        process.show(outcome)
    return Stream(name, parameters, seed, means, outcomes)


def markov(rounds: int, *, order: int = 3, seed: int = 0) -> Stream:
    """Return a Markov chain: the mean is a function of the last outcomes.

    Parameters
    ----------
    order : int in [1, 16]
        How many outcomes it depends on. Each of the 2^order pasts has its own mean, drawn
        uniformly from [0, 1].
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> stream = markov(1000, order=2)
    >>> len(set(stream.means.tolist()))
    4
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    order = check_integer("order", order, 1, 16)
    table = Table(order, generators(seed)[0])
    return _played("markov", {"order": order}, seed, [(table, rounds)])


def hidden_markov(
    rounds: int,
    *,
    low: float = 0.15,
    high: float = 0.75,
    stay_low: float = 0.98,
    stay_high: float = 0.97,
    seed: int = 0,
) -> Stream:
    """Return outcomes of a hidden Markov chain with two states.

    The means are those of the forward algorithm, which knows the parameters and the past outcomes
    but not the state.

    Parameters
    ----------
    low, high : float in [0, 1]
        The probability of a 1 in each state.
    stay_low, stay_high : float in [0, 1]
        The probability of staying in each state; not both 1.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> hidden_markov(1000).means[0].round(2)
    np.float64(0.39)
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    given = {"low": low, "high": high, "stay_low": stay_low, "stay_high": stay_high}
    checked = {name: check_real(name, value, 0.0, 1.0) for name, value in given.items()}
    if checked["stay_low"] == checked["stay_high"] == 1.0:
        raise ValueError("stay_low and stay_high must not both be 1: the states never take turns")
    # What is drawn from the filter's means has the distribution of the chain's outcomes.
    return _played("hidden_markov", checked, seed, [(Filter(**checked), rounds)])


def cycle(rounds: int, *, period: int = 24, seed: int = 0) -> Stream:
    """Return a season in which each phase has its own mean, drawn uniformly from [0, 1].

    Parameters
    ----------
    period : int in [1, 100000]
        Rounds of a season.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> stream = cycle(1000, period=7)
    >>> bool((stream.means[:-7] == stream.means[7:]).all())
    True
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    period = check_integer("period", period, 1, 100_000)
    return _played(
        "cycle", {"period": period}, seed, [(Phases(period, generators(seed)[0]), rounds)]
    )


def runs(rounds: int, *, shortest: int = 5, longest: int = 40, seed: int = 0) -> Stream:
    """Return runs of zeros and ones; the first is of zeros.

    Parameters
    ----------
    shortest, longest : int
        The lengths of the runs are uniform between these, both included.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> runs(8, shortest=2, longest=2).outcomes
    array([0., 0., 1., 1., 0., 0., 1., 1.])
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    shortest = check_integer("shortest", shortest, 1)
    longest = check_integer("longest", longest, shortest)
    parameters = {"shortest": shortest, "longest": longest}
    return _played("runs", parameters, seed, [(Renewal(shortest, longest), rounds)])


def regimes(rounds: int, *, segments: int = 8, seed: int = 0) -> Stream:
    """Return stretches of equal length, each with a different kind of memory.

    Parameters
    ----------
    segments : int
        How many stretches. They cycle through a Markov chain of order 3, a cycle of 24, a hidden
        Markov chain as in `hidden_markov` and a Markov chain of order 1; each has its own means.
    rounds, seed
        As in `iid`.

    Examples
    --------
    >>> len(regimes(1000, segments=3))
    1000
    """
    rounds, seed = check_integer("rounds", rounds, 1), check_seed(seed)
    segments = check_integer("segments", segments, 1, rounds)
    random, _ = generators(seed)
    makers: list[Callable[[], Conditional]] = [
        lambda: Table(3, random),
        lambda: Phases(24, random),
        lambda: Filter(0.15, 0.75, 0.98, 0.97),
        lambda: Table(1, random),
    ]
    cuts = np.arange(segments + 1) * rounds // segments
    stretches = [
        (makers[at % len(makers)](), int(length)) for at, length in enumerate(np.diff(cuts))
    ]
    return _played("regimes", {"segments": segments}, seed, stretches)
