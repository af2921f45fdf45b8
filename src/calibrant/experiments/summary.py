"""The results of a sweep in a table: who did how well where."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Figure", "label", "longest", "summarise"]


class Figure(NamedTuple):
    """Mean and spread (standard deviation) of a measure over seeds.

    Examples
    --------
    >>> from calibrant.experiments.summary import Figure
    >>> Figure(mean=10.0, spread=1.5, best=True)
    Figure(mean=10.0, spread=1.5, best=True)
    """

    mean: float
    spread: float
    best: bool


def label(name: str, parameters: str) -> str:
    """Return the spec of a forecaster or a stream from two columns of the results.

    Examples
    --------
    >>> from calibrant.experiments.summary import label
    >>> label("iid", '{"mean": 0.5}'), label("zoom", "{}")
    ('iid:mean=0.5', 'zoom')
    """
    values: dict[str, Any] = json.loads(parameters)
    if name == "file":
        return f"file:{values['path']}" + (f"#{values['column']}" if values["column"] else "")
    pairs = ",".join(f"{key}={written(value)}" for key, value in values.items())
    return f"{name}:{pairs}" if pairs else name


def written(value: Any) -> str:
    """Return a value as a spec has it."""
    if isinstance(value, list):
        return "/".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def summarise(
    rows: Iterable[Mapping[str, Any]], measure: str
) -> dict[tuple[str, int], dict[str, Figure]]:
    """Return mean and spread of a measure over seeds, by (stream, rounds) and by forecaster.

    Forecasters come in the order of their mean rank over the streams, the best first.

    Examples
    --------
    >>> from calibrant.experiments.summary import summarise
    >>> row = {"forecaster": "zoom", "forecaster_parameters": "{}", "stream": "drift",
    ...        "stream_parameters": "{}", "rounds": 9, "measure": "cal2"}
    >>> summarise([row | {"value": 1.0}, row | {"value": 3.0}], "cal2")
    {('drift', 9): {'zoom': Figure(mean=2.0, spread=1.4142135623730951, best=True)}}
    """
    values: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["measure"] == measure:
            stream = label(row["stream"], row["stream_parameters"]), row["rounds"]
            forecaster = label(row["forecaster"], row["forecaster_parameters"])
            values[stream][forecaster].append(row["value"])
    means = {
        stream: {name: float(np.mean(each)) for name, each in by.items()}
        for stream, by in values.items()
    }
    # What only rounding tells apart is equally good.
    bar = {stream: min(by.values()) * (1 + 1e-9) + 1e-12 for stream, by in means.items()}
    ranks: dict[str, list[int]] = defaultdict(list)
    for by in means.values():
        for name, mean in by.items():
            ranks[name].append(sum(other < mean for other in by.values()))
    order = sorted(ranks, key=lambda name: (float(np.mean(ranks[name])), name))
    return {
        stream: {
            name: Figure(by[name], spread(values[stream][name]), by[name] <= bar[stream])
            for name in order
            if name in by
        }
        for stream, by in means.items()
    }


def longest(
    figures: Mapping[tuple[str, int], dict[str, Figure]],
) -> dict[tuple[str, int], dict[str, Figure]]:
    """Return, of what `summarise` gives, the longest game of each stream.

    Examples
    --------
    >>> from calibrant.experiments.summary import longest
    >>> longest({("drift", 100): {}, ("drift", 300): {}, ("chaser", 100): {}})
    {('drift', 300): {}, ('chaser', 100): {}}
    """
    most: dict[str, int] = {}
    for stream, rounds in figures:
        most[stream] = max(rounds, most.get(stream, 0))
    return {(stream, rounds): figures[stream, rounds] for stream, rounds in most.items()}


def spread(values: list[float]) -> float:
    """Return the standard deviation of a sample; nothing is known of the spread of one value."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    # Of values that are all the same it is 0, not what rounding leaves.
    return float(np.std(values, ddof=1)) if min(values) < max(values) else 0.0
