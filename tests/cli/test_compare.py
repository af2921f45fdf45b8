"""The command line: comparing forecasters."""

import json
import os
import pty
import re

import numpy as np
import pytest

from calibrant.cli.compare import left, whole
from calibrant.experiments import read_results
from calibrant.experiments.groups import FORECASTER_GROUPS, STREAM_GROUPS, expand, split
from calibrant.experiments.results import rank
from calibrant.forecasters.named import FORECASTERS, make
from calibrant.measures import brier
from calibrant.measures.numbers import pinball
from calibrant.recalibrate.rivals import ACI, OnlinePlatt
from calibrant.streams import ADVERSARIES, FAMILIES, named, names

SMALL = ("compare", "--horizons", "100,300", "--seeds", 2, "--workers", 1)


def test_a_comparison(calibrant, tmp_path):
    out = tmp_path / "out"
    result = calibrant(
        *SMALL, "--forecasters", "zoom,foster-hart:horizon=T", "--forecasters", "epoch",
        "--streams", "drift,iid:mean=0.3", "--streams", "chaser", "--out", out,
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert lines[0].startswith("cal2, mean and spread over 2 seeds")
    assert set(re.split(r"  +", lines[1].strip())[1:]) == {"zoom", "epoch", "foster-hart:horizon=T"}
    body = [line for line in lines if re.match(r"(drift|iid:mean=0.3|chaser), [13]00 ", line)]
    assert len(body) == 6
    assert all(line.count("*") == 1 and line.count("±") == 3 for line in body)
    assert lines[-2:] == [f"Results: {out}/results.parquet", f"Look at: calibrant report {out}"]
    said = [line for line in lines if " has the best " in line]
    assert said
    for measure in ("Brier score", "log loss", "calibration (Cal2)"):
        assert any(measure in line for line in said)
    assert "0 of 36 tasks" in result.stderr
    assert "36 of 36 tasks" in result.stderr
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.stderr + result.stdout)
    results = read_results(out)
    assert sum(len(result.values) for result in results.all) == 3 * 3 * 2 * 2 * 7
    assert results.streams == ["drift", "iid:mean=0.3", "chaser"]
    # Once more: nothing is run, the same table is shown.
    again = calibrant(
        *SMALL, "--forecasters", "epoch,zoom,foster-hart:horizon=T",
        "--streams", "chaser,drift,iid:mean=.3", "--out", out,
    )  # fmt: skip
    assert again.stdout == result.stdout
    assert again.stderr.splitlines() == ["36 of 36 tasks"]


def test_the_marked_figure_is_the_least_mean(calibrant, tmp_path):
    calibrant(
        *SMALL, "--forecasters", "zoom,epoch,swap", "--streams", "drift,greedy",
        "--measures", "cal1,pcal2", "--out", tmp_path,
    )  # fmt: skip
    results = read_results(tmp_path)
    assert {name for result in results.all for name in result.values} == {"cal1", "pcal2"}
    for (stream, rounds), row in results.summary("pcal2").items():
        means = {
            name: sum(
                result.values["pcal2"]
                for result in results.all
                if result.identity[0] == name and result.identity[2:5:2] == (stream, rounds)
            ) / 2
            for name in ("zoom", "epoch", "swap")
        }  # fmt: skip
        assert {name: each.mean for name, each in row.items()} == pytest.approx(means)
        assert [name for name in row if row[name].best] == [min(means, key=means.get)]


def test_forecasters_stand_in_the_order_of_the_report(calibrant, tmp_path):
    result = calibrant(
        *SMALL, "--forecasters", "paper", "--streams", "drift,contrarian,iid:mean=0.1",
        "--out", tmp_path,
    )  # fmt: skip
    head = re.split(r"  +", result.stdout.splitlines()[1].strip())[1:]
    assert head == rank(read_results(tmp_path).errors("cal2"))
    assert head != sorted(head)


