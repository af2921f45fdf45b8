"""A task of a sweep: one forecaster on one stream, with a number of rounds and a seed.

`measure_task` runs a `Task` and returns a `Result`, which all other modules of this
package read and write: it has the task, the measures, and the versions that computed them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

import calibrant
from calibrant import _specs
from calibrant._checks import Floats, check_choice, check_integer
from calibrant._kernels.tally import TallyKernel
from calibrant.forecasters import Forecaster
from calibrant.forecasters.named import make
from calibrant.forecasters.named import parameters as forecaster_parameters
from calibrant.measures import (
    Scorecard,
    decision_loss,
    smece,
    smooth_calibration,
    step_calibration,
    subsampled_smooth_calibration,
    subsampled_step_calibration,
    two_bin_calibration,
    u_calibration,
)
from calibrant.streams import play
from calibrant.streams.named import Source, find, length
from calibrant.streams.named import parameters as stream_parameters

# All from one scorecard, which is cheap; `points` is the number of distinct predictions.
FROM_SCORECARD = ("cal1", "cal2", "klcal", "ece", "brier", "log_loss")
#: The default measures of a task.
DEFAULT_MEASURES = (*FROM_SCORECARD, "points")
# These need the whole distribution of every round.
PSEUDO = ("pcal2", "pklcal")
# These need every prediction at once.
FROM_ROUNDS = {
    measure.__name__: measure
    for measure in (
        *(smece, smooth_calibration, step_calibration, u_calibration, decision_loss),
        *(subsampled_smooth_calibration, subsampled_step_calibration, two_bin_calibration),
    )
}
#: All measures of a task.
TASK_MEASURES = (*DEFAULT_MEASURES, *PSEUDO, *FROM_ROUNDS)
# Rounds whose distributions are held in memory at a time.
CHUNK = 50_000
# Results hold seeds as 64-bit integers with a sign.
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, order=True)
class Task:
    """One forecaster on one stream: everything that its numbers depend on.

    Parameters
    ----------
    forecaster : str
        A spec, see `calibrant.forecasters.named`.
    stream : str
        A spec, see `calibrant.streams.named`.
    rounds : int
        How many rounds; T in the specs.
    seed : int
        Seed of the stream's draws and of the forecaster's. The two use different generators, and
        two forecasters with the same stream, rounds and seed see the same outcomes.

    Examples
    --------
    >>> from calibrant.experiments import Task
    >>> Task("foster-hart:horizon=T", "iid:mean=0.1", 1000, seed=3)
    Task(forecaster='foster-hart:horizon=T', stream='iid:mean=0.1', rounds=1000, seed=3)
    """

    forecaster: str
    stream: str
    rounds: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("rounds", self.rounds, 1)
        check_integer("seed", self.seed, 0, LARGEST_SEED)

    def __str__(self) -> str:
        return f"{self.forecaster} on {self.stream}, {self.rounds:,} rounds, seed {self.seed}"

    def source(self) -> Source:
        """Return the outcomes, or the adversary that will choose them."""
        return find(self.stream, rounds=self.rounds, seed=self.seed)

    def make_forecaster(self, deviation: float | None) -> Forecaster:
        """Return the forecaster before its first round; `deviation` is the value of C."""
        return make(self.forecaster, seed=self.seed, rounds=self.rounds, deviation=deviation)


class Identity(NamedTuple):
    """A task in canonical form, however its specs were written, and the versions that measured it.

    The same identity gives the same values. Parameters are JSON with sorted keys; those of a file
    hold the SHA-256 of its content.
    """

    forecaster: str
    forecaster_parameters: str
    stream: str
    stream_parameters: str
    rounds: int
    seed: int
    measures: tuple[str, ...]
    calibrant: str
    numpy: str

    @classmethod
    def of(
        cls, task: Task, measures: Iterable[str], stream: tuple[str, str] | None = None
    ) -> Identity:
        """Return the identity of a task; `stream` is its `stream_columns`, if already known."""
        return cls(
            *forecaster_columns(task.forecaster),
            *(stream or stream_columns(task.stream)),
            task.rounds,
            task.seed,
            tuple(sorted(set(measures))),
            calibrant.__version__,
            np.__version__,
        )


@cache
def forecaster_columns(spec: str) -> tuple[str, str]:
    """Return the name and the parameters of a forecaster as results hold them."""
    return _columns(*forecaster_parameters(spec))


def stream_columns(spec: str) -> tuple[str, str]:
    """Return the name and the parameters of a stream as results hold them; reads a file."""
    return _columns(*stream_parameters(spec))


def _columns(name: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
    return name, json.dumps(parameters, sort_keys=True, ensure_ascii=False)


@cache
def spec_of(name: str, parameters: str) -> str:
    """Return the spec of a forecaster or a stream from two columns of the results."""
    return _specs.write(name, json.loads(parameters))


@dataclass(frozen=True)
class Result:
    """A task and its measures.

    Parameters
    ----------
    identity : Identity
        The task and its measures, in one canonical form, and the versions that ran it.
    values : mapping
        The measures by name.
    deviation, segments : number or None
        C and K of the stream, where its means are known.

    Examples
    --------
    >>> from calibrant.experiments import Result, Task
    >>> result = Result.of(Task("zoom", "iid:mean=.50", 1000), {"cal2": 4.5})
    >>> result.values["cal2"], result.task.stream
    (4.5, 'iid:mean=0.5')
    """

    identity: Identity
    values: Mapping[str, float]
    deviation: float | None = None
    segments: int | None = None

    @classmethod
    def of(
        cls,
        task: Task,
        values: Mapping[str, float],
        *,
        deviation: float | None = None,
        segments: int | None = None,
    ) -> Result:
        """Return the result of a task, measured by this version."""
        return cls(Identity.of(task, values), values, deviation, segments)

    @cached_property
    def task(self) -> Task:
        """The task, with specs that make the same forecaster and stream again."""
        name, parameters, stream, stream_parameters, rounds, seed, *_ = self.identity
        return Task(spec_of(name, parameters), spec_of(stream, stream_parameters), rounds, seed)


def measure_task(task: Task, measures: Sequence[str] = DEFAULT_MEASURES) -> Result:
    """Run a task and measure it.

    Parameters
    ----------
    task : Task
        What to run.
    measures : sequence of str
        Which of `TASK_MEASURES` to compute. `pcal2` and `pklcal` use the whole distribution of
        every round, which takes longer.

    Examples
    --------
    >>> from calibrant.experiments import Task, measure_task
    >>> result = measure_task(Task("zoom", "iid:mean=0.5", 1000, seed=7), ["cal2", "points"])
    >>> sorted(result.values), result.deviation, result.segments
    (['cal2', 'points'], 0.0, 1)
    >>> result == measure_task(Task("zoom", "iid:mean=0.5", 1000, seed=7), ["cal2", "points"])
    True
    """
    for name in measures:
        check_choice("measures", name, TASK_MEASURES)
    return run_task(task, Identity.of(task, measures))


def run_task(task: Task, identity: Identity) -> Result:
    """Run a task whose identity is known, and compute the measures that it names."""
    measures, source = identity.measures, task.source()
    predictions, outcomes = run_rounds(task.make_forecaster(source.deviation), source, task.rounds)
    card = Scorecard()
    card.extend(predictions, outcomes)
    values = {name: float(getattr(card, name)) for name in FROM_SCORECARD}
    values["points"] = float(len(card.distinct()))
    if any(name in PSEUDO for name in measures):
        # A second forecaster with the same draws: the first has already been run, and the outcomes
        # of an adversary are only known afterwards.
        again = task.make_forecaster(source.deviation)
        values["pcal2"], values["pklcal"] = pseudo_errors(again, outcomes)
    for name, measure in FROM_ROUNDS.items():
        if name in measures:
            values[name] = float(measure(predictions, outcomes))
    values = {name: values[name] for name in measures}
    for name, value in values.items():
        if math.isnan(value):
            raise ValueError(f"{name} is not a number")
    return Result(identity, values, source.deviation, source.segments)


def run_rounds(forecaster: Forecaster, source: Source, rounds: int) -> tuple[Floats, Floats]:
    """Return the predictions of a forecaster on a stream, and the outcomes."""
    if source.adversary is not None:
        game = play(forecaster, source.adversary, rounds)
        return game.predictions, game.outcomes
    assert source.outcomes is not None
    return forecaster.run(source.outcomes), source.outcomes


def pseudo_errors(forecaster: Forecaster, outcomes: Floats) -> tuple[float, float]:
    """Return PCal2 and PKLCal; only `CHUNK` distributions are in memory at a time."""
    tally = TallyKernel()
    for start in range(0, len(outcomes), CHUNK):
        part = outcomes[start : start + CHUNK]
        _, distributions = forecaster.trace(part)
        tally.extend(
            distributions.points, np.repeat(part, np.diff(distributions.starts)),
            distributions.weights,
        )  # fmt: skip
    return tally.errors[1], tally.errors[2]


def plan(
    forecasters: Sequence[str], streams: Sequence[str], horizons: Sequence[int], seeds: int
) -> list[Task]:
    """Return every forecaster on every stream, for every horizon, with seeds 0, 1, ...

    A real stream that is shorter than a horizon is used completely, and only once.

    Parameters
    ----------
    forecasters, streams : sequence of str
        Specs.
    horizons : sequence of int
        Numbers of rounds.
    seeds : int
        How many seeds.

    Examples
    --------
    >>> from calibrant.experiments import plan
    >>> tasks = plan(["zoom", "epoch"], ["drift", "quakes6h"], [100, 10**6, 10**7], seeds=5)
    >>> len(tasks), sorted({task.rounds for task in tasks if task.stream == "quakes6h"})
    (50, [100, 15838])
    """
    for name, values in (
        ("forecasters", forecasters), ("streams", streams), ("horizons", horizons)
    ):  # fmt: skip
        if not values:
            raise ValueError(f"{name} must not be empty")
    check_integer("seeds", seeds, 1)
    for horizon in horizons:
        check_integer("horizons", horizon, 1)
    lengths = {stream: length(stream) for stream in streams}
    tasks = (
        Task(forecaster, stream, horizon if most is None else min(horizon, most), seed)
        for stream, most in lengths.items()
        for horizon in horizons
        for forecaster in forecasters
        for seed in range(seeds)
    )
    return list(dict.fromkeys(tasks))
