"""Speed and error against another version.

``python -m benchmarks before --python OTHER/bin/python``: the other Python has an older calibrant
installed. For speed, both versions do the same work in turns, each turn in a separate process that
plays all cases, so that other load on the machine affects both equally. The ratio is that of the
medians of processor time; its interval resamples the turns. The services of both versions run side
by side, each on its own SQLite store, and the same clients load one after the other. With all
cases, the tables are written to ``benchmarks/before.md``. For error (``--errors``), both play the
same streams with the same seeds, and the tables are written to ``benchmarks/before_errors.md``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks import delay, silence
from benchmarks.elsewhere import HERE, version_of
from benchmarks.load import LOADS, Server, put_under_load
from benchmarks.machine import describe
from benchmarks.scored import KINDS, scored
from benchmarks.tables import table
from calibrant import EventForecaster, Fleet, Monitor, Recalibrator, Zoom, streams
from calibrant.measures import brier, cal2
from recalibrate.cases import played_late

TITLE, ERROR_TITLE = "Speed against another version", "Error against another version"
SERVED = "The service against another version"
TURNS = 15
#: Seconds that a service is under load in a turn.
SECONDS = 2.0
RESAMPLES = 2_000
ROWS = 200_000
#: Seeds for which both versions play each stream; fewer where a stream is long or late, and more
#: of made events, where a stream on which the mixture takes another course moves the mean of ten.
SEEDS, FEWER, MORE = range(100, 110), range(100, 103), range(100, 150)
LATE_FLIGHTS = 80_000
EVENTS = streams.FAMILIES | {"corrupted": partial(streams.corrupted, budget=2_000)}


@cache
def all_flights():
    """Return the scores and outcomes of the flights."""
    stream = streams.load("nycflights")
    return [np.asarray(each, dtype=np.float64) for each in (stream.scores, stream.outcomes)]


def flights(rows):
    """Return so many scores and outcomes: the flights, again and again."""
    return (np.resize(each, rows) for each in all_flights())


def one_by_one():
    """Predict and learn rows without ids."""
    scores, outcomes = (each.tolist() for each in flights(ROWS))
    recalibrator = Recalibrator()
    predict, update = recalibrator.predict, recalibrator.update
    begun = time.process_time()
    for score, outcome in zip(scores, outcomes, strict=True):
        predict(score)
        update(outcome)
    return time.process_time() - begun


def by_id(late=0):
    """Predict and learn rows by id, each outcome so many rows late."""
    scores, outcomes = (each.tolist() for each in flights(ROWS))
    recalibrator = Recalibrator()
    predict, update = recalibrator.predict, recalibrator.update
    begun = time.process_time()
    for row, score in enumerate(scores):
        predict(score, id=row)
        if row >= late:
            update(outcomes[row - late], id=row - late)
    return time.process_time() - begun


def in_batches(size):
    """Predict and learn batches by id."""
    scores, outcomes = flights(ROWS)
    recalibrator, ids = Recalibrator(), list(range(ROWS))
    begun = time.process_time()
    for at in range(0, ROWS, size):
        batch = slice(at, at + size)
        recalibrator.predict_many(scores[batch], ids=ids[batch])
        recalibrator.update_many(outcomes[batch], ids=ids[batch])
    return time.process_time() - begun


def timed(play, *columns):
    """Return the seconds that one call takes."""
    begun = time.process_time()
    play(*columns)
    return time.process_time() - begun


def run():
    """Play rows in one call."""
    return timed(Recalibrator().run, *flights(1_000_000))


def fleet_run():
    """Play rows of 10,000 keys in one call."""
    scores, outcomes = flights(1_000_000)
    keys = np.random.default_rng(0).integers(0, 10_000, len(scores))
    return timed(Fleet().run, keys, scores, outcomes)


def events_run():
    """Forecast a stream of events in one call."""
    _, outcomes = flights(1_000_000)
    return timed(EventForecaster().run, outcomes)


def zoom():
    """Play Zoom in one call."""
    _, outcomes = flights(4_000_000)
    return timed(Zoom().run, outcomes)


def watched(calibrated):
    """Watch predictions and outcomes in one call; the flights' raw scores soon open an episode."""
    scores, outcomes = flights(1_000_000)
    if calibrated:
        outcomes = (np.random.default_rng(0).random(len(scores)) < scores).astype(np.float64)
    return timed(Monitor().run, scores, outcomes)


