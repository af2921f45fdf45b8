"""``calibrant forecast``: files, pipes, and what is said at the end."""

import contextlib
import csv
import json
import re
import signal
import subprocess

import numpy as np
import pytest

from calibrant import EventForecaster, Monitor, Zoom
from calibrant.cli.forecast import SIMPLE
from calibrant.forecasters.named import FORECASTERS, make
from calibrant.forecasters.rivals import RunningMean
from calibrant.measures import brier, cal2, log_loss
from calibrant.streams import load
from calibrant.tables import read


def test_a_file_gets_one_probability_a_row(calibrant, events, tmp_path):
    calibrant(
        "forecast", events, "--outcome", "outcome", "--seed", "3", "--out", tmp_path / "o.csv"
    )
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    outcomes = [float(row["outcome"]) for row in rows]
    assert [row["day"] for row in rows] == [str(t) for t in range(300)]
    assert [float(row["prediction"]) for row in rows] == (
        EventForecaster(seed=3).run(outcomes).tolist()
    )


def test_each_prediction_is_made_before_its_outcome(calibrant, events, tmp_path):
    """Changing an outcome changes no prediction up to and including its own row."""
    calibrant("forecast", events, "--out", tmp_path / "before.csv")
    lines = events.read_text().splitlines()
    day, outcome = lines[150].split(",")
    lines[150] = f"{day},{1 - int(outcome)}"
    events.write_text("\n".join(lines) + "\n")
    calibrant("forecast", events, "--out", tmp_path / "after.csv")
    before = read(tmp_path / "before.csv").take("prediction").values
    after = read(tmp_path / "after.csv").take("prediction").values
    assert before[:150].tolist() == after[:150].tolist()
    assert before[150:].tolist() != after[150:].tolist()


def test_the_scorecard_stands_beside_the_baselines(calibrant, events):
    result = calibrant("forecast", events)
    outcomes = read(events).take("outcome").values
    head, cal2_row, brier_row, log_row = (
        next(line.split() for line in result.stdout.splitlines() if line.strip().startswith(start))
        for start in ("event-forecaster", "Cal2", "Brier", "log loss")
    )
    assert head[:3] == ["event-forecaster", "zoom", "running-mean"]
    (rival,) = re.findall(r"simple rivals, (\S+) has the lowest log loss", result.stdout)
    assert rival.endswith(head[3])  # its parameters are on a line of their own
    predictions = [EventForecaster().run(outcomes), Zoom().run(outcomes)]
    predictions += [RunningMean().run(outcomes), make(rival).run(outcomes)]
    for at, each in enumerate(predictions):
        for row, measure in ((cal2_row, cal2), (brier_row, brier), (log_row, log_loss)):
            assert float(row[2 + at]) == pytest.approx(measure(each, outcomes), rel=0.01)
    rivals = [log_loss(make(name).run(outcomes), outcomes) for name in SIMPLE]
    assert float(log_row[5]) == pytest.approx(min(rivals), rel=0.001)
    first, *_ = forecaster_after(outcomes).weights()
    assert f"based on {first.words}" in " ".join(result.stdout.split())
    assert "no outcome column was named, taking 'outcome'" in result.stderr


def forecaster_after(outcomes):
    forecaster = EventForecaster()
    forecaster.run(outcomes)
    return forecaster


def test_times_of_a_file(attempt, tmp_path):
    rain = load("seattle_rain")
    rows = zip(rain.times[:3000], rain.outcomes[:3000].astype(int), strict=True)
    path = tmp_path / "rain.csv"
    path.write_text("day,rain\n" + "".join(f"{day},{wet}\n" for day, wet in rows))
    result = attempt(
        "forecast", path, "--outcome", "rain", "--time", "day", "--out", tmp_path / "o.csv"
    )
    assert result.exit_code == 0, result.stderr
    days = rain.times[:3000].astype("datetime64[D]")
    expected = EventForecaster().run(rain.outcomes[:3000], at=days)
    assert read(tmp_path / "o.csv").take("prediction").values.tolist() == expected.tolist()
    for refused, why in (
        (("--time", "nobody"), "nobody"),
        (("--time", "day", "--forecaster", "zoom"), "does not use times"),
    ):
        result = attempt("forecast", path, "--outcome", "rain", *refused)
        assert result.exit_code == 2
        assert why in result.stderr


