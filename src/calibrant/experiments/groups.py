"""What a comparison takes when nobody says otherwise, and short names for groups of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from calibrant.streams import names

__all__ = ["FORECASTER_GROUPS", "STREAM_GROUPS", "expand", "split"]

# Whoever can use the number of rounds is told it: that is how their bounds are stated.
PAPER = ("epoch", "epoch-kl", "interval:horizon=T", "swap:horizon=T", "refined", "restarting")
RIVALS = (
    "foster-hart:horizon=T",
    "running-mean",
    "sliding-window",
    "exponential-window",
    "foster-vohra:horizon=T",
    "foster-1999:horizon=T",
    "abernethy-bartlett-hazan:horizon=T",
    "k29:horizon=T",
    "k29-star:horizon=T",
    "aosa:horizon=T",
)
#: Forecasters by the name of their group.
FORECASTER_GROUPS: dict[str, tuple[str, ...]] = {
    "all": ("zoom", *PAPER, *RIVALS),
    "paper": PAPER,
    "rivals": RIVALS,
}

FAMILIES = (
    "iid:mean=0.5",
    "piecewise:segments=20",
    "drift",
    "seasonal",
    "random_walk",
    "corrupted:budget=T/10",
    "alternating",
)
ADVERSARIES = ("greedy:norm=l2", "contrarian", "chaser", "march:horizon=T")
#: Streams by the name of their group.
STREAM_GROUPS: dict[str, tuple[str, ...]] = {
    "all": (*FAMILIES, *ADVERSARIES, *names()),
    "families": FAMILIES,
    "adversaries": ADVERSARIES,
    "real": tuple(names()),
}


def split(values: Iterable[str]) -> list[str]:
    """Return the specs in lists that commas separate, though specs hold commas too.

    A piece with an equals sign and no name of its own continues the spec before it. A file's name
    may hold commas: what starts with ``file:`` is taken whole.

    Examples
    --------
    >>> from calibrant.experiments.groups import split
    >>> split(["zoom,refined:measure=l1,deviation=C,epoch", "file:a,b.csv#y"])
    ['zoom', 'refined:measure=l1,deviation=C', 'epoch', 'file:a,b.csv#y']
    """
    specs: list[str] = []
    for value in values:
        if value.startswith("file:"):
            specs.append(value)
            continue
        first = True
        for piece in value.split(","):
            continues = "=" in piece and ":" not in piece.partition("=")[0]
            if continues and not first:
                specs[-1] += f",{piece.strip()}"
            else:
                specs.append(piece.strip())
            first = False
    return specs


def expand(specs: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return specs with each group replaced by its members; none twice.

    Examples
    --------
    >>> from calibrant.experiments.groups import STREAM_GROUPS, expand
    >>> expand(["chaser", "adversaries"], STREAM_GROUPS)
    ['chaser', 'greedy:norm=l2', 'contrarian', 'march:horizon=T']
    """
    members = (each for spec in specs for each in groups.get(spec, (spec,)))
    return list(dict.fromkeys(members))