CASES = {
    "predict + update": one_by_one,
    "by id": by_id,
    "by id, 100 late": lambda: by_id(100),
    "batches of 10 ids": lambda: in_batches(10),
    "batches of 1,000 ids": lambda: in_batches(1000),
    "batches of 10,000 ids": lambda: in_batches(10_000),
    "batches of 30,000 ids": lambda: in_batches(30_000),
    "run": run,
    "Fleet.run, 10,000 keys": fleet_run,
    "EventForecaster.run": events_run,
    "Zoom.run": zoom,
    "Monitor.run, calibrated": lambda: watched(True),
    "Monitor.run, in an episode": lambda: watched(False),
}


def made_scores(rounds, seeds):
    """Yield the errors on each kind of made scores, outcomes at once."""
    for kind in KINDS:
        made = [scored(kind, rounds, seed) for seed in seeds]
        yield (
            kind,
            [
                (Recalibrator(seed=seed).run(each.scores, each.outcomes), each.outcomes)
                for seed, each in zip(seeds, made, strict=True)
            ],
        )


def real_scores():
    """Yield the errors on the scores that come with calibrant, outcomes at once."""
    for name in streams.names():
        stream = streams.load(name)
        if stream.scores is not None:
            yield (
                name,
                [
                    (Recalibrator(seed=seed).run(stream.scores, stream.outcomes), stream.outcomes)
                    for seed in SEEDS
                ],
            )


def event_streams():
    """Yield the errors on streams of events, made and real."""
    for name, make in EVENTS.items():
        made = [(seed, make(20_000, seed=seed).outcomes) for seed in MORE]
        yield name, [(EventForecaster(seed=seed).run(each), each) for seed, each in made]
    for name in streams.names():
        outcomes = streams.load(name).outcomes
        yield name, [(EventForecaster(seed=seed).run(outcomes), outcomes) for seed in SEEDS]


def late_outcomes():
    """Yield the errors where outcomes are late: flights, and made scores."""
    flights = streams.load("nycflights")
    cases = {
        "flights": [(flights.scores[:LATE_FLIGHTS], flights.outcomes[:LATE_FLIGHTS])] * len(FEWER)
    }
    for kind in delay.MADE:
        cases[kind] = [scored(kind, 20_000, seed)[:2] for seed in FEWER]
    for name, played in cases.items():
        for how, delays in delay.DELAYS.items():
            yield f"{name}, {how}", [
                (
                    played_late(
                        Recalibrator(seed=seed, capacity=len(scores)), scores, outcomes,
                        delays(outcomes, np.random.default_rng(seed)),
                    ),
                    outcomes,
                )
                for seed, (scores, outcomes) in zip(FEWER, played, strict=True)
            ]  # fmt: skip


def waiting_flights():
    """Yield the errors on all flights, with deadlines and as they land."""
    flights = streams.load("nycflights")
    made, landed, due = (
        silence.minutes(texts)
        for texts in (flights.times, flights.columns["landed"], flights.columns["due"])
    )
    rows = flights.scores, flights.outcomes, made, landed
    for name, options, deadlines in (
        ("when landed", {}, None),
        ("when landed; silence until due means late", {"silence": 1}, due),
    ):
        yield (
            name,
            [
                (
                    silence.play(
                        Recalibrator(seed=seed, capacity=len(made), **options), *rows, deadlines
                    ),
                    flights.outcomes,
                )
                for seed in FEWER
            ],
        )


ERRORS = {
    "made scores, 10,000 rounds": lambda: made_scores(10_000, SEEDS),
    "made scores, 100,000 rounds": lambda: made_scores(100_000, FEWER),
    "real scores": real_scores,
    "events": event_streams,
    "late outcomes": late_outcomes,
    "flights as they land": waiting_flights,
}


def means(runs):
    """Return the mean Brier score and the mean Cal2 of some runs."""
    return [float(np.mean([measure(*run) for run in runs])) for measure in (brier, cal2)]


def played(python, cases):
    """Return what each case gives, played by a Python: seconds, or the errors on each stream."""
    command = [python, "-m", "benchmarks.before", *cases]
    asked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=HERE)
    return json.loads(asked.stdout)


def error_table(python, case):
    """Return the table of both versions' errors on the streams of a case."""
    here, there = (played(each, [case])[0] for each in (sys.executable, python))
    rows = [
        (
            name, f"{here[name][0]:.5f}", f"{there[name][0]:.5f}",
            f"{here[name][0] - there[name][0]:+.6f}",
            f"{here[name][1]:.0f}", f"{there[name][1]:.0f}",
        )
        for name in here
    ]  # fmt: skip
    head = ("stream", "Brier here", "Brier there", "difference", "Cal2 here", "Cal2 there")
    return table(f"{ERROR_TITLE}: {case}", head, rows)


