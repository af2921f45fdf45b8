"""Unsuitable and valid rows at every entry point: commands, data frames, `fit` and the page."""

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

pytestmark = pytest.mark.usefixtures("undrawn")

ROWS = 2_000


def calibrant(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def honest():
    random = np.random.default_rng(0)
    scores = random.random(ROWS).round(4)
    outcomes = (random.random(ROWS) < scores**2).astype(float)
    times = pd.date_range("2024-01-01", periods=ROWS, freq="h")
    return pd.DataFrame({"t": times, "s": scores, "y": outcomes})


def late(frame):
    delay = np.where(frame["y"] == 1, 2, 40)
    return frame.assign(a=frame["t"] + pd.to_timedelta(delay, unit="h"))


def announced_late(frame):
    """Ones announced after 30 hours, zeros never: with silence, the last rows are immature."""
    return frame.assign(
        a=(frame["t"] + pd.Timedelta("30h")).where(frame["y"] == 1),
        y=frame["y"].where(frame["y"] == 1),
    )


def fitted(frame):
    """Scores with the very mean of the outcomes: residuals of a fit sum to nothing."""
    scores = np.clip(frame["s"], 0.05, 0.95) ** 2
    return frame.assign(s=scores * frame["y"].mean() / scores.mean())


def waiting(frame):
    """The last outcomes have not come, more and more of them."""
    is_late = np.random.default_rng(2).random(ROWS) < np.linspace(-9, 1, ROWS)
    return frame.assign(y=frame["y"].mask(is_late))


def selected(frame):
    """All ones are known, and of the zeros 1 in 100."""
    is_zero = (frame["y"] == 0) & (np.random.default_rng(3).random(ROWS) < 0.99)
    return frame.assign(y=frame["y"].mask(is_zero), s=frame["s"] / 5)


#: What is wrong, how to make it, what is said of it, and how grave it is at each door: refused,
#: warned of, remarked on; quiet where it is not looked for, or remarks are not made.
CASES = {
    "order.sorted": (
        lambda frame: frame.sort_values("y", kind="stable").drop(columns="t"),
        "sorted or grouped by outcome",
        "recalibrate refuse, inspect refuse, measure quiet, forecast refuse, frame refuse, "
        "fit refuse, page refuse, compare refuse",
    ),
    "order.by_score": (
        lambda frame: frame.sort_values("s", kind="stable").drop(columns="t"),
        "The scores only rise",
        "recalibrate refuse, inspect refuse, measure quiet, frame refuse, fit refuse, page refuse, "
        "compare refuse",
    ),
    "order.backwards": (
        lambda frame: frame[::-1],
        "Time runs backwards in 100% of the steps",
        "recalibrate refuse, inspect refuse, measure quiet, forecast refuse, frame refuse, "
        "compare refuse",
    ),
    "order.shuffled": (
        lambda frame: frame.sample(frac=1.0, random_state=0),
        "the rows are not in order of time",
        "recalibrate refuse, inspect refuse, measure quiet, forecast refuse, frame refuse, "
        "compare refuse",
    ),
    "one_sided": (
        lambda frame: frame.assign(y=frame["y"].where(frame["y"] == 1)),
        "it seems that only outcomes of 1 are reported",
        "recalibrate refuse, inspect refuse, measure refuse, frame refuse, fit refuse, "
        "page refuse, compare refuse",
    ),
    "scale.percent": (
        lambda frame: frame.assign(s=100 * frame["s"]),
        "they seem to be percentages",
        "recalibrate refuse, inspect refuse, frame refuse, fit refuse, compare refuse",
    ),
    "leak.copy": (
        lambda frame: frame.assign(s=frame["y"]),
        "seems to be a copy of the outcome",
        "recalibrate refuse, measure refuse, frame refuse, fit refuse, page refuse, compare refuse",
    ),
    "leak.in_sample": (
        fitted,
        "seem to have been fitted to these outcomes",
        "recalibrate warn, inspect warn, measure warn, frame warn, fit warn, page warn, "
        "compare warn",
    ),
    "lopsided": (
        selected,
        "one kind of outcome may be reported more often than the other",
        "recalibrate warn, inspect warn, measure warn, frame warn, fit warn, page warn, "
        "compare warn",
    ),
    "lateness": (
        late,
        "become known earlier than outcomes of 0",
        "recalibrate warn, inspect warn, frame warn, page warn, compare warn",
    ),
    "duplicates": (
        lambda frame: pd.concat([frame, frame]).sort_values("t", kind="stable"),
        "the rows seem to be copies",
        "recalibrate warn, inspect warn, measure warn, frame warn, fit warn, page warn, "
        "compare warn",
    ),
    "inverted": (
        lambda frame: frame.assign(s=1 - frame["s"]),
        "Outcomes of 1 are rarer where scores are higher",
        "recalibrate warn, inspect warn, measure warn, frame warn, fit warn, page warn, "
        "compare warn",
    ),
    "ties": (
        lambda frame: frame.assign(t=frame["t"].dt.floor("D")),
        "have the same time as another",
        "recalibrate note, inspect note, forecast note, page note, compare note",
    ),
    "maturity.rising": (
        waiting,
        "many of the last outcomes have not arrived yet",
        "recalibrate note, inspect note, measure note, page note, compare note",
    ),
    "constant": (
        lambda frame: frame.assign(s=0.3),
        "Every score is 0.3.",
        "recalibrate note, measure note, page note, compare note",
    ),
}


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


# -- doors: each returns (severity, message) of whatever is said of a frame ------------------------


def told_by(result):
    """Return the findings in the JSON of a command, or what it refuses."""
    if result.exit_code == 2:
        return [("refuse", result.stderr)]
    checks = json.loads(result.stdout)["checks"]
    return [(each["severity"], each["message"]) for each in checks]


def at_recalibrate(frame, path):
    return told_by(calibrant("recalibrate", path, *options(frame), "--json"))


def at_compare(frame, path):
    return told_by(calibrant("compare", path, *options(frame), "--json"))


def at_inspect(frame, path):
    named = path.with_name("named.csv")
    frame.rename(columns={"s": "score"}).to_csv(named, index=False)
    return told_by(calibrant("inspect", named, "--json"))


def at_measure(frame, path):  # noqa: ARG001
    return told_by(calibrant("measure", path, "--prediction", "s", "--outcome", "y", "--json"))


def at_forecast(frame, path):
    times = ("--time", "t") if "t" in frame else ()
    result = calibrant("forecast", path, "--outcome", "y", *times, "--json")
    return [("refuse" if result.exit_code == 2 else "note", result.stderr)]


def in_python(call):
    """Return the warnings of a call, or what it refuses."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            call()
        except ValueError as error:
            return [("refuse", str(error))]
    return [("warn", str(each.message)) for each in found if each.category is UserWarning]


def at_frame(frame, path):  # noqa: ARG001
    return in_python(lambda: recalibrate_frame(frame, **arguments(frame)))


def at_fit(frame, path):  # noqa: ARG001
    return in_python(lambda: Recalibrator().fit(frame["s"], frame["y"]))


def at_page(frame, path):  # noqa: ARG001
    """The page is made of whatever there is; a verdict is never good over a warning."""
    made = {"times": frame["t"].to_numpy()} if "t" in frame else {}
    if "a" in frame:
        made["available"] = frame["a"].to_numpy()
    report = recalibration(frame["s"], frame["s"] ** 2, frame["y"], **made)
    if any(each.is_open for each in report.checks):
        assert report.verdict.word in ("doubtful", "worse")
        html = report.html()
        assert '<section class="verdict better"' not in html
    return [(each.severity, each.message) for each in report.checks]


DOORS = {
    "recalibrate": at_recalibrate, "inspect": at_inspect, "measure": at_measure,
    "forecast": at_forecast, "frame": at_frame, "fit": at_fit, "page": at_page,
    "compare": at_compare,
}  # fmt: skip


@pytest.fixture(scope="module")
def honest_path(tmp_path_factory):
    return written(honest(), tmp_path_factory.mktemp("honest"))


@pytest.mark.parametrize("door", DOORS)
def test_honest_rows_pass_every_door(door, honest_path):
    said = DOORS[door](honest(), honest_path)
    assert [each for each in said if each[0] != "note"] == []
    for _, message in said:  # what a forecast notes is about the column that it does not use
        assert not any(part in message for _, part, _ in CASES.values())


EXPECTED = [
    (check, *each.split()) for check, (*_, where) in CASES.items() for each in where.split(", ")
]


@pytest.mark.parametrize(
    ("check", "door", "severity"), EXPECTED, ids=[f"{c}-{d}" for c, d, _ in EXPECTED]
)
def test_what_is_wrong_is_said_at_every_door(check, door, severity, tmp_path):
    spoil, part, _ = CASES[check]
    frame = spoil(honest())
    said = DOORS[door](frame, written(frame, tmp_path))
    found = [grade for grade, message in said if part in " ".join(message.split())]
    assert found == ([] if severity == "quiet" else [severity]), said


@pytest.mark.parametrize("check", ["order.sorted", "one_sided", "leak.copy"])
def test_who_insists_gets_what_was_asked_for(check, tmp_path):
    """The remark stays, and no page calls it better by itself."""
    frame = CASES[check][0](honest())
    path = written(frame, tmp_path)
    allowed = calibrant("recalibrate", path, *options(frame), "--allow", check, "--json")
    assert (check, "note") in [
        (each["check"], each["severity"]) for each in json.loads(allowed.stdout)["checks"]
    ]
    done = recalibrate_frame(frame, **arguments(frame), allow=check)
    report = recalibration(frame["s"], done["calibrated"], frame["y"])
    assert report.verdict.word == "doubtful"
    assert '<section class="verdict unknown"' in report.html()


def test_what_is_better_is_called_better(honest_path):
    frame = honest()
    found = json.loads(calibrant("recalibrate", honest_path, *options(frame), "--json").stdout)
    assert found["verdict"] == "better"
    assert json.loads(calibrant("inspect", honest_path, "--json").stdout)["command"] is not None
    report = recalibration(frame["s"], frame["s"] ** 2, frame["y"])
    assert report.verdict.word == "better"
    assert '<section class="verdict better"' in report.html()


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
    assert found["findings"][0].startswith("Assumption: each outcome was known before the next row")
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
    assert "they seem to be percentages" in calibrant(*asked, *cures).stderr
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
    with pytest.warns(UserWarning, match="250 predictions are pending at the same time"):
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
    words = [each.words for each in forecaster.weights()]
    assert ("the hour of the day" in words) == has_hour


def test_an_outcome_sorted_series_is_not_forecast(tmp_path):
    path = written(CASES["order.sorted"][0](honest())[["y"]], tmp_path)
    told = calibrant("forecast", path, "--outcome", "y")
    assert told.exit_code == 2
    assert "--trust-order" in told.stderr
