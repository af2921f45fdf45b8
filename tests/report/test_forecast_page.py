"""The page of a forecast: its findings, its figures, and the picture of what was drawn on."""

import numpy as np
import pytest

from calibrant import EventForecaster, Zoom
from calibrant.forecasters.memories import Memory, describe_experts, family_of
from calibrant.measures import brier, log_loss
from calibrant.report import forecasting
from calibrant.report.figures import MemoryThroughTime
from calibrant.streams import cycle, markov


def looked(outcomes, parts):
    forecaster, said, looks = EventForecaster(), [], []
    for part in np.array_split(outcomes, parts):
        said.append(forecaster.run(part))
        looks.append((forecaster.rounds, forecaster.weights()))
    return np.concatenate(said), looks


@pytest.fixture(scope="module")
def report():
    outcomes = np.concatenate([markov(2000, order=2, seed=1).outcomes, cycle(2000).outcomes])
    said, looks = looked(outcomes, 20)
    made = {"command": "calibrant forecast <here>"}
    both = {"event-forecaster": said, "zoom": Zoom().run(outcomes)}
    return forecasting(both, outcomes, memories=looks, made=made, title="Rain & snow")


def test_what_was_drawn_on_changes_with_the_stream(report):
    shares = MemoryThroughTime.from_looks(report.memories).shares
    total = np.sum(list(shares.values()), axis=0)
    np.testing.assert_allclose(total, 1.0, atol=1e-9)
    assert shares["the last outcomes"][9] > 0.9
    assert shares["seasons"][-1] > 0.9
    assert next(iter(shares)) in ("the last outcomes", "seasons")


def test_every_memory_belongs_to_a_family_that_has_a_line():
    words = describe_experts([0.1], 13, [(7, 7), (24, 24)], 3600.0)
    families = {family_of(each) for each in words}
    assert len(families) == 6  # lines are told apart by dashes up to seven
    with pytest.raises(ValueError, match="looks"):
        MemoryThroughTime.from_looks([])


def test_lines_have_the_numbers(report):
    figure = MemoryThroughTime.from_looks(report.memories)
    lines = figure.plot().get_lines()
    assert [line.get_label() for line in lines] == list(figure.shares)
    for line, shares in zip(lines, figure.shares.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), shares)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(200, 4001, 200))


def test_findings_say_what_was_measured(report):
    losses = [log_loss(said, report.outcomes) for said in report.predictions.values()]
    assert f"Log loss {losses[0]:.4f} against {losses[1]:.4f} of zoom" in report.findings[0]
    assert "sharper by" in report.findings[0]
    swapped = dict(reversed(report.predictions.items()))
    assert "blunter by" in forecasting(swapped, report.outcomes).findings[0]
    assert len(forecasting(swapped, report.outcomes).findings) == 2  # no word of memories


def test_the_page(report):
    html = report.html()
    assert "Rain &amp; snow" in html
    assert "calibrant forecast &lt;here&gt;" in html
    assert "What the forecasts drew on" in html
    assert f"{brier(report.predictions['zoom'], report.outcomes):.4f}" in html
    assert report.html() == html
    without = forecasting(report.predictions, report.outcomes).html()
    assert "What the forecasts drew on" not in without


def test_rounds_without_an_outcome_are_left_out():
    said = {"a": np.array([0.2, 0.5, 0.9, 0.4])}
    memories = [(1, [Memory("the last outcome", 1.0)]), (4, [Memory("the weekday", 1.0)])]
    days = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    some = forecasting(said, [0, np.nan, 1, 1], memories=memories, times=days)
    assert some.cards["a"].brier == pytest.approx(brier([0.2, 0.9, 0.4], [0, 1, 1]))
    assert [rounds for rounds, _ in some.memories] == [1, 3]
    assert some.timeline.moments[-1] == np.datetime64("2024-01-04")
    assert "2024" in some.html()


@pytest.mark.parametrize(
    ("said", "happened", "message"),
    [({}, [1], "at least one"), ({"a": [0.5]}, [1, 0], "predictions"), ({"a": [2]}, [1], "must")],
)
def test_bad_input(said, happened, message):
    with pytest.raises(ValueError, match=message):
        forecasting(said, happened)
