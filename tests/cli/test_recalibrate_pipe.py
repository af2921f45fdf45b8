"""``calibrant recalibrate - --score``: a conversation, line by line."""

import csv
import json

import pytest

from calibrant import Recalibrator
from calibrant.cli.recalibrate import RecalibrateOptions, begin
from calibrant.cli.recalibrate_pipe import ScorePipe


def test_each_line_is_answered_before_the_next_is_read(program):
    process = program("recalibrate", "-", "--score", "s", "--outcome", "y", "--seed", "5")
    twin = Recalibrator(seed=5)
    process.stdin.write(b"s,y\n")
    for score, outcome in ((0.9, 0), (0.2, 0), (0.7, 1), (0.9, 1)) * 5:
        process.stdin.write(f"{score},{outcome}\n".encode())
        process.stdin.flush()
        assert float(process.stdout.readline()) == twin.predict(score)
        twin.update(outcome)
    _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert b"raw" in stderr
    assert b"calibrated" in stderr


def answers(calibrant, lines, *options):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    result = calibrant("recalibrate", "-", "--score", "s", *options, stdin=text)
    return result, [said_in(line) for line in result.stdout.splitlines()]


def said_in(line):
    """Return the probability in an answer; with ids, answers are objects."""
    return json.loads(line)["calibrated"] if line.startswith("{") else float(line)


def test_late_outcomes_come_by_id(calibrant):
    lines = [
        {"id": "a", "s": 0.3},
        {"id": 7, "s": 0.8},
        {"id": 7, "y": 1},
        {"id": 7, "y": 1},  # comes twice, counted once
        {"id": "b", "s": 0.3, "y": 0},
        {"id": "a", "y": True},
        {"id": "c", "s": 0.5},
    ]
    result, said = answers(calibrant, lines, "--id", "id", "--outcome", "y")
    twin = Recalibrator()
    expected = [twin.predict(0.3, id="a"), twin.predict(0.8, id=7)]
    twin.update(1, id=7)
    expected.append(twin.predict(0.3, id="b"))
    twin.update(0, id="b")
    twin.update(1, id="a")
    expected.append(twin.predict(0.5, id="c"))
    assert said == expected
    assert "outcomes that never arrived: 1" in result.stderr


def test_the_same_as_csv_with_empty_cells(calibrant):
    lines = ["id,s,y", "a,0.3,", "7,0.8,", "7,,1", "b,0.3,0", "a,,1", "c,0.5,"]
    objects = [
        {"id": "a", "s": 0.3}, {"id": "7", "s": 0.8}, {"id": "7", "y": 1},
        {"id": "b", "s": 0.3, "y": 0}, {"id": "a", "y": 1}, {"id": "c", "s": 0.5},
    ]  # fmt: skip
    _, said = answers(calibrant, lines, "--id", "id", "--outcome", "y")
    _, again = answers(calibrant, objects, "--id", "id", "--outcome", "y")
    assert len(said) == 4
    assert said == again


def test_without_ids_an_outcome_answers_the_score_before_it(calibrant):
    lines = [{"s": 0.3}, {"outcome": 1}, {"s": 0.4}, {"s": 0.5}, {"outcome": 0}, {"s": 0.6}]
    _, said = answers(calibrant, lines)
    twin = Recalibrator()
    expected = [twin.predict(0.3)]
    twin.update(1)
    expected += [twin.predict(0.4), twin.predict(0.5)]
    twin.update(0)
    expected.append(twin.predict(0.6))
    assert said == expected


def test_groups(calibrant):
    lines = [{"s": 0.2 + 0.1 * (t % 5), "outcome": t % 2, "g": "ab"[t % 2]} for t in range(40)]
    _, said = answers(calibrant, lines, "--by", "g")
    twin = Recalibrator()
    expected = twin.run(
        [line["s"] for line in lines], [line["outcome"] for line in lines],
        by=[line["g"] for line in lines],
    )  # fmt: skip
    assert said == expected.tolist()


