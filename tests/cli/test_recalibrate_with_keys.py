"""``calibrant recalibrate FILE --score --key``: a fleet, chunk by chunk."""

import json

import numpy as np
import pandas as pd
import pytest

from calibrant import Fleet
from calibrant.fleet.frames import recalibrate_frame
from calibrant.report import Page, recalibration
from calibrant.tables import chunks, read
from cli.files import written

SIZE = 3000
OPTIONS = ("--score", "score", "--outcome", "sold", "--key", "shop")


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK", 5000)
    monkeypatch.setattr(chunks, "ROWS", 700)


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    score = rng.random(SIZE).round(4)
    return pd.DataFrame(
        {
            "shop": [f"shop {i}" for i in rng.integers(0, 40, SIZE)],
            "score": score,
            "sold": (rng.random(SIZE) < score**2).astype(int),
        }
    )


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_with_keys_gets_the_probabilities_of_a_fleet(rows, tmp_path, ending, calibrant):
    source, out = written(rows, tmp_path / f"a{ending}"), tmp_path / f"out{ending}"
    done = calibrant("recalibrate", source, *OPTIONS, "--out", out)
    assert "3,000 rounds, 40 keys in 'shop'" in done.stdout
    assert "log loss" in done.stdout
    expected = Fleet().run(rows["shop"], rows["score"], rows["sold"])
    assert read(out).take("prediction", "calibrated").values.tolist() == expected.tolist()


def test_the_estimates_to_rank_by_are_those_of_a_fleet(rows, tmp_path, calibrant):
    out = tmp_path / "out.csv"
    asked = ("recalibrate", written(rows, tmp_path / "a.csv"), *OPTIONS)
    fine = calibrant(*asked, "--smooth", "fine", "--out", out, "--json")
    fleet = Fleet()
    expected = []
    for shop, score, sold in rows.itertuples(index=False):
        smooth = fleet.smooth(shop, score)
        expected.append((fleet.run([shop], [score], [sold])[0], smooth))
    table = read(out)
    said = [table.take("prediction", name).values.tolist() for name in ("calibrated", "fine")]
    assert list(zip(*said, strict=True)) == expected
    assert fine.stdout == calibrant(*asked, "--json").stdout  # what keys are off, too


def test_the_state_goes_on_and_a_bad_file_leaves_it_alone(rows, tmp_path, attempt, calibrant):
    first, second = rows.iloc[:1000], rows.iloc[1000:]
    state, out = tmp_path / "state", tmp_path / "out.csv"
    options = (*OPTIONS, "--state", state)
    calibrant("recalibrate", written(first, tmp_path / "a.csv"), *options)
    before = state.read_bytes()
    bad = second.copy()
    bad.loc[bad.index[1500], "shop"] = None
    done = attempt("recalibrate", written(bad, tmp_path / "b.csv"), *options)
    assert done.exit_code == 2
    assert "line 1502, column 'shop': the key is missing" in done.stderr
    assert state.read_bytes() == before
    done = attempt("recalibrate", written(second, tmp_path / "c.csv"), *options, "--out", out)
    assert "continuing with 40 keys after 1,000 predictions" in done.stderr
    expected = Fleet().run(rows["shop"], rows["score"], rows["sold"])[1000:]
    assert read(out).take("prediction", "calibrated").values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "shop"], "--by cannot be combined with --key: a key is already a group"),
        (["--id", "shop", "--time", "score", "--available", "score"], "id cannot be combined with"),
        (["--smooth", "x"], "--smooth needs --out: it names a column of that file"),
        (["--report", "x.pdf"], "must end in .html"),
        (["--key", "absent"], "there is no column 'absent'"),
        (["--out", "x.json"], "CSV or Parquet"),
        (["--column", "score", "--out", "x.csv"], "already has a column 'score'"),
    ],
)
def test_what_does_not_go_together_is_refused(rows, tmp_path, options, words, attempt):
    source = written(rows, tmp_path / "a.csv")
    done = attempt("recalibrate", source, *OPTIONS, *options)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


@pytest.fixture
def with_a_key_off():
    """Rows of 12 keys, one of which is off by 0.25; outcomes arrive up to 30 minutes later."""
    rng = np.random.default_rng(5)
    shop, score = rng.integers(0, 12, SIZE), rng.uniform(0.2, 0.7, SIZE).round(3)
    at = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(SIZE), unit="min")
    return pd.DataFrame(
        {
            "shop": [f"[{each}]" for each in shop],
            "score": score,
            "sold": (rng.random(SIZE) < score + 0.25 * (shop == 3)).astype(int),
            "at": at.astype(str),
            "known": (at + pd.to_timedelta(rng.integers(1, 30, SIZE), unit="min")).astype(str),
        }
    )


