"""Error growth, who wins where, and how points spread: their numbers, and what is drawn."""

import matplotlib as mpl
import numpy as np
import pytest

from calibrant import Zoom
from calibrant.experiments.panels import panels
from calibrant.report.figures import ErrorGrowth, PointSpread, ReliabilityDiagram, Slope, WinnerMap
from calibrant.report.style import SERIES, as_png, as_svg
from calibrant.streams import piecewise

ERRORS = {
    "zoom": {1000: [1.0, 2.0, 3.0], 100: [2.0, 2.0, 2.0], 10_000: [4.0, 8.0, 6.0]},
    "epoch": {100: [5.0], 1000: [50.0], 10_000: [500.0]},
}
ROWS = {
    "iid": {"zoom": 10.0, "epoch": 8.0},
    "still": {"zoom": 0.5, "epoch": 0.0},
    "drift": {"zoom": 16.0, "epoch": 4_483.0, "k29": 16.0},
    "rare": {"zoom": 0.25, "epoch": float("inf")},
}


@pytest.fixture(scope="module")
def growth():
    return ErrorGrowth.from_errors(ERRORS, slopes=[Slope("T^(1/2)", 1 / 2), Slope("T", 1.0)])


@pytest.fixture(scope="module")
def winners():
    return WinnerMap.from_errors(ROWS)


@pytest.fixture(scope="module")
def game():
    stream = piecewise(3_000, segments=3, seed=5)
    return Zoom(seed=1).run(stream.outcomes), stream.means


# -- error growth ------------------------------------------------------------------------------


def test_growth_has_mean_and_spread_of_each_size(growth):
    zoom = growth.curves["zoom"]
    assert zoom.sizes.tolist() == [100, 1000, 10_000]
    for size, mean, spread in zip(zoom.sizes, zoom.mean, zoom.spread, strict=True):
        errors = ERRORS["zoom"][size]
        assert mean == sum(errors) / 3
        assert spread == pytest.approx((sum((e - mean) ** 2 for e in errors) / 3) ** 0.5)


def test_growth_draws_lines_bands_and_slopes(growth):
    ax = growth.plot()
    zoom, epoch, root, linear = ax.lines
    assert zoom.get_ydata().tolist() == [2.0, 2.0, 6.0]
    assert epoch.get_xdata().tolist() == [100, 1000, 10_000]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rounds T", "Cal2")
    assert len(ax.collections) == 2  # the bands
    for line, exponent in ((root, 0.5), (linear, 1.0)):
        x, y = np.log(line.get_data())
        assert np.diff(y) / np.diff(x) == pytest.approx(exponent)
    assert [text.get_text() for text in ax.texts] == ["T^(1/2)", "T"]
    looks = {(line.get_linestyle(), line.get_marker()) for line in (zoom, epoch)}
    assert len(looks) == 2


def test_a_slope_with_a_logarithm_grows_as_claimed():
    sizes = [10.0, 1000.0, 1e6]
    expected = [size**0.25 * np.log(size) ** 2 for size in sizes]
    assert Slope("claimed", 0.25, 2.0).at(sizes) == pytest.approx(expected)


def test_growth_of_zero_and_of_one_size_can_be_drawn():
    nothing = ErrorGrowth.from_errors({"zoom": {10: [0.0], 100: [0.0, 1.0]}}, axis="K")
    assert nothing.plot().lines[0].get_xdata().tolist() == [100]
    assert "segments K" in as_svg(nothing, text=True)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({}, "at least one forecaster"),
        ({"a": {}}, "errors of 'a' must hold at least one size"),
        ({"a": {0: [1.0]}}, "sizes above 0"),
        ({"a": {10: []}}, "at least one seed"),
        ({"a": {10: ["x"]}}, "errors of 'a' at 10 must be numbers"),
    ],
)
def test_growth_refuses_what_it_cannot_draw(errors, said):
    with pytest.raises(ValueError, match=said):
        ErrorGrowth.from_errors(errors)


def test_growth_refuses_an_unknown_axis():
    with pytest.raises(ValueError, match="axis must be one of 'T', 'C', 'K'"):
        ErrorGrowth.from_errors(ERRORS, axis="N")


def test_panels_share_one_legend(growth):
    sheet = panels({"one": growth, "two": growth, "three": growth})
    assert [ax.get_title(loc="left") for ax in sheet.axes] == ["one", "two", "three"]
    assert all(ax.get_legend() is None for ax in sheet.axes)
    assert [text.get_text() for text in sheet.legends[0].get_texts()] == ["zoom", "epoch"]
    assert panels({"one": growth}, legend=False).legends == []


