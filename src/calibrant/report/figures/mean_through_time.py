"""Mean prediction and mean outcome, window by window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures import Scorecard
from calibrant.measures.distinct import Indices
from calibrant.report.figures.axes import chance_band, percent, time_axis
from calibrant.report.style import INK, Series, legend_above, look_of, new_axes, styled
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class MeanThroughTime:
    """The mean prediction of each window beside the mean outcome, with a band for chance.

    The band is drawn around the last forecaster: were its probabilities true, the mean outcome
    would lie inside in 95 of 100 windows.

    Attributes
    ----------
    rounds : array of int
        Rounds so far at the end of each window.
    predicted : dict of str to array
        The mean prediction of each window, by the name of the forecaster.
    observed : array of float
        The mean outcome of each window.
    chance : array of float
        Half the width of the band.
    window : int
        Rounds of a window.
    times : array or None
        The date or reading of a clock of each round, for the axis; its number, if not given.
    looks : dict of str to Series
        How to draw a forecaster; by its position, if not given.

    Examples
    --------
    >>> from calibrant.report.figures import MeanThroughTime
    >>> figure = MeanThroughTime.from_several(
    ...     {"raw": [0.9] * 4, "calibrated": [0.5] * 4}, [1, 1, 0, 0], window=2)
    >>> figure.observed, figure.predicted["raw"]
    (array([1., 0.]), array([0.9, 0.9]))
    >>> figure.plot().get_ylabel()
    'mean of each 2 rounds'
    """

    rounds: Indices
    predicted: dict[str, Floats]
    observed: Floats
    chance: Floats
    window: int
    times: Moments | None = None
    looks: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def from_several(
        cls,
        predictions: Mapping[str, npt.ArrayLike],
        outcomes: npt.ArrayLike,
        *,
        window: int,
        times: Moments | None = None,
        looks: Mapping[str, Series] | None = None,
        dispersion: float = 1.0,
    ) -> MeanThroughTime:
        """Compute the means of forecasters of the same outcomes, by their names.

        `dispersion` is how many times as much residuals vary as if outcomes were independent.

        A last window with less than half of its rounds is left out: its mean would be noise.
        """
        if not predictions:
            raise ValueError("predictions must name at least one forecaster, got none")
        cards = {}
        for name, values in predictions.items():
            cards[name] = Scorecard(window)
            cards[name].extend(*as_rounds(values, outcomes, mean=True))
        return cls.from_cards(cards, window=window, times=times, looks=looks, dispersion=dispersion)

    @classmethod
    def from_cards(
        cls,
        cards: Mapping[str, Scorecard],
        *,
        window: int,
        times: Moments | None = None,
        looks: Mapping[str, Series] | None = None,
        dispersion: float = 1.0,
    ) -> MeanThroughTime:
        """Take the means from scorecards with windows, several of which may be taken together."""
        stretches = {name: card.stretches(window) for name, card in cards.items()}
        last = list(stretches.values())[-1]
        return cls(
            last.stop, {name: each.mean_prediction for name, each in stretches.items()},
            last.mean_outcome, np.sqrt(dispersion) * last.chance_mean, window, times, looks or {},
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the means, on `ax` or on new axes, and return the axes."""
        with styled():
            ax = ax or new_axes()
            when = self.rounds if self.times is None else self.times[self.rounds - 1]
            middle = list(self.predicted.values())[-1]
            chance_band(
                ax, when, np.maximum(middle - self.chance, 0.0),
                np.minimum(middle + self.chance, 1.0),
            )  # fmt: skip
            for position, (name, means) in enumerate(self.predicted.items()):
                look = look_of(self.looks, name, position)
                ax.plot(
                    when, means, color=look.color, linestyle=look.dashes, linewidth=1.3, label=name
                )
            ax.plot(when, self.observed, color=INK, linewidth=1.0, label="observed", zorder=3)
            ax.set_ylabel(f"mean of each {self.window:,} rounds")
            ax.set_xlim(0 if self.times is None else self.times[0], when[-1])
            lowest = min(
                float(values.min()) for values in (self.observed, *self.predicted.values())
            )
            if 2.0 * lowest < ax.get_ylim()[1]:
                ax.set_ylim(bottom=0)
            ax.yaxis.set_major_formatter(percent)
            time_axis(ax, self.times)
            legend_above(ax)
        return ax
