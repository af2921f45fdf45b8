"""Wrong questions at every door, terminal, data frames, `fit` and the page; and honest twins."""

import json
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import EventForecaster, Recalibrator
from calibrant.cli import app
from calibrant.recalibrate import recalibrate_frame
from calibrant.report import recalibration
from calibrant.tables import InputError

ROWS = 2_000


def calibrant(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def honest():
    random = np.random.default_rng(0)
    scores = random.random(ROWS).round(4)
    outcomes = (random.random(ROWS) < scores**2).astype(float)
    times = pd.date_range("2024-01-01", periods=ROWS, freq="h")
    return pd.DataFrame({"t": times, "s": scores, "y": outcomes})


def by_outcome(frame):
    """Case 1."""
    return frame.sort_values("y", kind="stable").drop(columns="t")


def announced(frame):
    """Case 2."""
    return frame.assign(y=frame["y"].where(frame["y"] == 1))


def copied(frame):
    return frame.assign(s=frame["y"])


REFUSED = {"order.sorted": by_outcome, "one_sided": announced, "leak.copy": copied}


def late(frame):
    delay = np.where(frame["y"] == 1, 2, 40)
    return frame.assign(a=frame["t"] + pd.to_timedelta(delay, unit="h"))


def twice(frame):
    return pd.concat([frame, frame]).sort_values("t", kind="stable")


def inverted(frame):
    return frame.assign(s=1 - frame["s"])


WARNED = {"lateness": late, "duplicates": twice, "inverted": inverted}


def options(frame):
    names = {"--score": "s", "--outcome": "y", "--time": "t", "--available": "a"}
    return [word for option, name in names.items() if name in frame for word in (option, name)]


def arguments(frame):
    names = {"score": "s", "outcome": "y", "time": "t", "available": "a"}
    return {name: column for name, column in names.items() if column in frame}


def written(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return path


def test_honest_rows_pass_every_door(tmp_path):
    frame = honest()
    path = written(frame, tmp_path)
    found = json.loads(calibrant("recalibrate", path, *options(frame), "--json").stdout)
    assert found["verdict"] == "better"
    assert found["checks"] == []
    seen = json.loads(calibrant("inspect", path, "--json").stdout)
    assert seen["checks"] == []
    assert seen["command"] is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = recalibrate_frame(frame, **arguments(frame))
        Recalibrator().fit(frame["s"], frame["y"])
        report = recalibration(frame["s"], done["calibrated"], frame["y"])
    assert report.verdict.word == "better"
    assert '<section class="verdict better"' in report.html()


@pytest.mark.parametrize("check", REFUSED)
def test_what_is_refused_is_refused_at_every_door(check, tmp_path):
    frame = REFUSED[check](honest())
    path = written(frame, tmp_path)
    told = calibrant("recalibrate", path, *options(frame))
    assert told.exit_code == 2
    seen = json.loads(calibrant("inspect", path, "--json").stdout)
    if check != "leak.copy":  # of two such columns, nobody can say which is the score
        assert check in [each["check"] for each in seen["checks"]]
        assert seen["command"] is None or "--silence 0 --after SPAN" in seen["command"]
    with pytest.raises(InputError) as refused:
        recalibrate_frame(frame, **arguments(frame))
    assert str(refused.value) in told.stderr
    with pytest.raises(ValueError, match=str(refused.value)[:40]):
        Recalibrator().fit(frame["s"], frame["y"])
    # Who insists gets what was asked for, and the remark stays.
    allowed = calibrant("recalibrate", path, *options(frame), "--allow", check, "--json")
    assert (check, "note") in [
        (each["check"], each["severity"]) for each in json.loads(allowed.stdout)["checks"]
    ]
    done = recalibrate_frame(frame, **arguments(frame), allow=check)
    # A page never calls it better.
    report = recalibration(frame["s"], done["calibrated"], frame["y"])
    assert report.verdict.word == "doubtful"
    assert '<section class="verdict unknown"' in report.html()


@pytest.mark.parametrize("check", WARNED)
def test_what_is_warned_of_is_never_better(check, tmp_path):
    frame = WARNED[check](honest())
    path = written(frame, tmp_path)
    told = calibrant("recalibrate", path, *options(frame), "--json")
    found = json.loads(told.stdout)
    assert found["verdict"] in ("doubtful", "worse")
    assert (check, "warn") in [(each["check"], each["severity"]) for each in found["checks"]]
    with pytest.warns(UserWarning, match=r"[a-z]") as warned:
        recalibrate_frame(frame, **arguments(frame))
    assert str(warned[0].message) in [each["message"] for each in found["checks"]]


def test_rows_of_one_time_do_not_learn_from_each_other(tmp_path):
    """Case 4: 2,000 customers scored at once; the honest twin has a time of its own for each."""
    random = np.random.default_rng(1)
    scores = random.random(ROWS)
    outcomes = (random.random(ROWS) < 0.3).astype(float)
    frame = pd.DataFrame({"t": 1.0, "s": scores, "y": outcomes})
    done = recalibrate_frame(frame, score="s", outcome="y", time="t")
    start = Recalibrator().predict_many(scores)
    assert done["calibrated"].tolist() == start.tolist()
    found = json.loads(calibrant("recalibrate", written(frame, tmp_path), *options(frame),
                                 "--json").stdout)  # fmt: skip
    assert "ties" in [each["check"] for each in found["checks"]]
    assert found["findings"][0].startswith("Assumed: each outcome was known before the next row")
    own = recalibrate_frame(frame.assign(t=np.arange(ROWS)), score="s", outcome="y", time="t")
    assert own["calibrated"].tolist() == Recalibrator().run(scores, outcomes).tolist()


def test_only_mature_outcomes_are_scored(tmp_path):
    """Case 3: with silence the last rows have ones alone; they wait, and raise no alarm."""
    frame = honest().assign(y=lambda rows: rows["y"].where(rows["y"] == 1))
    silence = ("--silence", "0", "--after", "20d")
    told = calibrant("recalibrate", written(frame, tmp_path), *options(frame), *silence, "--json")
    found = json.loads(told.stdout)
    assert found["rounds"] == ROWS - found["waiting"]
    assert found["waiting"] == 481  # 480 hours, and the row that is due with the last
    truth = honest()["y"][: ROWS - 481].mean()
    assert found["mean_outcome"] == pytest.approx(truth)
    assert found["calibrated"]["episodes"] == []
    assert not any("never arrived" in each for each in found["findings"])


@pytest.mark.parametrize("order", ["newest first", "shuffled"])
def test_a_file_out_of_order_is_refused_and_can_be_sorted(order, tmp_path):
    """Case 5."""
    frame = honest()
    wrong = frame[::-1] if order == "newest first" else frame.sample(frac=1.0, random_state=0)
    path = written(wrong, tmp_path)
    told = calibrant("recalibrate", path, *options(frame))
    assert told.exit_code == 2
    assert "--sort TIME" in told.stderr
    assert "--sort t" in json.loads(calibrant("inspect", path, "--json").stdout)["command"]
    done = json.loads(calibrant("recalibrate", path, *options(frame), "--sort", "t",
                                "--json").stdout)  # fmt: skip
    twin = calibrant("recalibrate", written(frame, tmp_path), *options(frame), "--json")
    assert done["calibrated"] == json.loads(twin.stdout)["calibrated"]


def test_percents_dates_gaps_and_recurring_ids(tmp_path):
    frame = honest()
    twin = json.loads(calibrant("recalibrate", written(frame, tmp_path), *options(frame),
                                "--json").stdout)  # fmt: skip
    gaps = pd.DataFrame({"t": frame["t"][:50], "s": np.nan, "y": 0.0})
    wrong = pd.concat([frame.assign(s=(100 * frame["s"]).round(2)), gaps])
    wrong = wrong.assign(
        t=wrong["t"].dt.strftime("%d.%m.%Y %H:%M"),
        user_id=["u", "v"] * 1_025,
        month=range(len(wrong)),
    )
    path = written(wrong, tmp_path)
    asked = ("recalibrate", path, *options(frame), "--date-format", "%d.%m.%Y %H:%M")
    assert "50 of 2,050 rows have no score" in calibrant(*asked, "--sort", "t").stderr
    cures = ("--sort", "t", "--missing", "skip")
    assert "they seem to be percents" in calibrant(*asked, *cures).stderr
    cures += ("--scale", "percent")
    assert "An id names one prediction" in calibrant(*asked, *cures, "--id", "user_id").stderr
    found = json.loads(calibrant(*asked, *cures, "--id", "user_id,month", "--json").stdout)
    assert found["rounds"] == ROWS
    assert found["calibrated"]["brier"] == pytest.approx(twin["calibrated"]["brier"], abs=1e-9)
    seen = json.loads(calibrant("inspect", path, "--json").stdout)
    assert any("%d.%m.%Y %H:%M" in note for note in seen["notes"])
    assert any("--id user_id,month" in note for note in seen["notes"])
    percents = frame.assign(s=(100 * frame["s"]).round(2)).rename(columns={"s": "score"})
    seen = json.loads(calibrant("inspect", written(percents, tmp_path), "--json").stdout)
    assert "--scale percent" in seen["command"]


def test_more_ids_than_are_kept_are_warned_of():
    """Case 6."""
    recalibrator = Recalibrator(capacity=100)
    with pytest.warns(UserWarning, match="250 predictions wait for their outcomes at once"):
        recalibrator.predict_many(np.full(250, 0.5), ids=list(range(250)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Recalibrator(capacity=250).predict_many(np.full(250, 0.5), ids=list(range(250)))


def test_measures_of_many_distinct_scores_are_explained(tmp_path):
    """Case 7; the honest twin has ten scores."""
    frame = honest().rename(columns={"s": "p"})
    told = " ".join(calibrant("measure", written(frame, tmp_path)).stdout.split())
    assert "distinct predictions hardly repeat in 2,000 rounds" in told
    frame["p"] = frame["p"].round(1)
    told = " ".join(calibrant("measure", written(frame, tmp_path)).stdout.split())
    assert "hardly repeat" not in told


@pytest.mark.parametrize(("step", "has_hour"), [(86_400.0, False), (3_600.0, True)])
def test_days_have_no_hour(step, has_hour):
    """Case 8; hours do."""
    forecaster = EventForecaster()
    outcomes = np.random.default_rng(0).integers(0, 2, 700)
    forecaster.run(outcomes, at=[datetime.fromtimestamp(row * step, UTC) for row in range(700)])
    words = [each.words for each in forecaster.memory()]
    assert ("the hour of the day" in words) == has_hour


def test_an_outcome_sorted_series_is_not_forecast(tmp_path):
    path = written(by_outcome(honest())[["y"]], tmp_path)
    told = calibrant("forecast", path, "--outcome", "y")
    assert told.exit_code == 2
    assert "--trust-order" in told.stderr
