"""The map from score to probability that is in force now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_series
from calibrant.report.figures.axes import logit_axis, logit_ends
from calibrant.report.style import BEFORE_AFTER, SERIES, legend_above, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HasMap(Protocol):
    """A recalibrator: it can say what a score would become now, without changing."""

    def expected(self, score: float, by: Any = None) -> float:
        """Return the probability of a score now."""


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """What each score would become now, over the range of the scores that were seen.

    A score on the dashed diagonal is left as it is. Above it the recalibrator raises the score, the
    model says too little; below it, the model says too much. The shade marks the scores between
    the 5th and the 95th percentile: outside it the map rests on few rounds.

    Attributes
    ----------
    scores : array of float
        Scores, increasing.
    maps : dict of str to array
        The probability of each, by the name of a group; "calibrated" for all rounds together.
    middle : tuple of float
        The 5th and the 95th percentile of the scores seen.
    is_probability : bool
        Whether the scores are probabilities, so that there is a diagonal.
    scale : {"linear", "logit"}
        The scale of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Recalibrator
    >>> from calibrant.report.figures import ScoreMap
    >>> recalibrator = Recalibrator()
    >>> _ = recalibrator.run([0.9] * 200, np.random.default_rng(0).integers(0, 2, 200))
    >>> now = ScoreMap.from_recalibrator(recalibrator, [0.2, 0.9, 0.9, 0.9])
    >>> round(float(now.maps["calibrated"][-1]), 1)
    0.5
    >>> now.plot().get_xlabel()
    'score'
    """

    scores: Floats
    maps: dict[str, Floats]
    middle: tuple[float, float]
    is_probability: bool = True
    scale: str = "linear"

    @classmethod
    def from_recalibrator(
        cls,
        recalibrator: HasMap,
        scores: npt.ArrayLike,
        *,
        groups: Sequence[Hashable] = (),
        is_probability: bool = True,
        scale: str = "linear",
        points: int = 160,
    ) -> ScoreMap:
        """Ask a recalibrator what the scores in the range of those seen would become.

        Parameters
        ----------
        recalibrator : Recalibrator
            Anything with `expected(score, by=None)`.
        scores : array_like
            Scores that were seen, in the unit in which they were given.
        groups : sequence, optional
            Groups with a map of their own; all rounds together, if not given.
        is_probability : bool
            Whether scores are probabilities.
        scale : {"linear", "logit"}
            The scale of the axes; logit is for probabilities.
        points : int
            How many scores to ask for.
        """
        seen = as_series(scores, "scores").astype(np.float64)
        if len(seen) == 0:
            raise ValueError("scores must hold at least one")
        low, high = float(seen.min()), float(seen.max())
        asked = np.linspace(low, high, points)
        if scale == "logit":
            first, last = (min(max(end, 1e-7), 1.0 - 1e-7) for end in (low, high))
            odds = np.geomspace(first / (1.0 - first), last / (1.0 - last), points)
            asked = odds / (1.0 + odds)
        maps: Mapping[str, Hashable] = {str(group): group for group in groups}
        return cls(
            asked,
            {
                name: np.array([recalibrator.expected(score, by=by) for score in asked.tolist()])
                for name, by in (maps or {"calibrated": None}).items()
            },
            (float(np.quantile(seen, 0.05)), float(np.quantile(seen, 0.95))),
            is_probability,
            scale,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map, on `ax` or on new axes, and return the axes."""
        with styled():
            ax = ax or new_axes(4.8, 4.8)
            raw, calibrated = BEFORE_AFTER["raw"], BEFORE_AFTER["calibrated"]
            ends = np.array([self.scores[0], self.scores[-1]])
            ax.axvspan(*self.middle, color=raw.color, alpha=0.12, linewidth=0, zorder=0,
                       label="most scores")  # fmt: skip
            if self.is_probability:
                ax.plot(ends, ends, color=raw.color, linestyle=raw.dashes, label="as it is")
            for position, (name, values) in enumerate(self.maps.items()):
                ax.plot(
                    self.scores, values, color=calibrated.color,
                    linestyle=SERIES[position % len(SERIES)].dashes, label=name,
                )  # fmt: skip
            ax.set(xlabel="score", ylabel="probability now")
            if self.scale == "logit":
                shown = np.concatenate([ends, *self.maps.values()])
                low, high = logit_ends(shown)
                logit_axis(ax, "x", low, high)
                logit_axis(ax, "y", low, high)
            elif self.is_probability:
                ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
            else:
                ax.set(ylim=(-0.02, 1.02))
            legend_above(ax)
        return ax