# -- who wins where ----------------------------------------------------------------------------


def test_ratios_are_to_the_smallest_of_the_row(winners):
    assert winners.forecasters == ("zoom", "epoch", "k29")
    for stream, ratios in zip(ROWS.values(), winners.ratios, strict=True):
        smallest = min(stream.values())
        for name, ratio in zip(winners.forecasters, ratios, strict=True):
            if name not in stream:
                assert np.isnan(ratio)
            elif stream[name] == smallest:
                assert ratio == 1.0
            else:
                assert ratio == (stream[name] / smallest if smallest else np.inf)
    assert winners.winners.tolist() == [
        [False, True, False], [False, True, False], [True, False, True], [True, False, False],
    ]  # fmt: skip


def test_the_map_shows_numbers_and_frames_the_winners(winners):
    ax = winners.plot()
    assert [text.get_text() for text in ax.texts] == [
        "10", "8", "0.5", "0", "16", "4.48k", "16", "0.25", "inf",
    ]  # fmt: skip
    frames = {(round(f.get_x() - 0.05), round(f.get_y() - 0.08)) for f in ax.patches}
    assert frames == {(1, 0), (1, 1), (0, 2), (2, 2), (0, 3)}
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ROWS)
    bold = {text.get_text() for text in ax.texts if text.get_fontweight() == "bold"}
    assert bold == {"8", "0", "16", "0.25"}


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({}, "at least one stream"),
        ({"iid": {"zoom": float("nan")}}, "none for 'iid'"),
        ({"iid": {"zoom": -1.0}}, "must not be negative, got -1.0 for 'iid'"),
    ],
)
def test_the_map_refuses_what_it_cannot_show(errors, said):
    with pytest.raises(ValueError, match=said):
        WinnerMap.from_errors(errors)


# -- how points spread -------------------------------------------------------------------------


def test_points_have_their_first_round_and_their_visits(game):
    predictions, means = game
    spread = PointSpread.from_predictions(predictions, means=means, stretches=30, bins=10)
    said = predictions.tolist()
    assert spread.points.tolist() == sorted(set(said))
    assert spread.first.tolist() == [said.index(point) for point in spread.points]
    assert spread.visits.tolist() == [said.count(point) for point in spread.points]
    for at in range(30):
        part = predictions[100 * at : 100 * (at + 1)]
        cells = np.minimum((part * 10).astype(int), 9)
        assert spread.density[at].tolist() == [(cells == cell).mean() for cell in range(10)]
        assert spread.means[at] == means[100 * at + 50]


def test_points_are_drawn_with_their_visits_and_the_mean(game):
    predictions, means = game
    spread = PointSpread.from_predictions(predictions, means=means)
    ax = spread.plot()
    (rings,) = ax.collections
    assert rings.get_offsets().tolist() == np.column_stack([spread.first, spread.points]).tolist()
    most, least = spread.visits.argmax(), spread.visits.argmin()
    assert rings.get_sizes()[most] > rings.get_sizes()[least]
    assert ax.lines[0].get_ydata().tolist() == spread.means.tolist()
    assert ax.get_ylim() == (0, 1)
    assert ax.get_xlim() == (0, 3_000)
    assert len(PointSpread.from_predictions(predictions).plot().lines) == 0


def test_points_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="at least one round"):
        PointSpread.from_predictions([])
    with pytest.raises(ValueError, match="means and predictions must have the same length"):
        PointSpread.from_predictions([0.5, 0.5], means=[0.5])
    with pytest.raises(ValueError, match="bins"):
        PointSpread.from_predictions([0.5], bins=0)


# -- all of them -------------------------------------------------------------------------------


def test_files_never_differ_and_no_setting_changes(growth, winners, game):
    before = dict(mpl.rcParams)
    for figure in (growth, winners, PointSpread.from_predictions(game[0])):
        assert as_svg(figure) == as_svg(figure)
        assert as_png(figure, dots_per_inch=50) == as_png(figure, dots_per_inch=50)
    assert dict(mpl.rcParams) == before


def test_series_can_be_told_apart_without_colour():
    assert len({look.dashes for look in SERIES}) == len(SERIES)
    assert len({look.marker for look in SERIES}) == len(SERIES)


def test_without_matplotlib_the_numbers_are_there_and_drawing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    diagram = ReliabilityDiagram.from_predictions([0.5], [1])
    assert diagram.tables["forecast"].count.sum() == 1
    with pytest.raises(ImportError, match=r"pip install 'calibrant\[plot\]'"):
        diagram.plot()
