"""The report about one recalibration, as a library call: findings, measures and the page."""

import datetime as dt
import html
import re

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures import brier, ece
from calibrant.recalibrate.rivals import WindowedRefit
from calibrant.report import recalibration

ROUNDS = 2500
RANDOM = np.random.default_rng(21)
TRUTH = RANDOM.random(ROUNDS)
OUTCOMES = (RANDOM.random(ROUNDS) < TRUTH).astype(float)
SCORES = np.sqrt(TRUTH)
CALIBRATED = Recalibrator().run(SCORES, OUTCOMES)
NAN = float("nan")


def unknown(every):
    """Return the outcomes, with every so many not known."""
    outcomes = OUTCOMES.copy()
    outcomes[::every] = NAN
    return outcomes


def test_it_measures_the_rounds_whose_outcomes_are_known():
    outcomes = unknown(10)
    report = recalibration(SCORES, CALIBRATED, outcomes)
    known = ~np.isnan(outcomes)
    assert report.measures.rounds == known.sum()
    assert report.measures.raw.brier == pytest.approx(brier(SCORES[known], outcomes[known]))
    assert report.measures.calibrated.ece == pytest.approx(ece(CALIBRATED[known], outcomes[known]))
    assert report.findings[0].startswith("The probabilities became better: the Brier score fell")
    assert report.findings[-1].startswith("250 outcomes never arrived")
    fewer = recalibration(SCORES, CALIBRATED, outcomes, never=7)
    assert fewer.findings[-1].startswith("7 outcomes never arrived")
    for finding in report.findings:
        assert html.escape(finding) in report.html()


@pytest.mark.parametrize("lateness", [0, 50])
def test_alarms_where_outcomes_came_late_say_so(lateness):
    rounds = np.arange(2000)
    outcomes = (np.random.default_rng(5).random(2000) < 0.7).astype(float)
    late = recalibration(
        np.full(2000, 0.3), np.full(2000, 0.7), outcomes,
        times=rounds, available=rounds + lateness,
    )  # fmt: skip
    assert late.watched["raw"].episodes
    assert late.watched["raw"].is_late == (lateness > 0)
    assert ("judged by what was known when it was made" in late.html()) == (lateness > 0)


@pytest.mark.usefixtures("undrawn")
def test_array_likes_are_the_same_as_arrays():
    import pandas  # noqa: PLC0415
    import polars  # noqa: PLC0415

    some = slice(0, 300)
    scores, calibrated, outcomes = SCORES[some], CALIBRATED[some], unknown(10)[some]
    places = ["north" if t % 3 else "south" for t in range(300)]
    expected = recalibration(scores, calibrated, outcomes, by=places).html()
    for series in (list, pandas.Series, polars.Series):
        again = recalibration(
            series(scores.tolist()), series(calibrated.tolist()), series(outcomes.tolist()),
            by=series(places),
        )  # fmt: skip
        assert again.html() == expected
    frame = pandas.DataFrame({"p": calibrated}, index=np.arange(300)[::-1])
    assert recalibration(scores, frame["p"], outcomes, by=places).html() == expected


def test_logits_are_probabilities_and_margins_have_no_before():
    logits = np.log(SCORES) - np.log1p(-SCORES)
    report = recalibration(logits, CALIBRATED, OUTCOMES, kind="logit")
    assert report.measures.raw.brier == pytest.approx(brier(SCORES, OUTCOMES), rel=1e-9)
    report = recalibration(1000.0 * logits, CALIBRATED, OUTCOMES, kind="margin")
    assert report.measures.raw is report.measures.changes is None
    assert list(report.predictions) == ["calibrated"]
    assert "nothing to compare with" in report.findings[0]
    assert ">raw<" not in report.html()


DAYS = [dt.datetime(2013, 1, 1) + dt.timedelta(hours=t) for t in range(ROUNDS)]


def worst_round():
    """Return where the worst window of known rounds starts, among all rounds."""
    report = recalibration(SCORES, CALIBRATED, unknown(10))
    return int(np.flatnonzero(~np.isnan(unknown(10)))[report.measures.raw.worst.start])


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        (None, lambda row: f"round {row + 1:,}"),
        (np.arange(ROUNDS) * 0.5, lambda row: str(row * 0.5)),
        (DAYS, lambda row: f"{DAYS[row]:%Y-%m-%d %H:%M},"),
        (np.array(DAYS, dtype="datetime64[ns]"), lambda row: f"{DAYS[row]:%Y-%m-%d %H:%M},"),
        ([f"day {t}" for t in range(ROUNDS)], lambda row: f"day {row}"),
        (lambda row: f"line {row + 2}", lambda row: f"line {row + 2}"),
    ],
)
def test_sentences_call_rounds_by_their_times(times, shown):
    """Those of all rounds, also of the ones without an outcome."""
    report = recalibration(SCORES, CALIBRATED, unknown(10), times=times)
    (said,) = [text for text in report.findings if text.startswith("In the scores' worst")]
    assert said.startswith(f"In the scores' worst 1,000 rounds, from {shown(worst_round())}")


def test_a_notebook_shows_the_page():
    report = recalibration(SCORES, CALIBRATED, OUTCOMES, title='A "title" & more')
    shown = report._repr_html_()
    (page,) = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', shown).groups()
    assert html.unescape(page) == report.html() == report.page.html()


