"""The default comparison: every forecaster on every kind of stream, mean and spread over seeds."""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import table
from calibrant.experiments import results
from calibrant.experiments.groups import STREAM_GROUPS
from calibrant.experiments.summary import longest, summarise
from calibrant.report.style import show_number

TITLE = "Forecasters compared"
IN_README = ()
MEASURES = {"cal2": "Cal2", "cal1": "Cal1", "klcal": "KLCal", "brier": "Brier score"}
GROUPS = {"families": "synthetic families", "adversaries": "adversaries", "real": "real streams"}
# `calibrant compare` without options.
HEAD = "{measure} on {group}, 10,000 rounds, mean ± spread over 20 seeds"
IN_DOCS = {
    "docs/comparison.md": tuple(
        HEAD.format(measure="Cal2", group=group) for group in GROUPS.values()
    )
}
PROGRAM = Path(sys.executable).parent / "calibrant"


def text_of(figure):
    """Return mean and spread, bold for the best of a stream."""
    spread = "" if math.isnan(figure.spread) else f" ± {show_number(figure.spread)}"
    text = f"{show_number(figure.mean)}{spread}"
    return f"**{text}**" if figure.best else text


def tables(progress):
    """Return a table for each measure and each group of streams: forecasters by streams."""
    progress("compare: the default comparison")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "compare", "--out", folder], check=True, capture_output=True)
        rows = results.read(folder)
    for measure, name in MEASURES.items():
        figures = longest(summarise(rows, measure))
        for group, words in GROUPS.items():
            columns = {
                stream: by for (stream, _), by in figures.items() if stream in STREAM_GROUPS[group]
            }
            yield table(
                HEAD.format(measure=name, group=words),
                ["forecaster", *columns],
                [
                    [forecaster, *(text_of(by[forecaster]) for by in columns.values())]
                    for forecaster in next(iter(columns.values()))
                ],
            )