def test_a_narrow_terminal_names_the_best(calibrant, tmp_path, monkeypatch):
    arguments = (*SMALL, "--forecasters", "paper", "--streams", "drift", "--out", tmp_path)
    wide = calibrant(*arguments).stdout
    assert "restarting" in wide
    monkeypatch.setattr("calibrant.cli.console.out.width", 70)
    narrow = calibrant(*arguments).stdout
    shown = re.search(r"\((\d) of 6 forecasters", narrow)
    assert int(shown[1]) < 6
    assert max(map(len, narrow.splitlines()[:5])) <= 70
    for (stream, rounds), row in read_results(tmp_path).summary("cal2").items():
        (best,) = (name for name, each in row.items() if each.best)
        assert re.search(rf"^{stream}, {rounds} +{re.escape(best)}( |$)", narrow, re.M)


def test_a_long_table_shows_the_most_rounds(calibrant, tmp_path):
    result = calibrant(
        "compare", "--forecasters", "zoom", "--streams", "families", "--seeds", 1, "--workers", 1,
        "--horizons", "100,200,300,400,500", "--out", tmp_path,
    )  # fmt: skip
    assert "only the largest number of rounds of each stream" in result.stdout
    assert len(re.findall(r", 500 ", result.stdout)) == len(FAMILIES)
    assert not re.search(r", [1-4]00 ", result.stdout)


def test_a_stream_that_is_too_short_is_used_whole(calibrant, tmp_path):
    path = tmp_path / "a,b.csv"
    path.write_text("y\n" + "1\n0\n0\n" * 50)
    spec = f"file:{path}#y"
    result = calibrant(
        *SMALL, "--forecasters", "zoom", "--streams", spec, "--out", tmp_path / "out"
    )
    assert f"shorter than 300 rounds, so used as a whole: {spec} (150)" in result.stderr
    results = read_results(tmp_path / "out")
    assert {result.task.rounds for result in results.all} == {100, 150}
    assert results.streams == [spec]


def test_the_title_is_not_folded_and_fits_one_seed(calibrant, tmp_path):
    common = ("compare", "--forecasters", "zoom", "--streams", "drift", "--horizons", 50)
    one = calibrant(*common, "--seeds", 1, "--workers", 1, "--out", tmp_path)
    assert one.stdout.splitlines()[0] == "cal2, one seed; * marks the best in each row"
    two = calibrant(*common, "--seeds", 2, "--workers", 1, "--out", tmp_path)
    title = "cal2, mean and spread over 2 seeds; * marks the best in each row"
    assert two.stdout.splitlines()[0] == title


def test_a_file_with_an_unusual_name(calibrant, tmp_path):
    path = tmp_path / "a #1 [bold]b.csv"
    path.write_text("y,z\n" + "1,0\n0,1\n" * 20)
    result = calibrant(
        *SMALL, "--forecasters", "zoom", "--streams", f"file:{path}#y", "--out", tmp_path / "out"
    )
    assert "#1 [bold]b.csv#y, 40" in result.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--forecasters", "zoom,zom"), ["forecaster must be one of", "'zom'"]),
        (("--forecasters", "zoom:cells=4"), ["'zoom' has no parameter 'cells'"]),
        (("--forecasters", ""), ["forecaster must be a name"]),
        (("--streams", "drift,nowhere"), ["stream must be one of", "'nowhere'"]),
        (("--streams", "file:nowhere.csv"), ["nowhere.csv", "No such file"]),
        (("--horizons", "100,many"), ["--horizons must be integers", "'many'"]),
        (("--horizons", "0"), ["--horizons must be integers in [1, ", "'0'"]),
        (("--horizons", "1e30"), ["--horizons must be integers in [1, ", "'1e30'"]),
        (("--seeds", 0), ["seeds must be an integer at least 1"]),
        (("--measures", "cal3"), ["--measures must be one of"]),
        (("--show", "pcal2"), ["--show must be one of 'cal1', 'cal2'"]),
        (("--engine", "spark"), ["engine must be one of 'local', 'ray'"]),
        (("--workers", 0), ["workers must be an integer in [1, 1024]"]),
    ],
)
def test_what_cannot_be_compared(attempt, tmp_path, arguments, words):
    out = tmp_path / "out"
    result = attempt(*SMALL, "--out", out, *arguments)
    assert result.exit_code == 2, result.stdout
    assert result.stderr.splitlines()[-1].startswith("calibrant: error:")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert not out.exists()