LATE = ("--time", "at", "--available", "known")


def test_keys_that_are_off_are_listed(with_a_key_off, tmp_path, calibrant):
    done = calibrant("recalibrate", written(with_a_key_off, tmp_path / "a.csv"), *OPTIONS)
    said = " ".join(done.stdout.split())
    assert "raw: 1 of 12 keys is miscalibrated by more than 0.02" in said
    assert "is at most 0.00024." in said  # 0.08 times 3,000 outcomes / 1,000,000
    assert "calibrated: No miscalibration was detected in any of 12 keys" in said
    assert "[3] +0.2" in said


def test_keys_that_are_off_in_json_and_when_outcomes_come_late(with_a_key_off, tmp_path, calibrant):
    source = written(with_a_key_off, tmp_path / "a.csv")
    done = calibrant(
        "recalibrate", source, *OPTIONS, *LATE, "--json", "--out", tmp_path / "out.csv"
    )
    found = json.loads(done.stdout)
    fleet = Fleet(monitor=True)
    result = recalibrate_frame(
        with_a_key_off, key="shop", score="score", outcome="sold", time="at", available="known",
        fleet=fleet,
    )  # fmt: skip
    said = read(tmp_path / "out.csv").take("prediction", "calibrated").values
    assert said.tolist() == result["calibrated"].tolist()
    assert (found["rows"], found["keys"], found["outcomes"]) == (SIZE, 12, SIZE)
    assert found["arrived_late"] > 0
    assert [each["key"] for each in found["raw"]["miscalibrated_keys"]] == ["[3]"]
    for name in ("raw", "calibrated"):
        wanted, own = getattr(fleet.monitors, name), found[name]
        assert [each["key"] for each in own["miscalibrated_keys"]] == [
            e.key for e in wanted.miscalibrated_keys()
        ]
        assert own["miscalibrated_keys_count"] == len(own["miscalibrated_keys"])
        assert (own["state"], own["evidence"]) == (wanted.state, wanted.evidence)
    brier = np.mean((result["calibrated"] - with_a_key_off["sold"]) ** 2)
    assert found["calibrated"]["brier"] == pytest.approx(brier)


def test_the_page_of_a_run_with_keys(with_a_key_off, tmp_path, attempt):
    page = tmp_path / "page.html"
    source = written(with_a_key_off, tmp_path / "a.csv")
    done = attempt("recalibrate", source, *OPTIONS, "--report", page)
    assert "the report, a page for a browser" in done.stdout
    text = page.read_text()
    assert "1 of 12 keys is miscalibrated by more than 0.02" in text
    assert '<th scope="row">[3]</th>' in text
    assert text.count("<svg") == 2
    assert "--key shop" in text
    no_outcomes = written(with_a_key_off.assign(sold=np.nan), tmp_path / "b.csv")
    before = page.read_bytes()
    done = attempt(
        "recalibrate", no_outcomes, *OPTIONS, "--report", page, "--out", tmp_path / "out.csv"
    )
    assert "no outcome is known" in done.stderr
    assert page.read_bytes() == before
    assert not (tmp_path / "out.csv").exists()


def test_a_run_with_keys_has_the_verdict_of_any_other(with_a_key_off, tmp_path, calibrant):
    """The probabilities of a fleet, measured in sums, and by `recalibration` row by row."""
    rows = pd.concat([with_a_key_off] * 2, ignore_index=True)  # enough for a figure of time
    source, page = written(rows, tmp_path / "a.csv"), tmp_path / "page.html"
    done = calibrant("recalibrate", source, *OPTIONS, "--json", "--report", page)
    found = json.loads(done.stdout)
    said = Fleet().run(rows["shop"], rows["score"], rows["sold"])
    report = recalibration(rows["score"], said, rows["sold"])
    assert found["verdict"] == report.verdict.word
    assert found["findings"] == report.findings
    for name, card in report.measures.columns.items():
        for measure in ("brier", "log_loss", "cal1", "cal2", "ece", "smece"):
            assert found[name][measure] == pytest.approx(getattr(card, measure), rel=1e-3)
    text = page.read_text()
    assert 'class="verdict ' in text
    for heading in ("Before and after", "Observed against predicted", "Through time"):
        assert f">{heading}</h2>" in text


