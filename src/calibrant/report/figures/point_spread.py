"""How the points that a forecaster predicts spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_unit_series, check_integer, check_same_length
from calibrant.measures.distinct import Indices
from calibrant.report.style import SERIES, legend_above, new_axes, plain_number, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


@dataclass(frozen=True, eq=False)
class PointSpread:
    """When each distinct prediction was first made, how often it was, and where the mean was.

    `Zoom` starts from one point and inserts others where the outcomes lead: its points gather
    around the mean, finer the longer it stays there.

    Attributes
    ----------
    points : array of float
        The distinct predictions, increasing.
    first : array of int
        The round, from 0, in which each was first made.
    visits : array of int
        Rounds that made each.
    density : array of shape (stretches, bins)
        Share of the rounds of each stretch of time that predicted in each bin of [0, 1].
    means : array of float or None
        The mean outcome's probability in the middle of each stretch, where it is known.
    rounds : int
        Rounds in all.

    Examples
    --------
    >>> from calibrant.report.figures import PointSpread
    >>> spread = PointSpread.from_predictions([0.5, 0.75, 0.75, 0.5, 0.75])
    >>> spread.points, spread.first, spread.visits
    (array([0.5 , 0.75]), array([0, 1]), array([2, 3]))
    >>> ax = spread.plot()
    >>> ax.get_ylabel()
    'prediction'
    """

    points: Floats
    first: Indices
    visits: Indices
    density: Floats
    means: Floats | None
    rounds: int

    @classmethod
    def from_predictions(
        cls,
        predictions: npt.ArrayLike,
        *,
        means: npt.ArrayLike | None = None,
        stretches: int = 120,
        bins: int = 80,
    ) -> PointSpread:
        """Compute the spread of predictions.

        Parameters
        ----------
        predictions : array_like of shape (T,)
            Numbers in [0, 1], at least one.
        means : array_like of shape (T,), optional
            The probability with which each outcome was drawn, where it is known.
        stretches, bins : int
            Into how many parts time and [0, 1] are cut, to show where predictions are dense.
        """
        p = as_unit_series(predictions, "predictions")
        if len(p) == 0:
            raise ValueError("predictions must hold at least one round")
        stretches = min(check_integer("stretches", stretches, 1), len(p))
        bins = check_integer("bins", bins, 1)
        points, first, visits = np.unique(p, return_index=True, return_counts=True)
        edges = np.linspace(0, len(p), stretches + 1)
        counts, _, _ = np.histogram2d(
            np.arange(len(p)) + 0.5, p, bins=[edges, np.linspace(0, 1, bins + 1)]
        )
        middles = None
        if means is not None:
            known = as_unit_series(means, "means")
            check_same_length("means", len(known), "predictions", len(p))
            middles = known[((edges[:-1] + edges[1:]) / 2).astype(np.intp)]
        share = counts / counts.sum(axis=1, keepdims=True)
        return cls(points, first, visits, share, middles, len(p))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the spread, on `ax` or on new axes, and return the axes.

        The shade says where predictions were made; a ring is a point when it was first used, the
        larger the more often it was in all.
        """
        blue, mean = SERIES[0], SERIES[1]
        with styled():
            ax = ax or new_axes()
            ax.imshow(
                np.sqrt(self.density.T), origin="lower", extent=(0, self.rounds, 0, 1),
                aspect="auto", cmap=_shades(blue.color), vmin=0, vmax=1, interpolation="nearest",
            )  # fmt: skip
            ax.scatter(
                self.first, self.points, s=6 + 250 * self.visits / self.rounds,
                facecolors="none", edgecolors=blue.color, linewidths=1.0, zorder=3,
                label="a point when first used; larger: used more", clip_on=False,
            )  # fmt: skip
            if self.means is not None:
                time = (np.arange(len(self.means)) + 0.5) * self.rounds / len(self.means)
                ax.plot(
                    time, self.means, color=mean.color, linestyle=mean.dashes, label="true mean"
                )
            ax.set(xlabel="rounds", ylabel="prediction", ylim=(0, 1), xlim=(0, self.rounds))
            ax.xaxis.set_major_formatter(plain_number)
            ax.grid(visible=False)
            legend_above(ax)
        return ax


def _shades(color: str) -> Colormap:
    """Return shades from nothing at all to one colour, which suit any background."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb  # noqa: PLC0415

    return LinearSegmentedColormap.from_list(
        "shades", [(*to_rgb(color), 0.0), (*to_rgb(color), 0.85)]
    )
