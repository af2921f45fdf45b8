"""The results of a sweep: means and spreads over seeds, and the ranking.

`calibrant compare` and the report take their numbers from `Results`, and rank by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant import _specs
from calibrant.experiments.tasks import Result

#: The measures by which forecasters can be ranked, the best known first, with their labels.
ERRORS = {
    "cal2": "Cal2", "cal1": "Cal1", "klcal": "KLCal", "pcal2": "PCal2", "pklcal": "PKLCal",
    "ece": "ECE", "smece": "smooth ECE", "smooth_calibration": "smooth calibration",
    "brier": "Brier score", "log_loss": "log loss",
}  # fmt: skip
# A mean error below this is rounding noise around 0.
NOISE = 1e-9
# Beyond a hundred times the smallest error, how much larger an error is no longer matters.
HOPELESS = 100.0

#: The error of each seed, ``[forecaster][size]``.
BySize = dict[str, dict[float, list[float]]]


class MeanAndSpread(NamedTuple):
    """Mean and spread (standard deviation) of a measure over seeds, and whether it is the best.

    Examples
    --------
    >>> from calibrant.experiments import MeanAndSpread
    >>> MeanAndSpread(mean=10.0, spread=1.5, best=True)
    MeanAndSpread(mean=10.0, spread=1.5, best=True)
    """

    mean: float
    spread: float
    best: bool


@dataclass(frozen=True)
class Results:
    """All results of a sweep.

    Attributes
    ----------
    all : sequence of Result
        Every forecaster on every stream, for every number of rounds and every seed.

    Examples
    --------
    >>> from calibrant.experiments import Result, Results, Task
    >>> results = Results([
    ...     Result.of(Task("zoom", "drift", 1000, seed=0), {"cal2": 4.0}),
    ...     Result.of(Task("zoom", "drift", 1000, seed=1), {"cal2": 6.0}),
    ...     Result.of(Task("epoch", "drift", 1000, seed=0), {"cal2": 40.0}),
    ... ])
    >>> results.errors("cal2")
    {'drift': {'zoom': 5.0, 'epoch': 40.0}}
    """

    all: Sequence[Result]

    @cached_property
    def measures(self) -> list[str]:
        """The measured errors, sorted by the number of tasks that have them."""
        tasks = {measure: len(self.measured(measure)) for measure in ERRORS}
        return sorted(filter(tasks.get, ERRORS), key=lambda measure: -tasks[measure])

    @cached_property
    def streams(self) -> list[str]:
        """The streams, in the order in which they come."""
        return list(dict.fromkeys(result.task.stream for result in self.all))

    @cached_property
    def forecasters(self) -> list[str]:
        """The forecasters, in the order in which they come."""
        return list(dict.fromkeys(result.task.forecaster for result in self.all))

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds, ascending."""
        return sorted({result.task.seed for result in self.all})

    def measured(self, measure: str) -> list[Result]:
        """Return the results that have a measure."""
        return [result for result in self.all if measure in result.values]

    def longest(self, measure: str) -> dict[str, int]:
        """Return the largest number of rounds at which each stream was measured."""
        most: dict[str, int] = {}
        for result in self.measured(measure):
            task = result.task
            most[task.stream] = max(task.rounds, most.get(task.stream, 0))
        return most

    def summary(self, measure: str) -> dict[tuple[str, int], dict[str, MeanAndSpread]]:
        """Return mean and spread over seeds, ``[stream, rounds][forecaster]``.

        The forecasters are sorted from the best to the worst over all streams, by `rank` at
        the largest number of rounds of each.
        """
        values: dict[tuple[str, int], dict[str, list[float]]] = {}
        for result in self.measured(measure):
            task = result.task
            row = values.setdefault((task.stream, task.rounds), {})
            row.setdefault(task.forecaster, []).append(result.values[measure])
        means = {key: {name: mean(row[name]) for name in row} for key, row in values.items()}
        order = rank({stream: means[stream, T] for stream, T in self.longest(measure).items()})
        order += [name for name in self.forecasters if name not in order]
        summary = {}
        for key, by_name in means.items():
            # Errors that differ by rounding alone are equally good.
            limit = min(by_name.values()) * (1 + 1e-9) + 1e-12
            summary[key] = {
                name: MeanAndSpread(
                    by_name[name], spread(values[key][name]), by_name[name] <= limit
                )
                for name in order
                if name in by_name
            }
        return summary

    def errors(self, measure: str) -> dict[str, dict[str, float]]:
        """Return the mean over seeds, ``[stream][forecaster]``, at each stream's largest size.

        The forecasters are sorted from the best to the worst by `rank`.
        """
        summary = self.summary(measure)
        return {
            stream: {name: each.mean for name, each in summary[stream, rounds].items()}
            for stream, rounds in self.longest(measure).items()
        }

    def over_rounds(self, stream: str, measure: str) -> BySize:
        """Return the errors on a stream, ``[forecaster][rounds]``, one per seed."""
        here = (result for result in self.measured(measure) if result.task.stream == stream)
        return _by_size(((result, float(result.task.rounds)) for result in here), measure)

    def over_worlds(self, measure: str) -> dict[tuple[str, str, int], BySize]:
        """Return the errors by deviation C or segments K, ``[axis, family, rounds]``.

        For each family of streams with at least three deviations or segments, at its largest size.
        """
        families: dict[tuple[str, int], dict[str, list[Result]]] = {}
        for result in self.measured(measure):
            if result.deviation is not None and result.segments is not None:
                task = result.task
                members = families.setdefault((_specs.name_of(task.stream), task.rounds), {})
                members.setdefault(task.stream, []).append(result)
        longest = dict(sorted(families))  # the last of each family has the most rounds
        found = {}
        for (family, rounds), members in families.items():
            # K is an axis only where specs set it: where means move, every round is a segment.
            asked = all("segments" in _specs.parse("stream", spec).parameters for spec in members)
            axis, what = ("K", "segments") if asked else ("C", "deviation")
            sized = [
                (result, float(np.mean([getattr(each, what) for each in results])))
                for results in members.values()
                for result in results
            ]
            sized = [(result, size) for result, size in sized if size > 0]
            if rounds == longest[family] and len({size for _, size in sized}) >= 3:
                found[axis, family, rounds] = _by_size(sized, measure)
        return found