def test_the_page_is_saved_and_says_how_it_was_made(tmp_path):
    report = recalibration(SCORES, CALIBRATED, OUTCOMES, made={"model": "<v2>"}, title="<T>")
    report.save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert text == report.html()
    assert "<h1>&lt;T&gt;</h1>" in text
    assert '<th scope="row">model</th><td>&lt;v2&gt;</td>' in text
    assert f'<th scope="row">numpy</th><td>{np.__version__}</td>' in text
    assert "scores are</th><td>logit" in recalibration([0, 1], [0, 1], [0, 1], kind="logit").html()


def test_margins_few_rounds_and_infinite_losses():
    """Everything that may be missing is missing, and still there is a page."""
    certain, outcomes = [0.0, 1.0, 0.5, 0.25], [1.0, 1.0, 0.0, 0.0]
    text = recalibration(certain, certain, outcomes, title="<Four>").html()
    assert "infinite" in text
    assert "&lt;Four&gt;" in text
    assert "Too few rounds (4)" in text
    assert "Through time" not in text
    assert "By group" not in text
    text = recalibration(certain, certain, outcomes, title="Margins", kind="margin").html()
    assert ">raw<" not in text


def test_many_groups_are_not_all_on_the_page():
    groups = [f"g{t % 50}" for t in range(ROUNDS)]
    text = recalibration(SCORES, CALIBRATED, OUTCOMES, by=groups).html()
    assert "The 10 smallest groups are not shown." in text
    assert len(re.findall(r'<th scope="row">g\d+</th>', text)) == 40


GOOD = {"scores": [0.2, 0.4, 0.6], "calibrated": [0.1, 0.5, 0.9], "outcomes": [0, 1, NAN]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scores": [0.2, 1.4, 0.6]}, r"scores must be in \[0, 1\], got 1.4 at position 1"),
        (
            {"scores": [0.2, NAN, 0.6], "kind": "logit"},
            "scores must be finite, got nan at position 1",
        ),
        ({"scores": [0.2, 0.4]}, "scores and outcomes must have the same length, got 2 and 3"),
        ({"scores": [0.2], "kind": "margin"}, "scores and outcomes must have the same length"),
        ({"scores": "abc"}, "scores must be a one-dimensional array of numbers"),
        (
            {"calibrated": [0.1, 0.5, -0.9]},
            r"calibrated must be in \[0, 1\], got -0.9 at position 2",
        ),
        ({"calibrated": [0.1, 0.5, NAN]}, r"calibrated must be in \[0, 1\], got nan at position 2"),
        ({"calibrated": [0.1]}, "calibrated and outcomes must have the same length, got 1 and 3"),
        ({"outcomes": [NAN, 1, 2]}, r"outcomes must be in \[0, 1\], got 2.0 at position 2"),
        ({"outcomes": [0, 1, np.inf]}, r"outcomes must be in \[0, 1\], got inf at position 2"),
        ({"outcomes": [NAN] * 3}, "outcomes must not all be missing, got 3 missing ones"),
        ({"outcomes": ["yes", "no", "no"]}, "outcomes must be numbers"),
        ({"by": ["a", "b"]}, "by and outcomes must have the same length, got 2 and 3"),
        ({"by": ["a", None, "b"]}, "by at position 1 must be a string or an integer, got None"),
        ({"by": "aab"}, "by must be the group of each round, got 'aab'"),
        ({"times": [1, 2]}, "times and outcomes must have the same length, got 2 and 3"),
        ({"times": "now"}, "times must be the time of each round, got 'now'"),
        ({"kind": "odds"}, "kind must be one of 'probability', 'logit', 'margin', got 'odds'"),
        ({"window": 0}, "window must be an integer at least 1, got 0"),
    ],
)
def test_bad_input_is_refused(change, said):
    recalibration(**GOOD)
    with pytest.raises(ValueError, match=said):
        recalibration(**{**GOOD, **change})


def test_plain_refits_are_played_on_the_same_rows_with_the_same_lateness():
    """Row by row, with what is known then, a rival fitted at the same rows says the same."""
    random = np.random.default_rng(0)
    scores = random.random(3_000)
    outcomes = (random.random(3_000) < scores**2).astype(float)
    at = np.arange(3_000.0)
    report = recalibration(scores, scores, outcomes, times=at, available=at + 100)
    assert list(report.refits) == ["Platt refit", "isotonic refit"]
    expected = scores.copy()
    for start in range(300, 3_000, 300):
        known = start - 101  # what is known at the very time of a row comes too late for it
        maps = WindowedRefit("isotonic", window=known + 1, every=known + 1)
        maps.run(scores[: known + 1], outcomes[: known + 1])
        expected[start : start + 300] = [maps.predict(s) for s in scores[start : start + 300]]
    card = report.refits["isotonic refit"].card
    known = np.arange(3_000) < 3_000
    assert card.brier == pytest.approx(np.mean((expected - outcomes)[known] ** 2), rel=0.01)
    assert report.refits_in_words.endswith("): the Platt refit wins.")
    equal = recalibration(scores, expected, outcomes, times=at, available=at + 100)
    assert equal.refits_in_words.endswith("no clear winner.")
    best = recalibration(scores, 0.1 + 0.8 * outcomes, outcomes, times=at, available=at + 100)
    assert best.refits_in_words.endswith("): calibrant wins.")
    assert "Compared with plain refits" in report.html()
    assert recalibration(scores[:100], scores[:100], outcomes[:100]).refits == {}
