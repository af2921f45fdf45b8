"""``calibrant report``: the results of a sweep as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import console


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Folder with the results of compare or reproduce."),
    ],
) -> None:
    """Write a page with figures from the results in FOLDER.

    FOLDER/report.html is self-contained: send it, print it, open it offline. Each figure
    is also written as FOLDER/figures/NAME.png and NAME.svg.
    """
    with console.clean_end():
        from calibrant.experiments.sweep_page import write_report  # noqa: PLC0415 - needs an extra

        with console.err.status("reading the results") as status:
            page = write_report(folder, advance=status.update)
        console.say(f"Report: {page}")
        console.say(f"Figures: {folder / 'figures'}")