def compared(times):
    """Return the ratio of the medians, its 95 % interval as a text, and both medians."""
    drawn = np.random.default_rng(0).integers(len(times), size=(RESAMPLES, len(times)))
    here, before = np.median(times, axis=0)
    medians = np.median(times[drawn], axis=1)
    low, high = np.quantile(medians[:, 0] / medians[:, 1], (0.025, 0.975))
    return f"{here / before:.3f}", f"{low:.3f} to {high:.3f}", here, before


def busy():
    """Return how many processes wanted a core in the last minute."""
    return round(os.getloadavg()[0], 1)


def speed_table(python, cases, turns):
    """Return the table of the processor time that both versions take for some cases."""
    rows, times, load = [], [], []
    for turn in range(turns):
        times.append([played(each, cases) for each in (sys.executable, python)])
        load.append(busy())
        print(f"turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
    for i, case in enumerate(cases):
        ratio, interval, here, before = compared(np.array(times)[:, :, i])
        rows.append((case, ratio, interval, f"{here:.3f}", f"{before:.3f}", np.median(load)))
    head = ("case", "ratio", "95 %", "seconds here", "seconds there", "load of the machine")
    return table(TITLE, head, rows)


def served(servers, load, turn):
    """Put one service after the other under load.

    Returns for each the processor time and the time that passed, in seconds a row.
    """
    costs = []
    for server in servers:
        took, passed, used = put_under_load(server, load, f"{load}-{turn}", SECONDS)
        rows = len(took) * LOADS[load][0]
        costs.append((used / rows, passed / rows))
    return costs


def service_table(python, loads, turns):
    """Return the table of what a row costs the services of both versions.

    That is the processor time of the service, and the time that passes, in which the clients work
    too.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = [
            stack.enter_context(closing(Server(f"{folder}/{name}.db", each)))
            for name, each in (("here", sys.executable), ("there", python))
        ]
        for load in loads:
            served(servers, load, "before the first turn")  # so that both are warm
            costs = np.array([served(servers, load, turn) for turn in range(turns)])
            ratio, interval, here, there = compared(costs[:, :, 0])
            slower, its_interval, passed, passed_there = compared(costs[:, :, 1])
            rows.append((
                load, ratio, interval, f"{1e6 * here:.1f}", f"{1e6 * there:.1f}",
                slower, its_interval, f"{1 / passed:,.0f}", f"{1 / passed_there:,.0f}", busy(),
            ))  # fmt: skip
            print(rows[-1], file=sys.stderr, flush=True)
    head = (
        "load", "ratio of processor time", "95 %", "µs a row here", "there",
        "ratio of time", "95 %", "rows a second here", "there", "load of the machine",
    )  # fmt: skip
    return table(SERVED, head, rows)


def main(arguments):
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks before", description=__doc__)
    parser.add_argument("--python", required=True, help="a Python with the other version")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--errors", action="store_true", help="compare errors, not speed")
    parser.add_argument(
        "--only", choices=[*CASES, *LOADS, *ERRORS], action="append", help="some of the cases"
    )
    chosen = parser.parse_args(arguments)
    if chosen.errors:
        command = "python -m benchmarks before --errors"
        page = f"# {ERROR_TITLE}\n\nMeasured on {describe()}, with `{command}`.\n"
        page += f"There, by `--python`: calibrant {version_of(chosen.python)}.\n"
        for case in chosen.only or ERRORS:
            text = error_table(chosen.python, case)
            print(text, flush=True)
            page += f"\n{text}"
        Path(__file__).with_name("before_errors.md").write_text(page)
        return
    texts = []
    for measured, cases in ((speed_table, CASES), (service_table, LOADS)):
        wanted = [each for each in cases if each in (chosen.only or cases)]
        if wanted:
            texts.append(measured(chosen.python, wanted, chosen.turns))
            print(texts[-1], flush=True)
    if chosen.only is None:
        measured_on = (
            f"Measured on {describe()}, {chosen.turns} turns of each version. "
            f'"There" is calibrant {version_of(chosen.python)}.'
        )
        page = f"# {TITLE}\n\n{measured_on}\n\n" + "\n".join(texts)
        Path(__file__).with_suffix(".md").write_text(page)


if __name__ == "__main__":
    print(
        json.dumps(
            [
                CASES[case]()
                if case in CASES
                else {name: means(runs) for name, runs in ERRORS[case]()}
                for case in sys.argv[1:]
            ]
        )
    )
