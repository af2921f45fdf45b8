"""The simulation behind the tuned certificates: ``python -m benchmarks tune``.

Stationary worlds give U(n, 0). In each run the excess of the error over the part that grows is
followed, err(n) - b log2(n + 1), or err(n)/sqrt(n) for l1, and its maximum over all n is kept.
Level delta requires an upper confidence bound of its quantile, the largest over the means and
lengths; a line in ln(1/delta) above these bounds is the certificate. Drifting worlds then determine
the part with C, which must cover the excess over U(n, 0).
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress

import calibrant
from benchmarks.tables import table
from benchmarks.worlds import WORLDS
from calibrant._checks import Floats, as_unit_series, check_integer
from calibrant._kernels.paper.restartable import Restartable
from calibrant.certificates import BASES, CERTIFIED_MEASURES, Coefficients, form
from calibrant.forecasters.restarting import base_kernel
from calibrant.tables.atomic import replacing

#: Every certificate: its measure and its base. Those of `Refined` come first.
CERTIFICATES = {
    form.name_of(measure, base): (measure, base)
    for measure, base in sorted(
        ((measure, base) for measure in CERTIFIED_MEASURES for base in BASES[measure]),
        key=lambda pair: pair[1] != "refined",
    )
}
#: What is taken off the error before its maximum: a multiple of log2(n + 1).
SLOPES = {"l1": 0.0, "l2": 1.0, "pseudo_l2": 1.0, "pseudo_kl": 2.0}
LEVELS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
#: A quantile is replaced by an upper bound that holds with this probability.
CONFIDENCE = 0.95
FEWEST_RUNS = 60  # with fewer there is no such bound at level 0.05
FEWEST_ROUNDS = 100
CHUNK = 1_000_000  # rounds that a worker simulates before it reports
SHIPPED = Path(__file__).parents[1] / "src" / "calibrant" / "certificates" / "tuned.json"


class Batch(NamedTuple):
    """Runs of one world for one certificate."""

    certificate: str
    world: str
    mean: float  # of a steady world
    deviation: float  # of the world, and given to the forecaster
    rounds: int
    runs: int


class Chunk(NamedTuple):
    """A part of a batch: the runs from `first` up to `last`."""

    batch: Batch
    number: int  # of the batch, which seeds its runs
    first: int
    last: int
    level: Coefficients | None  # U(n, 0), once it is known


def plan_steady(runs: int, rounds: int) -> list[Batch]:
    """Return the stationary batches; most runs, and longer ones, where the error is largest."""
    return [
        Batch(name, "steady", mean, 0.0, length, count)
        for name in CERTIFICATES
        for mean, length, count in (
            (0.5, rounds, runs),
            (0.5, 10 * rounds, runs // 10),
            (0.1, rounds, 3 * runs // 10),
            (0.01, rounds, 3 * runs // 10),
        )
    ]


def plan_drifting(runs: int, rounds: int) -> list[Batch]:
    """Return the batches with a deviation: every world at every power of 8 up to half of n."""
    return [
        Batch(name, world, 0.5, 8.0**k, length, max(FEWEST_RUNS, runs // 10))
        for name in CERTIFICATES
        for length in (rounds // 10, rounds)
        for k in range(1, 6)
        if 8**k <= length / 2
        for world in WORLDS
    ]


def running_errors(forecaster: Restartable, outcomes: object) -> Floats:
    """Run one round an outcome; return the error so far after each."""
    series = as_unit_series(outcomes, "outcomes")
    errors = np.empty(len(series))
    for t, outcome in enumerate(series.tolist()):
        forecaster.update(outcome)
        errors[t] = forecaster.error
    return errors


def excess(measure: str, errors: Floats) -> float:
    """Return the largest excess of the error over the part that grows, over all rounds."""
    n = np.arange(1, len(errors) + 1)
    if measure == "l1":
        return float((errors / np.sqrt(n)).max())
    return float((errors - SLOPES[measure] * np.log2(n + 1)).max())


def need(measure: str, errors: Floats, level: Coefficients, deviation: float) -> float:
    """Return the d0 that a run with a deviation needs, over all rounds."""
    n = np.arange(1, len(errors) + 1)
    if measure == "l1":
        return float(((errors - level.c0 * np.sqrt(n)) / np.cbrt(deviation * n)).max())
    return float((errors - level.c0 - level.c1 * np.log2(n + 1)).max() / math.cbrt(deviation))


def numbers_of(chunk: Chunk) -> list[float]:
    """Return a number of every run of a chunk; a run depends on its batch and number alone."""
    batch, numbers = chunk.batch, []
    for run in range(chunk.first, chunk.last):
        rng = np.random.default_rng([int(chunk.level is not None), chunk.number, run])
        if batch.deviation == 0.0:
            means: float | Floats = batch.mean
        else:
            means = WORLDS[batch.world](batch.rounds, batch.deviation, rng)
        outcomes = rng.random(batch.rounds) < means
        measure, base = CERTIFICATES[batch.certificate]
        forecaster = base_kernel(
            measure, base, deviation=batch.deviation, delta=0.05, constants="tuned",
            horizon=batch.rounds if base == "interval" else 0, seed=int(rng.integers(2**63)),
        )  # fmt: skip
        errors = running_errors(forecaster, outcomes)
        if chunk.level is None:
            numbers.append(excess(measure, errors))
        else:
            numbers.append(need(measure, errors, chunk.level, batch.deviation))
    return numbers


def chunks_of(
    batches: Sequence[Batch], levels: dict[str, Coefficients] | None, names: Sequence[str]
) -> list[Chunk]:
    """Return the batches of some certificates in parts of about `CHUNK` rounds."""
    return [
        Chunk(batch, number, first, min(first + step, batch.runs), level)
        for number, batch in enumerate(batches)
        if batch.certificate in names
        for level in (None if levels is None else levels[batch.certificate],)
        for step in (max(1, CHUNK // batch.rounds),)
        for first in range(0, batch.runs, step)
    ]


def upper_quantile(values: Iterable[float], delta: float) -> float | None:
    """Return a value that the true (1 - delta)-quantile lies below, with confidence 95 %.

    It is the k-th largest, with the largest k for which at most k - 1 of n draws pass the true
    quantile in no more than 5 % of samples. None if there is no such k.
    """
    ordered = sorted(values, reverse=True)
    n, k, below = len(ordered), 0, 0.0
    while k < n:
        below += math.comb(n, k) * delta**k * (1 - delta) ** (n - k)
        if below > 1 - CONFIDENCE:
            break
        k += 1
    return ordered[k - 1] if k else None


def line_above(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return (start, slope) of the line along the points, raised until it lies above all.

    The slope is that of least squares, not that of the lowest line above: a tail that is too flat
    would promise too much at levels too small to be measured.
    """
    x, y = np.array(points).T
    spread = x - x.mean()
    slope = round_up(max(0.0, float(spread @ y / (spread @ spread))), 0.01)
    return round_up(float((y - slope * x).max()), 0.01), slope


