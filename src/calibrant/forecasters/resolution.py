"""How finely a forecaster predicts: a number of cells, a partition, or what suits the horizon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats, check_integer, describe
from calibrant.partitions import MAX_CELLS, Partition

MAX_HORIZON = 2**48


class Resolution(NamedTuple):
    """The arguments of a kernel: the points if they were given, else a number of cells or 0."""

    edges: Floats | None
    cells: int
    horizon: float


def check_resolution(
    cells: int | None, partition: Partition | None, horizon: int | None, *, fewest: int = 1
) -> Resolution:
    """Return checked arguments, of which `cells` and `partition` exclude each other."""
    rounds = 0 if horizon is None else check_integer("horizon", horizon, 1, MAX_HORIZON)
    if partition is None:
        count = 0 if cells is None else check_integer("cells", cells, fewest, MAX_CELLS)
        return Resolution(None, count, float(rounds))
    if cells is not None:
        raise ValueError(f"cells must be None when a partition is given, got {describe(cells)}")
    if not isinstance(partition, Partition):
        raise ValueError(f"partition must be a Partition, got {describe(partition)}")
    edges = np.ascontiguousarray(partition.probabilities())
    return Resolution(edges, 0, float(rounds))
