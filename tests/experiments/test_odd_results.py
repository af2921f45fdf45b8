"""Reports of results that are few, infinite, equal, or of an unusual measure."""

import itertools
import math
import re

import numpy as np
import pytest

from calibrant.experiments import findings, plan, sweep
from calibrant.experiments.labels import show_seeds, show_stream, show_streams, spread_out
from calibrant.experiments.sweep_page import write_report
from calibrant.report.figures import ErrorGrowth, ErrorThroughTime, Slope, WinnerMap

pytestmark = pytest.mark.long

INF = math.inf


def page_of(folder, forecasters, streams, horizons, seeds, measures):
    """Return the words of a report, and the names of its figures."""
    sweep(plan(forecasters, streams, horizons, seeds), folder, measures=measures, workers=1)
    text = write_report(folder).read_text("utf-8")
    text = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", text, flags=re.DOTALL)
    words = re.sub(r"<[^>]*>", " ", text)
    assert not re.search(r"\b(nan|None)\b", words)
    assert not re.search(r"\b1 (streams|seeds|forecasters|tasks|points)\b", words)
    return words, {path.stem for path in (folder / "figures").iterdir()}


def test_one_forecaster_wins_nothing(tmp_path):
    words, figures = page_of(tmp_path, ["zoom"], ["drift"], [100], 1, ["cal1", "cal2"])
    assert "zoom was run alone" in words
    assert "smallest" not in words
    assert "Numbers are those of one seed, after 100 rounds." in words
    assert "1 task: 1 forecaster on 1 stream, seed 0." in words
    assert "number of rounds stay flat" not in words  # there is one number of rounds
    assert "Mean errors of zoom." in words
    assert figures == {"reliability", "error-through-time", "points"}


def test_forecasters_that_do_equally_well(tmp_path):
    words, _ = page_of(tmp_path, ["zoom", "epoch"], ["iid:mean=0.5"], [1], 3, ["cal2"])
    assert "epoch does as well." in words or "zoom does as well." in words
    assert "seeds 0 to 2" in words


def test_infinite_errors(tmp_path):
    """Forecasters that say 0 and 1 and are wrong: of everyone's on one stream, of some on both."""
    words, figures = page_of(
        tmp_path, ["aosa", "k29"], ["iid:mean=0.05", "piecewise"], [100, 1000], 2, ["klcal"]
    )
    assert "aosa has the smallest mean KLCal on 1 of 1 stream." in words
    assert "On 1 stream, all are infinite." in words
    assert "What is 0 or infinite is not drawn." in words
    assert "What is infinite is not drawn." in words
    assert {"who-wins-where", "error-against-T"} <= figures


def test_nothing_but_infinite_errors(tmp_path):
    words, figures = page_of(
        tmp_path, ["k29", "aosa"], ["iid:mean=0.05"], [900, 1000], 2, ["klcal"]
    )
    assert "Mean KLCal is infinite for all, on every stream: there is no winner." in words
    # Through time, the first rounds can be drawn.
    assert figures == {"who-wins-where", "reliability", "error-through-time"}


def test_scores_that_are_no_calibration_errors(tmp_path):
    words, _ = page_of(tmp_path, ["zoom", "epoch"], ["drift"], [100], 2, ["brier", "log_loss"])
    assert "Brier score rewards calibration and sharpness together" in words
    assert "calibration error" not in words


def test_smooth_calibration_can_be_ranked_by(tmp_path):
    words, _ = page_of(tmp_path, ["zoom", "epoch"], ["drift"], [100], 2, ["smooth_calibration"])
    assert "Smooth calibration is a calibration error" in words


def test_growth_draws_what_is_finite():
    growth = ErrorGrowth.from_errors(
        {"k29": {10: [INF, INF], 100: [1.0, INF], 1000: [3.0, 5.0]}}, slopes=[Slope("T", 1.0)]
    )
    assert growth.curves["k29"].drawable.tolist() == [False, False, True]
    line, guide = growth.plot().lines
    assert line.get_ydata().tolist() == [4.0]
    assert np.isfinite(guide.get_ydata()).all()


def test_time_tells_whether_all_is_finite():
    said, happened = [0.5, 0.0, 0.5], [1, 1, 0]
    assert not ErrorThroughTime.from_predictions(said, happened, measure="klcal").is_finite
    assert ErrorThroughTime.from_predictions(said, happened, measure="cal2").is_finite


def test_nobody_wins_where_all_are_infinite():
    chart = WinnerMap.from_errors({"a": {"x": INF, "y": INF}, "b": {"x": INF, "y": 2.0}})
    assert chart.winners.tolist() == [[False, False], [False, True]]
    assert chart.ratios.tolist() == [[INF, INF], [INF, 1.0]]
    assert len(chart.plot().patches) == 1
    assert findings.losses({"a": {"x": INF, "y": INF}}, "x") == []


def test_a_map_of_means_shows_their_digits():
    chart = WinnerMap.from_errors({"a": {"x": 0.2421, "y": 0.2489}, "b": {"x": 0.004, "y": 1.25}})
    assert [text.get_text() for text in chart.plot().texts] == ["0.242", "0.249", "0.004", "1.25"]


def test_the_scale_of_a_narrow_map_has_room():
    figure = WinnerMap.from_errors({"a": {"x": 1.0}}).plot().get_figure()
    figure.draw_without_rendering()
    bar = figure.axes[1]
    boxes = [label.get_window_extent() for label in bar.get_xticklabels()]
    assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(boxes))
    words = bar.xaxis.label.get_window_extent()
    assert words.x0 >= 0
    assert words.x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("file:a#1.csv#y", "a#1.csv, y"),
        ("file:b/a, b.csv#y", "a, b.csv, y"),
        ("file:c/a.csv", "a.csv"),
    ],
)
def test_files_with_unusual_names(spec, shown):
    assert show_stream(spec) == shown


def test_streams_that_would_be_called_the_same_keep_their_specs():
    twins = ["drift:share=0.12341", "drift:share=0.12342"]
    shown = show_streams([*twins, "iid:mean=0.5"])
    assert shown == {spec: spec for spec in twins} | {"iid:mean=0.5": "iid, mean=0.5"}


def test_what_is_many_in_few_words():
    assert [show_seeds(seeds) for seeds in ([0], [3, 7], [0, 1, 2, 3])] == [
        "seed 0", "seeds 3, 7", "seeds 0 to 3",
    ]  # fmt: skip
    assert spread_out(["a", "b", "c", "d", "e"], 3) == ["a", "c", "e"]
    assert findings.interval(-0.004, 0.251).split() == ["0.00", "to", "0.25"]
