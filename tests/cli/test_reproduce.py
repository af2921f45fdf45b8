"""The command line: the paper's Table 1, measured."""

import json
from dataclasses import replace

import pytest

from calibrant.cli import console
from calibrant.experiments import SIZES, Claim, Size


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(SIZES, "quick", Size((150, 300, 600), 600, (5, 20, 120), (2, 4, 8), 2))


def test_the_whole_table(attempt, tmp_path):
    out, page = tmp_path / "out", tmp_path / "table1.md"
    arguments = ("reproduce", "--quick", "--out", out, "--workers", 1, "--markdown", page)
    result = attempt(*arguments)
    table = json.loads((out / "table1.json").read_text())
    verdicts = {entry["verdict"] for entry in table}
    assert verdicts <= {"passes", "fails", "not visible", "not counted"}
    assert "not visible" in verdicts
    assert result.exit_code == (1 if "fails" in verdicts else 0)
    for word in (
        "Table 1, measured",
        "restarting pseudo_kl",
        "quick size",
        "Beyond the best fixed grid pass ",
    ):
        assert word in result.stdout
    assert page.read_text().count("\n| ") == len(table) + 1
    assert "its growth" in result.stdout
    # Everything is there: the second time nothing is run.
    again = attempt(*arguments)
    assert again.exit_code == result.exit_code
    assert again.stdout == result.stdout


def test_a_narrow_terminal_shows_the_verdicts(attempt, tmp_path, monkeypatch):
    monkeypatch.setattr(console.out, "width", 80)
    monkeypatch.setattr(console.err, "width", 80)
    result = attempt("reproduce", "--quick", "--out", tmp_path, "--workers", 1)
    assert "a wider terminal shows more" in result.stdout
    assert "its growth" not in result.stdout
    assert result.stdout.count("not visible") > 10
    assert "PCal2  refined pseudo_l2 (C), paper" in result.stdout  # no column is squeezed out


def test_the_exit_code_is_that_of_the_verdicts(attempt, calibrant, tmp_path, monkeypatch):
    asked = {}

    def measure(folder, **options):
        asked.update(options, folder=folder)
        return table

    monkeypatch.setattr("calibrant.experiments.reproduce", measure)
    monkeypatch.chdir(tmp_path)
    row = Claim(
        error="Cal2", world="i.i.d. (mean 0.5)", claim="log^2 T", theorem="simple_block_Cal2",
        forecaster="epoch", axis="T", claimed_exponent=0.0, log_power=2.0, fitted=0.01, low=0.0,
        high=0.02, plain=0.1, x=[10, 100], mean=[1.0, 2.0], spread=[0.1, 0.1],
        counted=[True, True], by_world={}, over_lower_bound=3.0, ns_per_round=[5.0, 5.0],
        cost_exponent=0.0, claimed_cost_exponent=0.0, verdict="passes", reason="It does.",
    )  # fmt: skip
    table = [row]
    calibrant("reproduce", "--full", "--engine", "ray")
    assert (asked["size"], str(asked["folder"])) == ("full", "table1-full")
    assert asked["engine"] == "ray"
    table = [replace(row, verdict="not visible", reason="Too short.")]
    result = attempt("reproduce")
    assert result.exit_code == 0
    assert (asked["size"], str(asked["folder"])) == ("default", "table1")
    assert "not visible: Cal2 of epoch in T. Too short." in result.stdout
    table = [row, replace(row, verdict="fails", reason="Too steep.")]
    result = attempt("reproduce")
    assert result.exit_code == 1
    assert "fails: Cal2 of epoch in T. Too steep." in result.stdout
    assert "grid pass 1 of 2 claims with printed constants (1 fails), at these" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--quick", "--full"), "--quick and --full cannot both be given"),
        (("--quick", "--engine", "abacus"), "engine must be one of"),
        (("--quick", "--workers", 0), "workers must be an integer"),
    ],
)
def test_bad_input(attempt, tmp_path, monkeypatch, arguments, word):
    monkeypatch.chdir(tmp_path)
    result = attempt("reproduce", *arguments)
    assert result.exit_code == 2
    assert word in result.stderr
    assert not list(tmp_path.iterdir())
