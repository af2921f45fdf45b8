"""``calibrant simulate`` and ``calibrant measure``."""

import inspect
import json
import re
import textwrap

import numpy as np
import pytest

from calibrant import Zoom, measures
from calibrant.cli.recalibrate import recalibrate
from calibrant.cli.simulate import app
from calibrant.streams import ADVERSARIES, FAMILIES, Greedy, drift, play
from calibrant.tables import read

NEEDED = {"corrupted": ["--budget", "20"]}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(calibrant, tmp_path, name):
    out = tmp_path / "s.csv"
    command = name.replace("_", "-")
    calibrant(
        "simulate", command, "--rounds", "200", "--seed", "4", "--out", out, *NEEDED.get(name, [])
    )
    extra = {"budget": 20.0} if name == "corrupted" else {}
    stream = FAMILIES[name](200, seed=4, **extra)
    table = read(out)
    assert table.take("outcome").values.tolist() == stream.outcomes.tolist()
    assert np.array(table.columns["mean"], dtype=float).tolist() == stream.means.tolist()


@pytest.mark.parametrize("name", ADVERSARIES)
def test_every_adversary(calibrant, tmp_path, name):
    out = tmp_path / "g.csv"
    command = name.replace("_", "-")
    calibrant("simulate", command, "--rounds", "200", "--forecaster-seed", "4", "--out", out)
    game = play(Zoom(seed=4), ADVERSARIES[name](), 200)
    table = read(out)
    assert table.take("outcome").values.tolist() == game.outcomes.tolist()
    assert table.take("prediction").values.tolist() == game.predictions.tolist()


def test_parameters_and_standard_output(calibrant):
    result = calibrant(
        "simulate", "drift", "--rounds", "50", "--amplitude", "0.1", "--periods", "2"
    )
    lines = result.stdout.splitlines()
    assert lines[0] == "t,mean,outcome"
    means = [float(line.split(",")[1]) for line in lines[1:]]
    assert means == drift(50, amplitude=0.1, periods=2).means.tolist()
    levels = calibrant("simulate", "piecewise", "--rounds", "4", "--levels", "0", "--levels", "1")
    assert [line.split(",")[2] for line in levels.stdout.splitlines()[1:]] == [
        "0",
        "0",
        "1",
        "1",
    ]
    greedy = calibrant("simulate", "greedy", "--rounds", "50", "--norm", "l2")
    game = play(Zoom(), Greedy("l2"), 50)
    assert [
        float(line.split(",")[2]) for line in greedy.stdout.splitlines()[1:]
    ] == game.outcomes.tolist()


def test_bad_parameters_are_refused(attempt):
    for arguments in (
        ["drift", "--amplitude", "0.9"],
        ["iid", "--mean", "1.5"],
        ["iid", "--rounds", "0"],
        ["greedy", "--norm", "l3"],
        ["greedy", "--forecaster", "oracle"],
        ["corrupted", "--budget", "1e9"],
    ):
        result = attempt("simulate", *arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.startswith("calibrant: error:"), result.stderr


@pytest.mark.parametrize("name", [*FAMILIES, *ADVERSARIES])
def test_help_explains_every_option(name):
    (command,) = (each for each in app.registered_commands if each.name == name.replace("_", "-"))
    for option in inspect.signature(command.callback).parameters.values():
        assert len(option.annotation.__metadata__[0].help) > 10, option.name


def test_help_is_wrapped_to_the_width_of_the_terminal(calibrant):
    """Not where the docstring is: a paragraph's lines are as full as they can be."""
    shown = calibrant("recalibrate", "--help").stdout
    paragraphs = inspect.getdoc(recalibrate).split("\n\n")
    assert any("\n" in each for each in paragraphs)
    for each in paragraphs:
        for line in textwrap.wrap(" ".join(each.split()), 78, break_on_hyphens=False):
            assert f" {line} " in shown


def test_help_lists_what_is_allowed(calibrant):
    assert "One of l1, l2." in " ".join(calibrant("simulate", "greedy", "--help").stdout.split())


@pytest.fixture
def scored(tmp_path):
    stream = drift(3000, seed=2)
    path = tmp_path / "scored.csv"
    predictions = Zoom(seed=1).run(stream.outcomes)
    rows = "".join(
        f"{p!r},{int(y)}\n" for p, y in zip(predictions.tolist(), stream.outcomes, strict=True)
    )
    path.write_text("p,y\n" + rows)
    return path, predictions, stream.outcomes


def test_measure_as_json(calibrant, scored):
    path, predictions, outcomes = scored
    values = json.loads(calibrant("measure", path, "--json").stdout)
    for name in ("cal1", "cal2", "klcal", "ece", "smece", "brier", "log_loss", "decision_loss",
                 "smooth_calibration", "u_calibration", "lower_distance"):  # fmt: skip
        assert values[name] == pytest.approx(getattr(measures, name)(predictions, outcomes))
    split = values["reliability"] - values["resolution"] + values["uncertainty"]
    assert split == pytest.approx(values["brier"])


def test_measure_for_people(calibrant, scored):
    path, _, _ = scored
    result = calibrant("measure", path)
    assert "3,000 rounds" in result.stdout
    assert "Observed against predicted" in result.stdout
    rounds = [
        int(line.split()[1].replace(",", ""))
        for line in result.stdout.splitlines()
        if re.match(r"[\d.]+-[\d.]+ ", line)
    ]
    assert sum(rounds) == 3000
    assert "taking 'p'" in result.stderr
    assert "taking 'y'" in result.stderr


def test_an_infinite_error_is_shown(calibrant, tmp_path):
    path = tmp_path / "sure.csv"
    path.write_text("p,y\n0,1\n0,0\n")
    assert "infinite" in calibrant("measure", path).stdout
    assert json.loads(calibrant("measure", path, "--json").stdout)["klcal"] is None