def test_more_rounds_than_memory(attempt, tmp_path, monkeypatch):
    def drawn(*_arguments):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr(named, "_drawn", drawn)
    result = attempt(*SMALL, "--streams", "drift", "--out", tmp_path / "out")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line == "calibrant: error: not enough memory: Unable to allocate 7.28 TiB"


def test_failed_tasks_are_named(attempt, tmp_path, monkeypatch):
    def fail(_task, _identity):
        raise MemoryError("too much")

    monkeypatch.setattr("calibrant.experiments.engines.batches.run_task", fail)
    result = attempt(
        *SMALL, "--forecasters", "zoom", "--streams", "drift", "--out", tmp_path / "out"
    )
    assert result.exit_code == 1
    assert "4 of 4 tasks failed" in result.stderr
    assert "zoom on drift, 100 rounds, seed 0: MemoryError: too much" in result.stderr


def test_a_terminal_sees_a_bar(program, tmp_path, monkeypatch):
    """On a terminal, the bar says how many tasks are done and about how long the rest takes."""
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    process = program(
        "compare", "--forecasters", "swap", "--streams", "drift,iid", "--horizons", "20000",
        "--seeds", 40, "--workers", 1, "--out", tmp_path / "out",
        stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:
        pass  # so does Linux say that nobody writes any more
    finally:
        os.close(ours)
    process.communicate()
    assert process.returncode == 0
    assert re.search(rb"comparing .* \d+% \d+ of 80 tasks", re.sub(rb"\x1b\[[\d;?]*\w", b"", seen))


def test_every_name_is_in_the_default_comparison():
    """A forecaster or a stream that is added must be compared, too."""
    first = lambda specs: [spec.partition(":")[0] for spec in specs]  # noqa: E731
    assert sorted(first(FORECASTER_GROUPS["all"])) == sorted(FORECASTERS)
    assert set(first(STREAM_GROUPS["all"])) == {*FAMILIES, *ADVERSARIES, *names()}
    for spec in FORECASTER_GROUPS["all"]:
        make(spec, rounds=1000)
    for spec in STREAM_GROUPS["all"]:
        named.find(spec, rounds=100)
        # Results name the parameters in this order; tables look for them by that name.
        assert spec.partition(":")[2].split(",") == sorted(spec.partition(":")[2].split(","))


def test_lists_of_specs():
    assert split(["a,b:x=1,y=2,c", "d:z=T/10"]) == ["a", "b:x=1,y=2", "c", "d:z=T/10"]
    assert split(["b:x=1, y=2", "y=3"]) == ["b:x=1,y=2", "y=3"]
    assert expand(["zoom", "all"], FORECASTER_GROUPS)[0] == "zoom"
    assert len(expand(["zoom", "all"], FORECASTER_GROUPS)) == len(FORECASTERS)


def test_numbers_in_words():
    assert [whole(text) for text in ("1000", "1e5", "10_000")] == [1000, 100_000, 10_000]
    assert left(None) == left(0.1) == ""
    assert left(45.2) == ", about 45 s left"
    assert left(600.0) == ", about 10 min left"


# -- rows of one's own -----------------------------------------------------------------------------


def own_rows(tmp_path, is_late):
    """Write scores, forecasts and outcomes of both; return their columns, a line each."""
    random = np.random.default_rng(3)
    t, s = np.arange(600.0), random.random(600).round(3)
    y = (random.random(600) < s**2).astype(float)
    known = t + np.where(is_late, random.integers(0, 50, 600), 0)
    m = random.normal(size=600).round(3)
    number = (m + random.normal(size=600)).round(3)
    columns = np.array([t, s, y, known, m, number])
    lines = "\n".join(",".join(map(str, row)) for row in columns.T.tolist())
    (tmp_path / "own.csv").write_text(f"t,s,y,a,m,z\n{lines}\n")
    return columns


@pytest.mark.parametrize("is_late", [False, True])
def test_methods_on_scores_of_ones_own(calibrant, tmp_path, is_late):
    t, s, y, known, *_ = own_rows(tmp_path, is_late)
    words = (tmp_path / "own.csv", "--score", "s", "--outcome", "y", "--time", "t")
    words += ("--available", "a") if is_late else ()
    found = json.loads(calibrant("compare", *words, "--json").stdout)
    ours = json.loads(calibrant("recalibrate", *words, "--json").stdout)["calibrated"]
    for name, mine in (("Brier_score", "brier"), ("log_loss", "log_loss"), ("ECE", "ece")):
        assert found["methods"]["calibrant"][name] == pytest.approx(ours[mine])
    # By hand: what is known at the very time of a row comes too late for it.
    rival, waiting, predicted = OnlinePlatt(), [], []
    for row in range(600):
        for late in sorted(w for w in waiting if known[w] < t[row]):
            waiting.remove(late)
            rival.update(y[late], id=late)
        predicted.append(rival.predict(s[row], id=row))
        waiting.append(row)
    platt = found["methods"]["online Platt"]["Brier_score"]
    assert platt == pytest.approx(brier(predicted, y), abs=1e-12)
    assert found["methods"]["raw scores"]["Brier_score"] == pytest.approx(brier(s, y))
    told = calibrant("compare", *words).stdout
    assert found["in_words"] in " ".join(told.split())
    assert found["in_words"].startswith("Of 9 other methods on the same rows, ")


@pytest.mark.parametrize("is_late", [False, True])
def test_methods_on_numbers_of_ones_own(calibrant, tmp_path, is_late):
    *_, m, z = own_rows(tmp_path, is_late)
    words = (tmp_path / "own.csv", "--forecast", "m", "--outcome", "z", "--time", "t")
    words += ("--available", "a") if is_late else ()
    found = json.loads(calibrant("compare", *words, "--json").stdout)
    ours = json.loads(calibrant("recalibrate", *words, "--json").stdout)
    mine = found["methods"]["calibrant"]
    assert mine["pinball_loss"] == pytest.approx(ours["pinball"])
    assert mine["coverage"] == pytest.approx(ours["intervals"][-1]["observed"])
    assert mine["interval_score"] == pytest.approx(ours["intervals"][-1]["interval_score"])
    assert len(found["methods"]) == 21
    if is_late:
        assert re.search(r"each outcome 2\d rows late", found["notes"][0])
        return
    levels = np.array([each["level"] for each in ours["levels"]])
    theirs = ACI(levels, rate=0.01).run(m, z)[100:]
    far = 2.0 * np.ptp(z)
    near = np.clip(theirs, z[100:, None] - far, z[100:, None] + far)
    expected = pinball(near, levels, z[100:])
    assert found["methods"]["ACI 0.01"]["pinball_loss"] == pytest.approx(expected)
    assert "calibrant" in calibrant("compare", *words).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --score for a column of scores, or --forecast"),
        (("--score", "s", "--forecast", "m"), "give --score for a column of scores, or"),
        (("--score", "s", "--available", "a"), "--available needs --time"),
        (("--score", "s", "--out", "x"), "--out needs streams"),
        (("--forecast", "m"), "needs --outcome"),
        (("--score", "m", "--outcome", "y"), "must be"),
        (("--score", "y", "--outcome", "y2"), "y2"),
    ],
)
def test_rows_that_cannot_be_compared(attempt, tmp_path, words, said):
    own_rows(tmp_path, False)
    told = attempt("compare", tmp_path / "own.csv", *words)
    assert told.exit_code == 2
    assert said in told.stderr


def test_options_of_rows_need_a_file(attempt):
    for words in (("--score", "s"), ("--json",), ()):
        told = attempt("compare", *words)
        assert told.exit_code == 2
        assert "FILE" in told.stderr


def test_a_comparison_on_sorted_rows_is_refused(attempt, tmp_path):
    own_rows(tmp_path, False)
    head, *lines = (tmp_path / "own.csv").read_text().splitlines()
    lines.sort(key=lambda line: line.split(",")[2])
    (tmp_path / "own.csv").write_text("\n".join([head, *lines]))
    words = ("compare", tmp_path / "own.csv", "--score", "s", "--outcome", "y")
    assert "sorted or grouped by outcome" in attempt(*words).stderr
    attempt(*words, "--trust-order")
