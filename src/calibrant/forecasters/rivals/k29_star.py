"""Defensive forecasting by the algorithm K29*."""

from __future__ import annotations

from typing import ClassVar

from calibrant.forecasters.rivals.k29 import K29


class K29Star(K29):
    """Predict where a kernel average of residuals vanishes, the coming one included.

    Vovk 2005, *Non-asymptotic calibration and resolution*: `K29` with S(p) + K(p, p) (1 - 2p)/2 in
    place of S(p), which takes the square of the coming residual into account and pulls towards 1/2
    while little is known. Kernel, grid and rounding are those of K29. (Some later papers call this
    algorithm K29.)

    Proved: the norm that K29 bounds is at most sqrt(sum p_i (1 - p_i)), hence sqrt(T)/2, when p is
    a root; on the grid, at most sqrt((1/4 + 1/N) T) + T/(2 N width).

    Parameters
    ----------
    gaps : int, default 256
        Gaps N of the grid 0, 1/N, ..., 1; at least 1.
    width : float, default 0.1
        Standard deviation of the kernel, in [1e-6, 1e6].
    seed : int, default 0
        Kept for the contract; the forecaster draws nothing.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import K29Star
    >>> forecaster = K29Star()
    >>> _ = forecaster.run([1, 1, 0, 1] * 2500)
    >>> abs(forecaster.predict() - 0.75) < 0.02
    True
    """

    __slots__ = ()

    _star: ClassVar[bool] = True
