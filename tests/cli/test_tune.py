"""The command line: measuring the certificates again."""

import json

import pytest


def test_the_same_table_whatever_the_number_of_workers(calibrant, tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    arguments = ("tune-certificates", "--runs", 60, "--rounds", 100)
    result = calibrant(*arguments, "--workers", 1, "--out", one)
    assert result.exit_code == 0
    assert "pseudo_kl" in result.stdout
    assert calibrant(*arguments, "--workers", 2, "--out", two).exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    table = json.loads(one.read_text())
    assert table["measured"]["runs"] == 60
    assert set(table["measures"]["l2"]) >= {"slope", "start", "per_log", "deviation"}
    assert sorted(tmp_path.iterdir()) == [one, two]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--runs", 10), "runs must be an integer"),
        (("--rounds", 5), "rounds must be an integer"),
        (("--workers", -2), "workers must be an integer"),
    ],
)
def test_bad_numbers(calibrant, tmp_path, arguments, word):
    out = tmp_path / "out.json"
    result = calibrant("tune-certificates", *arguments, "--out", out)
    assert result.exit_code == 2
    assert word in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_is_refused_before_anything_is_played(calibrant, tmp_path):
    result = calibrant("tune-certificates", "--out", tmp_path)
    assert result.exit_code == 2
    assert "folder" in result.stderr
