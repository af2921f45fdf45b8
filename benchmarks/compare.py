"""The default comparison: every forecaster on every kind of stream, mean and spread over seeds."""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import table
from calibrant.experiments import read_results
from calibrant.experiments.groups import STREAM_GROUPS
from calibrant.report.style import show_number

TITLE = "Forecasters compared"
SHOWN = {"cal2": "Cal2", "cal1": "Cal1", "klcal": "KLCal", "brier": "Brier score"}
GROUPS = {"families": "synthetic families", "adversaries": "adversaries", "real": "real streams"}
# `calibrant compare` without options.
HEAD = "{measure} on {group}, 10,000 rounds, mean ± spread over 20 seeds"
IN_DOCS = {
    "docs/comparison.md": tuple(
        HEAD.format(measure="Cal2", group=group) for group in GROUPS.values()
    )
}
PROGRAM = Path(sys.executable).parent / "calibrant"


def text_of(summary):
    """Return mean and spread, bold for the best of a stream."""
    spread = "" if math.isnan(summary.spread) else f" ± {show_number(summary.spread)}"
    text = f"{show_number(summary.mean)}{spread}"
    return f"**{text}**" if summary.best else text


def tables(progress):
    """Return a table for each measure and each group of streams: forecasters by streams."""
    progress("compare: the default comparison")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "compare", "--out", folder], check=True, capture_output=True)
        results = read_results(folder)
    for measure, name in SHOWN.items():
        summary, longest = results.summary(measure), results.longest(measure)
        for group, words in GROUPS.items():
            columns = {
                stream: summary[stream, rounds]
                for stream, rounds in longest.items()
                if stream in STREAM_GROUPS[group]
            }
            yield table(
                HEAD.format(measure=name, group=words),
                ["forecaster", *columns],
                [
                    [forecaster, *(text_of(row[forecaster]) for row in columns.values())]
                    for forecaster in next(iter(columns.values()))
                ],
            )
