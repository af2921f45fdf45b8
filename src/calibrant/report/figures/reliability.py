"""The reliability diagram: observed against predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_rounds
from calibrant.measures import ReliabilityTable, Scorecard
from calibrant.report.figures.axes import logit_axis
from calibrant.report.style import (
    MUTED,
    Series,
    legend_above,
    look_of,
    new_axes,
    short_number,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: A bin with a smaller share of the rounds is drawn faint, and no line leads to it.
RARE = 1 / 200
PREDICTED = "predicted probability"


@dataclass(frozen=True, eq=False)
class ReliabilityDiagram:
    """Observed against predicted, with counts and intervals.

    A calibrated forecaster's points lie on the diagonal: of what it called 70%, 70% was observed.
    Below it predictions were too high, above it too low. The bars give an interval for what
    would be observed in the long run; a diagonal outside one is more than chance. The strip
    below shows how many rounds each point stands for; a faint point, less than 1 in 200.

    For rare events, take bins of equal mass and the logit scale: it gives 0.1%, 1% and 10% the
    same room. A bin in which the event was never observed is drawn at the foot.

    Attributes
    ----------
    tables : dict of str to ReliabilityTable
        The numbers, by the name of the forecaster.
    logit : tuple of float or None
        The ends of both axes on the logit scale; None for plain axes from 0 to 1.
    looks : dict of str to Series
        How to draw a forecaster; by its position, if not given.

    Examples
    --------
    >>> from calibrant.report.figures import ReliabilityDiagram
    >>> diagram = ReliabilityDiagram.from_predictions([0.1, 0.2, 0.9, 0.9], [0, 0, 1, 0], bins=2)
    >>> diagram.tables["forecast"].mean_outcome
    array([0. , 0.5])
    >>> ax = diagram.plot()
    >>> ax.get_ylabel()
    'observed share of rounds'
    """

    tables: dict[str, ReliabilityTable]
    logit: tuple[float, float] | None = None
    looks: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def from_predictions(
        cls,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        *,
        bins: int = 15,
        level: float = 0.95,
        name: str | None = None,
    ) -> ReliabilityDiagram:
        """Compute the diagram of one forecaster.

        Parameters
        ----------
        predictions, outcomes : array_like of shape (T,)
            Numbers in [0, 1], at least one round.
        bins : int, default 15
            Bins of equal width.
        level : float, default 0.95
            Confidence level of the intervals.
        name : str, optional
            What the legend says; "forecast" if not given.
        """
        return cls.from_several({name or "forecast": predictions}, outcomes, bins=bins, level=level)

    @classmethod
    def from_several(
        cls,
        predictions: Mapping[str, npt.ArrayLike],
        outcomes: npt.ArrayLike,
        *,
        bins: int = 15,
        level: float = 0.95,
    ) -> ReliabilityDiagram:
        """Compute the diagram of several forecasters of the same outcomes, by their names.

        Examples
        --------
        >>> from calibrant.report.figures import ReliabilityDiagram
        >>> both = ReliabilityDiagram.from_several(
        ...     {"before": [0.9, 0.8], "after": [0.5, 0.5]}, [1, 0])
        >>> list(both.tables)
        ['before', 'after']
        """
        if not predictions:
            raise ValueError("predictions must name at least one forecaster, got none")
        tables = {}
        for name, values in predictions.items():
            card = Scorecard()
            card.extend(*as_rounds(values, outcomes, mean=True))
            tables[name] = card.reliability(bins=bins, level=level)
        return cls(tables)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the diagram, on `ax` or on new axes, and return the axes.

        The strip of counts hangs below them.
        """
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

        with styled():
            ax = ax or new_axes(4.8, 5.4)
            lowest, highest = self.logit or (0.0, 1.0)
            ax.plot(
                [lowest, highest], [lowest, highest],
                color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1,
            )  # fmt: skip
            for position, (name, table) in enumerate(self.tables.items()):
                look = look_of(self.looks, name, position)
                often = table.count >= RARE * table.count.sum()
                rare = ~often & (table.count > 0)
                for some, alpha in [(often, 1.0), (rare, 0.3)] if rare.any() else [(often, 1.0)]:
                    predicted, observed, low, high = [
                        np.clip(values[some], lowest, highest)
                        for values in (
                            table.mean_prediction, table.mean_outcome,
                            table.interval_low, table.interval_high,
                        )
                    ]  # fmt: skip
                    ax.vlines(
                        predicted, low, high, color=look.color, linewidth=1.2, alpha=alpha, zorder=2
                    )
                    ax.plot(
                        predicted, observed, color=look.color, marker=look.marker, alpha=alpha,
                        zorder=3,
                        markerfacecolor=look.fill, linestyle=look.dashes if some is often else "",
                        label=name if some is often else None, clip_on=False,
                    )  # fmt: skip
            ax.set_ylabel("observed share of rounds")
            if self.logit is not None:
                for axis in ("x", "y"):
                    logit_axis(ax, axis, lowest, highest)
                ax.set(xlabel=PREDICTED, aspect="equal", anchor="N")
            else:
                ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", anchor="N")
                ax.tick_params(labelbottom=False)
                # The rounds are counted below, close enough to share the scale of predictions.
                strip = ax.inset_axes((0.0, -0.27, 1.0, 0.22))
                for position, (name, table) in enumerate(self.tables.items()):
                    look = look_of(self.looks, name, position)
                    width = (table.upper - table.lower) / len(self.tables)
                    strip.bar(
                        table.lower + position * width, table.count, width * 0.92, align="edge",
                        color=look.fill, edgecolor=look.color, linewidth=0.8,
                    )  # fmt: skip
                strip.set(xlim=ax.get_xlim(), xlabel=PREDICTED, ylabel="rounds")
                strip.yaxis.set_major_formatter(short_number)
                strip.yaxis.set_major_locator(MaxNLocator(3, integer=True))
                strip.grid(visible=False, axis="x")
            legend_above(ax)
        return ax


def seen_in(tables: Iterable[ReliabilityTable]) -> Floats:
    """Return predictions, outcomes and the upper ends of the intervals, in all bins."""
    return np.concatenate(
        [
            values[table.count > 0]
            for table in tables
            for values in (table.mean_prediction, table.mean_outcome, table.interval_high)
        ]
    )
