"""What a forecaster adds to its kernel: parameters, saving, copying, the trace."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.kernel import Kernel
from calibrant.forecasters.saving import Savable, Saved, pack
from calibrant.measures.distributions import Distributions


class Forecaster(Savable, Kernel):
    """The contract that every forecaster keeps.

    A round is `predict`, then `update` with the outcome. `run` plays many rounds in one compiled
    loop and is bit for bit the same. The draw of round t depends on the seed and t alone.

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

    #: Names of the constructor's arguments, each readable as an attribute.
    parameters: ClassVar[tuple[str, ...]] = ("seed",)

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

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parameters}
