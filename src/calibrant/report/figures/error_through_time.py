"""Calibration error through time, with restarts and certificates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds, as_unit_series, check_choice, check_integer
from calibrant.forecasters import Restarting
from calibrant.measures import Scorecard
from calibrant.measures.distinct import Indices
from calibrant.report.figures.axes import chance_band, time_axis
from calibrant.report.style import (
    MUTED,
    Series,
    legend_above,
    look_of,
    new_axes,
    plain_number,
    styled,
)
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What can be followed, and what the axis calls it.
MEASURES_THROUGH_TIME = {
    "cal1": "Cal1", "cal2": "Cal2", "klcal": "KLCal",
    "ece": "ECE", "brier": "Brier score", "log_loss": "log loss",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TimeCurve:
    """The error of one forecaster at some moments.

    Attributes
    ----------
    rounds : array of int
        Rounds so far at each moment.
    error : array of float
        The error there.
    restarts : array of int
        The first round of each stretch but the first.
    certificate : array of float or None
        The error that an unchanged world explains, at the same moments.

    Examples
    --------
    >>> from calibrant.report.figures import ErrorThroughTime
    >>> figure = ErrorThroughTime.from_predictions([0.5, 0.5], [1, 1], measure="cal1")
    >>> figure.curves["forecast"].error
    array([0.5, 1. ])
    """

    rounds: Indices
    error: Floats
    restarts: Indices
    certificate: Floats | None = None


@dataclass(frozen=True, eq=False)
class ErrorThroughTime:
    """Calibration error through time: of all rounds so far, of each window, or since a restart.

    Attributes
    ----------
    curves : dict of str to TimeCurve
        The numbers, by the name of the forecaster.
    measure : str
        Which error.
    window : int or None
        Rounds of a window; None where the error is that of all rounds so far.
    chance : array of float or None
        With windows, the error that chance leaves at most in 95 of 100 of them.
    times : array or None
        The date or reading of a clock of each round, for the axis; its number, if not given.
    looks : dict of str to Series
        How to draw a forecaster; by its position, if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Zoom
    >>> from calibrant.report.figures import ErrorThroughTime
    >>> outcomes = np.random.default_rng(0).random(5_000) < 0.3
    >>> figure = ErrorThroughTime.from_predictions(Zoom().run(outcomes), outcomes, name="Zoom")
    >>> ax = figure.plot()
    >>> ax.get_ylabel()
    'Cal2 of all rounds so far'
    """

    curves: dict[str, TimeCurve]
    measure: str
    window: int | None = None
    chance: Floats | None = None
    times: Moments | None = None
    looks: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def from_predictions(
        cls,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        measure: str = "cal2",
        window: int | None = None,
        moments: int = 200,
        restarts: Sequence[int] = (),
        name: str | None = None,
    ) -> ErrorThroughTime:
        """Compute the error of one forecaster through time.

        Parameters
        ----------
        predictions, outcomes : array_like of shape (T,)
            Numbers in [0, 1], at least one round.
        measure : {"cal1", "cal2", "klcal", "ece", "brier", "log_loss"}, default "cal2"
            Which error.
        window : int, optional
            Take each run of so many rounds by itself; all rounds so far if not given. A last one
            with less than half of them is left out.
        moments : int, default 200
            How often to look, where there is no window.
        restarts : sequence of int, optional
            Rounds to mark, from 0.
        name : str, optional
            What the legend says; "forecast" if not given.
        """
        label = name or "forecast"
        return cls.from_several(
            {label: predictions}, outcomes, measure=measure, window=window, moments=moments,
            restarts={label: restarts},
        )  # fmt: skip

    @classmethod
    def from_several(
        cls,
        predictions: Mapping[str, npt.ArrayLike],
        outcomes: npt.ArrayLike | Mapping[str, npt.ArrayLike],
        *,
        measure: str = "cal2",
        window: int | None = None,
        moments: int = 200,
        restarts: Mapping[str, Sequence[int]] | None = None,
        times: Moments | None = None,
        looks: Mapping[str, Series] | None = None,
    ) -> ErrorThroughTime:
        """Compute the errors of several forecasters through time, by their names.

        The outcomes are the same for all or, against an adversary, by name too.

        Examples
        --------
        >>> from calibrant.report.figures import ErrorThroughTime
        >>> figure = ErrorThroughTime.from_several(
        ...     {"a": [0.5] * 4, "b": [1.0] * 4}, [1, 1, 0, 0], measure="brier", window=2)
        >>> figure.curves["b"].error
        array([0., 1.])
        """
        check_choice("measure", measure, tuple(MEASURES_THROUGH_TIME))
        if not predictions:
            raise ValueError("predictions must name at least one forecaster, got none")
        curves = {}
        for name, values in predictions.items():
            own = outcomes[name] if isinstance(outcomes, Mapping) else outcomes
            p, y = as_rounds(values, own, mean=True)
            if window is None:
                rounds, error = _so_far(p, y, measure, moments)
            else:
                rounds, error = _by_window(p, y, measure, window)
            marks = np.asarray((restarts or {}).get(name, ()), dtype=np.intp)
            curves[name] = TimeCurve(rounds, error, marks)
        return cls(curves, measure, window, None, times, looks or {})

    @classmethod
    def from_cards(
        cls,
        cards: Mapping[str, Scorecard],
        *,
        window: int,
        times: Moments | None = None,
        looks: Mapping[str, Series] | None = None,
        dispersion: float = 1.0,
    ) -> ErrorThroughTime:
        """Take the ECE from scorecards with windows, several of which may be taken together.

        What chance leaves is shown for the last of them, where residuals vary `dispersion` times as
        much as if outcomes were independent.

        Examples
        --------
        >>> from calibrant.measures import Scorecard
        >>> from calibrant.report.figures import ErrorThroughTime
        >>> card = Scorecard(window=2)
        >>> card.extend([0.5] * 8, [1, 1, 0, 0] * 2)
        >>> ErrorThroughTime.from_cards({"a": card}, window=4).curves["a"].error
        array([0., 0.])
        """
        curves = {}
        for name, card in cards.items():
            each = card.stretches(window)
            curves[name] = TimeCurve(each.stop, each.ece, np.empty(0, dtype=np.intp))
        chance = np.sqrt(dispersion) * each.ece_limit
        return cls(curves, "ece", window, chance, times, looks or {})

    @classmethod
    def from_restarting(
        cls,
        forecaster: Restarting,
        outcomes: npt.ArrayLike,
        *,
        moments: int = 1_000,
        name: str = "Restarting",
    ) -> ErrorThroughTime:
        """Run a new `Restarting` and compute its error since its last restart.

        The error is the one that it tests, the sum over the epochs of its current stretch; the
        certificate is what an unchanged world explains. It restarts when the error passes the
        certificate. The forecaster itself is run.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import Restarting
        >>> from calibrant.report.figures import ErrorThroughTime
        >>> outcomes = np.random.default_rng(0).random(4_000) < np.repeat([0.2, 0.7], 2_000)
        >>> figure = ErrorThroughTime.from_restarting(Restarting(), outcomes)
        >>> bool(2_000 < figure.curves["Restarting"].restarts[0] < 2_500)
        True
        """
        y = as_unit_series(outcomes, "outcomes")
        if not isinstance(forecaster, Restarting) or forecaster.rounds:
            raise ValueError(f"forecaster must be a fresh Restarting, got {forecaster!r}")
        if len(y) == 0:
            raise ValueError("outcomes must hold at least one round")
        stops = _moments(len(y), moments)
        tested = np.empty((2, len(stops)))
        for at, part in enumerate(np.split(y, stops[:-1])):
            forecaster.run(part)
            current = forecaster.history[-1]
            tested[:, at] = current.error, current.threshold
        starts = restarts_of(forecaster)
        error = {"l1": "cal1", "l2": "cal2"}.get(forecaster.measure, forecaster.measure)
        curve = TimeCurve(stops, tested[0], np.array(starts, dtype=np.intp), tested[1])
        return cls({name: curve}, error)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error, on `ax` or on new axes, and return the axes.

        A triangle at the foot marks a restart; fine grey dashes are a certificate. Where the
        last errors differ by a factor of ten or more, the axis of errors is logarithmic; with a
        shade for what chance leaves it is not.
        """
        with styled():
            ax = ax or new_axes()
            for position, (name, curve) in enumerate(self.curves.items()):
                look = look_of(self.looks, name, position)
                when = self._when(curve.rounds)
                ax.plot(when, curve.error, color=look.color, linestyle=look.dashes, label=name)
                if curve.certificate is not None:
                    ax.plot(
                        when, curve.certificate, color=MUTED, linewidth=1.1,
                        linestyle=(0, (2, 2)), label=f"certificate of {name}",
                    )  # fmt: skip
                restarts = self._when(curve.restarts)
                for restart in restarts:
                    ax.axvline(restart, color=look.color, linewidth=0.7, alpha=0.5, zorder=1)
                if len(curve.restarts):
                    ax.plot(
                        restarts, np.zeros(len(restarts)), color=look.color,
                        marker="^", markersize=7, linestyle="none", clip_on=False,
                        transform=ax.get_xaxis_transform(), label=f"restarts of {name}",
                    )  # fmt: skip
            error = MEASURES_THROUGH_TIME.get(self.measure, self.measure)
            ax.set_ylabel(f"{error} {self._of}")
            longest = max(self.curves.values(), key=lambda curve: int(curve.rounds[-1])).rounds
            if self.chance is not None:
                chance_band(ax, self._when(longest), 0.0, self.chance)
            ax.set_xlim(0 if self.times is None else self.times[0], self._when(longest)[-1])
            time_axis(ax, self.times)
            last = [curve.error[-1] for curve in self.curves.values()]
            if self.chance is None and 0 < 10 * min(last) < max(last) < np.inf:
                ax.set_yscale("log")
                ax.set_ylim(bottom=max(_lowest(self.curves.values()), max(last) / 1e4))
            else:
                ax.set_ylim(bottom=0)
            ax.yaxis.set_major_formatter(plain_number)
            legend_above(ax)
        return ax

    def _when(self, rounds: Indices) -> Moments:
        """Return the moments at which so many rounds were over, as the axis shows them."""
        if self.times is None:
            return rounds
        return self.times[np.clip(rounds - 1, 0, None)]

    @property
    def is_finite(self) -> bool:
        """Whether all errors are finite; those that are not cannot be drawn."""
        return all(bool(np.isfinite(curve.error).all()) for curve in self.curves.values())

    @property
    def _of(self) -> str:
        if self.window is not None:
            return f"of each {self.window:,} rounds"
        if any(curve.certificate is not None for curve in self.curves.values()):
            return "since the last restart"
        return "of all rounds so far"


