"""Streams by name, with parameters, as in `compare` and sweeps.

- A synthetic family: ``drift``, ``iid:mean=0.1``, ``corrupted:budget=T/10,shape=burst``.
- An adversary: ``greedy:norm=l2``, ``contrarian``, ``chaser``, ``march:horizon=T``.
- A real stream that comes with the package: ``nycflights``.
- A file: ``file:PATH#COLUMN``, or ``file:PATH`` where the column can be guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from calibrant import _specs
from calibrant._checks import Floats, check_integer, check_seed
from calibrant.streams.adversaries import ADVERSARIES, Adversary
from calibrant.streams.bundled import bundled_table, load, names
from calibrant.streams.families import FAMILIES
from calibrant.streams.stream import Stream
from calibrant.tables import InputError, read

__all__ = ["Source", "find", "length", "parameters"]


@dataclass(frozen=True, eq=False)
class Source:
    """Outcomes, or an adversary that will choose them; C, K and the means if they are known.

    Examples
    --------
    >>> from calibrant.streams.named import find
    >>> source = find("alternating:every=2", rounds=6)
    >>> source.outcomes, source.deviation, source.segments
    (array([0., 0., 1., 1., 0., 0.]), 2.0, 3)
    >>> find("contrarian", rounds=6).outcomes is None
    True
    """

    outcomes: Floats | None = None
    adversary: Adversary | None = None
    deviation: float | None = None
    segments: int | None = None
    means: Floats | None = None


def find(spec: str, *, rounds: int, seed: int = 0) -> Source:
    """Return the stream that a spec names.

    Parameters
    ----------
    spec : str
        A family, an adversary, a real stream or a file.
    rounds : int
        The number of rounds, T in the spec; the first ones of a real stream or a file.
    seed : int, default 0
        Seed of the draws; real streams and files have none.

    Examples
    --------
    >>> from calibrant.streams.named import find
    >>> find("seattle_rain", rounds=5).outcomes
    array([1., 1., 1., 1., 1.])
    """
    check_integer("rounds", rounds, 1)
    check_seed(seed)
    if _is_real(spec):
        outcomes = _real(spec)
        if rounds > len(outcomes):
            raise ValueError(f"stream {spec!r} has {len(outcomes)} rounds, not {rounds}")
        return Source(outcomes[:rounds])
    maker, values = _read(spec)
    try:
        settled = _specs.settle(maker, values, {"T": rounds})
        if _specs.parse("stream", spec).name in FAMILIES:
            stream = _drawn(maker, rounds, seed, tuple(map(_hashable, settled.items())))
            return Source(stream.outcomes, None, stream.deviation, stream.segments, stream.means)
        seeded = {"seed": seed} if "seed" in _specs.offered(maker, ()) else {}
        return Source(adversary=maker(**settled, **seeded))
    except (ValueError, TypeError) as error:
        raise ValueError(f"stream {spec!r}: {error}") from None


def length(spec: str) -> int | None:
    """Return how many rounds a stream has, or None for one of unlimited length.

    Examples
    --------
    >>> from calibrant.streams.named import length
    >>> length("seattle_rain"), length("drift")
    (25548, None)
    """
    return len(_real(spec)) if _is_real(spec) else None


def parameters(spec: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a stream and its parameters as numbers and words.

    Those of a file include the SHA-256 of its content, because the same name with other content is
    a different stream.

    Examples
    --------
    >>> from calibrant.streams.named import parameters
    >>> parameters("corrupted:budget=T/10,shape=burst")
    ('corrupted', {'budget': 'T/10', 'shape': 'burst'})
    """
    if _is_file(spec):
        path, column = _file(spec)
        return "file", {"column": column, "path": path, "sha256": _hash(path)}
    _, values = _read(spec)
    return _specs.parse("stream", spec).name, _specs.plain(values)


def _read(spec: str) -> tuple[Callable[..., Any], dict[str, _specs.Value]]:
    makers: dict[str, list[Callable[..., Any]]] = {
        **{name: [family] for name, family in FAMILIES.items()},
        **{name: [adversary] for name, adversary in ADVERSARIES.items()},
        **{name: [load] for name in names()},
        "file": [],  # listed in messages; `_file` reads it
    }
    parsed = _specs.parse("stream", spec)
    return _specs.choose("stream", parsed, makers, without=("rounds", "seed", "name"))


def _is_real(spec: str) -> bool:
    return spec in names() or _is_file(spec)


def _is_file(spec: str) -> bool:
    return isinstance(spec, str) and spec.partition(":")[0] == "file"


def _file(spec: str) -> tuple[str, str | None]:
    # The last # counts: a path may hold others, and then the column must be given.
    path, hash_sign, column = spec.partition(":")[2].rpartition("#")
    if not hash_sign:
        path, column = column, ""
    if not path:
        raise ValueError(f"stream {spec!r} must be file:PATH or file:PATH#COLUMN")
    return path, column or None


def _hash(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=path) from None


def _real(spec: str) -> Floats:
    """Return all outcomes of a real stream, or of a file as it is now."""
    return _outcomes_of(spec, _hash(_file(spec)[0]) if _is_file(spec) else None)


@lru_cache(maxsize=16)
def _outcomes_of(spec: str, _content: str | None) -> Floats:
    if not _is_file(spec):
        # Not `load`, which would read the times and scores of each round too.
        outcomes = bundled_table(spec).take("outcome", "outcome").values
    else:
        path, column = _file(spec)
        outcomes = read(path).take("outcome", column).values
    outcomes.flags.writeable = False  # the cache returns the same array again
    return outcomes


def _hashable(item: tuple[str, Any]) -> tuple[str, Any]:
    key, value = item
    return key, tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _drawn(
    family: Callable[..., Stream], rounds: int, seed: int, settled: tuple[tuple[str, Any], ...]
) -> Stream:
    """Return a synthetic stream; the last is kept, because several forecasters see it in turn."""
    return family(rounds, **dict(settled), seed=seed)