def test_ahead_in_a_file(calibrant, events, tmp_path):
    out = tmp_path / "o.csv"
    result = calibrant("forecast", events, "--outcome", "outcome", "--ahead", "4", "--out", out)
    outcomes = read(events).take("outcome").values
    expected = EventForecaster(ahead=4).run(outcomes)
    assert read(out).take("prediction").values.tolist() == expected.tolist()
    (log_row,) = (line.split() for line in result.stdout.splitlines() if "log loss " in line[:9])
    zoom = Zoom().run(outcomes)  # whose word for a round stands for the one three later
    zoom = np.concatenate([zoom[:1].repeat(3), zoom[:-3]])
    assert float(log_row[2]) == pytest.approx(log_loss(expected, outcomes), abs=1e-4)
    assert float(log_row[3]) == pytest.approx(log_loss(zoom, outcomes), abs=1e-4)
    assert "seasonal" not in result.stdout


@pytest.mark.parametrize("ahead", [1, 3])
def test_outcomes_that_become_known_late(calibrant, tmp_path, ahead):
    """Each row is forecast by the outcomes known before it; some are never known, or missing."""
    random = np.random.default_rng(ahead)
    outcomes = (random.random(400) < 0.3).astype(int)
    delays = random.integers(0, 6, 400)
    path, out = tmp_path / "late.csv", tmp_path / "o.csv"
    lines = [
        f"{t},{'' if t % 50 == 9 else outcomes[t]},{'' if t % 40 == 7 else t + delays[t]}\n"
        for t in range(400)
    ]
    path.write_text("t,y,known\n" + "".join(lines))
    given = ("--outcome", "y", "--time", "t", "--available", "known", "--ahead", str(ahead))
    result = calibrant("forecast", path, *given, "--out", out)
    twin, expected, waiting = EventForecaster(ahead=ahead), [], []
    for t in range(400):
        for at, row in sorted(waiting):
            if at < t:
                twin.update(outcomes[row], id=row)
                waiting.remove((at, row))
        expected.append(twin.predict(id=t, at=t))
        if t % 50 != 9 and t % 40 != 7:
            waiting.append((t + delays[t], t))
    assert read(out).take("prediction").values.tolist() == expected
    has = np.arange(400) % 50 != 9
    brier_row = next(line.split() for line in result.stdout.splitlines() if "Brier s" in line)
    assert float(brier_row[2]) == pytest.approx(
        brier(np.array(expected)[has], outcomes[has]), abs=1e-4
    )
    assert "missing or never known: 18" in result.stdout


def test_a_report_of_a_forecast(calibrant, events, tmp_path):
    page = tmp_path / "page.html"
    calibrant("forecast", events, "--outcome", "outcome", "--report", page, "--ahead", "2")
    html = page.read_text()
    assert "What the forecasts drew on" in html
    assert f"calibrant forecast {events} --outcome outcome --ahead 2 --report {page}" in html
    calibrant("forecast", events, "--forecaster", "zoom", "--report", page)
    assert "drew on" not in page.read_text()


@pytest.mark.parametrize("name", FORECASTERS)
def test_every_forecaster_can_be_named(calibrant, events, name):
    result = calibrant("forecast", events, "--forecaster", name)
    heads = [line.split() for line in result.stdout.splitlines() if "running-mean" in line]
    assert heads[0][0] == name
    assert len(set(heads[0])) == len(heads[0])


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_results_in_every_format(calibrant, events, tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    calibrant("forecast", events, "--out", out)
    again = read(out).take("prediction").values
    assert again.tolist() == EventForecaster().run(read(events).take("outcome").values).tolist()


def test_standard_input_can_fill_a_file(program, tmp_path):
    process = program("forecast", "-", "--out", "o.csv")
    _, stderr = process.communicate(b"y\n1\n0\n1\n")
    assert process.returncode == 0, stderr
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "y,prediction"


def test_a_pipe_is_answered_line_by_line(program):
    """Each answer is read before the next line is written: nothing waits in a buffer."""
    process = program("forecast", "-", "--seed", "5")
    twin = EventForecaster(seed=5)
    for outcome in (1, 0, 0, 1, 1, 1, 0, 1) * 5:
        process.stdin.write(f"{outcome}\n".encode())
        process.stdin.flush()
        assert float(process.stdout.readline()) == twin.predict()
        twin.update(outcome)
    _, stderr = process.communicate()
    assert process.returncode == 0
    assert b"Scorecard" in stderr


def test_ahead_answers_with_the_next_forecast(program):
    process = program("forecast", "-", "--seed", "5", "--ahead", "1")
    twin = EventForecaster(seed=5)
    assert float(process.stdout.readline()) == twin.predict()
    for outcome in (1, 0, 0, 1, 1):
        process.stdin.write(f"{outcome}\n".encode())
        process.stdin.flush()
        twin.update(outcome)
        assert float(process.stdout.readline()) == twin.predict()
    process.communicate()
    assert process.returncode == 0


def test_ahead_answers_with_later_forecasts(program):
    """Three lines later: the forecasts are those of a file, and each comes three lines before."""
    outcomes = [1, 0, 0, 1, 1, 0, 1, 0, 0, 0] * 4
    process = program("forecast", "-", "--seed", "5", "--ahead", "3")
    answers = [float(process.stdout.readline()) for _ in range(3)]
    for outcome in outcomes:
        process.stdin.write(f"{outcome}\n".encode())
        process.stdin.flush()
        answers.append(float(process.stdout.readline()))
    _, stderr = process.communicate()
    expected = EventForecaster(seed=5, ahead=3).run(outcomes)
    assert answers[: len(outcomes)] == expected.tolist()
    assert f"{brier(expected, outcomes):.4f}" in stderr.decode()


def test_a_bad_line_in_a_pipe_ends_it_with_a_message(program):
    process = program("forecast", "-")
    stdout, stderr = process.communicate(b"1\n0\nnan\n1\n")
    assert process.returncode == 2
    assert len(stdout.splitlines()) == 2
    assert b"line 3" in stderr
    assert b"Traceback" not in stderr


def test_a_closed_pipe_ends_quietly(program):
    process = program("forecast", "-")
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"1\n" * 500_000)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    assert process.wait() == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_interrupt_leaves_nothing_half_written(program, tmp_path):
    process = program("forecast", "-", "--out", "o.csv")
    # More than a pipe holds: once it is written, the program is reading, and waits for the end.
    process.stdin.write(b"y\n" + b"1\n" * 500_000)
    process.stdin.flush()
    # A signal between two reads is noticed only by the next one, so a user would press again.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
    process.stdin.close()
    stderr = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


