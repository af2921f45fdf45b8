"""The paper's Table 1, measured: run every row, fit its growth, and let the numbers decide.

A row passes when the exponent fitted to its errors, with the claimed power of the logarithm, is
at most the claimed one + 0.08. Where fewer than three of the sizes are large enough for the claim
to show, by a criterion that is computed beforehand, it is "not visible". Otherwise it fails.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibrant._checks import Floats, check_choice
from calibrant.experiments.claims import FAILS, NOT_VISIBLE, PASSES, Claim, write_claims
from calibrant.experiments.fits import envelope, fit_growth, slope
from calibrant.experiments.parquet import finished_in
from calibrant.experiments.sweeps import Progress, sweep
from calibrant.experiments.table1 import ANY_MEAN, IID, ROWS, Row
from calibrant.experiments.tasks import Identity, Result, Task
from calibrant.experiments.visibility import visible_sizes
from calibrant.tables.atomic import replacing
from calibrant.tables.frames import import_pyarrow

#: How far above the claimed exponent a fitted one may be.
MARGIN = 0.08
#: The name of the file with what a round costs.
COSTS = "costs.parquet"
# What identifies a row of that file.
TIMED = ("forecaster", "stream", "rounds")
# How often each task is timed.
REPEATS = 5


@dataclass(frozen=True)
class Size:
    """How much is run: the sizes along T, C and K, and the seeds.

    Examples
    --------
    >>> from calibrant.experiments import SIZES
    >>> SIZES["default"].horizons[-1], SIZES["default"].seeds
    (1000000, 8)
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
#: How much `reproduce` can run, by name.
SIZES = {
    "quick": Size(
        _SHORT, 100_000, (10, 100, 1_000, 3_162, 10_000, 20_000), (2, 4, 8, 16, 32, 64), 4
    ),
    "default": Size(
        _MEDIUM,
        1_000_000,
        (10, 1_000, 10_000, 31_623, 56_234, 100_000, 200_000),
        (2, 4, 8, 16, 32, 64, 128),
        8,
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
        Called with the number of rounds that were timed and of all that will be.

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
        [task for row in rows for task in tasks_of(row, size)], folder,
        measures=lambda task: wanted[task.forecaster],
        engine=engine, workers=workers, advance=advance,
    )  # fmt: skip
    along_t = [row for row in rows if row.cost_exponent is not None]
    timings = [task for row in along_t for task in timings_of(row, size)]
    costs = time_rounds(timings, folder, timed=timed)
    finished = finished_in(Path(folder))
    table = []
    for row in rows:
        errors = errors_of(row, size, finished, wanted[row.forecaster])
        table.append(measured(row, size, errors, costs))
    write_claims(folder, table)
    return table


def tasks_of(row: Row, size: Size) -> Iterator[Task]:
    """Return the tasks of a row, by world, size and seed."""
    for world in row.worlds:
        for x in size.along(row.axis):
            rounds = x if row.axis == "T" else size.rounds
            for seed in range(size.seeds):
                yield Task(row.forecaster, world.stream(x, rounds), rounds, seed)


def measures_by_forecaster(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return what to measure of each forecaster: no more than its rows ask for."""
    wanted: dict[str, set[str]] = {}
    for row in rows:
        wanted.setdefault(row.forecaster, set()).add(row.measure)
    return {forecaster: tuple(sorted(names)) for forecaster, names in wanted.items()}


def errors_of(
    row: Row, size: Size, finished: dict[Identity, Result], measures: tuple[str, ...]
) -> Floats:
    """Return the errors of a row, by world, size and seed, from a finished sweep."""
    results = (finished[Identity.of(task, measures)] for task in tasks_of(row, size))
    values = np.array([result.values[row.measure] for result in results])
    return values.reshape(len(row.worlds), len(size.along(row.axis)), size.seeds)


def measured(row: Row, size: Size, errors: Floats, costs: dict[Task, float]) -> Claim:
    """Return a row with its fit, its cost and its verdict."""
    x, means = size.along(row.axis), envelope(errors)
    visible = visible_sizes(row, x, means.tolist(), rounds=size.rounds, seeds=size.seeds)
    # With too few sizes for a verdict, the exponent is fitted to all, to be looked at.
    counted = np.array(visible.sizes if visible.enough else [True] * len(x))
    chosen = np.array(x, dtype=np.float64)[counted]
    fit = fit_growth(chosen.tolist(), errors[:, counted], log_power=row.log_power)
    worst = errors.mean(axis=2).argmax(axis=0)
    spread = errors.std(axis=2)[worst, np.arange(len(x))]
    verdict, reason = judge(fit.exponent, row.exponent, visible.why, visible.enough)
    timed = row.cost_exponent is not None
    ns = [costs[task] for task in timings_of(row, size)] if timed else None
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
        low=fit.low,
        high=fit.high,
        plain=slope(np.log(chosen), np.log(means[counted])),
        x=list(x),
        mean=means.tolist(),
        spread=spread.tolist(),
        counted=list(visible.sizes),
        by_world={
            world.name: errors[at].mean(axis=1).tolist() for at, world in enumerate(row.worlds)
        },
        over_lower_bound=over_lower_bound(row, x[-1], errors),
        ns_per_round=ns,
        cost_exponent=None if ns is None else slope(np.log(x), np.log(ns)),
        claimed_cost_exponent=row.cost_exponent,
        verdict=verdict,
        reason=reason,
    )


def judge(fitted: float, claimed: float, why: str | None, enough: bool) -> tuple[str, str]:
    """Return the verdict and the reason for it; `why` says which sizes do not count."""
    if not enough:
        return NOT_VISIBLE, f"{why} Fewer than three sizes lie beyond; the exponent is of all."
    limit = f"{claimed:.2f} + {MARGIN}"
    if fitted <= claimed + MARGIN:
        verdict, text = PASSES, f"{fitted:.2f} is at most {limit}."
    else:
        verdict, text = FAILS, f"{fitted:.2f} is above {limit}."
    return verdict, text if why is None else f"{text} {why} Sizes below that are not fitted."


def over_lower_bound(row: Row, T: int, errors: Floats) -> float | None:
    """Return the error on a mean drawn uniformly, divided by what no forecaster can avoid there.

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
    """Return what is timed for a row: its first world, at every T."""
    return [Task(row.forecaster, row.worlds[0].stream(T, T), T) for T in size.horizons]


def time_rounds(
    tasks: Iterable[Task],
    folder: str | os.PathLike[str],
    *,
    timed: Callable[[int, int], None] | None = None,
) -> dict[Task, float]:
    """Return ns a round of each task, the median of five runs; keep them in ``costs.parquet``.

    What the file already has is not timed again. An adversary cannot be timed apart from the
    forecaster, so a stream must be one that is drawn beforehand.
    """
    path = Path(folder) / COSTS
    costs, wanted, done = _read_costs(path), dict.fromkeys(tasks), 0
    for task in wanted:
        if task not in costs:
            costs[task] = _nanoseconds(task)
            _write_costs(path, costs)
        done += task.rounds
        if timed is not None:
            timed(done, sum(each.rounds for each in wanted))
    return costs


def _nanoseconds(task: Task) -> float:
    source = task.source()
    if source.outcomes is None:
        raise ValueError(f"stream {task.stream!r} must be drawn beforehand to be timed")
    taken = []
    for seed in range(REPEATS):
        forecaster = replace(task, seed=seed).make_forecaster(source.deviation)
        started = time.perf_counter_ns()
        forecaster.run(source.outcomes)
        taken.append((time.perf_counter_ns() - started) / task.rounds)
    return statistics.median(taken)


def _read_costs(path: Path) -> dict[Task, float]:
    if not path.exists():
        return {}
    _, parquet = import_pyarrow()
    rows = parquet.read_table(path).to_pylist()
    return {Task(*(row[name] for name in TIMED)): row["ns_per_round"] for row in rows}


def _write_costs(path: Path, costs: dict[Task, float]) -> None:
    arrow, parquet = import_pyarrow()
    rows = [
        {name: getattr(task, name) for name in TIMED} | {"ns_per_round": ns}
        for task, ns in sorted(costs.items())
    ]
    with replacing(path) as file:
        parquet.write_table(arrow.Table.from_pylist(rows), file)
