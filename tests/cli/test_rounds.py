"""The contract of a round in files and pipes: what is measured, and what continues in a state.

`tests/rounds` has the rules; the plain book of `naive.rounds` gives the expected results.
"""

import json
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from calibrant import Recalibrator
from calibrant.fleet.frames import recalibrate_frame as keyed_frame
from calibrant.recalibrate import recalibrate_frame
from cli.files import written
from naive.rounds import Book
from naive.rules import FleetRule, ScoreRule

#: No deadline is at the time of a prediction.
SIZE, AFTER = 200, 9.75
NAMES = ("--score", "s", "--outcome", "y", "--time", "t")


def table(late=20, quiet=20):
    """Return rows a tick apart; half of the events become known after their deadlines.

    No outcome becomes known at the time of a prediction. The last rows have none.
    """
    random = np.random.default_rng(4)
    outcome = (random.random(SIZE) < 0.6).astype(float)
    wait = np.where(random.random(SIZE) < 0.5, 3.5, late + 0.5) + random.integers(0, 4, SIZE)
    rows = pd.DataFrame(
        {
            "id": [f"row {row}" for row in range(SIZE)],
            "k": [f"key {row % 5}" for row in range(SIZE)],
            "t": np.arange(SIZE, dtype=float),
            "known": np.arange(SIZE) + wait + np.arange(SIZE) / 1000,
            "s": random.random(SIZE).round(4),
            "y": outcome,
        }
    )
    rows.loc[SIZE - quiet :, ["known", "y"]] = np.nan
    return rows


def played(book, rows, of_row):
    """Play a table through the plain book; return the predictions."""
    columns = [
        [None if np.isnan(each) else each for each in rows[name].tolist()]
        for name in ("y", "t", "known")
    ]
    outcomes, at, known = columns
    return book.play([of_row(row) for row in rows.itertuples()], outcomes, at=at, known=known)


def score_of(row):
    return (row.s, None)


# -- what is measured ---------------------------------------------------------------------------


def test_a_file_is_measured_by_what_was_learned(calibrant, tmp_path):
    """Rule 20: where silence was learned, silence is measured, whatever the cell says later."""
    rows = table()
    book = Book(ScoreRule(0, 0), silence=0, after=AFTER)
    played(book, rows, score_of)
    settled, still_open = book.take_settled(), book.finish()
    assert not still_open
    assert any(each.is_silence and rows["y"][each.number] == 1 for each in settled)
    source = written(rows, tmp_path / "a.csv")
    options = ("--available", "known", "--silence", "0", "--after", AFTER, "--json")
    found = json.loads(calibrant("recalibrate", source, *NAMES, *options).stdout)
    assert found["rounds"] == len(settled)
    assert found["mean_outcome"] == pytest.approx(np.mean([each.outcome for each in settled]))
    errors = [(each.prediction - each.outcome) ** 2 for each in settled]
    assert found["calibrated"]["brier"] == pytest.approx(np.mean(errors))


def test_a_file_with_keys_is_measured_by_what_was_learned(calibrant, tmp_path):
    """Rule 20."""
    rows = table()
    book = Book(FleetRule(0), silence=0, after=AFTER)
    played(book, rows, lambda row: (row.k, row.s))
    settled = book.take_settled()
    source = written(rows, tmp_path / "a.csv")
    options = ("--key", "k", "--available", "known", "--silence", "0", "--after", AFTER, "--json")
    found = json.loads(calibrant("recalibrate", source, *NAMES, *options).stdout)
    assert found["outcomes"] == len(settled)
    assert found["mean_outcome"] == pytest.approx(np.mean([each.outcome for each in settled]))


def test_rows_whose_deadline_is_to_come_are_not_measured(calibrant, tmp_path):
    """What is known of them so early may be of one kind; they are counted as waiting."""
    rows = table(late=4, quiet=0)
    rows = rows[rows["known"] < SIZE - 1]  # what is known, is known within the table
    book = Book(ScoreRule(0), hold=50)
    played(book, rows, score_of)
    learned, still_open = book.take_settled(), book.finish()
    assert learned
    assert still_open
    source = written(rows, tmp_path / "a.csv")
    options = ("--available", "known", "--hold", 50, "--json")
    found = json.loads(calibrant("recalibrate", source, *NAMES, *options).stdout)
    assert found["rounds"] == len(learned)
    assert found["waiting"] == len(rows) - len(learned)


def test_outcomes_that_come_too_late_are_counted(calibrant, tmp_path):
    """Rule 11: as outcomes by id are, "repeated" or "conflict"."""
    rows = table()
    due = rows["t"] + AFTER
    is_late = (rows["known"] > due) & (rows["known"] < SIZE - 1) & (rows["y"] == 1)
    source = written(rows, tmp_path / "a.csv")
    options = ("--key", "k", "--id", "id", "--available", "known", "--silence", "0")
    result = calibrant("recalibrate", source, *NAMES, *options, "--after", AFTER, "--json")
    assert json.loads(result.stdout)["answers"].get("conflict") == is_late.sum() > 10


# -- a state goes on ----------------------------------------------------------------------------

POLICIES = {
    "at once": {},
    "silence": {"silence": 0, "after": AFTER},
    "hold": {"hold": AFTER},
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("named", [(), ("--id", "id")], ids=["without ids", "by id"])
@pytest.mark.parametrize("key", [(), ("--key", "k")], ids=["scores", "keys"])
def test_a_table_in_parts_is_one_table_and_the_plain_book(calibrant, tmp_path, policy, named, key):
    """Rule 21: what becomes known after the end of a file is known then, and not before."""
    if key and named and not policy:
        pytest.skip("in a log with keys, outcomes by id come in rows of their own")
    rows = table(quiet=0)
    rule = FleetRule(0) if key else ScoreRule(0, policy.get("silence"))
    of_row = (lambda row: (row.k, row.s)) if key else score_of
    expected = played(Book(rule, **policy), rows, of_row)
    options = [each for name, value in policy.items() for each in (f"--{name}", value)]
    out = tmp_path / "out.csv"
    for cuts in ([0, SIZE], [0, 90, 91, SIZE]):
        found, state = [], tmp_path / f"state {len(cuts)}"
        for start, stop in pairwise(cuts):
            source = written(rows[start:stop], tmp_path / "part.csv")
            common = ("--available", "known", *named, *key, "--state", state, "--out", out)
            calibrant("recalibrate", source, *NAMES, *common, *options)
            found += pd.read_csv(out)["calibrated"].tolist()
        assert found == expected
    columns = {"score": "s", "outcome": "y", "time": "t", "available": "known"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the diagnosis has tests of its own
        if key:
            frame = keyed_frame(rows, key="k", **columns, **policy)
        else:
            frame = recalibrate_frame(rows, **columns, **policy)
    assert frame["calibrated"].tolist() == expected


# -- a pipe -------------------------------------------------------------------------------------


def piped(calibrant, lines, *options):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return calibrant(
        "recalibrate", "-", "--score", "s", "--outcome", "y", "--id", "id", *options, stdin=text
    )


def test_a_pipe_measures_beyond_an_id_that_is_never_answered(calibrant):
    """Rule 20: a held round that waits forever does not stand in the way of the others."""
    answered = [
        line
        for id_, y in ((1, 1), (2, 0), (3, 0))
        for line in ({"id": id_, "s": 0.8}, {"id": id_, "y": y})
    ]
    lines = [{"id": "never", "s": 0.8}, *answered, {"id": 4, "s": 0.8}]
    result = piped(calibrant, lines, "--hold", 2)
    scores = [line.split() for line in result.stderr.splitlines() if line.startswith("Brier")]
    assert scores
    assert float(scores[0][2]) == pytest.approx((0.04 + 0.64 + 0.64) / 3, abs=1e-4)


def test_a_pipe_measures_silence(calibrant):
    """Rule 20: at its deadline."""
    lines = [{"id": 1, "s": 0.8}, {"id": 1, "y": 1}, {"id": 2, "s": 0.8}, {"id": 3, "s": 0.8}]
    result = piped(calibrant, lines, "--silence", 0, "--after", 2)
    (score,) = [line.split() for line in result.stderr.splitlines() if line.startswith("Brier")]
    assert float(score[2]) == pytest.approx((0.04 + 0.64) / 2, abs=1e-4)


def test_the_smooth_probability_of_a_pipe_knows_what_its_prediction_knows(calibrant):
    """Rule 6: time passes first, and both are said on the same state."""
    lines = [{"id": row, "t": 10 * row, "s": 0.8} for row in range(30)]
    options = ("--time", "t", "--silence", 0, "--after", 15, "--smooth", "fine")
    found = [json.loads(line) for line in piped(calibrant, lines, *options).stdout.splitlines()]
    twin, expected = Recalibrator(silence=0, after=15), []
    for row in range(30):
        if row:
            twin.update_many([], ids=[], at=10 * row)  # lets time pass as a prediction would
        smooth = twin.smooth(0.8)
        expected.append(
            {"id": row, "calibrated": twin.predict(0.8, id=row, at=10 * row), "fine": smooth}
        )
    assert found == expected
