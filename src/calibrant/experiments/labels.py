"""Labels for readers in place of specs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibrant._specs import name_of, parse, write


def short_names(specs: Sequence[str]) -> dict[str, str]:
    """Return a short name of each forecaster: without the parameters that its namesakes share.

    Examples
    --------
    >>> short_names(["zoom", "k29:horizon=T", "swap:intervals=9,seed=1", "swap:horizon=T,seed=1"])
    {'zoom': 'zoom', 'k29:horizon=T': 'k29',
     'swap:intervals=9,seed=1': 'swap:intervals=9', 'swap:horizon=T,seed=1': 'swap:horizon=T'}
    """
    parsed = {spec: parse("forecaster", spec) for spec in specs}
    shown = {}
    for spec, (name, parameters) in parsed.items():
        same = [set(others.items()) for other, others in parsed.values() if other == name]
        shared = set.intersection(*same)
        apart = {key: text for key, text in parameters.items() if (key, text) not in shared}
        shown[spec] = write(name, apart)
    return shown


def show_stream(spec: str) -> str:
    """Return a stream's spec in words, with its numbers rounded to meaningful digits.

    Examples
    --------
    >>> show_stream("corrupted:budget=T/10,shape=burst"), show_stream("file:data/rain.csv#wet")
    ('corrupted, budget=T/10, shape=burst', 'rain.csv, wet')
    >>> show_stream("drift:share=0.392699082")
    'drift, share=0.3927'
    """
    if name_of(spec) == "file":
        path, _, column = spec.removeprefix("file:").rpartition("#")
        return f"{Path(path).name}, {column}" if path else Path(column).name
    name, parameters = parse("stream", spec)
    digits = re.compile(r"\d+\.\d{4,}")
    words = [
        f"{key}={digits.sub(lambda match: f'{float(match[0]):.4g}', text)}"
        for key, text in parameters.items()
    ]
    return ", ".join([name, *words])


def show_streams(specs: Sequence[str]) -> dict[str, str]:
    """Return a label for each stream; streams whose labels would be equal get their specs."""
    shown = [show_stream(spec) for spec in specs]
    return {
        spec: words if shown.count(words) == 1 else spec
        for spec, words in zip(specs, shown, strict=True)
    }


def show_seeds(seeds: Sequence[int]) -> str:
    """Return ascending seeds in words, with consecutive ones as a range."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"


def spread_out(items: Sequence[str], many: int) -> list[str]:
    """Return at most so many items, evenly chosen, the first and the last among them."""
    if len(items) <= many:
        return list(items)
    return [items[at] for at in np.linspace(0, len(items) - 1, many).round().astype(int)]
