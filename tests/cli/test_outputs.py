"""What a command writes never replaces what it reads, nor one of its outputs the other."""

import stat
import sys

import pytest

from cli.refusals import refused

SCORED = "score,y\n" + "".join(f"{t % 7 / 7},{t % 2}\n" for t in range(50))


@pytest.fixture
def scored(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(SCORED)
    return path


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("option", ["--out", "--report"])
def test_the_input_is_not_replaced_through_a_link(attempt, scored, tmp_path, link, option):
    name = tmp_path / ("out.csv" if option == "--out" else "page.html")
    getattr(name, link)(scored)
    result = attempt("recalibrate", scored, "--score", "score", option, name)
    refused(result, name.name, "is also the input file", option)
    assert scored.read_text() == SCORED
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_two_outputs_are_two_files(attempt, scored, tmp_path, link):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    out.write_text("precious")
    getattr(page, link)(out)
    result = attempt("recalibrate", scored, "--score", "score", "--out", out, "--report", page)
    refused(result, "--out and --report are the same file")
    assert out.read_text() == "precious"


def test_two_outputs_that_would_be_one_file(attempt, scored, tmp_path):
    (tmp_path / "page.html").symlink_to(tmp_path / "out.csv")
    outputs = ("--out", tmp_path / "out.csv", "--report", tmp_path / "page.html")
    refused(attempt("recalibrate", scored, "--score", "score", *outputs), "are the same file")


def test_the_mode_of_what_is_replaced_stays(calibrant, scored, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    out.chmod(0o600)
    calibrant("recalibrate", scored, "--score", "score", "--out", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", " "])
def test_a_column_needs_a_name(attempt, scored, tmp_path, name):
    result = attempt("forecast", scored, "--out", tmp_path / "o.csv", "--column", name)
    refused(result, "--column must not be blank", repr(name))
    refused(attempt("forecast", scored, "--column", name), "--column needs --out")


@pytest.mark.parametrize("option", ["--id", "--time", "--by", "--forecaster", "--score"])
def test_an_option_with_nothing_is_not_ignored(attempt, scored, option):
    assert attempt("forecast", scored, option, "").exit_code == 2


def test_long_names_and_long_cells(calibrant, tmp_path):
    (tmp_path / "in.csv").write_text(f"note,y\n{'x' * 200_000},1\n")
    out = tmp_path / ("n" * 240 + ".csv")
    calibrant("forecast", tmp_path / "in.csv", "--out", out)
    assert out.exists()


def test_measure_reads_what_run_wrote_where_an_outcome_is_missing(attempt, calibrant, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(SCORED + "0.5,\n0.5,NA\n")
    calibrant("recalibrate", source, "--score", "score", "--out", out)
    result = calibrant("measure", out, "--prediction", "calibrated")
    assert "rows without an outcome, not measured: 2" in result.stderr
    assert "50 rounds" in result.stdout
    source.write_text("p,y\n0.5,\n")
    refused(attempt("measure", source), "no outcome is known: every value is missing", "'y'")


@pytest.mark.parametrize(
    "command",
    [
        ["recalibrate", "--score", "score"],
        ["recalibrate", "--forecast", "score"],
        ["recalibrate", "--scores", "score,other"],
        ["forecast", "--outcome", "y"],
        ["watch", "--prediction", "score"],
    ],
    ids=" ".join,
)
def test_a_report_that_cannot_be_drawn_is_refused_before_the_work(
    attempt, scored, tmp_path, monkeypatch, command
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    name, *options = command
    page = tmp_path / "page.html"
    refused(attempt(name, scored, *options, "--report", page), "pip install 'calibrant[plot]'")
    assert not page.exists()
