"""``calibrant recalibrate`` with a decision of each row: the column, the tables and the page."""

import csv
import json
from importlib import import_module

import numpy as np
import pytest

from calibrant import Decider, Recalibrator
from calibrant.tables import chunks

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
    p, y = (np.array(column_of(out, name), dtype=float) for name in ("fine", "outcome"))
    at = np.array(columns["t"], dtype=float)
    acts, chances = Decider(**arguments)._run(p, y, at=at)
    assert column_of(out, "act") == ["1" if each else "0" for each in acts]
    if "explore" in arguments:
        assert [float(each) for each in column_of(out, "propensity")] == chances.tolist()
        assert (acts & (chances < 1)).any()
    found = json.loads(result.stdout)["decisions"]["decided"]
    assert found["acts"] == acts.sum()
    assert found["recall"] == pytest.approx(y[acts].sum() / y.sum())
    assert (found["cost"] is None) == ("cost_of_acting" not in arguments)
    if "cost_of_acting" in arguments:
        assert found["cost"] == acts.sum() + 5 * y[~acts].sum()


def test_the_probabilities_are_those_without_a_decision(calibrant, file, tmp_path, columns):
    out = tmp_path / "out.csv"
    calibrant("recalibrate", file, *NAMES, "--cost", "1:5", "--out", out)
    expected = Recalibrator().run(columns["score"], columns["outcome"])
    assert np.allclose(np.array(column_of(out, "calibrated"), dtype=float), expected)
    with out.open() as rows:
        assert next(csv.reader(rows)) == ["t", "score", "outcome", "calibrated", "act"]


def test_a_report_has_a_section_about_it(calibrant, file, tmp_path):
    page = tmp_path / "page.html"
    result = calibrant(
        "recalibrate", file, *NAMES, "--budget", "5%", "--per", 500, "--report", page
    )
    for text in (result.stdout, page.read_text()):
        assert "Decisions" in text
        assert "hindsight" in text
    assert "Acting on 5% per 500 rows" in page.read_text()
    assert "Acted on through time." in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "1:5", "--budget", "1%"], "--cost and --budget cannot be combined"),
        (["--cost", "5"], "--cost must be the cost of acting"),
        (["--cost", "5:1"], "cost_of_acting must be less than cost_of_missing"),
        (["--budget", "120%"], "--budget must be between 0 and 1"),
        (["--budget", "much"], "--budget must be a share such as 1% or 0.01"),
        (["--budget", "1%", "--per", "50"], "per must be an integer in [100"),
        (["--per", "1d"], "--per needs --budget"),
        (["--precision", "0.5", "--per", "1d"], "--per needs --budget"),
        (["--explore", "1%"], "--explore needs"),
        (["--budget", "1%", "--state", "s"], "--budget cannot be combined with --state"),
        (["--budget", "1%", "--key", "k", "--id", "i"], "cannot be combined with both --key and"),
    ],
)
def test_options_that_do_not_go_together(attempt, file, options, message):
    result = attempt("recalibrate", file, *NAMES, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_a_day_needs_a_clock(attempt, file):
    result = attempt("recalibrate", file, *NAMES[:4], "--budget", "1%", "--per", "1d")
    assert "--per 1d needs --time" in " ".join(result.output.split())


# -- chunk after chunk ----------------------------------------------------------------------------


@pytest.fixture
def keyed(tmp_path, columns, monkeypatch):
    """Rows of five keys whose outcomes become known up to 50 minutes later, or never."""
    monkeypatch.setattr(chunks, "BLOCK", 9000)
    random = np.random.default_rng(5)
    known = np.array(columns["t"]) + 60 * random.integers(1, 50, ROWS)
    known = ["" if random.random() < 0.1 else str(each) for each in known]
    more = {"shop": random.integers(0, 5, ROWS), "known": known}
    path = tmp_path / "keyed.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns | more)
        writer.writerows(zip(*columns.values(), *more.values(), strict=True))
    return path


LATE = [
    (),
    ("--available", "known"),
    ("--available", "known", "--silence", "0", "--after", "40min"),
]
DECISIONS = {
    "cost": (["--cost", "1:5"], {"cost_of_acting": 1, "cost_of_missing": 5}),
    "a budget of rows": (["--budget", "5%", "--per", "500"], {"budget": 0.05, "per": 500}),
    "a budget of hours": (["--budget", "5%", "--per", "8h"], {"budget": 0.05, "per": "8h"}),
    "precision": (["--precision", "30%"], {"precision": 0.3}),
    "recall": (["--recall", "0.8"], {"recall": 0.8, "explore": 0.02}),
}


@pytest.mark.parametrize(("options", "arguments"), DECISIONS.values(), ids=DECISIONS)
@pytest.mark.parametrize("late", LATE, ids=str)
def test_rows_with_keys_are_decided_by_the_estimates_of_a_fleet(
    calibrant, keyed, tmp_path, columns, options, arguments, late
):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    asked = ("recalibrate", keyed, *NAMES, *late, "--key", "shop", *options)
    result = calibrant(*asked, "--smooth", "fine", "--out", out, "--report", page, "--json")
    found = {name: column_of(out, name) for name in ("fine", "calibrated", "act", "known")}
    p, at = np.array(found["fine"], dtype=float), np.array(columns["t"], dtype=float)
    y = columns["outcome"].astype(float)
    known = np.array([float(each or "nan") for each in found["known"]])
    policy = {"silence": 0, "after": 2400} if "--silence" in late else {}
    decider = Decider(**arguments, **policy)
    of_late = {"known": np.fmax(known, at)} if late else {}
    acts, chances = decider._run(
        p, np.where(np.isnan(known), np.nan, y) if late else y, at=at, **of_late
    )
    assert found["act"] == ["1" if each else "0" for each in acts]
    if "explore" in arguments:
        assert [float(each) for each in column_of(out, "propensity")] == chances.tolist()
    if late:  # what counts is what was known, or silence once its deadline was over
        is_known = ~np.isnan(known)
        if policy:
            is_known = at + 2400 < at[-1]
            y = np.where(known <= at + 2400, y, 0)
        acts, y = acts[is_known], y[is_known]
    told = json.loads(result.stdout)["decisions"]["decided"]
    assert told["acts"] == acts.sum()
    assert told["recall"] == pytest.approx(y[acts].sum() / y.sum())
    assert "best threshold in hindsight" in page.read_text()


def test_decisions_of_a_large_file_are_those_of_the_file(calibrant, keyed, tmp_path, monkeypatch):
    asked = ("recalibrate", keyed, *NAMES, "--available", "known", "--budget", "5%", "--per", "8h")
    said = []
    for name in ("whole.csv", "parts.csv"):
        if name == "parts.csv":
            monkeypatch.setattr(import_module("calibrant.cli.recalibrate"), "LARGE", 1000)
        result = calibrant(*asked, "--out", tmp_path / name)
        assert ("large file" in result.stderr) == (name == "parts.csv")
        told = result.stdout.split("Decisions")[1].splitlines()
        said.append((told[:5], (tmp_path / name).read_bytes()))
    assert said[0] == said[1]


# -- in a pipe -------------------------------------------------------------------------------------


def piped(calibrant, lines, *options):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    result = calibrant("recalibrate", "-", *NAMES[:4], *options, stdin=text)
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--cost", "1:5"], {"cost_of_acting": 1, "cost_of_missing": 5}),
        (["--budget", "5%", "--per", "500"], {"budget": 0.05, "per": 500}),
        (["--precision", "30%"], {"precision": 0.3}),
        (["--recall", "80%"], {"recall": 0.8, "explore": 0.02}),
    ],
    ids=str,
)
def test_a_pipe_answers_what_a_decider_says(calibrant, columns, options, arguments):
    rows = list(zip(columns["score"][:1500], columns["outcome"][:1500].tolist(), strict=True))
    lines = [{"score": score, "outcome": outcome} for score, outcome in rows]
    said, stderr = piped(calibrant, lines, *options)
    twin, decider = Recalibrator(), Decider(**arguments)
    for answer, (score, outcome) in zip(said, rows, strict=True):
        smooth = twin.smooth(score)
        assert answer["calibrated"] == twin.predict(score)
        assert answer["act"] == decider.decide(smooth)
        assert ("propensity" in answer) == ("explore" in arguments)
        twin.update(outcome)
        decider.update(outcome)
    assert f"acted on {decider.acted:,} of 1,500 rows" in stderr


