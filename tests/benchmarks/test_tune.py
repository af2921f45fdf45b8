"""How the certificates are measured: worlds, quantiles, fits, and the command."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.tune import (
    SLOPES,
    excess,
    line_above,
    main,
    need,
    plan_drifting,
    plan_steady,
    running_errors,
    total_rounds,
    tune,
    upper_quantile,
)
from benchmarks.worlds import WORLDS
from calibrant import Refined
from calibrant.certificates import CERTIFIED_MEASURES, coefficients, form


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_running_errors_are_the_forecasters_own(measure):
    y = np.random.default_rng(4).random(300) < 0.3
    forecaster, expected = Refined(measure, seed=2), []
    for outcome in y:
        forecaster.update(outcome)
        expected.append(forecaster.error)
    assert running_errors(Refined(measure, seed=2), y).tolist() == expected


def test_running_errors_refuse_bad_outcomes():
    forecaster = Refined()
    with pytest.raises(ValueError, match="position 1"):
        running_errors(forecaster, [0, 2])
    assert forecaster.rounds == 0


def test_upper_quantile_is_an_upper_bound_in_95_percent_of_samples():
    """P(short of the true quantile) <= 0.05: at most 139 of 2000, by four standard deviations.

    0.05 * 2000 = 100 and sqrt(2000 * 0.05 * 0.95) = 9.7, so 100 + 4 * 9.7 < 139.
    """
    rng = np.random.default_rng(8)
    for runs, delta in ((100, 0.05), (300, 0.02), (60, 0.2)):
        short = sum(upper_quantile(rng.random(runs), delta) < 1 - delta for _ in range(2000))
        assert 0 < short <= 139


def test_upper_quantile_needs_enough_runs():
    assert upper_quantile(range(58), 0.05) is None  # 0.95^58 = 0.051
    assert upper_quantile(range(59), 0.05) == 58
    assert upper_quantile(range(1, 101), 0.05) == 99


def test_line_above_lies_above_and_follows_the_points():
    rng = np.random.default_rng(9)
    for _ in range(50):
        x = np.sort(rng.random(6))
        y = rng.random(6) + x
        start, slope = line_above(list(zip(x, y, strict=True)))
        # Both numbers are rounded up to hundredths.
        assert slope == pytest.approx(max(0.0, np.polyfit(x, y, 1)[0]), abs=0.01)
        assert 0 <= (start + slope * x - y).min() <= 0.01
    assert line_above([(0.0, 3.0), (1.0, 1.0)]) == (3.0, 0.0)
    assert line_above([(1.0, 2.0), (2.0, 2.0), (3.0, 4.0)]) == (1.0, 1.0)


@pytest.mark.parametrize("measure", CERTIFIED_MEASURES)
def test_excess_and_need_are_what_a_certificate_must_cover(measure):
    errors = np.random.default_rng(1).random(200).cumsum()
    U = coefficients(measure)
    d0 = need(measure, errors, U, 8.0)
    covering = U._replace(d0=d0 + 1e-9)
    short = U._replace(d0=d0 - 1e-6)
    n = range(1, 201)
    assert all(errors[k - 1] <= covering.bound(measure, k, 8.0) for k in n)
    assert any(errors[k - 1] > short.bound(measure, k, 8.0) for k in n)
    steady = U._replace(c0=excess(measure, errors) + 1e-9, c1=SLOPES[measure])
    assert all(errors[k - 1] <= steady.bound(measure, k, 0.0) for k in n)


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_have_the_deviation_they_are_asked_for(world):
    for T, C in ((400, 8.0), (1000, 64.0), (1000, 512.0)):
        means = WORLDS[world](T, C, np.random.default_rng(0))
        assert len(means) == T
        assert ((means >= 0) & (means <= 1)).all()
        found = np.abs(means - np.median(means)).sum()  # the median is the nearest value
        assert found <= C + 1
        if world != "steady" and C < T / 3:
            assert found >= 0.9 * C - 1


def test_the_plan_is_what_is_played():
    played = []
    one = tune(runs=60, rounds=100, workers=1, advance=played.append)
    assert sum(played) == total_rounds(60, 100)
    assert one == tune(runs=60, rounds=100, workers=2)
    assert {b.rounds for b in plan_steady(60, 100)} == {100, 1000}
    assert all(b.deviation <= b.rounds / 2 for b in plan_drifting(60, 100))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"runs": 59}, "runs"), ({"rounds": 99}, "rounds"), ({"workers": -1}, "workers")],
)
def test_tune_refuses(arguments, word):
    with pytest.raises(ValueError, match=f"{word} must be an integer"):
        tune(**arguments)


def test_the_same_table_whatever_the_number_of_workers(capsys, tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    small = ["--runs", "60", "--rounds", "100"]
    main([*small, "--workers", "1", "--out", str(one)])
    assert "pseudo_kl" in capsys.readouterr().out
    main([*small, "--workers", "2", "--out", str(two)])
    assert one.read_bytes() == two.read_bytes()
    table = json.loads(one.read_text())
    assert table["measured"]["runs"] == 60
    assert set(table["measures"]["l2"]) >= {"slope", "start", "per_log", "deviation"}
    assert sorted(tmp_path.iterdir()) == [one, two]


def test_only_some_are_measured_anew(tmp_path):
    """They get the numbers that they have among all, and the others keep the shipped ones."""
    path = tmp_path / "some.json"
    main(
        [
            "--runs",
            "60",
            "--rounds",
            "100",
            "--workers",
            "1",
            "--only",
            "l2-swap",
            "--out",
            str(path),
        ]
    )
    table = json.loads(path.read_text())["measures"]
    shipped = form.tuned_table()["measures"]
    assert table["l1"] == shipped["l1"]
    assert table["l2-swap"] == tune(runs=60, rounds=100, workers=1)["measures"]["l2-swap"]
    assert table["l2-swap"] != shipped["l2-swap"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--runs", "10"), "runs must be an integer"),
        (("--rounds", "5"), "rounds must be an integer"),
        (("--workers", "-2"), "workers must be an integer"),
    ],
)
def test_bad_numbers(capsys, tmp_path, arguments, word):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path / "out.json")])
    assert ended.value.code == 2
    assert word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_is_refused_before_anything_is_played(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "folder" in capsys.readouterr().err


def test_it_is_a_part_of_the_benchmarks(request):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "tune", "--runs", "10"],
        cwd=request.config.rootpath, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "python -m benchmarks tune: error: runs must be an integer" in done.stderr
