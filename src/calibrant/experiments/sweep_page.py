"""The report of a sweep: its findings in words, figures and tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.experiments import Claim, Results, findings, gallery, read_claims, read_results
from calibrant.experiments.labels import short_names, show_seeds, show_streams, spread_out
from calibrant.experiments.panels import (
    claim_name,
    claim_panels,
    growth_figures,
    omissions,
    panels,
)
from calibrant.experiments.results import ERRORS, BySize, rank
from calibrant.report.figures import WinnerMap
from calibrant.report.page import Page
from calibrant.report.style import Drawable, as_png, as_svg, drawn
from calibrant.tables import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: More lines in a figure, or more panels, would be too many to read.
MOST_LINES, MOST_PANELS = 6, 6
#: The width of a figure drawn for a phone, in inches.
PHONE = 3.9, 4.6
#: Measures that a forecaster also improves by being sharper.
SHARPNESS_TOO = ("brier", "log_loss")


def write_report(
    folder: str | os.PathLike[str], *, advance: Callable[[str], None] = lambda _: None
) -> Path:
    """Write the report of a folder of results, and return the path of its page.

    Reads ``results.parquet`` and, if it is there, ``table1.json``. Writes ``report.html`` and
    each figure as ``figures/NAME.png`` and ``figures/NAME.svg``.

    Parameters
    ----------
    folder : path
        Where `calibrant compare` or `calibrant reproduce` left its results.
    advance : callable, optional
        Called with what is being drawn.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.experiments import plan, sweep
    >>> from calibrant.experiments.sweep_page import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sweep(plan(["zoom", "epoch"], ["drift"], [500], seeds=2), folder, workers=1)
    ...     write_report(folder).name
    'report.html'
    """
    return SweepReport(read_results(folder), read_claims(folder), Path(folder), advance).write()


class SweepReport:
    """The report of a sweep while it is being written."""

    def __init__(
        self,
        results: Results,
        claims: Sequence[Claim],
        folder: Path,
        advance: Callable[[str], None],
    ) -> None:
        if not results.measures:
            raise ValueError(f"{folder}: the results hold none of {', '.join(ERRORS)}")
        self.results, self.claims, self.folder, self.advance = results, claims, folder, advance
        self.measure = results.measures[0]
        self.error = ERRORS[self.measure]
        self.means = results.errors(self.measure)
        self.order = rank(self.means)
        self.names = short_names(self.order)
        self.streams = show_streams(results.streams)
        # A check of claims runs each forecaster only on the streams of its claims, so nobody wins.
        self.compares = not claims or all(
            len(row) == len(self.order) for row in self.means.values()
        )
        title = "Who is calibrated where" if self.compares else "The paper's claims, measured"
        self.page = Page(title, self.lead())

    def write(self) -> Path:
        """Write page and figures, and return the path of the page."""
        (self.folder / "figures").mkdir(exist_ok=True)
        if self.compares:
            if len(self.order) > 1:
                self.winners()
            else:
                self.errors_of_one()
            self.over_rounds()
            self.over_worlds()
        if self.claims:
            self.claims_measured()
        self.replayed()
        self.provenance()
        path = self.folder / "report.html"
        self.page.save(path)
        return path

    def lead(self) -> list[str]:
        """Return the introduction: what to look at and what it means."""
        rounds = sorted(set(self.results.longest(self.measure).values()))
        seeds = len(self.results.seeds)
        sizes = f"{rounds[-1]:,} rounds" if len(rounds) == 1 else f"up to {rounds[-1]:,} rounds"
        over = "those of one seed" if seeds == 1 else f"means over {seeds} seeds"
        numbers = f"Numbers are {over}, after {sizes}."
        zero = "lower is better, and 0 means that events were observed as often as predicted."
        meaning = f"is a calibration error: {zero}"
        if self.measure in SHARPNESS_TOO:
            meaning = (
                "rewards calibration and sharpness together: lower is better, and 0 means that "
                "every outcome was foreseen with certainty."
            )
        verdict = [findings.verdicts(self.claims)] if self.claims else []
        if not self.compares:
            return [
                *verdict,
                "Look first at the figures: where a line is no steeper than the grey one beside "
                "it, the claim holds. The table has the fitted exponents and the verdicts.",
                f"Cal1, Cal2, PCal2 and PKLCal are calibration errors: {zero} {numbers}",
            ]
        several = len({result.task.rounds for result in self.results.measured(self.measure)}) > 1
        then = " Then see whether the lines against the number of rounds stay flat."
        return [
            *findings.headline(self.renamed(self.means), self.error),
            *verdict,
            f"{self.error[0].upper()}{self.error[1:]} {meaning} {numbers}",
            "Look first at who wins where: bright boxes are good, and a frame marks the best of "
            f"each stream.{then if several else ''}"
            if len(self.order) > 1
            else "Look first at its errors, stream by stream.",
        ]

    def winners(self) -> None:
        """Show every forecaster on every stream."""
        means, best = self.renamed(self.means), self.names[self.order[0]]
        self.page.section(
            "Who wins where",
            f"One row per stream, one column a forecaster, from the best over all streams at the "
            f"left to the worst at the right. Each number is a mean {self.error}. The ranking is "
            f"by the geometric mean of the error over the smallest of each row.",
        )
        self.figure(
            "who-wins-where",
            WinnerMap.from_errors(means, measure=self.error),
            f"Mean {self.error} of every forecaster on every stream. The darker, the larger over "
            "the smallest of the row; the smallest has a frame.",
            f"Heat map of mean {self.error}, streams down and forecasters across. "
            + " ".join(findings.headline(means, self.error)),
        )
        lost = findings.losses(means, best)
        if lost:
            self.page.table(
                ["stream", best, "smallest", "whose", "times"],
                lost,
                f"Where {best} does not have the smallest mean {self.error}, and by how much.",
            )
        if len(self.results.measures) > 1:
            self.by_measure()

    def errors_of_one(self) -> None:
        """Show the errors of a forecaster that was run alone."""
        self.page.section("The errors", "One row per stream, one column a measure.")
        measured = [self.results.errors(measure) for measure in self.results.measures]
        (name,) = self.order
        self.page.table(
            ["stream", *(ERRORS[measure] for measure in self.results.measures)],
            [
                [shown, *(means.get(stream, {}).get(name, float("nan")) for means in measured)]
                for stream, shown in self.streams.items()
            ],
            f"Mean errors of {self.names[name]}.",
        )

    def by_measure(self) -> None:
        """Show how each forecaster does by every measure."""
        measured = {m: self.results.errors(m) for m in self.results.measures}
        self.page.table(
            ["forecaster", *(ERRORS[measure] for measure in measured)],
            [
                [self.names[name], *(findings.typical(m, name) for m in measured.values())]
                for name in self.order
            ],
            "By every measure: the geometric mean over streams of the mean error over the "
            "smallest, a hundred times at most. 1 is the best on every stream. Brier score and "
            "log loss also reward sharpness, the others calibration alone.",
        )

    def over_rounds(self) -> None:
        """Show how the error grows with the number of rounds."""
        errors = {}
        for stream in self.results.longest(self.measure):
            by_size = self.results.over_rounds(stream, self.measure)
            if min(map(len, by_size.values())) >= 2:
                errors[self.streams[stream]] = by_size
        self.growth(
            "T", "number of rounds", errors,
            f"Mean {self.error} on logarithmic axes: a straight line is a power of T, and a flat "
            "one does not grow at all. Bands are one standard deviation over the seeds. The grey "
            "line, where there is one, shows how steep the rate of a uniform grid is; its height "
            "means nothing.",
        )  # fmt: skip

    def over_worlds(self) -> None:
        """Show how the error grows with the deviation or the number of segments."""
        worlds = self.results.over_worlds(self.measure)
        for axis, word, how in (
            ("C", "deviation", "on streams whose means stray further and further from one value"),
            ("K", "number of segments", "cut into more and more segments of one mean each"),
        ):
            self.growth(
                axis, word,
                {f"{name}, {T:,} rounds": row for (x, name, T), row in worlds.items() if x == axis},
                f"The same number of rounds, {how}. The grey line shows how steep the rate is "
                "that the paper proves for Restarting, up to logarithms.",
            )  # fmt: skip

    def growth(self, axis: str, word: str, errors: Mapping[str, BySize], text: str) -> None:
        """Show errors against T, C or K, one panel per title, if there is anything to draw."""
        best = {
            title: {self.names[n]: row[n] for n in self.order[:MOST_LINES] if n in row}
            for title, row in errors.items()
        }
        figures = growth_figures(best, self.measure, axis)
        if not figures:
            return
        shown = {title: figures[title] for title in spread_out(list(figures), MOST_PANELS)}
        if len(figures) > len(shown) or len(self.order) > MOST_LINES:
            text += (
                f" {len(shown)} of {len(figures)} {'streams' if axis == 'T' else 'families'} are "
                f"shown, the best {MOST_LINES} forecasters on each."
            )
        self.page.section(f"Error against the {word}", text)
        self.figure(
            f"error-against-{axis}",
            panels(shown),
            f"Mean {self.error} against the {word} {axis}.{omissions(shown)}",
            f"Line charts of {self.error} against the {word} on logarithmic axes, one per stream: "
            f"{', '.join(shown)}.",
            panels(shown, columns=1),
        )

    def claims_measured(self) -> None:
        """Show the paper's claims and their measurements."""
        self.page.section(
            "The paper's claims, measured",
            "Each row is a rate that the paper proves, and the exponent that was fitted to the "
            "measured errors with the claimed power of the logarithm held fixed. A claim passes "
            "when the interval of the fitted exponent ends at most 0.08 above the claimed one, "
            "and the forecaster beats its null, the best in hindsight of several fixed grids. "
            + findings.verdicts(self.claims)
            + " (C) is given the deviation; paper has the constants as printed.",
        )
        for axis in ("T", "C", "K"):
            figures = claim_panels(self.claims, axis)
            if figures:
                self.figure(
                    f"claims-in-{axis}",
                    panels(figures),
                    f"Measured errors against {axis}, beside the claimed slope. Only the "
                    "steepness of a grey line means something. Forecasters with the printed "
                    "constants, if there are any, are in the table alone.",
                    f"Line charts on logarithmic axes: {', '.join(figures)}.",
                    panels(figures, columns=1),
                )
        self.page.table(
            ["error", "world", "claim", "forecaster", "in", "claimed", "fitted", "95%",
             "plain", "null", "level", "over bound", "verdict"],
            [
                [
                    c.error, c.situation, c.claim, claim_name(c), c.axis, c.claimed_exponent,
                    round(c.fitted, 3), findings.interval(c.low, c.high),
                    *(
                        float("nan") if value is None else round(value, 3)
                        for value in (c.plain, c.null_plain, c.level, c.over_lower_bound)
                    ),
                    c.verdict,
                ]
                for c in self.claims
            ],
            "Claimed and fitted exponents, with a bootstrap interval of the fitted one; the "
            "exponents without a logarithm of the forecaster and of its null, and its errors over "
            "the null's; and the last mean error over the lower bound at that size, where there "
            "is one.",
        )  # fmt: skip
        reasons = findings.reasons(self.claims)
        if reasons:
            self.page.text(["Why some do not pass:", *reasons])

    def replayed(self) -> None:
        """Show single tasks of the results, run again."""
        real = gallery.real_stream(self.results, self.measure)
        moving = gallery.moving_stream(self.results, self.measure)
        if real is None or moving is None:
            return  # all tasks have too many rounds
        self.page.section(
            "Examples, run again",
            "Single tasks, run again from the parameters and seeds in the results.",
        )
        for show, stream in (
            (gallery.reliability, real),
            (gallery.through_time, moving),
            (gallery.restarts, moving),
            (gallery.points, moving),
        ):
            self.advance(f"running again: {show.__name__.replace('_', ' ')}")
            try:
                shown = show(self.results, self.measure, stream)
            except (ValueError, OSError) as error:
                # A file may have been moved, or a parameter removed, since the results were
                # computed.
                self.page.text(f"A task could not be run again: {error}.")
            else:
                if shown is not None:
                    self.figure(*shown, narrow=drawn(shown.figure, *PHONE))

    def provenance(self) -> None:
        """Say which tasks the numbers come from."""
        self.page.section(
            "What was run",
            [
                f"{findings.count(len(self.results.all), 'task')}: "
                f"{findings.count(len(self.results.forecasters), 'forecaster')} on "
                f"{findings.count(len(self.results.streams), 'stream')}, "
                f"{show_seeds(self.results.seeds)}.",
                f"Forecasters: {'; '.join(self.results.forecasters)}.",
                f"Streams: {'; '.join(self.results.streams)}.",
                "The numbers are in results.parquet beside this page, the figures in figures/.",
            ],
        )

    def figure(
        self,
        name: str,
        figure: Drawable | Figure,
        caption: str,
        alt: str,
        narrow: Figure | None = None,
    ) -> None:
        """Put a figure on the page, `narrow` for phones, and into the folder."""
        self.advance(f"drawing {name}")
        sheet = drawn(figure)
        self.page.figure(sheet, caption, alt, narrow=narrow)
        for ending, content in (("svg", as_svg(sheet).encode()), ("png", as_png(sheet))):
            with replacing(self.folder / "figures" / f"{name}.{ending}") as file:
                file.write(content)

    def renamed(self, means: findings.Means) -> dict[str, dict[str, float]]:
        """Return errors under the names shown to readers."""
        return {
            self.streams[stream]: {self.names[name]: error for name, error in row.items()}
            for stream, row in means.items()
        }
