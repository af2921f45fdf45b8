"""The reliability diagram and the error through time: their numbers, and what is drawn."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant import Restarting
from calibrant.measures import brier, cal1, cal2, ece, klcal, log_loss
from calibrant.report.figures import ErrorThroughTime, ReliabilityDiagram
from calibrant.report.style import as_png, as_svg

MEASURES = {
    "cal1": cal1, "cal2": cal2, "klcal": klcal, "brier": brier, "log_loss": log_loss,
    "ece": lambda p, y: ece(p, y, bins=20),
}  # fmt: skip


@pytest.fixture
def rounds():
    rng = np.random.default_rng(0)
    predictions = rng.integers(1, 20, 1_030) / 20
    return predictions, (rng.random(1_030) < predictions**1.3).astype(float)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_reliability_counts_bin_by_bin(rounds):
    predictions, outcomes = rounds
    table = ReliabilityDiagram.from_predictions(predictions, outcomes, bins=7).tables["forecast"]
    for at in range(7):
        inside = [t for t, p in enumerate(predictions) if at / 7 <= p < (at + 1) / 7]
        assert table.count[at] == len(inside)
        assert table.mean_prediction[at] == pytest.approx(np.mean(predictions[inside]))
        assert table.mean_outcome[at] == pytest.approx(np.mean(outcomes[inside]))
        assert table.interval_low[at] < table.mean_outcome[at] < table.interval_high[at]


def test_reliability_draws_points_intervals_and_counts(rounds):
    predictions, outcomes = rounds
    several = {"before": predictions, "after": np.full(1_030, outcomes.mean())}
    diagram = ReliabilityDiagram.from_several(several, outcomes, bins=10)
    ax = diagram.plot()
    diagonal, before, after = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    table = diagram.tables["before"]
    assert before.get_ydata() == pytest.approx(table.mean_outcome)
    assert len(after.get_xdata()) == 1  # empty bins are not drawn
    bars = ax.collections[0].get_segments()
    assert [bar[0][1] for bar in bars] == pytest.approx(table.interval_low)
    assert [bar[1][1] for bar in bars] == pytest.approx(table.interval_high)
    assert labels(ax) == ["before", "after"]
    (strip,) = ax.child_axes
    assert [bar.get_height() for bar in strip.patches[:10]] == table.count.tolist()
    assert strip.get_xlabel().startswith("predicted")


def test_a_point_of_few_rounds_is_faint_and_off_the_line():
    predictions = np.repeat([0.25, 0.55, 0.95], [600, 400, 4])
    ax = ReliabilityDiagram.from_predictions(predictions, np.ones(1_004), bins=10).plot()
    _, line, rare = ax.lines
    assert line.get_xdata() == pytest.approx([0.25, 0.55])
    assert rare.get_xdata() == pytest.approx([0.95])
    assert rare.get_alpha() < 0.5
    assert rare.get_linestyle() == "None"
    assert labels(ax) == ["forecast"]


@pytest.mark.parametrize("measure", MEASURES)
def test_errors_so_far_are_those_of_the_first_rounds(rounds, measure):
    predictions, outcomes = rounds
    curve = ErrorThroughTime.from_predictions(
        predictions, outcomes, measure=measure, moments=7
    ).curves["forecast"]
    assert curve.rounds[-1] == 1_030
    assert len(curve.rounds) == 7
    expected = [MEASURES[measure](predictions[:t], outcomes[:t]) for t in curve.rounds]
    assert curve.error == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES)
def test_errors_of_windows_are_those_of_their_rounds_alone(rounds, measure):
    predictions, outcomes = rounds
    curve = ErrorThroughTime.from_predictions(
        predictions, outcomes, measure=measure, window=100
    ).curves["forecast"]
    # The last 30 rounds are less than half a window.
    assert curve.rounds.tolist() == list(range(100, 1_001, 100))
    expected = [
        MEASURES[measure](predictions[t - 100 : t], outcomes[t - 100 : t]) for t in curve.rounds
    ]
    assert curve.error == pytest.approx(expected)


def test_a_last_window_of_half_its_rounds_or_more_is_kept(rounds):
    predictions, outcomes = rounds
    figure = ErrorThroughTime.from_predictions(predictions, outcomes, window=60)
    assert figure.curves["forecast"].rounds[-1] == 1_020
    figure = ErrorThroughTime.from_predictions(predictions[:1_015], outcomes[:1_015], window=30)
    assert figure.curves["forecast"].rounds[-1] == 1_015


def test_restarts_and_certificates_are_those_of_the_forecaster_stepped_by_hand():
    outcomes = np.random.default_rng(1).random(6_000) < np.repeat([0.2, 0.8, 0.3], 2_000)
    figure = ErrorThroughTime.from_restarting(Restarting(seed=3), outcomes, moments=60)
    curve = figure.curves["Restarting"]
    stepped = Restarting(seed=3)
    errors, thresholds, starts = [], [], []
    for t, outcome in enumerate(outcomes, 1):
        stepped.update(outcome)
        current = stepped.history[-1]
        if current.start not in (0, *starts):
            starts.append(current.start)
        if t in curve.rounds:
            errors.append(current.error)
            thresholds.append(current.threshold)
    assert curve.restarts.tolist() == starts
    assert len(starts) >= 2
    assert curve.error.tolist() == errors
    assert curve.certificate.tolist() == thresholds
    ax = figure.plot()
    assert labels(ax) == ["Restarting", "certificate of Restarting", "restarts of Restarting"]
    marks = ax.lines[-1]
    assert marks.get_marker() == "^"
    assert marks.get_xdata().tolist() == starts
    assert ax.get_ylabel() == "Cal2 since the last restart"


def test_time_draws_every_forecaster_and_its_restarts(rounds):
    predictions, outcomes = rounds
    figure = ErrorThroughTime.from_several(
        {"a": predictions, "b": 1 - predictions}, outcomes, window=100, restarts={"b": [500]}
    )
    ax = figure.plot()
    assert labels(ax) == ["a", "b", "restarts of b"]
    assert ax.get_xlim() == (0, 1_000)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > figure.curves["b"].error.max()
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()  # told apart in grey


def test_drawing_changes_no_setting_and_uses_the_axes_given(rounds):
    before = dict(mpl.rcParams)
    mine = Figure().add_subplot()
    for figure in (
        ReliabilityDiagram.from_predictions(*rounds),
        ErrorThroughTime.from_predictions(*rounds),
    ):
        assert figure.plot(ax=mine) is mine
        as_png(figure)
    assert dict(mpl.rcParams) == before


def test_files_never_differ(rounds):
    for figure in (
        ReliabilityDiagram.from_predictions(*rounds),
        ErrorThroughTime.from_predictions(*rounds),
    ):
        for text in (True, False):
            assert as_svg(figure, text=text) == as_svg(figure, text=text)
            assert "dc:date" not in as_svg(figure, text=text)
        assert as_png(figure) == as_png(figure)
        assert as_png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("build", [ReliabilityDiagram, ErrorThroughTime])
def test_bad_input_is_refused(build):
    with pytest.raises(ValueError, match="at least one round"):
        build.from_predictions([], [])
    with pytest.raises(ValueError, match="same length"):
        build.from_predictions([0.5], [0, 1])
    with pytest.raises(ValueError, match=r"predictions must be in \[0, 1\].*position 1"):
        build.from_predictions([0.5, 2.0], [0, 1])
    with pytest.raises(ValueError, match="at least one forecaster"):
        build.from_several({}, [0, 1])


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="bins"):
        ReliabilityDiagram.from_predictions([0.5], [1], bins=0)
    with pytest.raises(ValueError, match="measure must be one of 'cal1'"):
        ErrorThroughTime.from_predictions([0.5], [1], measure="auc")
    with pytest.raises(ValueError, match="window"):
        ErrorThroughTime.from_predictions([0.5], [1], window=0)
    with pytest.raises(ValueError, match="moments"):
        ErrorThroughTime.from_predictions([0.5], [1], moments=0)
    used = Restarting()
    used.update(1)
    with pytest.raises(ValueError, match="fresh Restarting"):
        ErrorThroughTime.from_restarting(used, [1])


@pytest.mark.parametrize("saved", [as_png, as_svg])
def test_figures_do_not_need_tex_whatever_a_matplotlibrc_says(rounds, saved):
    with mpl.rc_context({"text.usetex": True}):
        assert saved(ReliabilityDiagram.from_predictions(*rounds))