def test_late_outcomes_of_a_pipe_reach_the_decider_by_id(calibrant, columns):
    scores, outcomes = columns["score"][:600], columns["outcome"][:600].tolist()
    lines = [{"id": i, "score": score} for i, score in enumerate(scores)]
    for i in range(600 - 50):  # each outcome fifty rows later
        lines.insert(50 + 2 * i, {"id": i, "outcome": outcomes[i]})
    lines.append({"id": 0, "outcome": outcomes[0]})  # comes twice, counted once
    said, _ = piped(calibrant, lines, "--id", "id", "--precision", "0.3")
    twin, decider, found = Recalibrator(), Decider(precision=0.3), iter(said)
    for line in lines:
        if "score" not in line:
            twin.update(line["outcome"], id=line["id"])
            decider.update(line["outcome"], id=line["id"])
            continue
        smooth = twin.smooth(line["score"])
        twin.predict(line["score"], id=line["id"])
        assert next(found)["act"] == decider.decide(smooth, id=line["id"])


def test_a_day_in_a_pipe_does_not_run_backwards(calibrant, columns):
    lines = [
        {"t": 60 * i, "score": score, "outcome": 0} for i, score in enumerate(columns["score"])
    ]
    lines.insert(1000, {"t": 0, "score": 0.9})
    said, _ = piped(calibrant, lines, "--time", "t", "--budget", "5%", "--per", "8h")
    assert "must not run backwards" in said[1000]["error"]
    acts = np.array([answer["act"] for answer in said if "act" in answer])
    window = 8 * 60
    assert len(acts) == ROWS
    for start in range(0, ROWS, window):  # windows begin at multiples of their length
        assert acts[start : start + window].sum() <= 1.2 * 0.05 * window
    assert acts.mean() > 0.04
