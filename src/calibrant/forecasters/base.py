"""The base class of forecasters, which adds arguments, saving, copying and `trace` to a kernel."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from calibrant._checks import Floats, check_integer
from calibrant._kernels.kernel import Kernel
from calibrant.measures.distributions import Distributions
from calibrant.saving import Savable

MAX_HORIZON = 2**48


class Forecaster(Savable, Kernel):
    """The contract that every forecaster satisfies.

    A round is `predict`, then `update` with the outcome. `run` plays many rounds in one compiled
    loop and is the same bit for bit. The draw of round t depends on the seed and t alone. The
    arguments of the constructor can be read as attributes.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> forecaster = Zoom(seed=7)
    >>> forecaster.predict()
    0.5
    >>> forecaster.update(1)
    >>> forecaster.rounds
    1
    """

    __slots__ = ()

    def trace(self, outcomes: npt.ArrayLike) -> tuple[Floats, Distributions]:
        """Play like `run`; return the predictions and each round's whole distribution.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> predictions, distributions = Zoom(seed=7).trace([1, 0, 1])
        >>> len(predictions), len(distributions)
        (3, 3)
        """
        predictions, points, weights, starts = self._trace(outcomes)
        return predictions, Distributions(points, weights, starts)

    def _save(self) -> tuple[int, dict[str, Any]]:
        return self.rounds, self._get_state()

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        self._set_state(state, rounds)
        self._resume(rounds)


def check_horizon(horizon: int | None, *, fewest: int = 1) -> int:
    """Return a number of rounds to tune for, or 0, which means none to the kernels."""
    return 0 if horizon is None else check_integer("horizon", horizon, fewest, MAX_HORIZON)