@pytest.mark.parametrize(
    ("lines", "options", "answered", "words"),
    [
        (["0.5"], (), 0, ("line 1", "JSON objects, or CSV")),
        ([{"s": 0.5}, {"s": 1.5}], (), 1, ("line 2", "1.5")),
        ([{"s": 0.5}, {"s": "high"}], (), 1, ("line 2", "'high'")),
        ([{"s": 0.5, "outcome": 2}], (), 0, ("line 1", "got 2")),
        ([{"s": 0.5}, {"p": 0.5}], (), 1, ("line 2", "neither a score", "'s'")),
        ([{"outcome": 1}], (), 0, ("line 1", "no score before it")),
        ([{"s": 0.5, "outcome": 1}, {"outcome": 1}], (), 1, ("line 2", "no score before it")),
        ([{"s": 0.5}], ("--id", "id"), 0, ("line 1", "id is missing")),
        ([{"s": 0.5, "id": 1.5}], ("--id", "id"), 0, ("line 1", "1.5")),
        ([{"s": 0.5, "id": 1}, {"s": 0.5, "id": 1}], ("--id", "id"), 1, ("line 2", "already")),
        ([{"outcome": 1, "id": 1}], ("--id", "id"), 0, ("line 1", "id 1 is unknown")),
        (["s,outcome", "0.5,1"], ("--id", "id"), 0, ("no column 'id'",)),
        (["p,outcome", "0.5,1"], (), 0, ("no column 's'",)),
        ([{"s": 0.5}], ("--by", "g"), 0, ("line 1", "group is missing")),
        ([{"s": 0.5, "t": 1}], ("--time", "t"), 0, ("lines are taken in order of time",)),
        ([{"s": 0.5}], ("--outcome", "s"), 0, ("both the score and the outcome",)),
        (["s,y", "0.5,1"], ("--by", "y"), 0, ("both the group and the outcome",)),
        ([{"s": 0.5}], ("--column", "p"), 0, ("--column", "--out")),
        ([], (), 0, ("no lines",)),
    ],
)  # fmt: skip
def test_a_bad_line_ends_the_conversation_with_a_message(attempt, lines, options, answered, words):
    result, said = answers(attempt, lines, *options, "--strict")
    assert result.exit_code == 2
    assert len(said) == answered
    assert result.stderr.splitlines()[-1].startswith("calibrant: error:")
    for word in words:
        assert word in result.stderr


def test_old_predictions_are_given_up_when_too_many_wait():
    pipe = ScorePipe(*begin(RecalibrateOptions(source="-", score="s", id="id")))
    pipe.book.capacity = 3
    for name in "abcde":
        pipe.predict(0.5, name, None)
    assert pipe.book.ids == ["c", "d", "e"]
    for name in "bbc":  # the outcome of b, also a second time, is too late but no error
        pipe.learn(1.0, name)
    assert (pipe.recalibrator.expired, pipe.recalibrator.learned) == (2, 1)
    for name in "fgh":
        pipe.predict(0.5, name, None)
    pipe.predict(0.5, "e", None)  # such a name may come again
    pipe.learn(1.0, "e")
    assert pipe.recalibrator.learned == 2
    pipe.measure()
    assert pipe.measures.raw.rounds == 2


