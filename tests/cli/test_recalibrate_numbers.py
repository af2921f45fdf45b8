"""Forecasts of numbers in files and data frames."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import NumberRecalibrator
from calibrant.cli.recalibrate_numbers import TAKEN, recalibrate_given
from calibrant.recalibrate import recalibrate_frame


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    m = random.normal(size=800)
    y = m + random.normal(size=800)
    return pl.DataFrame({"t": np.arange(800), "m": m, "y": y, "known": np.arange(800) + 30})


@pytest.fixture
def file(rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.write_csv(path)
    return path


def recalibrate_file(source, **options):
    """Do what the command does with these options."""
    recalibrate_given({**dict.fromkeys(TAKEN), "source": source, **options})


def test_a_file_gets_columns_of_quantiles(file, tmp_path, capsys):
    out = tmp_path / "out.csv"
    recalibrate_file(
        str(file), forecast="m", outcome="y", levels="0.05,0.5,0.95", out=out, json=True
    )
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 800
    assert found["measured"] == 700
    assert [each["coverage"] for each in found["intervals"]] == [0.5, 0.8, 0.9]
    assert found["intervals"][2]["observed"] == pytest.approx(0.9, abs=0.04)
    written = pl.read_csv(out)
    assert written.columns == ["t", "m", "y", "known", "q05", "q50", "q95"]
    said = NumberRecalibrator().run(written["m"].to_numpy(), written["y"].to_numpy())
    assert np.array_equal(written["q05"].to_numpy(), said[:, 3])


def test_late_outcomes_are_used_when_they_are_known(rows, file, tmp_path, capsys):
    out = tmp_path / "out.csv"
    recalibrate_file(str(file), forecast="m", outcome="y", time="t", available="known", out=out)
    assert "90%" in capsys.readouterr().out
    recalibrator, said = NumberRecalibrator(), []
    for t, (m, _) in enumerate(zip(rows["m"], rows["y"], strict=True)):
        if t > 30:
            recalibrator.update(rows["y"][t - 31], id=t - 31)
        said.append(recalibrator.predict(m, id=t).quantiles[3])
    assert np.array_equal(pl.read_csv(out)["q05"].to_numpy(), said)


def test_frames_and_files_agree(rows, file, tmp_path):
    out = tmp_path / "out.csv"
    recalibrate_file(str(file), forecast="m", outcome="y", hold="24", out=out)
    done = recalibrate_frame(rows, forecast="m", outcome="y", hold=24)
    assert np.allclose(pl.read_csv(out).drop("t").to_numpy(), done.drop("t").to_numpy(), rtol=1e-12)


def test_a_page_is_written(file, tmp_path):
    page = tmp_path / "page.html"
    recalibrate_file(str(file), forecast="m", outcome="y", report=page)
    text = page.read_text()
    assert "lay in their 90% intervals" in text
    assert "No alarm: the intervals held throughout." in text
    assert text.count("<svg") == 3


def test_a_state_goes_on(rows, tmp_path):
    state, whole, parts = tmp_path / "state", tmp_path / "whole.csv", []
    rows.write_csv(whole)
    for part, name in ((rows[:400], "a.csv"), (rows[400:], "b.csv")):
        part.write_csv(tmp_path / name)
        recalibrate_file(
            str(tmp_path / name),
            forecast="m",
            outcome="y",
            state=state,
            out=tmp_path / ("o" + name),
        )
        parts.append(pl.read_csv(tmp_path / ("o" + name)))
    recalibrate_file(str(whole), forecast="m", outcome="y", out=tmp_path / "o.csv")
    assert pl.concat(parts).equals(pl.read_csv(tmp_path / "o.csv"))


def test_missing_cells_and_groups(rows):
    frame = rows.with_columns(
        pl.when(pl.col("t") % 5 == 0).then(None).otherwise(pl.col("m")).alias("m"),
        pl.when(pl.col("t") % 7 == 0).then(None).otherwise(pl.col("y")).alias("y"),
        pl.Series("place", ["a", "b"] * 400),
    )
    done = recalibrate_frame(frame, forecast="m", outcome="y", by="place", levels=[0.1, 0.9])
    assert done.columns[-2:] == ["q10", "q90"]
    assert not done["q10"].is_nan().any()
    recalibrator = NumberRecalibrator()
    recalibrate_frame(frame, forecast="m", outcome="y", recalibrator=recalibrator)
    assert recalibrator.learned == frame["y"].count()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"score": "m"}, "score cannot be combined with forecast"),
        ({"silence": 0}, "silence cannot be combined with forecast"),
        ({"levels": [0.0, 0.5]}, "levels must be inside"),
        ({"available": "known"}, "available needs time"),
        ({"outcome": "m"}, "cannot be both"),
        ({"outcome": "nowhere"}, "nowhere"),
    ],
)
def test_bad_frames(rows, given, message):
    with pytest.raises(ValueError, match=message):
        recalibrate_frame(rows, **{"forecast": "m", "outcome": "y", **given})


def test_a_cell_that_is_no_number(file):
    file.write_text(file.read_text().replace("\n3,", "\n3,none", 1))
    with pytest.raises(ValueError, match="line 5"):
        recalibrate_file(str(file), forecast="m", outcome="y")
    with pytest.raises(ValueError, match="--levels must be numbers"):
        recalibrate_file(str(file), forecast="m", outcome="y", levels="a")


@pytest.mark.parametrize(
    ("option", "value"), [("date-format", "%d.%m.%Y"), ("trust-order", True), ("due", "t")]
)
def test_options_that_do_not_go_with_a_forecast(file, option, value):
    with pytest.raises(ValueError, match=f"^--{option} cannot be combined with --forecast$"):
        recalibrate_file(str(file), forecast="m", outcome="y", **{option.replace("-", "_"): value})
