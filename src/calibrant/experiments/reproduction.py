"""The paper's Table 1, measured: run every row, fit its growth, and derive a verdict.

Every row is compared with nulls, fixed grids that do not adapt and are run in the same worlds. If
fewer than three of the sizes are large enough for the claim to be visible, by a criterion that is
computed in advance, a row is "not visible"; smaller sizes count neither for nor against a claim.
Otherwise the numbers decide, as described in `verdicts`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibrant._checks import Floats, check_choice
from calibrant.experiments.claims import Claim, write_claims
from calibrant.experiments.costs import time_rounds
from calibrant.experiments.fits import compare_growth, envelope, fit_growth, slope
from calibrant.experiments.parquet import finished_in
from calibrant.experiments.sweeps import Progress, sweep
from calibrant.experiments.table1 import ANY_MEAN, IID, ROWS, Row
from calibrant.experiments.tasks import Identity, Result, Task
from calibrant.experiments.verdicts import judge
from calibrant.experiments.visibility import visible_sizes


@dataclass(frozen=True)
class Size:
    """The extent of a run: the sizes along T, C and K, and the seeds.

    Examples
    --------
    >>> from calibrant.experiments import SIZES
    >>> SIZES["default"].horizons[-1], SIZES["default"].seeds
    (1000000, 10)
    """

    horizons: tuple[int, ...]
    rounds: int  # where C or K is the axis
    deviations: tuple[int, ...]
    segments: tuple[int, ...]
    seeds: int

    def along(self, axis: str) -> tuple[int, ...]:
        """Return the sizes on an axis."""
        return {"T": self.horizons, "C": self.deviations, "K": self.segments}[axis]


# Half decades in T. C ends at T/5, below the most that every world of `table1` can have.
_SHORT = (1_000, 3_162, 10_000, 31_623, 100_000)
_MEDIUM = (*_SHORT, 316_228, 1_000_000)
_LONG = (*_MEDIUM, 3_162_278, 10_000_000)
#: The sizes of `reproduce`, by name.
SIZES = {
    "quick": Size(
        _SHORT, 100_000, (10, 100, 1_000, 3_162, 10_000, 20_000), (2, 4, 8, 16, 32, 64), 10
    ),
    "default": Size(
        _MEDIUM,
        1_000_000,
        (10, 1_000, 10_000, 31_623, 56_234, 100_000, 200_000),
        (2, 4, 8, 16, 32, 64, 128),
        10,
    ),
    "full": Size(
        _LONG,
        10_000_000,
        (10, 100, 1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000, 2_000_000),
        (2, 4, 8, 16, 32, 64, 128, 256, 512),
        40,
    ),
}


def reproduce(
    folder: str | os.PathLike[str],
    *,
    size: str | Size = "default",
    rows: Sequence[Row] = ROWS,
    engine: str = "local",
    workers: int | None = None,
    advance: Callable[[Progress], None] | None = None,
    timed: Callable[[int, int], None] | None = None,
) -> list[Claim]:
    """Measure the rows of Table 1 and write them to ``folder/table1.json``.

    First all tasks are run, as `calibrant.experiments.sweep` does: a run that was
    interrupted continues, and the same size gives the same errors. Then, while nothing else
    runs, the rounds are timed, into ``folder/costs.parquet``.

    Parameters
    ----------
    folder : path
        Where the results go.
    size : {"default", "quick", "full"} or Size
        How much to run.
    rows : sequence of Row
        Which claims.
    engine, workers, advance
        See `calibrant.experiments.sweep`.
    timed : callable, optional
        Called with the number of rounds timed so far and in total.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments import ROWS, Size, reproduce
    >>> tiny = Size((100, 200, 400), 400, (5, 10, 20), (2, 4, 8), 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     row = reproduce(folder, size=tiny, rows=ROWS[:1], workers=1)[0]
    >>> row.theorem, row.x, row.verdict in ("passes", "fails")
    ('simple_block_Cal1', [100, 200, 400], True)
    """
    if not isinstance(size, Size):
        size = SIZES[check_choice("size", size, tuple(SIZES))]
    wanted = measures_by_forecaster(rows)
    sweep(
        [task for row in rows for player in players(row) for task in tasks_of(player, size)],
        folder,
        measures=lambda task: wanted[task.forecaster],
        engine=engine, workers=workers, advance=advance,
    )  # fmt: skip
    timings = [task for row in rows for task in timings_of(row, size)]
    costs = time_rounds(timings, folder, timed=timed)
    finished = finished_in(Path(folder))
    table = []
    for row in rows:
        own, *nulls = [
            errors_of(player, size, finished, wanted[player.forecaster]) for player in players(row)
        ]
        table.append(measured(row, size, own, nulls, costs=costs))
    write_claims(folder, table)
    return table


def players(row: Row) -> list[Row]:
    """Return the row, and the same row for each of its nulls."""
    return [replace(row, forecaster=each) for each in (row.forecaster, *row.nulls)]


def tasks_of(row: Row, size: Size) -> Iterator[Task]:
    """Return the tasks of a row, by world, size and seed."""
    for world in row.worlds:
        for x in size.along(row.axis):
            rounds = x if row.axis == "T" else size.rounds
            for seed in range(size.seeds):
                yield Task(row.forecaster, world.stream(x, rounds), rounds, seed)


def measures_by_forecaster(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return the measures of each forecaster that its rows need."""
    wanted: dict[str, set[str]] = {}
    for row in rows:
        for player in players(row):
            wanted.setdefault(player.forecaster, set()).add(row.measure)
    return {forecaster: tuple(sorted(names)) for forecaster, names in wanted.items()}


def errors_of(
    row: Row, size: Size, finished: dict[Identity, Result], measures: tuple[str, ...]
) -> Floats:
    """Return the errors of a row, by world, size and seed, from a finished sweep."""
    results = (finished[Identity.of(task, measures)] for task in tasks_of(row, size))
    values = np.array([result.values[row.measure] for result in results])
    return values.reshape(len(row.worlds), len(size.along(row.axis)), size.seeds)


def measured(
    row: Row,
    size: Size,
    errors: Floats,
    null_errors: Sequence[Floats],
    *,
    costs: dict[Task, float],
) -> Claim:
    """Return a row with its fit, its best null, its cost and its verdict.

    Errors are by world, size and seed; those of the nulls are in the order of `row.nulls`.
    """
    x, means = size.along(row.axis), envelope(errors)
    visible = visible_sizes(row, x, rounds=size.rounds, seeds=size.seeds)
    # With too few sizes for a verdict, the exponent is fitted to all of them, for information.
    counted = np.array(visible.sizes if visible.enough else [True] * len(x))
    chosen = np.array(x, dtype=np.float64)[counted]
    fit = fit_growth(chosen.tolist(), errors[:, counted], log_power=row.log_power)
    plain = fit_growth(chosen.tolist(), errors[:, counted])
    worst = errors.mean(axis=2).argmax(axis=0)
    spread = errors.std(axis=2)[worst, np.arange(len(x))]
    beside = [
        compare_growth(chosen.tolist(), errors[:, counted], each[:, counted])
        for each in null_errors
    ]
    # The best grid in hindsight is the one that compares best with the forecaster.
    order = sorted(range(len(beside)), key=lambda at: -beside[at].level)
    verdict, reason = judge(row, fit, plain, [beside[at] for at in order], visible)
    best, null_means = beside[order[0]], envelope(null_errors[order[0]])
    ns = [costs[task] for task in timings_of(row, size)]
    names = ", ".join(world.name for world in row.worlds)
    return Claim(
        error=row.error,
        world=f"{row.situation} ({names})",
        claim=row.claim,
        theorem=row.theorem,
        forecaster=row.forecaster,
        axis=row.axis,
        claimed_exponent=row.exponent,
        log_power=row.log_power,
        fitted=fit.exponent,
        low=fit.interval.low,
        high=fit.interval.high,
        plain=plain.exponent,
        null=row.nulls[order[0]],
        null_plain=slope(np.log(chosen), np.log(null_means[counted])),
        null_mean=null_means.tolist(),
        level=best.level,
        level_low=best.level_interval.low,
        level_high=best.level_interval.high,
        gap=best.gap,
        gap_low=best.gap_interval.low,
        gap_high=best.gap_interval.high,
        x=list(x),
        mean=means.tolist(),
        spread=spread.tolist(),
        counted=list(visible.sizes),
        by_world={
            world.name: errors[at].mean(axis=1).tolist() for at, world in enumerate(row.worlds)
        },
        over_lower_bound=over_lower_bound(row, x[-1], errors),
        ns_per_round=ns,
        cost_exponent=slope(np.log(x), np.log(ns)),
        claimed_cost_exponent=row.cost_exponent,
        verdict=verdict,
        reason=reason,
    )


def over_lower_bound(row: Row, T: int, errors: Floats) -> float | None:
    """Return the error on a mean drawn uniformly, divided by the lower bound for any forecaster.

    For Cal2, PCal2 and PKLCal this is the sum behind Theorems `lower_bound_Cal2`,
    `lower_bound_PCal2` and Corollary `lower_bound_PKL`; for Cal1 it is sqrt(T), without a constant.
    """
    if row.situation != IID:
        return None
    error = float(errors[row.worlds.index(ANY_MEAN), -1].mean())
    if row.error == "Cal1":
        return error / float(np.sqrt(T))
    floor = float((1 / (6 * (np.arange(T) + 2.0))).sum())
    return error / (2 * floor if row.error == "PKLCal" else floor)


def timings_of(row: Row, size: Size) -> list[Task]:
    """Return the tasks that are timed for a row: its first world, at every size."""
    return list(tasks_of(replace(row, worlds=row.worlds[:1]), replace(size, seeds=1)))
