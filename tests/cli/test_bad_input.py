"""Invalid input to the command line: one clear line, exit code 2, nothing half written."""

import gzip

import pytest

from cli.refusals import refused

BAD_FILES = {
    "nan": ("outcome\n1\nnan\n1\n", "line 3"),
    "infinity": ("outcome\n1\ninf\n", "line 3"),
    "below": ("outcome\n1\n-0.1\n", "line 3"),
    "above": ("outcome\n1\n1.1\n", "line 3"),
    "text": ("outcome\n1\nmaybe\n", "maybe"),
    "missing value": ("outcome,day\n1,a\n,b\n1,c\n", "line 3"),
    "empty": ("", "empty"),
    "only names": ("outcome\n", "no rows"),
    "cut in a row": ("day,outcome\n1,1\n2,0\n3", "line 4"),
    "too many fields": ("day,outcome\n1,1\n2,0,7\n", "line 3"),
    "open quote": ('day,outcome\n1,1\n"2,0\n', "line"),
    "two columns of one name": ("outcome,outcome\n1,0\n", "more than once"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(attempt, tmp_path, name):
    content, word = BAD_FILES[name]
    path, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    path.write_text(content)
    refused(attempt("forecast", path, "--outcome", "outcome", "--out", out), word, "bad.csv")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [n for n in BAD_FILES if n not in ("nan", "missing value")])
def test_bad_files_to_measure(attempt, tmp_path, name):
    content, _ = BAD_FILES[name]
    path = tmp_path / "bad.csv"
    lines = content.splitlines()
    # The same damage, with predictions beside it.
    path.write_text(
        "\n".join(["p," + lines[0], *("0.5," + line for line in lines[1:])] if lines else [])
    )
    refused(attempt("measure", path, "--prediction", "p", "--outcome", "outcome"))


def test_a_column_that_is_not_there(attempt, events):
    refused(attempt("forecast", events, "--outcome", "rain"), "'rain'", "'day', 'outcome'")
    refused(attempt("measure", events, "--prediction", "p"), "'p'", "'day', 'outcome'")


def test_files_that_cannot_be_read(attempt, tmp_path):
    refused(attempt("forecast", tmp_path / "nowhere.csv"), "nowhere.csv", "no such file")
    refused(attempt("forecast", tmp_path), "folder")


def test_percents(attempt, tmp_path):
    path = tmp_path / "percents.csv"
    path.write_text("p,y\n30,0\n90,1\n")
    said = ("percents.csv, line 2, column 'p'", "30", "[0, 1]", "divide percentages by 100")
    refused(attempt("recalibrate", path, "--score", "p", "--outcome", "y"), *said, "(--kind)")
    for command in ("measure", "watch"):
        refused(attempt(command, path, "--prediction", "p", "--outcome", "y"), *said)
    path.write_text("p,y\n0.3,30\n")  # more likely an outcome of another kind
    result = attempt("measure", path, "--prediction", "p", "--outcome", "y")
    refused(result, "--positive")
    assert "percents by" not in result.stderr


def test_a_name_that_is_neither_a_file_nor_a_stream(attempt):
    for command in ("forecast", "inspect", "measure", "watch"):
        result = attempt(command, "nycflight")
        assert result.exit_code == 2
        assert "nycflights" in result.stderr


def test_a_gzip_cut_short(attempt, tmp_path):
    whole = gzip.compress(b"outcome\n" + b"1\n0\n" * 5000)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    refused(attempt("forecast", path), "cut.csv.gz", "cut short")
    path.write_bytes(b"outcome\n1\n")
    refused(attempt("forecast", path), "gzip")


def test_bytes_that_are_not_text(attempt, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(b"outcome,place\n1,Z\xfcrich\n")
    refused(attempt("forecast", path), "latin.csv", "UTF-8")


def test_bad_options(attempt, events, tmp_path):
    refused(attempt("forecast", events, "--forecaster", "oracle"), "'zoom'", "'oracle'")
    refused(attempt("forecast", events, "--seed", "-1"), "seed", "-1")
    refused(attempt("forecast", events, "--ahead", "0"), "--ahead", "[1, 10000]")
    refused(
        attempt("forecast", events, "--ahead", "2", "--forecaster", "zoom"), "--ahead 2", "zoom"
    )
    refused(attempt("forecast", events, "--available", "t"), "--available", "--time")
    late = ("--time", "t", "--available", "t", "--forecaster", "zoom")
    refused(attempt("forecast", events, *late), "--time", "zoom")
    refused(attempt("forecast", events, "--out", tmp_path / "o.xlsx"), "o.xlsx", ".csv")
    refused(attempt("forecast", events, "--out", tmp_path / "no" / "o.csv"), "o.csv")
    refused(attempt("forecast", events, "--out", tmp_path / "o.csv", "--column", "day"), "'day'")
    refused(attempt("measure", events, "--prediction", "outcome", "--bins", "0"), "--bins")
    assert list(tmp_path.iterdir()) == [events]


def test_an_output_that_fails_keeps_what_was_there(attempt, events, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious\n")
    events.write_text(events.read_text() + "300,7\n")
    refused(attempt("forecast", events, "--out", out), "line 302")
    assert out.read_text() == "precious\n"


def test_unknown_commands_and_types_are_refused(attempt, events):
    for arguments in (
        ["fly"],
        ["forecast"],
        ["forecast", events, "--seed", "x"],
        ["simulate", "weather"],
    ):
        result = attempt(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr
