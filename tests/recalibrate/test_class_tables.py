"""Several classes in data frames, files and reports."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from calibrant import MulticlassRecalibrator
from calibrant.cli import app
from calibrant.measures import class_summary, multiclass_brier, multiclass_log_loss
from calibrant.measures.multiclass import classwise_ece, confidence_ece
from calibrant.recalibrate import recalibrate_frame
from calibrant.recalibrate.class_rows import take_classes
from calibrant.recalibrate.rivals import (
    ClassRefit,
    OnlinePriorShift,
    OnlineTemperature,
    OnlineTemperatureBias,
    OnlineVectorScaling,
)
from calibrant.report import ClassReport
from calibrant.report.class_page import ConfusionMatrix
from calibrant.rounds import RoundError
from calibrant.tables import Table

LABELS = ["cat", "dog", "eel"]


def overconfident(rounds, seed=0):
    random = np.random.default_rng(seed)
    truth = random.dirichlet([1, 1, 1], rounds)
    labels = (random.random((rounds, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows = truth**2.5
    return rows / rows.sum(axis=1, keepdims=True), labels, truth


def framed(rounds=300, seed=0, start="p_"):
    rows, labels, _ = overconfident(rounds, seed)
    columns = {f"{start}{name}": rows[:, at] for at, name in enumerate(LABELS)}
    seen = [None if t % 10 == 9 else LABELS[k] for t, k in enumerate(labels.tolist())]
    return pl.DataFrame(columns | {"seen": seen, "t": np.arange(rounds)})


def test_a_frame_is_what_a_run_gives():
    frame = framed()
    done = recalibrate_frame(frame, scores="p_*", outcome="seen")
    rows = frame.select(pl.col("^p_.*$")).to_numpy()
    expected = MulticlassRecalibrator(LABELS).run(rows, frame["seen"].to_list())
    names = [f"calibrated_{name}" for name in LABELS]
    np.testing.assert_array_equal(done.select(names).to_numpy(), expected)
    assert done.columns == [*frame.columns, *names]


def test_a_frame_goes_on_with_a_recalibrator():
    frame = framed()
    whole = recalibrate_frame(frame, scores="p_*", outcome="seen", time="t", available="t")
    recalibrator = MulticlassRecalibrator(LABELS)
    parts = [
        recalibrate_frame(
            part, scores="p_*", outcome="seen", time="t", available="t", recalibrator=recalibrator
        )
        for part in (frame[:120], frame[120:])
    ]
    assert pl.concat(parts).equals(whole)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"smooth": "s"}, "smooth cannot be combined with scores"),
        ({"scores": "q_*"}, "two columns or more"),
        ({"scores": ["p_cat", "nothing"]}, "nothing"),
        ({"outcome": "t"}, "the label must be one of 'cat', 'dog', 'eel', got '0'"),
        ({"scores": "p_cat,p_dog,p_eel"}, r"got '\w+'; it is a label with the columns 'p_\*'"),
        ({"recalibrator": MulticlassRecalibrator(2)}, "has the classes"),
    ],
)
def test_frames_that_cannot_be(more, message):
    with pytest.raises(ValueError, match=message):
        recalibrate_frame(framed(20), **{"scores": "p_*", "outcome": "seen", **more})


def test_the_command_writes_probabilities_and_a_page(tmp_path):
    pytest.importorskip("matplotlib")
    path, out, page, state = (tmp_path / name for name in ("a.csv", "b.csv", "c.html", "state"))
    frame = framed(900)
    frame.write_csv(path)
    given = ["recalibrate", str(path), "--scores", "p_*", "--outcome", "seen", "--out", str(out)]
    given += ["--report", str(page), "--state", str(state)]
    predicted = CliRunner().invoke(app, given)
    assert predicted.exit_code == 0, predicted.output
    assert "3 classes, scores 'p_*', outcomes" in predicted.output
    assert "Verdict: better" in predicted.output
    assert "the log loss fell" in predicted.output
    assert "Miscalibrated classes after: none" in predicted.output
    done = pl.read_csv(out)
    expected = recalibrate_frame(frame, scores="p_*", outcome="seen")
    names = [f"calibrated_{name}" for name in LABELS]
    np.testing.assert_allclose(done.select(names).to_numpy(), expected.select(names).to_numpy())
    assert MulticlassRecalibrator.load(state).rounds == 900
    assert "Confusion" in page.read_text()
    told = CliRunner().invoke(app, [*given[:6], "--json"])
    found = json.loads(told.stdout)
    assert found["verdict"] == "better"
    assert found["measured"] == 810
    refused = CliRunner().invoke(app, [*given[:6], "--budget", "0.1"])
    assert refused.exit_code != 0
    assert "--budget cannot be combined with --scores" in refused.output


@pytest.mark.parametrize(
    "policy",
    [
        {"silence": "eel", "after": "20"},
        {"silence": "eel", "time": "t", "available": "known", "due": "due"},
        {"hold": "30", "time": "t", "available": "known"},
    ],
    ids="-".join,
)
def test_deadlines_in_files_and_frames_are_those_of_steps(tmp_path, policy):
    """Rows are predicted one after the other; what is known of a row by its deadline counts."""
    frame = framed(300).with_columns(
        due=pl.col("t") + 25 + pl.col("t") % 7, known=pl.col("t") + 5 + 9 * (pl.col("t") % 4)
    )
    timed, silent = "time" in policy, policy.get("silence")
    rows, seen = frame.select(pl.col("^p_.*$")).to_numpy(), frame["seen"].to_list()
    options = {"silence": silent, "after": policy.get("after"), "hold": policy.get("hold")}
    steps, expected = MulticlassRecalibrator(LABELS, **options), []
    known = frame["known"].to_list() if timed else list(range(300))
    dues = frame["due"].to_list() if "due" in policy else None
    for t in range(300):
        for late in range(t):  # what was known before, in the order of arrival
            if timed and known[late] < t and known[late] >= t - 1 and seen[late] is not None:
                try:
                    steps.update(seen[late], id=late, at=known[late])
                except RoundError:
                    assert silent is not None  # its deadline was over
        given = {"at": t} if timed else {}
        if dues is not None:
            given["due"] = dues[t]
        expected.append(steps.predict(rows[t], id=t, **given))
        if not timed and seen[t] is not None:
            steps.update(seen[t], id=t)
    done = recalibrate_frame(frame, scores="p_*", outcome="seen", **policy)
    names = [f"calibrated_{name}" for name in LABELS]
    np.testing.assert_array_equal(done.select(names).to_numpy(), expected)
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    frame.write_csv(path)
    given = [part for name, value in policy.items() for part in (f"--{name}", value)]
    given = ["recalibrate", str(path), "--scores", "p_*", "--outcome", "seen", *given]
    said = CliRunner().invoke(app, [*given, "--out", str(out), "--json"])
    assert said.exit_code == 0, said.output
    np.testing.assert_allclose(pl.read_csv(out).select(names).to_numpy(), expected)
    measured = json.loads(said.stdout)["measured"]
    if "after" in policy:
        assert measured == 281  # every row whose deadline is over, announced or not
    assert 0 < measured <= 300


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0.5,0.4,dog", "line 3, column 'cat': the scores of a row must sum to one, except for "
         "rounding to two decimals, got 0.9"),
        ("-0.2,1.2,dog", "line 3, column 'cat': got '-0.2'"),
        ("1,0.1e400,dog", "line 3, column 'dog': got '0.1e400'"),
        (",1,dog", "line 3, column 'cat': the value is missing"),
        ("0,0,dog", "line 3, column 'cat': the scores of a row must sum to one"),
        ("0.5,0.5,fox", "line 3, column 'y': the label must be one of 'cat', 'dog', got 'fox'"),
    ],
)  # fmt: skip
def test_a_bad_row_of_a_file_is_named(tmp_path, row, words):
    path = tmp_path / "a.csv"
    path.write_text(f"cat,dog,y\n0.5,0.5,cat\n{row}\n")
    predicted = CliRunner().invoke(
        app, ["recalibrate", str(path), "--scores", "cat,dog", "--outcome", "y"]
    )
    assert predicted.exit_code != 0
    assert words in " ".join(predicted.output.split())


def test_the_summary_has_the_measures_and_what_chance_explains():
    rows, labels, truth = overconfident(20_000, 1)
    found = class_summary(rows, labels)
    assert found.log_loss == multiclass_log_loss(rows, labels)
    assert found.brier == multiclass_brier(rows, labels)
    assert found.confidence_ece == confidence_ece(rows, labels)
    assert found.classwise_ece == pytest.approx(classwise_ece(rows, labels))
    assert len(found.miscalibrated) == 3
    right = class_summary(truth, labels)
    assert right.miscalibrated == []
    # What chance leaves is the mean of the error of labels drawn from the rows themselves.
    random = np.random.default_rng(2)
    errors = []
    for _ in range(30):
        drawn = (random.random((4000, 1)) > truth[:4000].cumsum(axis=1)[:, :-1]).sum(axis=1)
        errors.append(class_summary(truth[:4000], drawn).confidence_ece)
    expected = class_summary(truth[:4000], labels[:4000]).confidence_chance
    assert abs(np.mean(errors) - expected) < 4 * np.std(errors) / np.sqrt(30)


def test_confusions_are_told_in_percent_where_there_is_room():
    """Of the rounds that name a class; shares below half a percent are left out."""
    pytest.importorskip("matplotlib")
    rows = np.array([[0.8, 0.1, 0.1]] * 300 + [[0.1, 0.2, 0.7]] * 4)
    labels = np.array([0] * 225 + [1] * 74 + [2] + [2, 2, 2, 0])
    axes = ConfusionMatrix.of(rows, labels, ["cat", "dog", "eel"], "before").plot()
    found = {each.get_position(): each.get_text() for each in axes.texts}
    assert found == {(0, 0): "75", (1, 0): "25", (0, 2): "25", (2, 2): "75"}
    assert axes.get_title() == "before"
    many = np.eye(13)
    assert not ConfusionMatrix.of(many, np.arange(13), range(13)).plot().texts


def test_a_report_says_whether_it_helped():
    rows, labels, truth = overconfident(3000, 2)
    assert ClassReport(rows, truth, labels).verdict.word == "better"
    assert ClassReport(truth, rows, labels).verdict.word == "worse"
    assert ClassReport(truth, truth, labels).verdict.word == "no different"
    assert ClassReport(rows[:50], truth[:50], labels[:50]).verdict.word == "cannot tell"


@pytest.mark.parametrize(
    "rival",
    [
        OnlineTemperature(), OnlineTemperatureBias(), OnlineVectorScaling(), OnlinePriorShift(),
        *(ClassRefit(m, 2000, 500) for m in (
            "temperature", "temperature and biases", "isotonic", "dirichlet")),
    ],
    ids=lambda rival: f"{type(rival).__name__} {getattr(rival, 'method', '')}",
)  # fmt: skip
def test_rivals_repair_what_they_can(rival):
    """All but prior shift know a temperature; the last knows base rates."""
    rows, labels, truth = overconfident(3000, 3)
    best, raw = (multiclass_log_loss(each, labels) for each in (truth, np.maximum(rows, 1e-6)))
    predicted = rival.run(rows, labels)
    assert np.abs(predicted.sum(axis=1) - 1).max() < 1e-9
    loss = multiclass_log_loss(predicted, labels)
    if isinstance(rival, OnlinePriorShift):
        assert abs(loss - raw) < 0.01
    else:
        assert loss < best + 0.35 * (raw - best)
    late = rival.run(rows, labels, late=50)
    np.testing.assert_array_equal(late[:50], rival.run(rows[:50], labels[:50], late=50))
    with pytest.raises(ValueError, match="labels must be columns"):
        rival.run(rows[:2], [0, 3])


def test_rows_rounded_to_two_decimals_are_scaled_to_sum_to_one():
    columns = {"p_a": ["0.33", "0.7"], "p_b": ["0.33", "0.2"], "p_c": ["0.33", "0.1"]}
    _, rows = take_classes(Table("m", {**columns, "y": ["a", "b"]}), scores="p_*", outcome="y")
    assert rows.scores.tolist() == [pytest.approx([1 / 3] * 3), [0.7, 0.2, 0.1]]
    wrong = Table("m", {**columns, "p_c": ["0.3", "0.1"], "y": ["a", "b"]})
    with pytest.raises(ValueError, match=r"sum to one, except for rounding.*got 0\.96"):
        take_classes(wrong, scores="p_*", outcome="y")
