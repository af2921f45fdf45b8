"""``calibrant recalibrate FILE --forecast COL``: forecasts of numbers become quantiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.text import Text

from calibrant._checks import Floats
from calibrant.cli import console
from calibrant.measures.numbers import (
    interval_coverage,
    interval_score,
    level_coverage,
    pinball,
    pit,
    pit_histogram,
)
from calibrant.measures.quantile_functions import quantile_at
from calibrant.recalibrate.number_rows import (
    SHOWN,
    quantile_columns,
    recalibrate_numbers,
    take_forecasts,
)
from calibrant.recalibrate.numbers import NumberRecalibrator
from calibrant.report import NumberReport
from calibrant.tables import write

#: The first rows are not measured, as everything is still being learned.
FIRST = 100
INTERVALS = (0.5, 0.8, 0.9)
#: The options that go with --forecast.
TAKEN = (
    "source", "forecast", "outcome", "time", "available", "by", "hold", "levels", "delimiter",
    "out", "state", "report", "json",
)  # fmt: skip


def recalibrate_given(given: dict[str, Any]) -> None:
    """Recalibrate the forecasts of a file with the options of the command; refuse other options.

    Writes the rows with quantiles, and prints coverage.
    """
    source, out, state, report = (given[name] for name in ("source", "out", "state", "report"))
    if given["forecast"] is None:
        raise ValueError("--levels needs --forecast")
    if given["outcome"] is None or source == "-":
        raise ValueError("--forecast needs a FILE and --outcome")
    console.refuse_others(given, TAKEN, "--forecast")
    wanted = SHOWN if given["levels"] is None else read_levels(given["levels"])
    hold = given["hold"]
    recalibrator = NumberRecalibrator(hold=hold)
    if state is not None and state.exists():
        recalibrator = NumberRecalibrator.load(state)
        if hold is not None and str(hold) != str(recalibrator.hold):
            raise ValueError(f"{state} was saved with hold={recalibrator.hold}, got {hold}")
    with console.err.status(Text(f"reading {source}")):
        table = console.read_source(source, given["delimiter"])
        parts = ("forecast", "outcome", "time", "available", "by")
        rows = take_forecasts(table, **{name: given[name] for name in parts})
        new = quantile_columns(recalibrator, np.empty((0, len(recalibrator.levels))), wanted)
        for name in new if out is not None else ():
            if name in table.columns:
                raise ValueError(f"{source} already has a column {name!r}; choose other --levels")
    console.note(table.note)
    with console.err.status("recalibrating"):
        quantiles = recalibrate_numbers(recalibrator, rows)
    if out is not None:
        write(out, table.with_columns(quantile_columns(recalibrator, quantiles, wanted)))
        console.note(f"wrote {out}")
    if state is not None:
        recalibrator.save(state)
    if report is not None:
        known = (
            None
            if rows.clock is None or rows.clock.sort == "numbers"
            else np.array([rows.clock.shown(row) for row in range(len(table))])
        )
        NumberReport(
            quantiles, recalibrator.levels, rows.outcomes, times=dates_of(known),
            title=f"{given['forecast']} in {Path(source).name}",
        ).save(report)  # fmt: skip
        console.note(f"wrote {report}")
    found = measured(recalibrator.levels, quantiles, rows.forecasts, rows.outcomes)
    if given["json"]:
        typer.echo(json.dumps(found))
    else:
        console.say(
            f"{table.source}: {len(table):,} rounds, forecasts {given['forecast']!r}, outcomes "
            f"{given['outcome']!r}"
        )
        show(found)


def dates_of(texts: Any) -> Any:
    """Return dates as a NumPy array, None if some are not dates."""
    try:
        return None if texts is None else texts.astype("datetime64[s]")
    except ValueError:
        return None


def read_levels(text: str) -> list[float]:
    """Parse levels such as "0.05,0.5,0.95"."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0.0 < level < 1.0 for level in found):
        raise ValueError(f"--levels must be numbers in (0, 1) such as 0.05,0.5,0.95, got {text!r}")
    return sorted(set(found))


def bounded(quantiles: Floats, outcomes: Floats) -> Floats:
    """Clip quantiles for losses, to within twice the range of outcomes around each outcome."""
    far = 2.0 * float(np.ptp(outcomes[~np.isnan(outcomes)])) + 1e-300
    return np.asarray(np.clip(quantiles, outcomes[:, None] - far, outcomes[:, None] + far))


def measured(
    levels: Floats, quantiles: Floats, forecasts: Floats, outcomes: Floats
) -> dict[str, Any]:
    """Return measures of the quantiles, of rows with an outcome, the first rows excepted."""
    is_known = ~np.isnan(outcomes)
    is_known[: min(FIRST, len(outcomes) // 2)] = False
    found: dict[str, Any] = {
        "rows": len(outcomes),
        "measured": int(is_known.sum()),
        "rounds_with_an_infinity": int(np.isinf(quantiles).any(axis=1).sum()),
    }
    if not is_known.any():
        return found
    q, y, tau = quantiles[is_known], outcomes[is_known], levels
    m = forecasts[is_known]
    shown = bounded(quantiles, outcomes)[is_known]
    found["pinball"] = pinball(shown, tau, y)
    if not np.isnan(m).any():
        found["mean_absolute_error_of_the_forecast"] = float(np.abs(y - m).mean())
        found["mean_absolute_error_of_the_median"] = float(
            np.abs(y - quantile_at(tau, shown, 0.5)[:, 0]).mean()
        )
    below, at_most = level_coverage(q, y)
    found["levels"] = [
        {"level": level, "below": low, "at_most": high}
        for level, low, high in zip(tau.tolist(), below.tolist(), at_most.tolist(), strict=True)
    ]
    found["intervals"] = []
    for coverage in INTERVALS:
        tails = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]
        low, high = quantile_at(tau, q, tails).T
        near_low, near_high = quantile_at(tau, shown, tails).T
        found["intervals"].append(
            {
                "coverage": coverage,
                "observed": interval_coverage(low, high, y),
                "mean_width": float((near_high - near_low).mean()),
                "interval_score": interval_score(near_low, near_high, y, coverage),
            }
        )
    histogram = pit_histogram(pit(q, tau, y))
    found["pit"] = {"counts": histogram.counts.tolist(), "p_value": histogram.p_value}
    return found


def show(found: dict[str, Any]) -> None:
    """Print the intervals, and the error of the forecast beside that of the median."""
    rows = [
        [f"{each['coverage']:.0%}", f"{each['observed']:.1%}", f"{each['mean_width']:.4g}",
         f"{each['interval_score']:.4g}"]
        for each in found.get("intervals", [])
    ]  # fmt: skip
    head = ["interval", "outcomes inside", "mean width", "interval score"]
    console.out.print("", console.table("Intervals", head, rows), "", sep="\n")
    before = found.get("mean_absolute_error_of_the_forecast")
    if before is not None:
        after = found["mean_absolute_error_of_the_median"]
        console.out.print(
            f"Mean absolute error: {before:.4g} of the forecast, {after:.4g} of the median."
        )
    console.out.print(
        f"{found['measured']:,} of {found['rows']:,} rows measured; some quantile was infinite in "
        f"{found['rounds_with_an_infinity']:,}."
    )