def test_the_bundled_stream_of_make_run(calibrant, first_flights):
    """Flights, calibrated."""
    path, count = first_flights
    result = calibrant("forecast", path, "--outcome", "outcome")
    assert f"{count:,} rounds" in result.stdout
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("Cal2"))
    own, zoom = (float(figure.replace(",", "")) for figure in row[2:4])
    outcomes = load("nycflights").outcomes[:count]
    assert own < 100
    assert zoom == pytest.approx(cal2(Zoom().run(outcomes), outcomes), rel=0.01)


def test_the_forecasts_are_watched_too(calibrant, events):
    """What is watched is the mean of what might have been predicted."""
    result = calibrant("forecast", events, "--outcome", "outcome")
    assert "event-forecaster: No alarm in 300 rounds" in " ".join(result.stdout.split())
    found = json.loads(calibrant("forecast", events, "--outcome", "outcome", "--json").stdout)
    outcomes = read(events).take("outcome").values
    forecaster, monitor = EventForecaster(), Monitor()
    for y in outcomes.tolist():
        monitor.update(forecaster.expected(), y)
        forecaster.update(y)
    assert (found["rounds"], found["episodes"]) == (300, [])
    assert found["evidence"] == monitor.evidence
    assert found["measures"]["event-forecaster"]["brier"] == pytest.approx(
        brier(EventForecaster().run(outcomes), outcomes)
    )


# -- the row after the last one, and states --------------------------------------------------------


def daily(rows, known, a_day=1):
    """Return a CSV of so many rows a day, without an outcome from row `known` on."""
    outcomes = np.random.default_rng(0).integers(0, 2, rows).tolist()
    days = np.datetime64("2024-01-01") + np.arange(rows) // a_day
    lines = [f"{days[row]},{y if row < known else ''}" for row, y in enumerate(outcomes)]
    return "\n".join(["t,y", *lines]) + "\n"


def forecast_of(calibrant, tmp_path, text, *options):
    (tmp_path / "rows.csv").write_text(text)
    out = tmp_path / "out.csv"
    found = calibrant(
        "forecast", tmp_path / "rows.csv", "--outcome", "y", *options, "--out", out, "--json"
    )
    rows = csv.DictReader(out.read_text().splitlines())
    column = [float(row["prediction"]) for row in rows]
    return column, json.loads(found.stdout)["following"]


@pytest.mark.parametrize(
    "options", [(), ("--time", "t"), ("--ahead", "3"), ("--forecaster", "zoom")], ids=str
)
def test_the_next_row_is_forecast(calibrant, tmp_path, options):
    """As an empty outcome, or with --next after the last row: it is what a longer file says."""
    whole, none = forecast_of(calibrant, tmp_path, daily(121, 121), *options)
    assert none == []
    empty, (last,) = forecast_of(calibrant, tmp_path, daily(121, 120), *options)
    assert empty == whole
    added, (following,) = forecast_of(calibrant, tmp_path, daily(120, 120), *options, "--next")
    assert added == whole[:120]
    assert following["forecast"] == last["forecast"] == whole[120]
    assert following["row"] == ("2024-04-30" if "--time" in options else "row 121")


