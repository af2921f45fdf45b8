"""``calibrant inspect``: what it sees, and that the command it suggests runs."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from calibrant.tables import Table, inspect_table
from corpus import GOOD, written


def rows(*lines):
    return "\n".join(lines) + "\n"


LATE = rows(
    "tx_id;scored_at;model_score;label;label_known_at;country",
    *(
        f"{t};2024-01-{t % 28 + 1:02}T00:00;0,{t % 9};{'fraud' if t % 10 == 0 else 'fine'};"
        f"2024-0{4 if t % 10 else 2}-01;{'AT' if t % 2 else 'NA'}"
        for t in range(28 * 3)
    ),
)  # fmt: skip


def tried(calibrant, path, tmp_path, monkeypatch):
    """Run the command that an inspection suggests; return what was seen."""
    monkeypatch.chdir(tmp_path)
    seen = json.loads(calibrant("inspect", path, "--json").stdout)
    program, *arguments = shlex.split(seen["command"])
    assert program == "calibrant"
    calibrant(*arguments)
    return seen


def test_a_file_with_late_words(calibrant, tmp_path, monkeypatch):
    lines = LATE.splitlines()
    path = tmp_path / "in.csv"
    path.write_text(rows(lines[0], *sorted(lines[1:], key=lambda line: line.split(";")[1])))
    seen = tried(calibrant, path, tmp_path, monkeypatch)
    assert seen["rows"] == 84
    assert seen["roles"] == {
        "outcome": "label", "time": "scored_at", "available": "label_known_at", "id": "tx_id",
        "score": "model_score",
    }  # fmt: skip
    assert "--positive fraud" in seen["command"]
    assert seen["groups"] == ["country"]
    assert seen["base_rate"] == pytest.approx(9 / 84)
    assert seen["delays"]["1"]["median"] < seen["delays"]["0"]["median"]
    assert any("';', numbers have decimal commas" in note for note in seen["notes"])
    assert any("after very different times" in note for note in seen["notes"])
    assert any("'fraud' is taken as 1, because it is rarer" in note for note in seen["notes"])
    shown = calibrant("inspect", path).stdout
    assert "Outcome 1 became known after" in shown
    assert seen["command"] in shown


def test_a_clock_that_runs_backwards_is_said_and_not_used(calibrant, tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    path.write_text("t,score,y\n2,0.5,1\n1,0.25,0\n3,0.125,1\n")
    seen = tried(calibrant, path, tmp_path, monkeypatch)
    assert "time" not in seen["roles"]
    assert any("runs backwards" in note for note in seen["notes"])


#: Nobody could say which outcome counts, or which of three values.
UNCLEAR = {"fraud.csv", "three values.csv", "words.json"}


@pytest.mark.parametrize("name", GOOD)
def test_every_suggestion_for_the_corpus_runs(calibrant, tmp_path, name):
    path = written(tmp_path, name, GOOD[name].content)
    said = ["--delimiter", GOOD[name].delimiter] if GOOD[name].delimiter else []
    seen = json.loads(calibrant("inspect", path, "--json", *said).stdout)
    if name in UNCLEAR:
        assert seen["command"] is None
        assert seen["notes"]
        return
    words = shlex.split(seen["command"])
    if "--report" in words:
        words = words[: words.index("--report")]  # to draw each would take minutes
    calibrant(*words[1:])


@pytest.mark.parametrize("stream", ["nba538", "seattle_rain"])
def test_streams_that_come_with_calibrant(calibrant, tmp_path, monkeypatch, stream):
    tried(calibrant, stream, tmp_path, monkeypatch)


@pytest.mark.parametrize(("later", "is_said"), [(20, False), (21, True)])
def test_delays_differ_when_one_is_more_than_twice_the_other(calibrant, tmp_path, later, is_said):
    path = tmp_path / "late.csv"
    lines = [f"{t},{t + (10, later)[t % 2]},0.5,{t % 2}" for t in range(20)]
    path.write_text(rows("t,known,score,y", *lines))
    assert ("very different times" in calibrant("inspect", path).stdout) == is_said


def test_a_second_clock_that_is_never_later_says_nothing_of_outcomes(calibrant, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text(rows("t,at,score,y", *(f"{t},{t},0.5,{t % 2}" for t in range(9))))
    assert "--available" not in calibrant("inspect", path).stdout


def test_percents_are_not_taken_for_margins(calibrant, tmp_path):
    path = tmp_path / "percents.csv"
    path.write_text("score,y\n30,0\n90,1\n55,1\n")
    result = calibrant("inspect", path)
    assert "they seem to be percentages" in " ".join(result.stdout.split())
    assert "--score score --outcome y --scale percent" in result.stdout


def test_scores_outside_are_margins(calibrant, tmp_path, monkeypatch):
    path = tmp_path / "[1].csv"
    path.write_text("margin,y\n-3,-1\n2.5,1\n7,1\n")
    seen = tried(calibrant, path, tmp_path, monkeypatch)
    assert shlex.split(seen["command"])[3:] == [
        "--score", "margin", "--outcome", "y", "--kind", "margin", "--positive", "1",
        "--report", "[1].html",
    ]  # fmt: skip


def test_a_file_of_numbers_is_recognised():
    columns = {
        "date": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"],
        "forecast": ["120", "95.5", "101", "99"],
        "actual": ["118.2", "99", "104", "NA"],
    }
    seen = inspect_table(Table("m", columns))
    assert dict(seen.options) == {"forecast": "forecast", "outcome": "actual", "time": "date"}
    assert seen.base_rate is None
    without = inspect_table(Table("m", {"a": ["120", "95.5"], "b": ["118.2", "99"]}))
    assert not without.options


def test_a_number_beside_its_forecast_needs_no_usual_name():
    columns = {"forecast": ["120", "95.5", "101"], "demand": ["118.2", "99", "104"]}
    seen = inspect_table(Table("m", columns))
    assert dict(seen.options) == {"forecast": "forecast", "outcome": "demand"}
    more = inspect_table(Table("m", {**columns, "price": ["1.5", "2", "3.25"]}))
    assert not more.options
    ids = inspect_table(Table("m", {**columns, "id": ["11", "12", "13"]}))
    assert ids.options["outcome"] == "demand"


def test_scores_of_several_classes_are_recognised(calibrant, tmp_path, monkeypatch):
    path = tmp_path / "games.csv"
    lines = [
        f"2026-01-{day:02},{'0.33,0.33,0.33' if day % 2 else '0.7,0.2,0.1'},{label}"
        for day, label in enumerate(["win", "draw", "loss", ""] * 5, start=1)
    ]
    path.write_text(rows("day,p_win,p_draw,p_loss,result", *lines))
    seen = tried(calibrant, path, tmp_path, monkeypatch)
    assert shlex.split(seen["command"])[1:9] == [
        "recalibrate", str(path), "--scores", "p_*", "--outcome", "result", "--time", "day",
    ]  # fmt: skip
    assert not seen["notes"]
    shown = calibrant("inspect", path).stdout
    assert "p_draw  scores" in " ".join(shown.split()).replace("p_draw scores", "p_draw  scores")
    # Rows that do not sum to one are no scores of classes.
    path.write_text(path.read_text().replace("0.7,", "0.9,"))
    assert "--scores" not in calibrant("inspect", path).stdout


def test_times_of_events_are_used(calibrant, tmp_path, monkeypatch):
    path = tmp_path / "rain.csv"
    path.write_text(
        rows("hour,rain", *(f"2026-01-01T{hour:02}:00,{hour % 2}" for hour in range(24)))
    )
    seen = tried(calibrant, path, tmp_path, monkeypatch)
    assert shlex.split(seen["command"])[3:] == ["--outcome", "rain", "--time", "hour"]
    path.write_text(rows("t,rain", *(f"{t},{t % 2}" for t in range(24))))
    assert "--time" not in calibrant("inspect", path).stdout  # plain numbers are no calendar


def test_what_is_not_clear_is_said():
    def notes(**columns):
        seen = inspect_table(Table("memory", columns))
        assert not seen.options
        return " ".join(seen.notes)

    assert "the outcome may be any of 'a', 'b'" in notes(a=["0", "1"], b=["1", "0"])
    assert "choose the one that counts as 1 (--positive)" in notes(y=["a", "b"])
    assert "no column looks like an outcome" in notes(a=["x", "y", "z"])
    assert "column 'y' holds" not in notes(y=["", ""])
    two = inspect_table(Table("m", {"p1": ["0.1", "0.2"], "p2": ["0.3", "0.4"], "y": ["1", "0"]}))
    assert "the score may be any of 'p1', 'p2': choose one (--score)" in two.notes
    assert dict(two.options) == {"outcome": "y"}


def test_a_score_that_is_not_used_is_said(calibrant, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("model score,y\n0.5,1\n0.25,0\n")
    result = calibrant("forecast", path)
    assert "'model score' looks like scores and is not used" in result.stderr
    assert "--score 'model score'" in result.stderr
    path.write_text("day,y\n1,1\n2,0\n")
    assert "scores" not in calibrant("forecast", path).stderr


def test_the_command_names_the_program_as_it_was_called(program, tmp_path):
    """After `make run` it is in .venv/bin, where no shell looks for it."""
    (tmp_path / "in.csv").write_text("score,y\n0.5,1\n0.25,0\n")
    process = program("inspect", "in.csv", "--json", env={"PATH": "/nowhere"})
    seen = json.loads(process.communicate()[0])
    assert Path(shlex.split(seen["command"])[0]).is_file()


def test_no_report_is_suggested_where_none_can_be_drawn(calibrant, monkeypatch):
    def suggested():
        return json.loads(calibrant("inspect", "nba538", "--json").stdout)["command"]

    assert "--report nba538.html" in suggested()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "--report" not in suggested()
