"""The command line: forecasters with parameters."""

import pytest

from calibrant.forecasters.rivals import FosterHart
from calibrant.streams import Contrarian, play
from calibrant.tables import read


def test_run_takes_parameters_and_knows_the_number_of_rounds(calibrant, events, tmp_path):
    outcomes = read(events).take("outcome").values
    for spec, gaps in (("foster-hart:gaps=5", 5), ("foster-hart:gaps=T/10", 30)):
        out = tmp_path / "out.csv"
        result = calibrant("forecast", events, "--forecaster", spec, "--out", out)
        name, parameter = spec.split(":")
        assert f"{name}:" in result.stdout
        assert parameter in result.stdout
        written = read(out).take("prediction").values
        assert written.tolist() == FosterHart(gaps).run(outcomes).tolist()


def test_simulate_takes_parameters(calibrant, tmp_path):
    out = tmp_path / "game.csv"
    calibrant(
        "simulate", "contrarian", "--rounds", 64, "--forecaster", "foster-hart:horizon=T",
        "--out", out,
    )  # fmt: skip
    game = play(FosterHart(4), Contrarian(), 64)
    assert read(out).take("prediction").values.tolist() == game.predictions.tolist()


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("foster-hart:cells=5", "no parameter 'cells'; it takes gaps or horizon"),
        ("refined:deviation=C", "needs C, the deviation of the stream"),
        ("nobody", "forecaster must be one of 'event-forecaster', 'zoom'"),
    ],
)
def test_a_bad_spec_is_one_clear_line(attempt, events, tmp_path, spec, word):
    out = tmp_path / "out.csv"
    result = attempt("forecast", events, "--outcome", "outcome", "--forecaster", spec, "--out", out)
    assert result.exit_code == 2
    assert word in result.stderr
    assert result.stderr.splitlines()[-1].startswith("calibrant: error:")
    assert not out.exists()


def test_a_pipe_does_not_know_its_number_of_rounds(attempt):
    result = attempt("forecast", "-", "--forecaster", "foster-hart:horizon=T", stdin="1\n0\n")
    assert result.exit_code == 2
    assert "needs T, the number of rounds" in result.stderr
    assert not result.stdout
