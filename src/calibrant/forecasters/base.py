"""What a forecaster adds to its kernel: arguments, saving, copying, the trace."""

from __future__ import annotations

from typing import Self

import numpy.typing as npt

from calibrant._checks import Floats, check_integer
from calibrant._kernels.kernel import Kernel
from calibrant.forecasters.arguments import Arguments
from calibrant.forecasters.saving import Savable, Saved, pack
from calibrant.measures.distributions import Distributions

MAX_HORIZON = 2**48


class Forecaster(Arguments, Savable, Kernel):
    """The contract that every forecaster keeps.

    A round is `predict`, then `update` with the outcome. `run` plays many rounds in one compiled
    loop and is bit for bit the same. The draw of round t depends on the seed and t alone. The
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

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes: versioned, checksummed, without pickle.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> forecaster = Zoom(seed=7)
        >>> _ = forecaster.run([1, 0, 1, 1])
        >>> again = Zoom.from_bytes(forecaster.to_bytes())
        >>> again.predict() == forecaster.predict()
        True
        """
        return pack(Saved(type(self).__name__, self._arguments(), self.rounds, self._get_state()))

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return the forecaster that `to_bytes` saved; it continues exactly as that one would."""
        saved = cls._unpack(blob)
        try:
            forecaster = cls(**saved.parameters)
        except TypeError as error:
            raise ValueError(f"the saved {cls.__name__} makes no sense: {error}") from None
        forecaster._set_state(saved.state)
        forecaster._resume(saved.rounds)
        return forecaster


def check_horizon(horizon: int | None, *, fewest: int = 1) -> int:
    """Return a number of rounds to tune for, or 0, which kernels take for none."""
    return 0 if horizon is None else check_integer("horizon", horizon, fewest, MAX_HORIZON)
