"""``calibrant recalibrate`` with a decision of each row: the column, the tables and the page."""

import csv
import json

import numpy as np
import pytest

from calibrant import Decider, Recalibrator

ROWS = 4000
NAMES = ["--score", "score", "--outcome", "outcome", "--time", "t"]


@pytest.fixture(scope="module")
def columns():
    random = np.random.default_rng(3)
    scores = np.round(random.beta(1, 4, ROWS), 4)
    outcomes = (random.random(ROWS) < scores**1.5).astype(int)
    return {"t": [60 * t for t in range(ROWS)], "score": scores, "outcome": outcomes}


@pytest.fixture
def file(tmp_path, columns):
    path = tmp_path / "scores.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def column_of(path, name):
    with path.open() as rows:
        return [row[name] for row in csv.DictReader(rows)]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--cost", "1:5"], {"cost_of_acting": 1, "cost_of_missing": 5}),
        (["--budget", "5%", "--per", "500"], {"budget": 0.05, "per": 500}),
        (["--budget", "0.05", "--per", "8h"], {"budget": 0.05, "per": "8h"}),
        (["--precision", "30%"], {"precision": 0.3}),
        (["--recall", "0.8"], {"recall": 0.8, "explore": 0.02}),
        (["--precision", "0.3", "--explore", "5%"], {"precision": 0.3, "explore": 0.05}),
    ],
    ids=str,
)
def test_the_column_is_what_a_decider_says(calibrant, file, tmp_path, columns, options, arguments):
    out = tmp_path / "out.csv"
    result = calibrant(
        "recalibrate", file, *NAMES, *options, "--smooth", "fine", "--out", out, "--json"
    )
    assert result.exit_code == 0, result.output
    p, y = (np.array(column_of(out, name), dtype=float) for name in ("fine", "outcome"))
    at = np.array(columns["t"], dtype=float)
    acts = Decider(**arguments).run(p, y, at=at)
    assert column_of(out, "act") == ["1" if each else "0" for each in acts]
    found = json.loads(result.stdout)["decisions"]["decided"]
    assert found["acts"] == acts.sum()
    assert found["recall"] == pytest.approx(y[acts].sum() / y.sum())
    assert (found["cost"] is None) == ("cost_of_acting" not in arguments)
    if "cost_of_acting" in arguments:
        assert found["cost"] == acts.sum() + 5 * y[~acts].sum()


def test_the_probabilities_are_those_without_a_decision(calibrant, file, tmp_path, columns):
    out = tmp_path / "out.csv"
    assert calibrant("recalibrate", file, *NAMES, "--cost", "1:5", "--out", out).exit_code == 0
    expected = Recalibrator().run(columns["score"], columns["outcome"])
    assert np.allclose(np.array(column_of(out, "calibrated"), dtype=float), expected)
    with out.open() as rows:
        assert next(csv.reader(rows)) == ["t", "score", "outcome", "calibrated", "act"]


def test_a_report_has_a_section_about_it(calibrant, file, tmp_path):
    page = tmp_path / "page.html"
    result = calibrant(
        "recalibrate", file, *NAMES, "--budget", "5%", "--per", 500, "--report", page
    )
    assert result.exit_code == 0, result.output
    for text in (result.stdout, page.read_text()):
        assert "What was acted on" in text
        assert "hindsight" in text
    assert "Acting on 5 % per 500 rows" in page.read_text()
    assert "Acted on through time." in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "1:5", "--budget", "1%"], "--cost and --budget are two questions"),
        (["--cost", "5"], "--cost must be the cost of acting"),
        (["--cost", "5:1"], "cost_of_acting must be less than cost_of_missing"),
        (["--budget", "120%"], "--budget must be between 0 and 1"),
        (["--budget", "much"], "--budget must be a share such as 1% or 0.01"),
        (["--budget", "1%", "--per", "50"], "per must be an integer in [100"),
        (["--per", "1d"], "--per needs --budget"),
        (["--precision", "0.5", "--per", "1d"], "--per needs --budget"),
        (["--explore", "1%"], "--explore needs"),
        (["--budget", "1%", "--state", "s"], "--budget does not go with --state"),
        (["--budget", "1%", "--key", "k"], "--budget does not go with --key"),
    ],
)
def test_options_that_do_not_go_together(calibrant, file, options, message):
    result = calibrant("recalibrate", file, *NAMES, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_a_day_needs_a_clock_and_a_pipe_is_refused(calibrant, file):
    names = NAMES[:4]
    result = calibrant("recalibrate", file, *names, "--budget", "1%", "--per", "1d")
    assert "--per 1d needs --time" in " ".join(result.output.split())
    result = calibrant("recalibrate", "-", *names, "--budget", "1%", stdin="score,outcome\n")
    assert "--budget needs a FILE" in " ".join(result.output.split())
