"""What readers see in place of specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def short_names(specs: Sequence[str]) -> dict[str, str]:
    """Return what to call each forecaster: its name, and its parameters only to tell two apart.

    Examples
    --------
    >>> short_names(["zoom", "k29:horizon=T", "interval:cells=20", "interval:horizon=T"])
    {'zoom': 'zoom', 'k29:horizon=T': 'k29',
     'interval:cells=20': 'interval:cells=20', 'interval:horizon=T': 'interval:horizon=T'}
    """
    heads = [spec.partition(":")[0] for spec in specs]
    return {
        spec: head if heads.count(head) == 1 else spec
        for spec, head in zip(specs, heads, strict=True)
    }


def show_stream(spec: str) -> str:
    """Return a stream's spec as words.

    Examples
    --------
    >>> show_stream("corrupted:budget=T/10,shape=burst"), show_stream("file:data/rain.csv#wet")
    ('corrupted, budget=T/10, shape=burst', 'rain.csv, wet')
    """
    name, _, rest = spec.partition(":")
    if name == "file":
        path, _, column = rest.partition("#")
        return f"{Path(path).name}, {column}" if column else Path(path).name
    return f"{name}, {rest.replace(',', ', ')}" if rest else name


def spread_out(items: Sequence[str], many: int) -> list[str]:
    """Return at most so many items, evenly chosen, the first and the last among them.

    Examples
    --------
    >>> spread_out(["a", "b", "c", "d", "e"], 3)
    ['a', 'c', 'e']
    """
    if len(items) <= many:
        return list(items)
    return [items[at] for at in np.linspace(0, len(items) - 1, many).round().astype(int)]
