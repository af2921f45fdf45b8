"""A cell of a comparison: one forecaster on one stream, for so many rounds, with one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant import measures as ways
from calibrant._checks import Floats, check_choice, check_integer
from calibrant._kernels.tally import TallyKernel
from calibrant.forecasters import Forecaster, named
from calibrant.measures import Scorecard
from calibrant.streams import named as sources
from calibrant.streams import play as play_game

__all__ = ["DEFAULT_MEASURES", "MEASURES", "Cell", "plan", "play"]

#: What a cell is measured by unless something else is asked for: cheap, all from one scorecard.
DEFAULT_MEASURES = ("cal1", "cal2", "klcal", "ece", "brier", "log_loss", "points")
# These need the whole distribution of every round.
PSEUDO = ("pcal2", "pklcal")
SMOOTH = {"smece": ways.smece, "smooth_calibration": ways.smooth_calibration}
#: Everything that a cell can be measured by; `points` is the number of distinct predictions.
MEASURES = (*DEFAULT_MEASURES, *PSEUDO, *SMOOTH)
# Rounds whose distributions are held in memory at a time.
CHUNK = 50_000
# Results hold seeds as 64-bit integers with a sign.
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, order=True)
class Cell:
    """One forecaster on one stream: everything that its numbers depend on.

    Parameters
    ----------
    forecaster : str
        A spec, see `calibrant.forecasters.named`.
    stream : str
        A spec, see `calibrant.streams.named`.
    rounds : int
        How many rounds are played; T in the specs.
    seed : int
        Seed of the stream's draws and of the forecaster's. The two use different generators, and
        two forecasters with the same stream, rounds and seed see the same outcomes.

    Examples
    --------
    >>> from calibrant.experiments.cells import Cell
    >>> Cell("foster-hart:horizon=T", "iid:mean=0.1", 1000, seed=3)
    Cell(forecaster='foster-hart:horizon=T', stream='iid:mean=0.1', rounds=1000, seed=3)
    """

    forecaster: str
    stream: str
    rounds: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("rounds", self.rounds, 1)
        check_integer("seed", self.seed, 0, LARGEST_SEED)

    def __str__(self) -> str:
        return f"{self.forecaster} on {self.stream}, {self.rounds:,} rounds, seed {self.seed}"


def play(cell: Cell, measures: Sequence[str] = DEFAULT_MEASURES) -> dict[str, float]:
    """Play a cell and return its measures by name.

    Where the stream's means are known, `deviation` (C) and `segments` (K) are returned too.

    Parameters
    ----------
    cell : Cell
        What to play.
    measures : sequence of str
        Which of `MEASURES` to return. `pcal2` and `pklcal` look at every round's whole
        distribution, which takes longer.

    Examples
    --------
    >>> from calibrant.experiments.cells import Cell, play
    >>> values = play(Cell("zoom", "iid:mean=0.5", 1000, seed=7), ["cal2", "points"])
    >>> sorted(values)
    ['cal2', 'deviation', 'points', 'segments']
    >>> values == play(Cell("zoom", "iid:mean=0.5", 1000, seed=7), ["cal2", "points"])
    True
    """
    for name in measures:
        check_choice("measures", name, MEASURES)
    source = sources.find(cell.stream, rounds=cell.rounds, seed=cell.seed)

    def forecaster() -> Forecaster:
        return named.make(
            cell.forecaster, seed=cell.seed, rounds=cell.rounds, deviation=source.deviation
        )

    if source.adversary is not None:
        game = play_game(forecaster(), source.adversary, cell.rounds)
        predictions, outcomes = game.predictions, game.outcomes
    else:
        assert source.outcomes is not None
        outcomes = source.outcomes
        predictions = forecaster().run(outcomes)
    card = Scorecard()
    card.extend(predictions, outcomes)
    values = {
        "cal1": card.cal1,
        "cal2": card.cal2,
        "klcal": card.klcal,
        "ece": card.ece,
        "brier": card.brier,
        "log_loss": card.log_loss,
        "points": float(len(card.distinct())),
    }
    if any(name in PSEUDO for name in measures):
        # The same forecaster again, now on outcomes that are known: the same draws.
        values["pcal2"], values["pklcal"] = pseudo_errors(forecaster(), outcomes)
    for name, measure in SMOOTH.items():
        if name in measures:
            values[name] = measure(predictions, outcomes)
    values = {name: float(values[name]) for name in measures}
    if source.deviation is not None and source.segments is not None:
        values |= {"deviation": source.deviation, "segments": float(source.segments)}
    return values


def pseudo_errors(forecaster: Forecaster, outcomes: Floats) -> tuple[float, float]:
    """Return PCal2 and PKLCal, with the distributions of some rounds at a time in memory."""
    tally = TallyKernel()
    for start in range(0, len(outcomes), CHUNK):
        part = outcomes[start : start + CHUNK]
        _, distributions = forecaster.trace(part)
        tally.extend(
            distributions.points, np.repeat(part, np.diff(distributions.starts)),
            distributions.weights,
        )  # fmt: skip
    return tally.errors[1], tally.errors[2]


def plan(
    forecasters: Sequence[str], streams: Sequence[str], horizons: Sequence[int], seeds: int
) -> list[Cell]:
    """Return every forecaster on every stream, for every horizon, with seeds 0, 1, ...

    A real stream that is shorter than a horizon is played whole, and once.

    Parameters
    ----------
    forecasters, streams : sequence of str
        Specs.
    horizons : sequence of int
        Numbers of rounds.
    seeds : int
        How many seeds.

    Examples
    --------
    >>> from calibrant.experiments.cells import plan
    >>> cells = plan(["zoom", "epoch"], ["drift", "quakes6h"], [100, 10**6, 10**7], seeds=5)
    >>> len(cells), sorted({cell.rounds for cell in cells if cell.stream == "quakes6h"})
    (50, [100, 15838])
    """
    for name, values in (
        ("forecasters", forecasters), ("streams", streams), ("horizons", horizons)
    ):  # fmt: skip
        if not values:
            raise ValueError(f"{name} must not be empty")
    check_integer("seeds", seeds, 1)
    for horizon in horizons:
        check_integer("horizons", horizon, 1)
    lengths = {stream: sources.length(stream) for stream in streams}
    cells = (
        Cell(forecaster, stream, horizon if most is None else min(horizon, most), seed)
        for stream, most in lengths.items()
        for horizon in horizons
        for forecaster in forecasters
        for seed in range(seeds)
    )
    return list(dict.fromkeys(cells))
