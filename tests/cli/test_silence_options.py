"""``--silence``, ``--after``, ``--due``, ``--hold`` in files, frames and pipes; the diagnosis."""

import csv
import json
from datetime import datetime, timedelta

import numpy as np
import polars
import pytest

from calibrant import Recalibrator
from calibrant.cli.recalibrate import RecalibrateOptions, begin
from calibrant.cli.recalibrate_pipe import ScorePipe
from calibrant.measures import brier
from calibrant.recalibrate import recalibrate_frame

ROUNDS = 3_000
START = datetime(2026, 1, 1)


@pytest.fixture(scope="module")
def payments():
    """Right scores, 60 an hour; frauds are known after 7 hours, the rest after 30."""
    random = np.random.default_rng(1)
    scores = random.beta(0.6, 4.0, ROUNDS)
    fraud = (random.random(ROUNDS) < scores).astype(float)
    made = [START + timedelta(minutes=row) for row in range(ROUNDS)]
    known = [at + timedelta(hours=7 if y else 30) for at, y in zip(made, fraud, strict=True)]
    due = [at + timedelta(hours=30) for at in made]
    return {
        "id": list(range(ROUNDS)), "at": made, "known": known, "due": due,
        "score": scores.tolist(), "fraud": fraud.tolist(),
    }  # fmt: skip


@pytest.fixture
def file(tmp_path, payments):
    path = tmp_path / "payments.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(payments)
        writer.writerows(zip(*payments.values(), strict=True))
    return path


NAMES = ["--score", "score", "--outcome", "fraud", "--time", "at", "--available", "known"]


def test_the_diagnosis_appears_and_its_cure_cures(calibrant, file, payments, tmp_path):
    report = tmp_path / "page.html"
    result = calibrant("recalibrate", file, *NAMES, "--report", report)
    told = " ".join(result.stdout.split())
    assert (
        "Outcomes of 1 become known earlier than outcomes of 0 (after 7h and 1.25d in the median"
        in told
    )
    assert "(--hold 1.3d)" in told
    assert "become known earlier" in report.read_text()
    frame = polars.DataFrame(payments)
    named = {"score": "score", "outcome": "fraud", "time": "at", "available": "known"}
    with pytest.warns(UserWarning, match="Outcomes of 1 become known earlier"):
        as_it_is = recalibrate_frame(frame, **named)
    cured = recalibrate_frame(frame, hold="1.3d", **named)
    right = brier(frame["score"], frame["fraud"])
    assert brier(as_it_is["calibrated"], frame["fraud"]) > right + 0.03
    assert brier(cured["calibrated"], frame["fraud"]) < right + 0.001


def test_deadlines_of_the_rows(calibrant, file, tmp_path):
    same = []
    for name, options in (("due", ["--due", "due"]), ("after", ["--after", "30h"])):
        out = tmp_path / f"{name}.csv"
        calibrant("recalibrate", file, *NAMES, "--silence", "0", *options, "--out", out)
        rows = csv.DictReader(out.read_text().splitlines())
        same.append([row["calibrated"] for row in rows])
    assert same[0] == same[1]


def test_silent_rows_without_an_outcome_are_measured(calibrant, tmp_path):
    path = tmp_path / "orders.csv"
    random = np.random.default_rng(0)
    lines = ["t,known,s,bought"]
    for row in range(2_000):
        bought = random.random() < 0.2
        lines.append(f"{row},{row + 5 if bought else ''},0.2,{1 if bought else ''}")
    path.write_text("\n".join(lines) + "\n")
    result = calibrant(
        "recalibrate", path, "--score", "s", "--outcome", "bought", "--time", "t",
        "--available", "known", "--silence", "0", "--after", "100",
    )  # fmt: skip
    assert "2,000 rounds" in result.stdout
    # The last 100 rows are still open where they are silent: 80 of them or so.
    assert "mean 0.2" in result.stdout


