"""``calibrant run FILE --score --key``: a fleet, one chunk of the file after the other."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from calibrant import Fleet
from calibrant.cli import console
from calibrant.cli.arguments import Job
from calibrant.cli.episodes import as_object
from calibrant.cli.recalibrate_file import command_of
from calibrant.cli.recalibrate_large import (
    Measured,
    play_chunks,
    show_losses,
    show_outcomes,
)
from calibrant.cli.state import begin_fleet, keep
from calibrant.fleet import FleetMonitor
from calibrant.fleet.log import Log
from calibrant.report.keyed_page import KEY_HEAD, key_rows, keyed_page, keys_sentence
from calibrant.report.style import styled
from calibrant.tables import replacing

#: Options of a recalibrator that a fleet has no use for, and what to do instead.
STRAY = {
    "by": "a key is a group of its own: take one of the two",
    "smooth": "Fleet.smooth in Python gives that probability",
}
#: Keys that are listed in the terminal, and in JSON.
MOST_LISTED, MOST_IN_JSON = 10, 1000


def recalibrate_keyed(job: Job) -> None:
    """Recalibrate a file that need not fit into memory, each key with an offset of its own."""
    for name, instead in STRAY.items():
        if getattr(job, name) is not None:
            raise ValueError(f"--{name} does not go with --key: {instead}")
    if job.source == "-":
        raise ValueError("--key needs a FILE: CSV or Parquet")
    console.check_outputs(job.source, job.out, job.report)
    if job.report is not None:
        with styled():
            pass  # or learn now, not after the work, that matplotlib is missing
    job, fleet = begin_fleet(job)
    assert job.key is not None
    log = Log(
        fleet, key=job.key, score=job.score, outcome=job.outcome, time=job.time,
        available=job.available, due=job.due, positive=job.positive, id=job.id,
    )  # fmt: skip
    kept = Measured(fleet.kind)
    # The report is opened first: if it cannot be written, nothing else is.
    with nullcontext() if job.report is None else replacing(job.report) as report:
        play_chunks(job, log, kept)
        found = monitors_of(fleet)
        if report is not None:
            title = f"{Path(job.source).name}: keys before and after recalibration"
            made = {"command": command_of(job), "file": f"{job.source}, {kept.rows:,} rows"}
            page = keyed_page(title, kept.columns, found, len(fleet), made)
            report.write(page.html().encode())
    keep(job, fleet)
    if job.json:
        typer.echo(json.dumps(in_json(fleet, kept, found)))
    else:
        show(job, fleet, kept, found)


def monitors_of(fleet: Fleet) -> dict[str, FleetMonitor]:
    """Return the monitors of a fleet by name; margins are no probabilities, so have none raw."""
    if fleet.monitors is None:
        return {}
    both = {"raw": fleet.monitors.raw, "calibrated": fleet.monitors.calibrated}
    return {name: each for name, each in both.items() if name != "raw" or fleet.kind != "margin"}


def in_json(fleet: Fleet, kept: Measured, found: dict[str, FleetMonitor]) -> dict[str, Any]:
    """Return the measures, and what the monitors found, as JSON has it."""
    columns: dict[str, dict[str, Any]] = {
        name: dict(column.means()) for name, column in kept.columns.items()
    }
    for name, each in found.items():
        off = each.keys_off()
        columns[name] |= {
            "state": each.state,
            "evidence": each.evidence,
            "episodes": [as_object(episode) for episode in each.episodes],
            "keys_off_count": len(off),
            "keys_off": [
                {**asdict(key), "direction": key.direction, "text": str(key)}
                for key in off[:MOST_IN_JSON]
            ],
        }
    return {
        "rows": kept.rows, "keys": len(fleet), "outcomes": kept.known,
        "mean_outcome": kept.happened / kept.known if kept.known else None,
        "arrived_late": kept.after, "expired": fleet.expired, "waiting": fleet.pending,
        "answers": kept.answers, **columns,
    }  # fmt: skip


def show(job: Job, fleet: Fleet, kept: Measured, found: dict[str, FleetMonitor]) -> None:
    """Print what was read, before and after, keys that are off, and where the results are."""
    console.say(
        f"{job.source}: {kept.rows:,} rows, {len(fleet):,} keys in {job.key!r}, scores "
        f"{job.score!r}{kept.mean_in_words}"
    )
    show_outcomes(job, kept, fleet)
    show_losses(kept)
    show_keys(fleet, found)
    console.say(f"\nthe fleet takes {fleet.nbytes / 1e6:,.1f} MB")
    if job.out is None and job.state is None:
        console.say("To keep the rows: --out FILE.parquet; to go on later: --state FILE")
    if job.report is not None:
        console.say(f"{job.report}: the report, in a browser")
    if job.out is not None:
        console.say(f"{job.out}: every row, with its probability in column {job.column!r}")
    if job.state is not None:
        console.say(f"{job.state}: the fleet, for the next run")


def show_keys(fleet: Fleet, found: dict[str, FleetMonitor]) -> None:
    """Print which keys are off, and the episodes of all together."""
    console.out.print("\n[bold]Keys that are off[/]")
    if not found:
        console.say("not watched: the fleet of --state was made without a monitor")
    for name, each in found.items():
        console.say(f"{name}: {keys_sentence(each, len(fleet))}", fold=True)
    for name, each in found.items():
        off = each.keys_off()
        if off:
            more = f", the first {MOST_LISTED} of {len(off):,}" if len(off) > MOST_LISTED else ""
            # As `Text`, because brackets in a key are no markup.
            rows = [[Text(cell) for cell in row] for row in key_rows(off[:MOST_LISTED])]
            console.out.print("\n", console.table(f"Off in {name}{more}", KEY_HEAD, rows))
    episodes = {name: each.episodes for name, each in found.items()}
    if any(episodes.values()):
        console.out.print("\n[bold]Alarms of all keys together[/]")
    for name, some in episodes.items():
        for episode in some[-3:]:
            console.say(f"{name}: {episode}", fold=True)
