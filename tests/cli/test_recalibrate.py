"""``calibrant recalibrate --score``: a model's scores in a file, before and after."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.measures import brier, cal2, ece
from calibrant.recalibrate import recalibrate_frame
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.report import recalibration
from calibrant.streams import load
from calibrant.tables import read, take_scored

ROUNDS = 3000


@pytest.fixture(scope="module")
def scored():
    """Scores that say too much, two groups, outcomes known five rows later, some never."""
    random = np.random.default_rng(8)
    truth = random.random(ROUNDS)
    return {
        "key": [f"k{t}" for t in range(ROUNDS)],
        "t": list(range(ROUNDS)),
        "known": [None if t % 100 == 7 else t + 5 for t in range(ROUNDS)],
        "place": ["north" if t % 3 else "south" for t in range(ROUNDS)],
        "score": np.round(np.sqrt(truth), 4).tolist(),
        "outcome": (random.random(ROUNDS) < truth).astype(int).tolist(),
    }


@pytest.fixture
def scores(tmp_path, scored):
    path = tmp_path / "scores.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(scored)
        writer.writerows(zip(*scored.values(), strict=True))
    return path


NAMES = ["--score", "score", "--outcome", "outcome"]


def figures_of(stdout, name):
    """Return the numbers of the row that starts with this name."""
    line = next(line for line in stdout.splitlines() if line.startswith(name))
    return [
        float(figure.replace(",", "")) for figure in re.findall(r"[\d,.]*\d\b", line[len(name) :])
    ]


def test_every_column_stays_and_one_is_added(calibrant, scores, scored, tmp_path):
    calibrant("recalibrate", scores, *NAMES, "--seed", "3", "--out", tmp_path / "o.csv")
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert list(rows[0]) == [*scored, "calibrated"]
    assert [row["key"] for row in rows] == scored["key"]
    expected = Recalibrator(seed=3).run(scored["score"], scored["outcome"])
    assert [float(row["calibrated"]) for row in rows] == expected.tolist()


def test_before_and_after_stand_side_by_side(calibrant, scores, scored):
    result = calibrant("recalibrate", scores, *NAMES)
    calibrated = Recalibrator().run(scored["score"], scored["outcome"])
    for name, measure in (("Brier score", brier), ("Cal2, sum", cal2), ("ECE, 20 bins", ece)):
        raw, after = figures_of(result.stdout, name)[-2:]
        assert raw == pytest.approx(measure(scored["score"], scored["outcome"]), rel=0.01)
        assert after == pytest.approx(measure(calibrated, scored["outcome"]), rel=0.01)
    assert "The probabilities became better" in result.stdout
    assert "worst 1,000 rounds" in result.stdout
    assert "--report FILE.html" in result.stdout


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_late_outcomes_and_groups_as_in_a_frame(calibrant, scored, tmp_path, suffix):
    import polars  # noqa: PLC0415

    frame = polars.DataFrame(scored)
    source, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[
        suffix[1:]
    ](source)
    result = calibrant(
        "recalibrate", source, *NAMES, "--id", "key", "--time", "t", "--available", "known",
        "--by", "place", "--out", out,
    )  # fmt: skip
    expected = recalibrate_frame(
        frame, score="score", outcome="outcome", id="key", time="t", available="known", by="place"
    )
    assert read(out).take("prediction", "calibrated").values.tolist() == (
        expected["calibrated"].to_list()
    )
    assert "outcomes that never arrived: 30" in result.stdout
    assert "outcomes that arrived only after the last prediction: 5" in result.stdout


def test_groups_have_a_table(calibrant, scores, scored):
    result = calibrant("recalibrate", scores, *NAMES, "--by", "place")
    calibrated = Recalibrator().run(scored["score"], scored["outcome"], by=scored["place"])
    table = result.stdout[result.stdout.index("By group") :]
    south = np.array(scored["place"]) == "south"
    outcomes = np.array(scored["outcome"])
    rounds, _, after, raw_ece, _ = figures_of(table, "south")
    assert rounds == south.sum()
    assert after == pytest.approx(brier(calibrated[south], outcomes[south]), abs=1e-4)
    assert raw_ece == pytest.approx(
        ece(np.array(scored["score"])[south], outcomes[south]), abs=1e-4
    )
    assert table.index("north") < table.index("south")  # the larger one first


def test_groups_may_be_called_anything(calibrant, scores, tmp_path):
    odd = ["[bold]", "[/]", ":smile:", "<b>&"]
    lines = scores.read_text().splitlines()
    for at in range(1, len(lines)):
        cells = lines[at].split(",")
        cells[3] = odd[at % 4]
        lines[at] = ",".join(cells)
    scores.write_text("\n".join(lines) + "\n")
    result = calibrant(
        "recalibrate", scores, *NAMES, "--by", "place", "--report", tmp_path / "r.html"
    )
    for name in odd:
        assert name in result.stdout
    assert "&lt;b&gt;&amp;" in (tmp_path / "r.html").read_text()


def test_there_may_be_as_many_groups_as_a_recalibrator_takes(calibrant, scores):
    result = calibrant("recalibrate", scores, *NAMES, "--by", "key")
    assert "and 980 smaller groups" in result.stdout  # the largest 1,000 are measured


def test_logits_and_margins(calibrant, tmp_path):
    random = np.random.default_rng(2)
    logits = random.normal(0, 2, 400).round(3)
    outcomes = (random.random(400) < 0.5).astype(int)
    path = tmp_path / "logits.csv"
    path.write_text("s,y\n" + "".join(f"{s},{y}\n" for s, y in zip(logits, outcomes, strict=True)))
    result = calibrant("recalibrate", path, "--score", "s", "--kind", "logit")
    raw, _ = figures_of(result.stdout, "Brier score")
    assert raw == pytest.approx(brier(1 / (1 + np.exp(-logits)), outcomes), abs=1e-4)
    result = calibrant("recalibrate", path, "--score", "s", "--kind", "margin")
    assert len(figures_of(result.stdout, "Brier score")) == 1
    assert "nothing to compare with" in result.stdout


def test_changing_an_outcome_changes_nothing_until_it_is_available(calibrant, scores, tmp_path):
    late = [*NAMES, "--time", "t", "--available", "known"]
    calibrant("recalibrate", scores, *late, "--out", tmp_path / "before.csv")
    lines = scores.read_text().splitlines()
    *rest, outcome = lines[1001].split(",")
    lines[1001] = ",".join([*rest, str(1 - int(outcome))])
    scores.write_text("\n".join(lines) + "\n")
    calibrant("recalibrate", scores, *late, "--out", tmp_path / "after.csv")
    before, after = (
        read(tmp_path / name).take("prediction", "calibrated").values
        for name in ("before.csv", "after.csv")
    )
    # Row 1000 is known at 1005, so row 1006 is the first to use it.
    assert before[:1006].tolist() == after[:1006].tolist()
    assert before[1006:].tolist() != after[1006:].tolist()


class Outline(HTMLParser):
    """The headings and the text of a page, and anything that it would fetch."""

    def __init__(self):
        super().__init__()
        self.headings, self.text, self.fetched, self.figures = [], [], [], 0
        self._in = None

    def handle_starttag(self, tag, attrs):
        self._in = tag
        self.figures += tag == "figure"
        for name, value in attrs:
            if name in ("src", "href") and not value.startswith("#"):
                self.fetched.append(value)

    def handle_data(self, data):
        self.text.append(data)
        if self._in in ("h1", "h2") and data.strip():
            self.headings.append(data.strip())


@pytest.mark.usefixtures("drawn")
def test_the_report_tells_the_same(calibrant, scores, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "r.html"
    options = [*NAMES, "--time", "t", "--by", "place", "--seed", "9", "--report"]
    result = calibrant("recalibrate", scores, *options, page)
    assert "The probabilities are now based on " in result.stdout
    outline = Outline()
    outline.feed(page.read_text())
    assert outline.headings == [
        "scores.csv: scores before and after recalibration", "Before and after",
        "Compared with plain refits", "Observed against predicted", "Through time", "Alarms",
        "From score to probability, now",
        "What the probabilities are based on, now", "By group",
        "How this was made",
    ]  # fmt: skip
    assert outline.figures == 6  # reliability, two through time, two of alarms, and the map
    assert outline.fetched == []
    text = " ".join(" ".join(outline.text).split())
    assert "The probabilities became better" in text
    assert "--score score --outcome outcome --time t --by place --seed 9 --report" in text
    assert f"{page}: the report" in result.stdout


@pytest.mark.usefixtures("drawn")
def test_a_notebook_gets_the_same_page(calibrant, scores, scored, tmp_path):
    """One call of the library shows what the command writes and prints."""
    import polars  # noqa: PLC0415

    page = tmp_path / "r.html"
    names = {
        "score": "score", "outcome": "outcome", "time": "t", "available": "known", "by": "place",
    }  # fmt: skip
    options = [word for name, column in names.items() for word in (f"--{name}", column)]
    lines = scores.read_text().splitlines()
    lines[5] = lines[5][: lines[5].rindex(",") + 1]  # an outcome that is not known
    scores.write_text("\n".join(lines) + "\n")
    result = calibrant("recalibrate", scores, *options, "--report", page)
    outcomes = [None if t == 4 else y for t, y in enumerate(scored["outcome"])]
    frame = polars.DataFrame({**scored, "outcome": outcomes})
    done = recalibrate_frame(frame, **names)
    rows = take_scored(read(scores), **names)
    recalibrator = Recalibrator(capacity=ROUNDS)
    said = recalibrate_rows(recalibrator, rows)
    report = recalibration(
        done["score"], done["calibrated"], done["outcome"], times=done["t"], by=done["place"],
        available=done["known"], recalibrator=recalibrator, expected=said.expected,
        title="scores.csv: scores before and after recalibration",
        made={
            "command": f"calibrant recalibrate {scores} {' '.join(options)} --report {page}",
            "file": f"{scores}, 3,000 rows",
            "columns": ", ".join(f"{part} {name!r}" for part, name in names.items()),
            "scores are": "probability",
            "outcomes are": "known from column 'known' on, used by later predictions only; "
            "31 never arrived",
            "seed": "0",
        },
    )  # fmt: skip
    assert report.measures.rounds == ROUNDS - 31
    assert report.html() == page.read_text()
    printed = " ".join(result.stdout.split())
    for finding in report.findings:
        assert finding in printed


def test_a_bundled_stream_can_be_named_unless_a_file_is_called_so(
    calibrant, scores, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = ["--prediction", "score", "--outcome", "outcome"]
    assert "nba538: 8,886 rounds" in calibrant("measure", "nba538", *names).stdout
    scores.rename("nba538")
    assert "nba538: 3,000 rounds" in calibrant("measure", "nba538", *names).stdout


def test_standard_input_can_fill_files(program, scores, tmp_path):
    process = program("recalibrate", "-", *NAMES, "--out", "o.jsonl")
    _, stderr = process.communicate(scores.read_bytes())
    assert process.returncode == 0, stderr
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == ROUNDS


def test_a_new_name_for_the_column(calibrant, scores, tmp_path):
    calibrant("recalibrate", scores, *NAMES, "--out", tmp_path / "o.csv", "--column", "p")
    assert (tmp_path / "o.csv").read_text().splitlines()[0].endswith(",p")


def test_the_bundled_stream_of_make_run(calibrant, first_flights):
    """The main job of the README: flights, before and after."""
    path, count = first_flights
    result = calibrant("recalibrate", path, *NAMES, "--time", "t")
    flights = load("nycflights")
    raw, after = figures_of(result.stdout, "Brier score")
    assert raw == pytest.approx(brier(flights.scores[:count], flights.outcomes[:count]), abs=1e-4)
    # Rows of one time are predicted together: an outcome is known to rows of later times only.
    told = calibrant("recalibrate", path, *NAMES, "--time", "t", "--available", "t", "--json")
    assert after == pytest.approx(json.loads(told.stdout)["calibrated"]["brier"], abs=1e-4)
    assert re.search(r"from 2013-\d\d-\d\d \d\d:\d\d", result.stdout)
    assert "Assumption: each outcome was known before the next row of a later time" in " ".join(
        result.stdout.split()
    )


def test_episodes_are_printed_and_in_json(calibrant, tmp_path):
    """Scores that are off in the second half: an episode of raw, none of calibrated."""
    path, random = tmp_path / "off.csv", np.random.default_rng(2)
    said = random.uniform(0.2, 0.6, 6000).round(3)
    chance = said + 0.3 * (np.arange(6000) >= 3000)
    happened = (random.random(6000) < chance).astype(int)
    lines = [f"{t},{said[t]},{happened[t]}" for t in range(6000)]
    path.write_text("\n".join(["t,score,outcome", *lines]) + "\n")
    options = ["recalibrate", path, "--score", "score", "--outcome", "outcome", "--time", "t"]
    result = calibrant(*options)
    assert "raw: 1 episode in 6,000 rounds" in result.stdout
    assert "calibrated: No alarm in 6,000 rounds" in " ".join(result.stdout.split())
    found = json.loads(calibrant(*options, "--json").stdout)
    (episode,) = found["raw"]["episodes"]
    assert 2_900 < episode["onset"] <= episode["alarm"] < 3_600
    assert episode["direction"] == "too low"
    assert episode["alarm_at"] == str(episode["alarm"])
    assert found["calibrated"]["episodes"] == []
    assert found["calibrated"]["brier"] < found["raw"]["brier"]
    assert found["verdict"] == "better"
