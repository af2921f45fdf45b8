"""Intervals of [0, 1], and of the angles theta = 2 arcsin sqrt(p) in which variance is even.

`uniform` cuts the domain into equal intervals. `refined` is the paper's partition: fine intervals
around a centre, and bands outwards that double in width. Every point of the domain lies in exactly
one interval; intervals that would be empty, or too thin for floats, are merged.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, check_choice, check_integer, check_real, describe
from calibrant._kernels.paper.partition import probability_edges, refined_edges, uniform_edges

__all__ = ["Partition", "refined", "uniform"]

MAX_INTERVALS = 2**24
DOMAINS = {"p": (0.0, 1.0), "theta": (0.0, math.pi)}


@dataclass(frozen=True, slots=True, repr=False)
class Partition:
    """A stretch of probabilities or angles, cut into intervals.

    Parameters
    ----------
    edges : sequence of float
        End points of the intervals, increasing: interval i lies between ``edges[i]`` and
        ``edges[i + 1]``.
    domain : {"p", "theta"}, default "p"
        Whether the edges are probabilities in [0, 1] or angles in [0, pi].
    turn : int, optional
        An inner edge before this index opens the interval on its right, ``[.,.)``; from this index
        on it closes the interval on its left, ``(.,.]``. The default, the number of intervals,
        makes all intervals but the last ``[.,.)``.

    Examples
    --------
    >>> from calibrant.partitions import Partition
    >>> halves = Partition([0, 0.5, 1])
    >>> halves.locate(0.5), halves.locate(1.0)
    (1, 1)
    >>> Partition([0, 0.5, 1], turn=1).locate(0.5)
    0
    """

    edges: tuple[float, ...]
    domain: str = "p"
    turn: int = 0

    def __post_init__(self) -> None:
        domain = check_choice("domain", self.domain, tuple(DOMAINS))
        try:
            edges = np.array(self.edges, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"edges must be numbers, got {describe(self.edges)}") from None
        if edges.ndim != 1 or not 2 <= len(edges) <= MAX_INTERVALS + 1:
            raise ValueError(
                f"edges must be a list of 2 to {MAX_INTERVALS + 1} numbers, got shape {edges.shape}"
            )
        low, high = DOMAINS[domain]
        for i in np.flatnonzero(~((edges >= low) & (edges <= high)))[:1]:
            raise ValueError(
                f"edges must be in [{low}, {high}], got {float(edges[i])!r} at position {i}"
            )
        for i in np.flatnonzero(~(np.diff(edges) > 0))[:1]:
            raise ValueError(
                f"edges must increase, got {float(edges[i + 1])!r} after {float(edges[i])!r} "
                f"at position {i + 1}"
            )
        intervals = len(edges) - 1
        turn = check_integer("turn", self.turn, 0, intervals) or intervals
        object.__setattr__(self, "edges", tuple(edges.tolist()))
        object.__setattr__(self, "turn", turn)

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.edges) - 1

    def locate(self, x: float) -> int:
        """Return the number of the one interval that holds x, a point of the domain.

        Examples
        --------
        >>> from calibrant.partitions import uniform
        >>> uniform(4).locate(0.3)
        1
        """
        x = check_real("x", x, self.edges[0], self.edges[-1])
        at = bisect_right(self.edges, x) - 1
        if self.edges[at] == x and (at >= self.turn or at == len(self)):
            return at - 1
        return at

    def probabilities(self) -> Floats:
        """Return the edges as probabilities; angles that give the same probability count once.

        Examples
        --------
        >>> from calibrant.partitions import uniform
        >>> uniform(2, domain="theta").probabilities()
        array([0. , 0.5, 1. ])
        """
        edges = np.array(self.edges)
        if self.domain == "theta":
            edges, _ = probability_edges(edges, self.turn)
        return edges

    def __repr__(self) -> str:
        return (
            f"<Partition of [{self.edges[0]:.6g}, {self.edges[-1]:.6g}] in {self.domain}: "
            f"{len(self)} interval{'s' * (len(self) != 1)}>"
        )


def _bounds(low: float, high: float | None, domain: str) -> tuple[float, float]:
    """Return the ends of the part of a domain that is to be cut."""
    least, most = DOMAINS[check_choice("domain", domain, tuple(DOMAINS))]
    start = check_real("low", low, least, most)
    end = check_real("high", most if high is None else high, least, most)
    if not start < end:
        raise ValueError(f"low must be below high, got low={start!r} and high={end!r}")
    return start, end


def uniform(
    intervals: int, low: float = 0.0, high: float | None = None, *, domain: str = "p"
) -> Partition:
    """Cut a domain into equal intervals, ``[.,.)`` but for the last (the paper's `UnifPart`).

    Parameters
    ----------
    intervals : int
        Number of intervals, at least 1. Fewer are made where floats are too coarse for them.
    low, high : float, optional
        Ends of the domain; all of it by default.
    domain : {"p", "theta"}, default "p"
        Whether the ends and the edges are probabilities or angles.

    Examples
    --------
    >>> from calibrant.partitions import uniform
    >>> uniform(4).edges
    (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    count = check_integer("intervals", intervals, 1, MAX_INTERVALS)
    edges, turn = uniform_edges(count, *_bounds(low, high, domain))
    return Partition(tuple(edges.tolist()), domain, turn)


def refined(
    centre: float,
    radius: float,
    inner: int,
    per_band: int,
    *,
    low: float = 0.0,
    high: float | None = None,
    domain: str = "p",
    anchored: bool = False,
) -> Partition:
    """Cut finely around a centre, and outwards in bands that double in width.

    The partition of Algorithms `framework_non_uniform` (``domain="p"``) and
    `framework_non_uniform_PKLCal` (``domain="theta"``): the inner region, centre +- 2 radius, in
    equal intervals; beside it bands of width radius, 2 radius, 4 radius, ..., each in equal
    intervals. What lies outside the domain is cut off first. Left bands are ``[.,.)``, right bands
    ``(.,.]``.

    Parameters
    ----------
    centre : float
        Middle of the inner region, a point of the domain.
    radius : float
        A quarter of its width, at least 0. One too small for floats counts as 2**-52 of the domain.
    inner : int
        Intervals of the inner region, at least 1.
    per_band : int
        Intervals of each band, at least 1.
    low, high, domain
        As in `uniform`.
    anchored : bool, default False
        Cut the two sides of the centre apart, half of the inner intervals each, so that the
        centre is an edge and can be predicted.

    Examples
    --------
    >>> from calibrant.partitions import refined
    >>> refined(0.5, 0.125, 2, 1).edges
    (0.0, 0.125, 0.25, 0.5, 0.75, 0.875, 1.0)
    """
    start, end = _bounds(low, high, domain)
    edges, turn = refined_edges(
        check_real("centre", centre, start, end),
        check_real("radius", radius, 0.0, math.inf),
        check_integer("inner", inner, 1, MAX_INTERVALS // 2),
        check_integer("per_band", per_band, 1, MAX_INTERVALS // 256),
        bool(anchored),
        start,
        end,
    )
    return Partition(tuple(edges.tolist()), domain, turn)


def check_resolution(
    intervals: int | None, partition: Partition | None, *, fewest: int = 1
) -> tuple[Floats | None, int]:
    """Return what a kernel takes: the edges that were given, or None and a number of intervals.

    At most one of the two arguments is not None; without either the number is 0, and the kernel
    chooses.
    """
    if partition is None:
        if intervals is None:
            return None, 0
        return None, check_integer("intervals", intervals, fewest, MAX_INTERVALS)
    if intervals is not None:
        raise ValueError(
            f"intervals must be None when a partition is given, got {describe(intervals)}"
        )
    if not isinstance(partition, Partition):
        raise ValueError(f"partition must be a Partition, got {describe(partition)}")
    return np.ascontiguousarray(partition.probabilities()), 0