def restarts_of(forecaster: Restarting) -> list[int]:
    """Return the rounds in which a forecaster restarted."""
    return [stretch.start for stretch in forecaster.history if stretch.start > 0]


def _lowest(curves: Iterable[TimeCurve]) -> float:
    """Return where a logarithmic axis begins: below all errors but the first few."""
    settled = np.concatenate([curve.error[len(curve.error) // 10 :] for curve in curves])
    return float(0.8 * settled[settled > 0].min())


def _moments(rounds: int, moments: int) -> Indices:
    """Return up to so many numbers of rounds, evenly spaced, the last of them all rounds."""
    many = min(check_integer("moments", moments, 1), rounds)
    return np.linspace(rounds / many, rounds, many).round().astype(np.intp)


def _so_far(p: Floats, y: Floats, measure: str, moments: int) -> tuple[Indices, Floats]:
    """Return when, and the error of all rounds until then."""
    stops, card, errors = _moments(len(p), moments), Scorecard(), []
    for predicted, observed in zip(np.split(p, stops[:-1]), np.split(y, stops[:-1]), strict=True):
        card.extend(predicted, observed)
        errors.append(getattr(card, measure))
    return stops, np.array(errors)


def _by_window(p: Floats, y: Floats, measure: str, window: int) -> tuple[Indices, Floats]:
    """Return the end of each window, and its error by itself.

    A last window with less than half of its rounds is left out: its error would be noise.
    """
    card = Scorecard(window=window)
    card.extend(p, y)
    windows = card.windows
    if len(windows) > 1 and 2 * (windows[-1].stop - windows[-1].start) < window:
        windows = windows[:-1]
    return (
        np.array([each.stop for each in windows], dtype=np.intp),
        np.array([getattr(each, measure) for each in windows]),
    )
