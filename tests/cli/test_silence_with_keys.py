"""``--key`` with ``--silence``, ``--after``, ``--due``, ``--hold``: a fleet and its deadlines."""

import json
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from calibrant import Fleet
from calibrant.measures import brier
from calibrant.tables import chunks
from cli.files import written

SIZE = 1_500
NAMES = ("--score", "score", "--outcome", "fraud", "--time", "at", "--available", "known")
KEY = ("--key", "shop")


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK", 20_000)
    monkeypatch.setattr(chunks, "ROWS", 170)


@pytest.fixture(scope="module")
def payments():
    """Frauds are known after 7 hours, some after 40, the rest after 30; shops differ."""
    rng = np.random.default_rng(1)
    shop, score = rng.integers(0, 20, SIZE), rng.beta(1.0, 4.0, SIZE).round(5)
    fraud = (rng.random(SIZE) < score ** rng.uniform(0.5, 2, 20)[shop]).astype(int)
    made = [datetime(2026, 1, 1) + timedelta(minutes=7 * (row // 2)) for row in range(SIZE)]
    hours = np.where(fraud, np.where(rng.random(SIZE) < 0.1, 40, 7), 30).tolist()
    return pd.DataFrame(
        {
            "id": [f"payment {row}" for row in range(SIZE)],
            "shop": [f"shop {each}" for each in shop],
            "at": made,
            "known": [at + timedelta(hours=each) for at, each in zip(made, hours, strict=True)],
            "due": [at + timedelta(hours=30) for at in made],
            "score": score,
            "fraud": fraud,
        }
    )


def test_a_state_has_its_own_options_and_a_bad_file_leaves_it_alone(attempt, payments, tmp_path):
    state, rows = tmp_path / "state", payments.iloc[:300]
    source = written(rows, tmp_path / "a.csv")
    attempt(
        "recalibrate", source, *NAMES, *KEY, "--silence", "0", "--after", "30h", "--state", state
    )
    before = state.read_bytes()
    result = attempt("recalibrate", source, *NAMES, *KEY, "--hold", "3d", "--state", state)
    assert "was saved with hold=None, got 3d" in result.stderr
    later = payments.iloc[300:600].astype({"shop": object}).copy()
    later.loc[later.index[250], "shop"] = None
    bad = written(later, tmp_path / "b.csv")
    result = attempt("recalibrate", bad, *NAMES, *KEY, "--state", state)
    assert "line 252, column 'shop': the key is missing" in result.stderr
    assert state.read_bytes() == before
    result = attempt("recalibrate", source, *NAMES[:4], *KEY, "--state", state)
    assert "either all predictions need a time" in result.stderr
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        ["--due", "due"],
        ["--after", "3d"],
        ["--silence", "0", "--hold", "3d"],
        ["--silence", "3", "--after", "3d"],
        ["--silence", "0", "--after", "30"],
        ["--silence", "0", "--due", "at"],
        ["--silence", "0", "--due", "score"],
        ["--silence", "0", "--due", "nowhere"],
    ],
)
def test_what_makes_no_sense_is_refused_as_without_keys(attempt, payments, tmp_path, options):
    source = written(payments.iloc[:50], tmp_path / "a.csv")
    plain = attempt("recalibrate", source, *NAMES, *options)
    keyed = attempt("recalibrate", source, *NAMES, *KEY, *options)
    assert plain.exit_code == keyed.exit_code == 2
    assert plain.stderr == keyed.stderr != ""


def test_silent_rows_are_measured_at_their_deadlines(calibrant, payments, tmp_path):
    silent = payments.assign(fraud=payments["fraud"].where(payments["fraud"] == 1))
    source = written(silent, tmp_path / "a.csv")
    options = ("--silence", "0", "--due", "due", "--out", tmp_path / "out.csv")
    found = json.loads(calibrant("recalibrate", source, *NAMES, *KEY, *options, "--json").stdout)
    assert found["rows"] == SIZE
    is_over = measured = payments["due"] < payments["at"].iloc[-1]
    in_time = payments["known"] <= payments["due"]
    assert found["outcomes"] == measured.sum() < SIZE
    assert found["waiting"] == (~is_over).sum()
    assert (
        found["arrived_late"]
        == ((silent["fraud"] == 1) & (payments["known"] >= payments["at"].iloc[-1])).sum()
    )
    said = pd.read_csv(tmp_path / "out.csv")["calibrated"][measured]
    settled = (payments["fraud"] == 1) & in_time
    assert found["calibrated"]["brier"] == pytest.approx(brier(said, settled[measured]))
    late = (payments["fraud"] == 1) & ~in_time & (payments["known"] < payments["at"].iloc[-1])
    assert found["answers"] == {"conflict": late.sum()}
    page = tmp_path / "page.html"
    result = calibrant("recalibrate", source, *NAMES, *KEY, *options, "--report", page)
    told = "predictions before their deadline, not scored"
    assert f"{told}: {found['waiting']}" in result.stdout
    assert "rows without an outcome" not in result.stdout
    assert "--silence 0" in page.read_text()
    assert f"{found['outcomes']:,} rounds with an outcome" in page.read_text()


def test_rows_that_all_wait_for_their_deadlines(attempt, payments, tmp_path):
    source = written(payments.assign(fraud=np.nan), tmp_path / "a.csv")
    options = ("--silence", "0", "--after", "300d")
    found = json.loads(attempt("recalibrate", source, *NAMES, *KEY, *options, "--json").stdout)
    assert (found["outcomes"], found["waiting"], found["mean_outcome"]) == (0, SIZE, None)
    result = attempt(
        "recalibrate", source, *NAMES, *KEY, *options, "--report", tmp_path / "page.html"
    )
    assert "no outcome is known" in result.stderr
    result = attempt("recalibrate", source, *NAMES, *KEY, "--hold", "3d")
    assert "no outcome is known: every value is missing" in result.stderr


def test_outcomes_by_id_in_a_later_file_are_measured_and_learned(calibrant, payments, tmp_path):
    rows = payments.drop(columns=["known", "due"])
    first = rows.iloc[:600].assign(fraud=np.nan)
    news = rows.iloc[100:140].assign(score=np.nan, at=rows["at"].iloc[599])
    state, options = tmp_path / "state", ("--score", "score", "--outcome", "fraud", "--time", "at")
    options = (*options, *KEY, "--id", "id", "--state", state)
    late = ("--silence", "0", "--after", "60h")
    calibrant("recalibrate", written(first, tmp_path / "a.csv"), *options, *late)
    later = written(pd.concat([news, news.iloc[:1], rows.iloc[600:]]), tmp_path / "b.csv")
    found = json.loads(calibrant("recalibrate", later, *options, "--json").stdout)
    assert found["answers"] == {"applied": 40, "repeated": 1}
    twin = Fleet(silence=0, after="60h", monitor=True)
    at = [each.timestamp() for each in rows["at"].dt.tz_localize("UTC")]
    for row in range(SIZE):
        if row == 600:
            for each in range(100, 140):
                twin.update_many([rows["fraud"][each]], ids=[rows["id"][each]], at=at[599])
        twin.predict_many(
            [rows["shop"][row]], [rows["score"][row]], ids=[rows["id"][row]], at=at[row]
        )
        if row >= 600:
            twin.update_many([rows["fraud"][row]], ids=[rows["id"][row]], at=at[row])
    assert twin.to_bytes() == state.read_bytes()


def test_a_stream_that_comes_with_the_package_may_have_keys(calibrant):
    result = calibrant(
        "recalibrate", "mlb538", "--score", "score", "--outcome", "outcome", "--key", "t",
        "--silence", "0", "--after", "50",
    )  # fmt: skip
    assert "mlb538: 15,748 rounds" in result.stdout
    assert "predictions before their deadline, not scored: 49" in result.stdout