def test_outcomes_of_one_kind_that_come_later_turn_the_verdict(with_a_key_off, tmp_path, calibrant):
    at = pd.to_datetime(with_a_key_off["at"])
    later = pd.to_timedelta(np.where(with_a_key_off["sold"] == 1, 5, 200), unit="min")
    source = written(with_a_key_off.assign(known=(at + later).astype(str)), tmp_path / "a.csv")
    found = json.loads(calibrant("recalibrate", source, *OPTIONS, *LATE, "--json").stdout)
    assert found["verdict"] == "doubtful"
    assert "Outcomes of 1 become known earlier than outcomes of 0" in found["findings"][0]
    cured = calibrant("recalibrate", source, *OPTIONS, *LATE, "--hold", "4h", "--json")
    assert json.loads(cured.stdout)["verdict"] != "doubtful"


def test_a_page_that_fails_leaves_no_file(with_a_key_off, tmp_path, attempt, monkeypatch):
    def fails(*_, **__):
        raise ValueError("no figure")

    monkeypatch.setattr(Page, "reliability", fails)
    source = written(with_a_key_off, tmp_path / "a.csv")
    outputs = ("--out", tmp_path / "out.csv", "--report", tmp_path / "page.html")
    done = attempt("recalibrate", source, *OPTIONS, *outputs, "--state", tmp_path / "state")
    assert (done.exit_code, "no figure" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_what_goes_on_is_watched_on_and_margins_have_no_raw(with_a_key_off, tmp_path, calibrant):
    state = tmp_path / "state"
    for number in range(2):
        half = with_a_key_off.iloc[1500 * number : 1500 * (number + 1)]
        source = written(half, tmp_path / f"{number}.csv")
        done = calibrant("recalibrate", source, *OPTIONS, "--state", state, "--json")
    whole = calibrant(
        "recalibrate", written(with_a_key_off, tmp_path / "a.csv"), *OPTIONS, "--json"
    )
    one, other = json.loads(done.stdout), json.loads(whole.stdout)
    assert one["raw"]["miscalibrated_keys"] == other["raw"]["miscalibrated_keys"]
    done = calibrant("recalibrate", source, *OPTIONS, "--kind", "margin", "--json")
    assert "raw" not in json.loads(done.stdout)
    Fleet().save(state)
    done = calibrant("recalibrate", source, *OPTIONS, "--state", state)
    assert "not monitored: the fleet in --state was created without a monitor" in done.stdout


def test_outcomes_by_id_in_a_later_file(with_a_key_off, tmp_path, calibrant):
    rows = with_a_key_off.drop(columns=["at", "known"]).assign(order=range(1, SIZE + 1))
    first = rows.iloc[:1000].copy()
    first.loc[first.index[::3], "sold"] = np.nan  # not known yet
    later = rows.iloc[:1000:3].assign(score=np.nan)
    later = pd.concat([rows.iloc[1000:1005], later, later.iloc[:2]])
    later = pd.concat([later, later.iloc[-1:].assign(order=10**6)])
    state, wanted = tmp_path / "state", Fleet(monitor=True)
    for number, part in enumerate((first, later)):
        ids = part["order"].astype(str).tolist()
        said, _ = wanted.play(part["shop"], part["score"], part["sold"], ids=ids)
        source, out = written(part, tmp_path / f"{number}.csv"), tmp_path / f"out{number}.csv"
        files = ("--state", state, "--out", out)
        done = calibrant("recalibrate", source, *OPTIONS, "--id", "order", *files, "--json")
        found = json.loads(done.stdout)
        written_ = pd.read_csv(out)["calibrated"]
        assert np.array_equal(written_, said, equal_nan=True)
    assert found["answers"] == {"applied": 334, "repeated": 2, "unknown": 1}
    assert (found["outcomes"], found["waiting"]) == (5 + 334, 0)
    assert Fleet.load(state).to_bytes() == wanted.to_bytes()


def test_rows_that_only_wait_and_rows_that_say_nothing(with_a_key_off, tmp_path, attempt):
    rows = with_a_key_off.drop(columns=["at", "known"]).assign(order=range(SIZE), sold=np.nan)
    done = attempt("recalibrate", written(rows, tmp_path / "a.csv"), *OPTIONS, "--id", "order")
    assert "predictions pending: 3,000" in done.stdout
    rows.loc[7, "score"] = np.nan
    done = attempt("recalibrate", written(rows, tmp_path / "b.csv"), *OPTIONS, "--id", "order")
    assert "line 9, column 'order': the row has neither a score nor an outcome" in done.stderr


def test_keys_need_a_file(attempt):
    done = attempt("recalibrate", "-", "--score", "s", "--key", "k")
    assert "--key needs a FILE" in done.stderr