def test_a_state_goes_on_with_its_deadlines(attempt, file, tmp_path):
    lines = file.read_text().splitlines()
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("\n".join(lines[:2_001]) + "\n")
    second.write_text("\n".join([lines[0], *lines[2_001:]]) + "\n")
    state, options = tmp_path / "state", ["--id", "id", "--silence", "0", "--after", "30h"]
    attempt("recalibrate", first, *NAMES, *options, "--state", state)
    attempt("recalibrate", second, *NAMES, "--id", "id", "--state", state)
    saved = Recalibrator.load(state)
    assert (saved.silence, saved.rounds) == (0, 3_000)
    refused = attempt("recalibrate", second, *NAMES, "--silence", "1", "--state", state)
    assert "was saved with silence=0, got 1" in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--due", "due"], "due needs silence or hold"),
        (["--after", "3d"], "after needs silence"),
        (["--silence", "0"], "needs a deadline"),
        (["--silence", "3", "--after", "3d"], "--silence must be 0 or 1, got 3"),
        (["--silence", "0", "--after", "soon"], "after must be a positive number"),
        (["--silence", "0", "--after", "30"], 'after=30 has no unit; beside dates, say "30d"'),
        (["--silence", "0", "--due", "at"], "is not later than the prediction"),
        (["--silence", "0", "--due", "nowhere"], "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(attempt, file, options, said):
    result = attempt("recalibrate", file, *NAMES, *options)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("options", [["--silence", "0", "--after", "3d"], ["--hold", "3d"]])
def test_a_deadline_in_days_needs_times(attempt, file, options):
    result = attempt("recalibrate", file, "--score", "score", "--outcome", "fraud", *options)
    assert result.exit_code == 2
    assert "needs the time of the prediction, at=... (--time)" in result.stderr


def test_a_pipe_learns_at_deadlines(calibrant):
    lines = [
        {"id": "a", "t": "2026-01-01T00:00", "s": 0.3},
        {"id": "b", "t": "2026-01-01T01:00", "s": 0.6},
        {"id": "a", "t": "2026-01-01T02:00", "y": 1},
        {"id": "c", "t": "2026-01-02T02:00", "s": 0.6},
        {"id": "d", "s": 0.6},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    options = ["--id", "id", "--outcome", "y", "--time", "t", "--silence", "0", "--after", "1d"]
    result = calibrant("recalibrate", "-", "--score", "s", *options, stdin=text)
    twin = Recalibrator(silence=0, after="1d")
    said = [json.loads(line) for line in result.stdout.splitlines()]
    at = [datetime.fromisoformat(line["t"]) for line in lines if "t" in line]
    assert said[0]["calibrated"] == twin.predict(0.3, id="a", at=at[0])
    assert said[1]["calibrated"] == twin.predict(0.6, id="b", at=at[1])
    twin.update(1, id="a", at=at[2])
    assert said[2]["calibrated"] == twin.predict(0.6, id="c", at=at[3])
    assert said[3] == {"id": "d", "line": 5, "error": "column 't': the time is missing"}
    assert "predictions before their deadline: 1" in result.stderr


def test_a_pipe_refuses_a_span_without_a_unit_beside_dates(calibrant):
    lines = '{"id": 1, "t": "2026-01-01", "s": 0.3}\n{"id": 2, "t": 3, "s": 0.3}\n'
    options = ["--score", "s", "--id", "id", "--time", "t", "--hold", "30"]
    result = calibrant("recalibrate", "-", *options, stdin=lines)
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["error"] == 'hold=30 has no unit; beside dates, say "30d" or so'
    assert 0.0 <= second["calibrated"] <= 1.0


def test_a_frame_refuses_a_span_without_a_unit_beside_dates(payments):
    named = {"score": "score", "outcome": "fraud", "time": "at"}
    with pytest.raises(ValueError, match="hold=30 has no unit"):
        recalibrate_frame(polars.DataFrame(payments), **named, hold=30)


def test_a_pipe_measures_what_has_reached_its_deadline():
    options = RecalibrateOptions(source="-", score="s", id="id", silence=0, after="2")
    pipe = ScorePipe(*begin(options))
    for name in range(5):
        pipe.predict(0.5, name, None)
        pipe.learn(1.0, name)
        pipe.measure()
    assert pipe.measures.raw.rounds == 4
    assert pipe.measures.raw.summary()["brier"] == 0.25


def test_a_pipe_with_deadlines_needs_ids(attempt):
    result = attempt("recalibrate", "-", "--score", "s", "--hold", "3", stdin="")
    assert "in a pipe, --silence and --hold need --id" in " ".join(result.stderr.split())