def round_up(value: float, step: float) -> float:
    """Return the next multiple of a step, to six digits."""
    return round(math.ceil(value / step - 1e-9) * step, 6)


def fit_steady(batches: Sequence[Batch], numbers: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the row of each certificate, as far as stationary worlds decide it."""
    rows: dict[str, Any] = {}
    for name in dict.fromkeys(
        batch.certificate for batch, values in zip(batches, numbers, strict=True) if values
    ):
        measure, _ = CERTIFICATES[name]
        quantiles: dict[str, float] = {}
        for level in LEVELS:
            bounds = [
                bound
                for batch, values in zip(batches, numbers, strict=True)
                if batch.certificate == name
                and (bound := upper_quantile(values, level)) is not None
            ]
            if bounds:
                quantiles[str(level)] = round(max(bounds), 4)
        points = [(math.log(1 / float(level)), value) for level, value in quantiles.items()]
        start, per_log = line_above(points)
        rows[name] = {
            "slope": SLOPES[measure],
            "start": start,
            "per_log": per_log,
            "quantiles": quantiles,
            "runs": max(batch.runs for batch in batches),
            "rounds": min(batch.rounds for batch in batches),
        }
    return rows


def fit_drifting(
    rows: dict[str, Any], batches: Sequence[Batch], numbers: Sequence[Sequence[float]]
) -> None:
    """Add to each row the part with C: the largest need over the worlds, at level 0.05."""
    for name, row in rows.items():
        worst = ""
        largest = 0.0
        for batch, values in zip(batches, numbers, strict=True):
            bound = upper_quantile(values, 0.05)
            if batch.certificate == name and bound is not None and bound > largest:
                largest = bound
                worst = f"{batch.world}, C = {batch.deviation:g}, n = {batch.rounds}"
        row["deviation"] = round_up(largest, 0.1 if name.startswith("l1") else 1.0)
        row["deviation_needed"] = round(largest, 4)
        row["worst_world"] = worst


def run_chunks(
    chunks: Sequence[Chunk], workers: int, advance: Callable[[int], None]
) -> Iterator[tuple[Chunk, list[float]]]:
    """Simulate chunks, in other processes if there are several workers; yield each when done."""
    if workers == 1:
        for chunk in chunks:
            yield chunk, numbers_of(chunk)
            advance(rounds_of(chunk))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(numbers_of, chunk): chunk for chunk in chunks}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
                advance(rounds_of(waiting[done]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def rounds_of(chunk: Chunk) -> int:
    """Return how many rounds a chunk takes."""
    return (chunk.last - chunk.first) * chunk.batch.rounds


def simulate(
    batches: Sequence[Batch],
    levels: dict[str, Coefficients] | None,
    names: Sequence[str],
    workers: int,
    advance: Callable[[int], None],
) -> list[list[float]]:
    """Return the numbers of every batch, in the order of its runs, whichever worker did them.

    Batches of certificates that are not among the names have none.
    """
    chunks = chunks_of(batches, levels, names)
    # The long ones first, so that no worker is left with one at the end.
    chunks.sort(key=rounds_of, reverse=True)
    done = {(c.number, c.first): values for c, values in run_chunks(chunks, workers, advance)}
    return [
        [value for key in sorted(key for key in done if key[0] == number) for value in done[key]]
        for number in range(len(batches))
    ]


def total_rounds(runs: int, rounds: int, names: Sequence[str] = tuple(CERTIFICATES)) -> int:
    """Return how many rounds `tune` simulates, for a progress bar."""
    batches = plan_steady(runs, rounds) + plan_drifting(runs, rounds)
    return sum(batch.runs * batch.rounds for batch in batches if batch.certificate in names)


def tune(
    *,
    runs: int = 1000,
    rounds: int = 100_000,
    names: Sequence[str] = tuple(CERTIFICATES),
    workers: int | None = None,
    advance: Callable[[int], None] = lambda _rounds: None,
) -> dict[str, Any]:
    """Measure the tuned certificates and return their table.

    Parameters
    ----------
    runs : int, default 1000
        Stationary runs of mean 1/2 for each certificate; the others follow from it.
    rounds : int, default 100,000
        Their length. A tenth as many runs are ten times as long.
    names : sequence of str, optional
        Which of `CERTIFICATES`; all by default.
    workers : int, optional
        Processes to use; all cores by default. The numbers do not depend on it.
    advance : callable, optional
        Called with the number of rounds just simulated.
    """
    check_integer("runs", runs, FEWEST_RUNS, 10**6)
    check_integer("rounds", rounds, FEWEST_ROUNDS, 10**7)
    count = os.cpu_count() or 1 if workers is None else check_integer("workers", workers, 1, 1024)
    steady, drifting = plan_steady(runs, rounds), plan_drifting(runs, rounds)
    rows = fit_steady(steady, simulate(steady, None, names, count, advance))
    levels = {name: form.tuned({**row, "deviation": 0.0}, 0.05) for name, row in rows.items()}
    fit_drifting(rows, drifting, simulate(drifting, levels, names, count, advance))
    return {
        "schema": 1,
        "measured": {
            "calibrant": calibrant.__version__,
            "runs": runs,
            "rounds": rounds,
            "confidence": CONFIDENCE,
            "steady": "per certificate: mean 0.5, `runs` of `rounds` and runs/10 of 10 `rounds`; "
            "means 0.1 and 0.01, 3 runs/10 of `rounds`; the seed is (part, batch, run)",
            "drifting": f"{len(WORLDS)} worlds, C = 8^k up to half the length, lengths `rounds`/10 "
            "and `rounds`, runs/10 of each; at level 0.05, the largest need over all rounds",
        },
        "measures": rows,
    }


def formulas(rows: dict[str, Any]) -> str:
    """Return the certificates as a table of formulas."""
    return table(
        "Tuned certificates U(n, C) at level delta",
        ["certificate", "grows with", "stationary", "for ln(1/delta)", "for the deviation"],
        [
            [
                name,
                "sqrt(n)" if name.startswith("l1") else f"{row['slope']:g} log2(n+1)",
                *(f"{row[part]:g}" for part in ("start", "per_log", "deviation")),
            ]
            for name, row in rows.items()
        ],
    )


def main(arguments: Sequence[str]) -> None:
    """Measure the tuned certificates again, and write their table.

    The same runs and rounds give the same table, whatever the number of workers.
    """
    parser = argparse.ArgumentParser("python -m benchmarks tune", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=SHIPPED, help="the table, as JSON")
    parser.add_argument("--runs", type=int, default=1000, help="stationary runs, at least 60")
    parser.add_argument("--rounds", type=int, default=100_000, help="rounds of a run")
    parser.add_argument("--workers", type=int, help="processes to use; all cores if not given")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=CERTIFICATES, default=list(CERTIFICATES),
        help=f"measure these anew and keep the others: {', '.join(CERTIFICATES)}",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    shipped = form.tuned_table()
    try:
        # The file is opened first: a path that cannot be written fails before the work, not after.
        with replacing(given.out) as file, Progress(console=Console(stderr=True)) as shown:
            bar = shown.add_task(
                "simulating", total=total_rounds(given.runs, given.rounds, given.only)
            )
            tuned = tune(
                runs=given.runs,
                rounds=given.rounds,
                names=given.only,
                workers=given.workers,
                advance=lambda rounds: shown.advance(bar, rounds),
            )
            if set(given.only) != set(CERTIFICATES):
                tuned = {**shipped, "measures": shipped["measures"] | tuned["measures"]}
            file.write((json.dumps(tuned, indent=2) + "\n").encode())
    except ValueError as error:
        parser.error(str(error))
    print(formulas(tuned["measures"]))