def _by_size(results: Iterable[tuple[Result, float]], measure: str) -> BySize:
    errors: BySize = {}
    for result, size in results:
        sizes = errors.setdefault(result.task.forecaster, {})
        sizes.setdefault(size, []).append(result.values[measure])
    return errors


def mean(values: Sequence[float]) -> float:
    """Return the mean; one below `NOISE` is 0."""
    value = float(np.mean(values))
    return value if value > NOISE else 0.0


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; NaN for one value, and where any is infinite."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    # Exactly 0 for equal values, in spite of rounding.
    return float(np.std(values, ddof=1)) if min(values) < max(values) else 0.0


def rank(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the forecasters from the best to the worst over all streams.

    By the geometric mean of the ratio of each error to the smallest on its stream, capped at 100.
    """
    logs: dict[str, list[float]] = {}
    for row in means.values():
        for name, ratio in ratios(row).items():
            logs.setdefault(name, []).append(float(np.log(min(ratio, HOPELESS))))
    return sorted(logs, key=lambda name: float(np.mean(logs[name])))


def ratios(row: Mapping[str, float]) -> dict[str, float]:
    """Return the ratio of each error to the smallest; 1 if that is 0, but infinite for infinity."""
    best = min(row.values())

    def over_best(error: float) -> float:
        if math.isinf(error):
            return math.inf
        return 1.0 if error == best else error / best if best > 0 else math.inf

    return {name: over_best(error) for name, error in row.items()}
