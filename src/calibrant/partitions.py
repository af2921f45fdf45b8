"""Cells of [0, 1], and of the angles theta = 2 arcsin sqrt(p) in which variance is even.

`uniform` cuts the domain into equal cells. `refined` is the paper's partition: fine cells around a
centre, and bands outwards that double in width. Every point of the domain lies in exactly one
cell; cells that would be empty or thinner than floats can tell apart are merged.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, check_choice, check_integer, check_real, describe
from calibrant._kernels.partition import probability_edges, refined_edges, uniform_edges

__all__ = ["Partition", "refined", "uniform"]

MAX_CELLS = 2**24
DOMAINS = {"p": (0.0, 1.0), "theta": (0.0, math.pi)}


@dataclass(frozen=True, slots=True, repr=False)
class Partition:
    """A line cut into cells, side by side.

    Parameters
    ----------
    edges : sequence of float
        End points of the cells, increasing: cell i lies between ``edges[i]`` and ``edges[i + 1]``.
    domain : {"p", "theta"}, default "p"
        Whether the edges are probabilities in [0, 1] or angles in [0, pi].
    turn : int, optional
        An inner edge before this index opens the cell on its right, ``[.,.)``; from this index on
        it closes the cell on its left, ``(.,.]``. The default, the number of cells, makes all
        cells but the last ``[.,.)``.

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
        if edges.ndim != 1 or not 2 <= len(edges) <= MAX_CELLS + 1:
            raise ValueError(
                f"edges must be a list of 2 to {MAX_CELLS + 1} numbers, got shape {edges.shape}"
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
        cells = len(edges) - 1
        turn = check_integer("turn", self.turn, 0, cells) or cells
        object.__setattr__(self, "edges", tuple(edges.tolist()))
        object.__setattr__(self, "turn", turn)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.edges) - 1

    def locate(self, x: float) -> int:
        """Return the number of the one cell that holds x, a point of the domain.

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
        """Return the edges as probabilities, without those that fall together as such.

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
            f"{len(self)} cell{'s' * (len(self) != 1)}>"
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
    cells: int, low: float = 0.0, high: float | None = None, *, domain: str = "p"
) -> Partition:
    """Cut a domain into equal cells, ``[.,.)`` but for the last (the paper's `UnifPart`).

    Parameters
    ----------
    cells : int
        Number of cells, at least 1. Fewer are made where floats cannot tell them apart.
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
    count = check_integer("cells", cells, 1, MAX_CELLS)
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
    equal cells; beside it bands of width radius, 2 radius, 4 radius, ..., each in equal cells. What
    lies outside the domain is cut off first. Left bands are ``[.,.)``, right bands ``(.,.]``.

    Parameters
    ----------
    centre : float
        Middle of the inner region, a point of the domain.
    radius : float
        A quarter of its width, at least 0. One too small for floats counts as 2**-52 of the domain.
    inner : int
        Cells of the inner region, at least 1.
    per_band : int
        Cells of each band, at least 1.
    low, high : float, optional
        Ends of the domain; all of it by default.
    domain : {"p", "theta"}, default "p"
        Whether the numbers are probabilities or angles.
    anchored : bool, default False
        Cut the two sides of the centre apart, half of the inner cells each, so that the centre is
        an edge and can be predicted.

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
        check_integer("inner", inner, 1, MAX_CELLS // 2),
        check_integer("per_band", per_band, 1, MAX_CELLS // 256),
        bool(anchored),
        start,
        end,
    )
    return Partition(tuple(edges.tolist()), domain, turn)