def test_rows_of_one_time_are_forecast_together(calibrant, tmp_path):
    """What is known of a day is used from the next day on, in the next file too."""
    whole, _ = forecast_of(calibrant, tmp_path, daily(123, 123, 3), "--time", "t")
    empty, following = forecast_of(calibrant, tmp_path, daily(123, 120, 3), "--time", "t")
    assert empty == whole
    assert [each["row"] for each in following] == ["2024-02-10"] * 3
    outcomes = [line.split(",")[1] for line in daily(123, 123, 3).splitlines()[1:]]
    twin, by_hand = EventForecaster(), []
    for day in range(41):
        for row in range(3 * day, 3 * day + 3):
            twin.predict(at=np.datetime64("2024-01-01") + day)
            by_hand.append(twin.predict(id=row))
        for row in range(3 * day, 3 * day + 3):
            twin.update(float(outcomes[row]), id=row)
    assert whole == by_hand
    head, *lines = daily(123, 123, 3).splitlines()
    state, halves = ("--state", tmp_path / "state"), []
    for part in (lines[:60], lines[60:]):
        text = "\n".join([head, *part])
        halves += forecast_of(calibrant, tmp_path, text, "--time", "t", *state)[0]
    assert halves == whole


def test_several_rows_without_an_outcome_are_forecast(attempt, tmp_path):
    whole, _ = forecast_of(attempt, tmp_path, daily(123, 123), "--ahead", "3")
    empty, following = forecast_of(attempt, tmp_path, daily(123, 120), "--ahead", "3")
    assert empty == whole
    assert [each["forecast"] for each in following] == whole[120:]
    told = attempt("forecast", tmp_path / "rows.csv", "--outcome", "y").stdout
    assert "Forecasts after the last outcome" in told
    (tmp_path / "rows.csv").write_text("y\n1\n\n0\n0\n".replace("\n\n", '\n""\n'))
    assert "line 3" in attempt("forecast", tmp_path / "rows.csv", "--outcome", "y").stderr


def test_the_next_row_knows_what_has_arrived_by_then(calibrant, tmp_path):
    delays, text = np.random.default_rng(1).integers(0, 9, 121), ["t,y,a"]
    for line, delay in zip(daily(121, 121).splitlines()[1:], delays, strict=True):
        text.append(f"{line},{np.datetime64(line.split(',')[0]) + delay}")
    options = ("--time", "t", "--available", "a")
    whole, _ = forecast_of(calibrant, tmp_path, "\n".join(text), *options)
    _, (following,) = forecast_of(calibrant, tmp_path, "\n".join(text[:-1]), *options, "--next")
    assert following == {"row": "2024-04-30", "forecast": whole[-1]}


@pytest.mark.parametrize(
    "options", [(), ("--time", "t"), ("--ahead", "3"), ("--forecaster", "zoom")], ids=str
)
def test_two_halves_with_a_state_are_the_whole(calibrant, tmp_path, options):
    whole, _ = forecast_of(calibrant, tmp_path, daily(140, 140), *options)
    head, *lines = daily(140, 140).splitlines()
    state = ("--state", tmp_path / "state")
    halves = []
    for part in (lines[:70], lines[70:]):
        halves += forecast_of(calibrant, tmp_path, "\n".join([head, *part]), *options, *state)[0]
    assert halves == whole


def test_a_state_that_does_not_fit_is_refused(attempt, calibrant, tmp_path):
    state = tmp_path / "state"
    forecast_of(calibrant, tmp_path, daily(60, 60), "--ahead", "3", "--state", state)
    before, rows = state.read_bytes(), tmp_path / "rows.csv"
    for options, said in (
        (("--ahead", "2"), "was saved with ahead=3, got 2"),
        (("--forecaster", "zoom"), "EventForecaster"),
        (("--time", "t", "--available", "t"), "cannot be combined with --available"),
    ):
        told = attempt("forecast", rows, "--outcome", "y", *options, "--state", state)
        assert told.exit_code == 2
        assert said in told.stderr
    assert state.read_bytes() == before


def test_a_pipe_continues_with_its_state(program):
    lines = [f"{y}\n" for y in np.random.default_rng(0).integers(0, 2, 40)]
    answers = []
    for part in (lines[:20], lines[20:]):
        told, _ = program("forecast", "-", "--state", "state").communicate("".join(part).encode())
        answers += told.split()
    expected = EventForecaster().run([float(line) for line in lines])
    assert [float(answer) for answer in answers] == expected.tolist()
