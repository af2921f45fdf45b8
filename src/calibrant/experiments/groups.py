"""The default forecasters and streams of a comparison, and names for groups of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence

from calibrant.forecasters.named import FORECASTERS, RIVALS
from calibrant.streams import names

OWN = ("event-forecaster", "zoom")  # neither of the paper nor rivals
# Their default constants do not depend on the number of rounds.
WITHOUT_HORIZON = ("refined", "restarting")


def _spec(name: str) -> str:
    """Return the spec that is compared: with the number of rounds, where the bounds assume it."""
    for maker in FORECASTERS[name]:
        given = inspect.signature(maker).parameters
        needed = {each.name for each in given.values() if each.default is each.empty}
        if "horizon" in given and needed <= {"horizon"} and name not in WITHOUT_HORIZON:
            return f"{name}:horizon=T"
    return name


#: Forecasters by the name of their group.
FORECASTER_GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(map(_spec, FORECASTERS)),
    "paper": tuple(_spec(name) for name in FORECASTERS if name not in (*OWN, *RIVALS)),
    "rivals": tuple(map(_spec, RIVALS)),
}

FAMILIES = (
    "iid:mean=0.5",
    "piecewise:segments=20",
    "drift",
    "seasonal",
    "random_walk",
    "corrupted:budget=T/10",
    "alternating",
    "markov:order=4",
    "hidden_markov",
    "cycle",
    "runs",
    "regimes",
)
ADVERSARIES = (
    "greedy:norm=l2", "contrarian", "chaser", "march:horizon=T", "drag:horizon=T",
    "sign_preservation:horizon=T", "learned:horizon=T", "learned:against=zoom,horizon=T",
)  # fmt: skip
#: Streams by the name of their group.
STREAM_GROUPS: dict[str, tuple[str, ...]] = {
    "all": (*FAMILIES, *ADVERSARIES, *names()),
    "families": FAMILIES,
    "adversaries": ADVERSARIES,
    "real": tuple(names()),
}


def split(values: Iterable[str]) -> list[str]:
    """Split lists of specs at their commas, but not at those between parameters.

    A piece with an equals sign and without a name continues the spec before it. The name of a file
    may contain commas: anything that starts with ``file:`` is not split.

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
    """Return specs with each group replaced by its members, without duplicates."""
    members = (each for spec in specs for each in groups.get(spec, (spec,)))
    return list(dict.fromkeys(members))