def test_bad_lines_are_answered_and_passed_over(calibrant):
    """Of ten lines seven are bad in their own ways; the others are answered as if alone."""
    lines = [
        {"id": "a", "s": 0.3}, {"id": "b", "s": 1.5}, "{not json", {"s": 0.5},
        {"id": "a", "s": 0.4}, {"id": "x", "y": 1}, {"id": "a", "y": 1}, {"id": "a", "y": 0},
        {"id": "c", "y": "maybe"}, {"id": "d", "s": 0.5},
    ]  # fmt: skip
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    result = calibrant(
        "recalibrate", "-", "--score", "s", "--outcome", "y", "--id", "id", stdin=text
    )
    said = [json.loads(line) for line in result.stdout.splitlines()]
    twin = Recalibrator()
    first = twin.predict(0.3, id="a")
    twin.update(1, id="a")
    assert said[0] == {"id": "a", "calibrated": first}
    assert said[-1] == {"id": "d", "calibrated": twin.predict(0.5, id="d")}
    assert [each["line"] for each in said[1:-1]] == [2, 3, 4, 5, 6, 8, 9]
    assert [each.get("id") for each in said[1:-1]] == ["b", None, None, "a", "x", "a", "c"]
    for each, word in zip(
        said[1:-1],
        ["1.5", "JSON", "id is missing", "already", "unknown", "had the outcome", "maybe"],
        strict=True,
    ):
        assert word in each["error"]
    assert said[-2]["error"].startswith("column 'y'")  # which of the cells it is
    assert "invalid lines: 7" in result.stderr


def test_a_state_goes_on_and_smooth_answers(calibrant, tmp_path):
    state = tmp_path / "state"
    options = ("--score", "s", "--outcome", "y", "--id", "id", "--state", str(state))
    twin = Recalibrator()
    calibrant("recalibrate", "-", *options, stdin='{"id": "a", "s": 0.3}\n')
    twin.predict(0.3, id="a")
    assert Recalibrator.load(state).to_bytes() == twin.to_bytes()
    lines = '{"id": "a", "y": 1}\n{"id": "b", "s": 0.3}\n'
    second = calibrant("recalibrate", "-", *options, "--smooth", "fine", stdin=lines)
    twin.update(1, id="a")
    fine = twin.smooth(0.3)
    answer = {"id": "b", "calibrated": twin.predict(0.3, id="b"), "fine": fine}
    assert json.loads(second.stdout) == answer
    again = Recalibrator.load(state)
    for each in (again, twin):
        each.update(1, id="b")
    assert again.to_bytes() == twin.to_bytes()


def test_one_row_that_is_never_answered_keeps_no_scores_from_the_others(calibrant):
    lines = [{"id": "never", "s": 0.8}]
    for row in range(30):
        lines += [{"id": row, "s": 0.8}, {"id": row, "outcome": row % 2}]
    lines += [{"id": f"after {row}", "s": 0.8} for row in range(3)]
    result, said = answers(calibrant, lines, "--id", "id", "--hold", "3")
    (brier,) = [line.split() for line in result.stderr.splitlines() if line.startswith("Brier")]
    assert float(brier[2]) == pytest.approx((0.04 + 0.64) / 2, abs=1e-4)
    assert "outcomes that never arrived: 4" in result.stderr
    assert len(said) == 34


@pytest.mark.parametrize(
    "options", [("--silence", "0", "--after", "15"), ("--hold", "15"), ()], ids=str
)
def test_a_pipe_says_what_a_file_says(calibrant, tmp_path, options):
    """The smooth probability too: both are said once time has passed."""
    rows = [
        {"id": row, "t": 4 * row, "s": 0.2 + row % 7 / 10, "y": row % 3 % 2} for row in range(60)
    ]
    source, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    source.write_text("\n".join(lines) + "\n")
    named = ("--outcome", "y", "--id", "id", *(("--time", "t") if options else ()), *options)
    piped = calibrant(
        "recalibrate", "-", "--score", "s", *named, "--smooth", "fine", stdin=source.read_text()
    )
    asked = ("--smooth", "fine", "--out", out)
    calibrant("recalibrate", source, "--score", "s", *named, *asked)
    found = [json.loads(line) for line in piped.stdout.splitlines()]
    for row, line in zip(found, csv.DictReader(out.read_text().splitlines()), strict=True):
        assert {**row, "calibrated": str(row["calibrated"]), "fine": str(row["fine"])} == {
            name: line[name] for name in row
        }
