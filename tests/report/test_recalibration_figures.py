"""The panels: their numbers are the library's, and raw and calibrated look the same in all."""

import datetime as dt
import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.dates import num2date

from calibrant.measures import ReliabilityTable, Scorecard, brier, ece, log_loss
from calibrant.measures.chance import chance_ece, chance_mean
from calibrant.report.figures import (
    ErrorThroughTime,
    MeanThroughTime,
    ReliabilityDiagram,
    ScoreMap,
)
from calibrant.report.figures.axes import logit_ends
from calibrant.report.page import prose
from calibrant.report.recalibration_page import shown_window
from calibrant.report.style import BEFORE_AFTER, SERIES, show_number
from calibrant.report.timeline import Timeline
from report.made_streams import STREAMS, made, report_of

RAW, CALIBRATED = BEFORE_AFTER["raw"].color, BEFORE_AFTER["calibrated"].color


def cells(text, name):
    """Return the numbers of a row of the page's first table."""
    row = re.search(rf'<th scope="row">{name}</th>(.*?)</tr>', text).group(1)
    return re.findall(r'<td class="number">(.*?)</td>', row)


@pytest.mark.parametrize("name", ["wrong", "rare", "late"])
def test_the_numbers_of_the_page_are_those_of_the_library(name):
    report = report_of(name)
    scores, calibrated, outcomes, _ = made(name)
    text = report.html()
    for title, measure in (("Brier score", brier), ("log loss", log_loss), ("ECE, 20 bins", ece)):
        expected = [measure(scores, outcomes), measure(calibrated, outcomes)]
        assert cells(text, title) == [show_number(value, fine=True) for value in expected]
    for sentence in report.verdict.sentences:
        assert prose(sentence) in text


def test_distinct_values_are_no_measure():
    """They stand in the caption, not under "lower is better"."""
    text = report_of("wrong").html()
    assert '<th scope="row">distinct' not in text
    assert "Distinct probabilities: " in text


@pytest.mark.parametrize("name", STREAMS)
def test_raw_and_calibrated_have_one_colour_each_in_every_figure(name):
    report = report_of(name)
    both, looks = report.measures, BEFORE_AFTER
    for column, color in (("raw", RAW), ("calibrated", CALIBRATED)):
        diagram = ReliabilityDiagram({column: both.reliability[column]}, None, looks).plot()
        assert to_hex(diagram.lines[1].get_color()) == color
    for figure in (
        MeanThroughTime.from_several(report.predictions, report.outcomes, window=10, looks=looks),
        ErrorThroughTime.from_several(report.predictions, report.outcomes, window=10, looks=looks),
    ):
        lines = {line.get_label(): to_hex(line.get_color()) for line in figure.plot().lines}
        assert lines["raw"] == RAW
        assert lines["calibrated"] == CALIBRATED
    now = ScoreMap.from_recalibrator(report.recalibrator, report.scores).plot()
    lines = {line.get_label(): to_hex(line.get_color()) for line in now.lines}
    assert lines == {"as it is": RAW, "calibrated": CALIBRATED}
    # On the page, each drawing has the variables of both colours alone.
    series = {f"--series-{SERIES.index(look) + 1}" for look in looks.values()}
    assert set(re.findall(r"(?:fill|stroke): var\((--series-\d)\)", report.html())) <= series


def test_rare_events_have_bins_of_equal_mass_and_the_logit_scale():
    both = report_of("rare").measures
    assert both.reliability["raw"].scheme == "mass"
    assert report_of("wrong").measures.reliability["raw"].scheme == "width"
    scores, _, outcomes, _ = made("rare")
    table = both.reliability["raw"]
    order = np.argsort(scores)
    assert isinstance(table, ReliabilityTable)
    assert table.count.tolist() == [6000] * 10
    for at, rows in enumerate(np.split(order, 10)):
        assert table.mean_prediction[at] == pytest.approx(scores[rows].mean())
        assert table.mean_outcome[at] == pytest.approx(outcomes[rows].mean())
        assert (table.lower[at], table.upper[at]) == (scores[rows].min(), scores[rows].max())
    ax = ReliabilityDiagram({"raw": table}, logit_ends(table.mean_prediction)).plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert [label.get_text() for label in ax.get_xticklabels()][-1].endswith("%")
    assert "a tenth of the rounds" in report_of("rare").html()


