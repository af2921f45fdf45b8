"""Invalid input to ``calibrant recalibrate --score``: one line, exit code 2, nothing written."""

import builtins
import gzip
import resource

import pytest

from cli.refusals import refused

GOOD = "key,t,known,place,score,outcome\n"
ROWS = ["a,1,2,north,0.5,1", "b,2,3,south,0.4,0", "c,3,4,north,0.3,1"]


def file_with(**cells):
    """Return the content of a file whose second row has these cells instead."""
    names = GOOD.strip().split(",")
    row = dict(zip(names, ROWS[1].split(","), strict=True)) | cells
    return GOOD + "\n".join([ROWS[0], ",".join(row.values()), ROWS[2]]) + "\n"


LATE = ("--time", "t", "--available", "known")
BAD = {
    "score above": (file_with(score="1.4"), (), ("line 3", "'score'", "1.4", "logit")),
    "score NaN": (file_with(score="nan"), (), ("line 3", "'score'", "'nan'")),
    "score missing": (file_with(score=""), (), ("line 3", "'score'", "missing")),
    "score text": (file_with(score="high"), (), ("line 3", "'score'", "'high'")),
    "logit infinite": (file_with(score="inf"), ("--kind", "logit"), ("line 3", "'inf'", "finite")),
    "outcome above": (file_with(outcome="2"), (), ("line 3", "'outcome'", "'2'")),
    "outcome inf": (file_with(outcome="inf"), (), ("line 3", "'outcome'", "'inf'")),
    "outcome text": (file_with(outcome="win"), (), ("line 3", "'outcome'", "'win'")),
    "no outcome at all": (
        "score,outcome\n0.5,\n0.4,\n", (), ("'outcome'", "no outcome is known")
    ),
    "empty": ("", (), ("empty",)),
    "only names": (GOOD, (), ("no rows",)),
    "cut in a row": (GOOD + "a,1,2,north,0.5,1\nb,2", (), ("line 3", "cut short")),
    "no such score": ("p,outcome\n0.5,1\n", (), ("no column 'score'", "'p', 'outcome'")),
    "no such group": (file_with(), ("--by", "region"), ("no column 'region'",)),
    "no such clock, rows enough to look at whole columns": (
        "score,outcome\n" + "0.5,1\n0.4,0\n" * 500, ("--time", "t"), ("no column 't'",)
    ),
    "no such id": (file_with(), ("--id", "name"), ("no column 'name'",)),
    "id twice": (file_with(key="a"), ("--id", "key"), ("line 3", "'key'", "'a'", "in line 2")),
    "id missing": (file_with(key=""), ("--id", "key"), ("line 3", "'key'", "missing")),
    "group missing": (file_with(place=""), ("--by", "place"), ("line 3", "'place'", "missing")),
    "clock backwards": (
        file_with(t="0"), ("--time", "t"), ("line 3", "'t'", "backwards", "0 comes after 1")
    ),
    "clock missing": (file_with(t=""), ("--time", "t"), ("line 3", "'t'", "missing")),
    "clock text": (file_with(t="soon"), ("--time", "t"), ("line 3", "'t'", "'soon'", "ISO")),
    "clocks mixed": (file_with(t="2024-01-01"), ("--time", "t"), ("line 3", "2024-01-01")),
    "known too early": (file_with(known="1"), LATE, ("line 3", "'known'", "before its prediction")),
    "known without a clock": (file_with(), ("--available", "known"), ("--available needs --time",)),
    "unknown kind": (file_with(), ("--kind", "odds"), ("--kind", "'odds'", "'logit'")),
    "bad seed": (file_with(), ("--seed", "-3"), ("seed", "-3")),
    "column taken": (file_with(), ("--column", "place"), ("has a column 'place'", "--column")),
    "score and outcome in one": (
        file_with(), ("--outcome", "score"), ("'score'", "both the score and the outcome")
    ),
    "groups that tell the outcome": (
        file_with(), ("--by", "outcome"), ("'outcome'", "both the group and the outcome")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_nothing_is_written_and_the_place_is_named(attempt, tmp_path, name):
    content, options, words = BAD[name]
    path = tmp_path / "bad.csv"
    path.write_text(content)
    refused(
        attempt(
            "recalibrate", path, "--score", "score", "--outcome", "outcome", *options,
            "--out", tmp_path / "out.csv", "--report", tmp_path / "r.html",
        ),
        *words,
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("forecast", ("--id", "key")), ("forecast", ("--by", "place")),
        ("forecast", ("--kind", "logit")), ("forecast", ("--hold", "3d")),
        ("recalibrate", ("--forecaster", "zoom")), ("recalibrate", ("--ahead", "1")),
        ("recalibrate", ("--outcome", "outcome")),
    ],
)  # fmt: skip
def test_options_of_the_other_command_and_a_missing_score(attempt, tmp_path, command, option):
    path = tmp_path / "good.csv"
    path.write_text(file_with())
    result = attempt(command, path, *option)
    assert result.exit_code == 2
    missing = "'--score'" if option[0] == "--outcome" else option[0]
    assert missing in result.stderr


def test_a_gzip_cut_short(attempt, tmp_path):
    whole = gzip.compress(b"score,outcome\n" + b"0.25,1\n0.125,0\n" * 5000)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    refused(attempt("recalibrate", path, "--score", "score"), "cut.csv.gz", "cut short")


def test_places_where_nothing_can_be_written(attempt, tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(file_with())
    names = ["--score", "score", "--outcome", "outcome"]
    out, page = tmp_path / "o.csv", tmp_path / "r.html"
    refused(attempt("recalibrate", path, *names, "--out", tmp_path / "o.xlsx"), "o.xlsx", ".csv")
    refused(attempt("recalibrate", path, *names, "--out", out, "--report", out), "o.csv", ".html")
    nowhere = tmp_path / "no"
    refused(
        attempt("recalibrate", path, *names, "--out", out, "--report", nowhere / "r.html"),
        "r.html",
    )
    refused(
        attempt("recalibrate", path, *names, "--out", nowhere / "o.csv", "--report", page),
        "o.csv",
    )
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_that_is_read_is_not_written(attempt, tmp_path):
    path, link = tmp_path / "in.csv", tmp_path / "link.csv"
    path.write_text(file_with())
    link.symlink_to(path)
    for out in (path, link):
        refused(
            attempt("recalibrate", path, "--score", "score", "--out", out),
            out.name,
            "another file",
        )
        refused(attempt("forecast", path, "--outcome", "outcome", "--out", out), "another file")
    assert path.read_text() == file_with()


def test_a_full_disk_names_the_file_and_leaves_nothing(program, tmp_path):
    """A limit on the size of files stands in for the disk."""
    path = tmp_path / "in.csv"
    path.write_text("score,outcome\n" + "0.25,1\n0.125,0\n0.25,0\n0.125,1\n" * 1000)
    for option, name in (("--out", "out.csv"), ("--report", "page.html")):
        run = program(
            "recalibrate", path, "--score", "score", option, name,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        )  # fmt: skip
        _, said = run.communicate()
        assert run.returncode == 2
        assert f"calibrant: error: {name}: cannot be written (File too large)" in said.decode()
        assert list(tmp_path.iterdir()) == [path]


def test_a_report_without_matplotlib(attempt, calibrant, tmp_path, monkeypatch):
    path = tmp_path / "good.csv"
    path.write_text(file_with())
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    names = ["--score", "score", "--outcome", "outcome", "--out", tmp_path / "o.csv"]
    refused(
        attempt("recalibrate", path, *names, "--report", tmp_path / "r.html"),
        "pip install 'calibrant[plot]'",
    )
    assert list(tmp_path.iterdir()) == [path]
    calibrant("recalibrate", path, *names)  # without a report, none is needed


def test_files_that_were_there_are_kept_after_an_error_and_replaced_without_one(
    attempt, calibrant, tmp_path
):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    out.write_text("precious\n")
    path.write_text(file_with(score="7"))
    refused(attempt("recalibrate", path, "--score", "score", "--out", out), "line 3")
    assert out.read_text() == "precious\n"
    path.write_text(file_with())
    calibrant("recalibrate", path, "--score", "score", "--out", out)
    assert out.read_text().startswith("key,t")
