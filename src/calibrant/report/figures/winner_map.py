"""Who wins where: every forecaster on every stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant.report.style import INK, new_axes, short_number, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A hundred times the best is as dark as it gets: beyond, how bad matters little.
WORST = 100.0


@dataclass(frozen=True, eq=False)
class WinnerMap:
    """Who wins where: streams down, forecasters across, each box an error.

    The darker a box, the larger its error over the smallest of its row, on a logarithmic scale
    that ends at a hundred times. A frame marks the smallest of each row.

    Attributes
    ----------
    streams, forecasters : tuple of str
        Rows and columns.
    errors : array of shape (streams, forecasters)
        The error of each; NaN where there is none.
    measure : str
        Which error.

    Examples
    --------
    >>> from calibrant.report.figures import WinnerMap
    >>> errors = {"iid": {"zoom": 10.0, "epoch": 14.0}, "drift": {"zoom": 16.0, "epoch": 4483.0}}
    >>> figure = WinnerMap.from_errors(errors)
    >>> figure.ratios
    array([[  1.    ,   1.4   ],
           [  1.    , 280.1875]])
    >>> figure.winners.sum(axis=0)
    array([2, 0])
    >>> ax = figure.plot()
    """

    streams: tuple[str, ...]
    forecasters: tuple[str, ...]
    errors: Floats
    measure: str = "Cal2"

    @classmethod
    def from_errors(
        cls, errors: Mapping[str, Mapping[str, float]], *, measure: str = "Cal2"
    ) -> WinnerMap:
        """Lay out the errors, ``errors[stream][forecaster]``, in the order in which they come.

        A forecaster may be missing on a stream, but no stream may have none.
        """
        forecasters = tuple(dict.fromkeys(name for row in errors.values() for name in row))
        values = np.array(
            [[row.get(name, np.nan) for name in forecasters] for row in errors.values()],
            dtype=np.float64,
        ).reshape(len(errors), len(forecasters))
        for stream, row in zip(errors, values, strict=True):
            if np.isnan(row).all():
                raise ValueError(f"errors must hold a number for every stream, none for {stream!r}")
            if (row < 0).any():
                raise ValueError(f"errors must not be negative, got {row.min()} for {stream!r}")
        if not errors:
            raise ValueError("errors must hold at least one stream, got none")
        return cls(tuple(errors), forecasters, values, measure)

    @property
    def ratios(self) -> Floats:
        """Each error over the smallest of its row; 1 for a 0 that is the smallest.

        Infinity is never 1: where all are infinite, there is no winner.
        """
        best = np.nanmin(self.errors, axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(self.errors == best, 1.0, self.errors / best)
        return np.where(np.isinf(self.errors), np.inf, ratios)

    @property
    def winners(self) -> npt.NDArray[np.bool_]:
        """Which errors are the smallest of their row."""
        smallest = self.errors == np.nanmin(self.errors, axis=1, keepdims=True)
        finite: npt.NDArray[np.bool_] = smallest & np.isfinite(self.errors)
        return finite

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map, on `ax` or on new axes, and return the axes."""
        with styled():
            from matplotlib import colormaps  # noqa: PLC0415
            from matplotlib.colors import LogNorm  # noqa: PLC0415
            from matplotlib.patches import Rectangle  # noqa: PLC0415

            rows, columns = self.errors.shape
            # Room for the names: about 13 letters an inch, those of the columns aslant.
            down, across = (max(map(len, names)) for names in (self.streams, self.forecasters))
            # Fewer than five columns are wider: the scale below them needs room for its words.
            ax = ax or new_axes(
                0.9 + down / 13 + 0.54 * max(columns, 5) + across / 30,
                1.0 + across / 20 + 0.28 * rows,
            )
            # Reversed, so that the winners are bright and large errors dark, in grey too.
            colors = colormaps["cividis_r"]
            norm = LogNorm(1.0, WORST)
            ratios, winners = np.minimum(self.ratios, WORST), self.winners
            mesh = ax.pcolormesh(
                np.ma.masked_invalid(ratios), cmap=colors, norm=norm, edgecolors=INK, linewidth=0
            )
            for row, column in np.ndindex(rows, columns):
                error, ratio = self.errors[row, column], float(ratios[row, column])
                if np.isnan(error):
                    continue
                winner = bool(winners[row, column])
                # Black on the bright half of the colours, white on the dark half.
                ax.text(
                    column + 0.5, row + 0.5, short_number(float(error)), ha="center", va="center",
                    fontsize=8, color="black" if norm(ratio) < 0.5 else "white",
                    fontweight="bold" if winner else "normal",
                )  # fmt: skip
                if winner:
                    frame = Rectangle((column + 0.05, row + 0.08), 0.9, 0.84)
                    frame.set(fill=False, edgecolor="black", linewidth=1.6)
                    ax.add_patch(frame)
            ax.set_xticks(
                np.arange(columns) + 0.5, self.forecasters, rotation=45, ha="left",
                rotation_mode="anchor",
            )  # fmt: skip
            ax.set_yticks(np.arange(rows) + 0.5, self.streams)
            ax.xaxis.tick_top()
            ax.tick_params(length=0)
            ax.invert_yaxis()
            ax.grid(visible=False)
            for spine in ax.spines.values():
                spine.set_visible(False)
            figure = ax.get_figure(root=True)
            assert figure is not None
            bar = figure.colorbar(
                mesh, ax=ax, orientation="horizontal", shrink=0.7, aspect=40, pad=0.02
            )
            bar.set_ticks([1, 3, 10, 30, WORST], labels=["1", "3", "10", "30", "100 or more"])
            bar.set_label(f"{self.measure} over the smallest of its row (framed)")
            bar.outline.set_visible(False)
        return ax
