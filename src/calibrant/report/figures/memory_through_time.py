"""What an event forecaster drew on, through time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Floats
from calibrant.forecasters.memories import Memory, family_of
from calibrant.measures.distinct import Indices
from calibrant.report.figures.axes import percent, time_axis
from calibrant.report.style import SERIES, legend_above, new_axes, styled
from calibrant.report.timeline import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class MemoryThroughTime:
    """The share of each sort of memory in the forecasts, through time.

    Attributes
    ----------
    rounds : array of int
        Rounds so far, at each look.
    shares : dict of str to array
        The share of each sort of memory at these looks, the heaviest first.
    times : array or None
        The date or reading of a clock of each round, for the axis; its number, if not given.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.report.figures import MemoryThroughTime
    >>> from calibrant.streams import markov
    >>> forecaster, looks = EventForecaster(), []
    >>> for part in markov(5000, order=2, seed=1).outcomes.reshape(10, 500):
    ...     _ = forecaster.run(part)
    ...     looks.append((forecaster.rounds, forecaster.weights()))
    >>> figure = MemoryThroughTime.from_looks(looks)
    >>> list(figure.shares)[0]
    'the last outcomes'
    >>> figure.plot().get_ylabel()
    'share of the forecast'
    """

    rounds: Indices
    shares: dict[str, Floats]
    times: Moments | None = None

    @classmethod
    def from_looks(
        cls,
        looks: Sequence[tuple[int, Sequence[Memory]]],
        *,
        times: Moments | None = None,
    ) -> MemoryThroughTime:
        """Take what `EventForecaster.memory` returned after so many rounds, several times."""
        if not looks:
            raise ValueError("looks must be at least one, got none")
        shares: defaultdict[str, Floats] = defaultdict(lambda: np.zeros(len(looks)))
        for at, (_, memories) in enumerate(looks):
            for memory in memories:
                shares[family_of(memory.words)][at] += memory.weight
        ordered = sorted(shares, key=lambda family: -float(shares[family].mean()))
        rounds = np.array([rounds for rounds, _ in looks])
        return cls(rounds, {family: shares[family] for family in ordered}, times)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares, on `ax` or on new axes, and return the axes."""
        with styled():
            ax = ax or new_axes()
            when = self.rounds if self.times is None else self.times[self.rounds - 1]
            for look, (family, shares) in zip(SERIES, self.shares.items(), strict=False):
                ax.plot(
                    when, shares, color=look.color, linestyle=look.dashes, linewidth=1.4,
                    label=family,
                )  # fmt: skip
            ax.set_ylabel("share of the forecast")
            ax.set_ylim(0.0, 1.02)
            ax.set_xlim(0 if self.times is None else self.times[0], when[-1])
            ax.yaxis.set_major_formatter(percent)
            time_axis(ax, self.times)
            legend_above(ax)
        return ax
