"""A forecaster whose expected predictions a monitor watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.kernel import own_outcomes
from calibrant._kernels.saved import check_names, integer
from calibrant.forecasters.base import Forecaster
from calibrant.measures.distributions import Distributions
from calibrant.monitor import Monitor
from calibrant.monitor.settings import monitor_from, settings_of

#: How the names of the saved parts of the monitor begin.
WATCH = "watch_"


class Watched(Forecaster):
    """What ``monitor=`` adds to a forecaster, which calls `_attach` and has a place `_monitor`."""

    __slots__ = ()

    _monitor: Monitor | None

    @property
    def watched_by(self) -> Monitor | None:
        """The monitor of the expected predictions, with ``monitor=True``; else None.

        Examples
        --------
        >>> from calibrant import EventForecaster
        >>> forecaster = EventForecaster(monitor=True)
        >>> _ = forecaster.run([0, 1] * 500)
        >>> forecaster.watched_by.rounds, forecaster.watched_by.state
        (1000, 'calibrated')
        """
        return self._monitor

    def _attach(self, monitor: object) -> None:
        settings = settings_of(monitor)
        self._monitor = None if settings is None else monitor_from(settings, 0)
        self._given["monitor"] = monitor if isinstance(monitor, bool) else settings
        if self._monitor is not None:
            self._tell(self._monitor.update)

    def _run_watched(
        self, run: Callable[..., Floats], outcomes: npt.ArrayLike, **given: Any
    ) -> Floats:
        """Return what ``run(outcomes, **given)`` does, and let the monitor see the rounds."""
        if self._monitor is None:
            return run(outcomes, **given)
        y = own_outcomes(outcomes)
        with self._undone_if_stopped():
            predictions, means = self._run_with_means(run, y, **given)
            self._monitor.run(means, y)
        return predictions

    def trace(self, outcomes: npt.ArrayLike) -> tuple[Floats, Distributions]:
        """Play like `run`; return the predictions and each round's whole distribution."""
        if self._monitor is None:
            return super().trace(outcomes)
        y = own_outcomes(outcomes)
        with self._undone_if_stopped():
            predictions, distributions = super().trace(y)
            parts = distributions.weights * distributions.points
            starts = distributions.starts[:-1]
            self._monitor.run(np.add.reduceat(parts, starts) if len(starts) else parts, y)
        return predictions, distributions

    @contextmanager
    def _seen(self, means: Floats, outcomes: Floats) -> Iterator[None]:
        """Let the monitor see rounds, unless the body, which learns them, is stopped or fails."""
        if self._monitor is None:
            yield
            return
        before = self._monitor._save()
        try:
            self._monitor.run(means, outcomes)
            yield
        except BaseException:
            self._monitor._load(*before)
            raise

    @contextmanager
    def _undone_if_stopped(self) -> Iterator[None]:
        """Go back to where all is now if the body is interrupted or fails."""
        before = self._save()
        try:
            yield
        except BaseException:
            self._load(*before)
            raise

    def _save(self) -> tuple[int, dict[str, Any]]:
        rounds, state = super()._save()
        if self._monitor is not None:
            seen, parts = self._monitor._save()
            state |= {WATCH + name: part for name, part in {**parts, "seen": seen}.items()}
        return rounds, state

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        own = {name: part for name, part in state.items() if not name.startswith(WATCH)}
        parts = {name: part for name, part in state.items() if name.startswith(WATCH)}
        super()._load(rounds, own)
        if self._monitor is None:
            check_names(parts, set())
        else:
            seen = integer(parts, WATCH + "seen", low=0, high=rounds)
            del parts[WATCH + "seen"]
            self._monitor._load(seen, {k.removeprefix(WATCH): v for k, v in parts.items()})