def test_bins_of_equal_mass_keep_equal_predictions_together():
    table = ReliabilityDiagram.from_predictions([0.1] * 7 + [0.5] * 3, [0] * 10, bins=2).tables
    assert table["forecast"].count.tolist() == [7, 3]
    flat = report_of("tiny").measures.calibrated.reliability(10, scheme="mass")
    assert flat.count.sum() == 30
    used = flat.count > 0
    assert all(
        high < low
        for (_, high), (low, _) in pairwise(zip(flat.lower[used], flat.upper[used], strict=True))
    )


def test_means_through_time_are_those_of_the_windows():
    report = report_of("wrong")
    figure = MeanThroughTime.from_several(report.predictions, report.outcomes, window=700)
    said = report.predictions["calibrated"]
    assert figure.rounds.tolist() == list(range(700, 5000, 700))  # the last 100 are too few
    for at, stop in enumerate(figure.rounds):
        span = slice(stop - 700, stop)
        assert figure.observed[at] == pytest.approx(report.outcomes[span].mean())
        assert figure.predicted["raw"][at] == pytest.approx(report.predictions["raw"][span].mean())
        assert figure.chance[at] == pytest.approx(chance_mean(said[span]))


def test_dates_stand_on_the_axis_of_time():
    report = report_of("wrong")
    moments = report.timeline.moments
    cards = {name: Scorecard(100) for name in report.predictions}
    for name, card in cards.items():
        card.extend(report.predictions[name], report.outcomes)
    figure = ErrorThroughTime.from_cards(cards, window=500, times=moments)
    ax = figure.plot()
    first, last = (num2date(at).replace(tzinfo=None) for at in ax.get_xlim())
    assert first == dt.datetime(2024, 3, 1)
    assert last == dt.datetime(2024, 3, 1) + dt.timedelta(minutes=4999)
    p = report.predictions["calibrated"]
    expected = [chance_ece(p[at : at + 500], at_most=True) for at in range(0, 5000, 500)]
    assert figure.chance == pytest.approx(expected)
    errors = [ece(p[at : at + 500], report.outcomes[at : at + 500]) for at in range(0, 5000, 500)]
    assert figure.curves["calibrated"].error == pytest.approx(errors)


def test_times_have_no_digits_that_say_nothing():
    rows = np.arange(2)
    fine = np.array(["2024-01-01T10:30:00.123456789", "2024-01-01T10:31:05.5"], "datetime64[ns]")
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    zoned = ["2024-01-01T10:30:00+02:00", "2024-01-01T10:31:00+02:00"]
    for times, shown in (
        (fine, "2024-01-01 10:31:05"),
        (days, "2024-01-02"),
        (zoned, "2024-01-01 08:31 UTC"),
        ([1.5, 2.5], "2.5"),
        (["dawn", "noon"], "noon"),
        (None, "round 2"),
    ):
        assert Timeline.from_times(times, rows, 2).name(1) == shown
    assert Timeline.from_times([2, 1], rows, 2).moments is None  # no axis runs backwards
    assert Timeline.from_times(["dawn", "noon"], rows, 2).moments is None


def test_the_map_is_what_the_recalibrator_would_say():
    report = report_of("groups")
    groups = [part.group for part in report.measures.groups[:2]]
    now = ScoreMap.from_recalibrator(report.recalibrator, report.scores, groups=groups, points=5)
    assert (now.scores[0], now.scores[-1]) == (report.scores.min(), report.scores.max())
    for group in groups:
        expected = [report.recalibrator.expected(score, by=group) for score in now.scores.tolist()]
        assert now.maps[group].tolist() == expected
    with pytest.raises(ValueError, match="at least one"):
        ScoreMap.from_recalibrator(report.recalibrator, [])


def test_windows_in_figures_are_neither_too_many_nor_too_few():
    for rounds in (30, 99, 100, 2000, 3000, 5000, 262_000, 3_000_000):
        window = shown_window(rounds, 1000)
        assert window is None if rounds < 100 else 4 <= rounds / window <= 150
