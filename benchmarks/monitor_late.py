"""The monitor with pending outcomes: false alarms, delays, recovery, real flights, cost.

``python -m benchmarks monitor_late`` takes about seven minutes of one core. Streams of false alarms
have the seeds [waiting, stream], those of delays [9, waiting, stream], of shifts that last
[21, stream], of recovery [5, waiting, stream].

False alarms: predictions that are exactly right given what was known when they were made, tolerance
0, `every` ten times the rounds, so that at most 10 % of the streams may raise an alarm. "As
outcomes arrive" is the rule that places and multiplies bets in the order of arrival, which is only
valid if nothing is pending. The worlds of numbers are the same, for the five questions of
NumberMonitor. Delays:
predictions made from the change to the alarm, tolerance 0, `every` = 1,000,000.
"""

import time

import numpy as np

from benchmarks.speed import take_turns
from benchmarks.tables import table
from calibrant import Monitor, Recalibrator
from calibrant.monitor import NumberMonitor
from calibrant.recalibrate.rows import recalibrate_rows
from calibrant.tables import take_scored
from fleet.late_names import share_with_a_false_name_of_shared_shocks
from monitor.late_worlds import LEVELS, NUMBER_WORLDS, WORLDS, storms

TITLE = "The monitor, where outcomes wait"
FALSE_ALARMS = "Share of streams with a false alarm, bound 0.10"
DELAYS = "Median predictions from a change to the alarm, every = 1,000,000, tolerance 0"
NUMBER_FALSE_ALARMS = "Share of streams of numbers with a false alarm, bound 0.10"
CARRIERS = "Flights from New York in 2013, calibrated, by carrier: the episodes"
IN_DOCS = {
    "docs/monitor.md": (FALSE_ALARMS, DELAYS), "docs/numbers.md": (NUMBER_FALSE_ALARMS,)
}  # fmt: skip
STREAMS, NUMBER_STREAMS, BROKEN_STREAMS = 500, 100, 20
ROUNDS = {10: 4_000, 100: 5_000, 1_000: 10_000}
NUMBER_ROUNDS = {10: 2_000, 100: 4_000, 1_000: 8_000}


def rings(p, y, known):
    monitor = Monitor(10 * len(p), tolerance=0.0)
    return bool(monitor.run(p, y, times=np.arange(len(p)), available=known))


def rings_as_outcomes_come(p, y, known):
    order = np.argsort(known, kind="stable")
    order = order[~np.isnan(known[order])]
    return bool(Monitor(10 * len(p), tolerance=0.0).run(p[order], y[order]))


def numbers_ring(q, y, known):
    monitor = NumberMonitor(10 * len(y), tolerance=0.0)
    return bool(monitor.run(q, LEVELS, y, times=np.arange(len(y)), available=known))


def numbers_ring_as_outcomes_come(q, y, known):
    order = np.argsort(known, kind="stable")
    order = order[~np.isnan(known[order])]
    return bool(NumberMonitor(10 * len(y), tolerance=0.0).run(q[order], LEVELS, y[order]))


def share(play, world, rounds, wait, runs):
    rang = sum(
        play(*world(np.random.default_rng([wait, run]), rounds, wait)) for run in range(runs)
    )
    return f"{rang / runs:.3f}"


def shares(say, title, worlds, all_rounds, streams, plays):
    rows = []
    for wait, rounds in all_rounds.items():
        for name, world in worlds.items():
            say(f"monitor_late: {title}, {wait} wait, {name}")
            found = [
                share(play, world, rounds, wait, runs)
                for play, runs in zip(plays, (streams, BROKEN_STREAMS), strict=True)
            ]
            rows.append([f"{wait:,}", name, f"{rounds:,}", *found])
    head = ["waiting", "world", "rounds", f"Monitor, {streams} streams", "as outcomes come"]
    return table(title, head, rows)


def false_alarms(say):
    plays = rings, rings_as_outcomes_come
    return shares(say, FALSE_ALARMS, WORLDS, ROUNDS, STREAMS, plays)


def number_false_alarms(say):
    plays = numbers_ring, numbers_ring_as_outcomes_come
    return shares(say, NUMBER_FALSE_ALARMS, NUMBER_WORLDS, NUMBER_ROUNDS, NUMBER_STREAMS, plays)


def names(say):
    """Return how often a calibrated key of a fleet is named whose outcomes wait together."""
    rows = []
    for wait in (5, 50):
        say(f"monitor_late: keys, {wait} wait")
        found = [
            share_with_a_false_name_of_shared_shocks(400, wait, is_late)[0]
            for is_late in (True, False)
        ]
        rows.append([f"{wait}", *(f"{share:.3f}" for share in found)])
    head = ["waiting", "Fleet, 400 keys", "as outcomes come"]
    return table("Share of keys that are named falsely, bound 0.20", head, rows)


# -- delays ----------------------------------------------------------------------------------------

CHANGES = {
    "+0.02": ("p", 0.02), "+0.05": ("p", 0.05), "-0.05": ("p", -0.05), "+0.1": ("p", 0.1),
    "-0.1": ("p", -0.1), "logit +0.3": ("logit", 0.3), "logit +0.5": ("logit", 0.5),
}  # fmt: skip
#: How much of a stream it takes to find each change, several times the median.
ENOUGH = {
    "+0.02": 1.0, "+0.05": 0.4, "-0.05": 0.6, "+0.1": 0.2, "-0.1": 0.4, "logit +0.3": 0.6,
    "logit +0.5": 0.3,
}  # fmt: skip
#: Pending rounds: rounds of a stream, and the change in it.
LENGTHS = {1: (60_000, 2_000), 10: (60_000, 2_000), 100: (200_000, 4_000), 1_000: (400_000, 20_000)}


def delay(wait, storm, change, run, seed):
    """Return the predictions from the change to the alarm in one stream."""
    kind, size = CHANGES[change]
    longest, since = LENGTHS[wait]
    rounds = int(ENOUGH[change] * longest)
    random = np.random.default_rng([seed, wait, run])
    p, y, known = storms(random, rounds, wait, wait, 0.6 * storm)
    predicted = (
        np.clip(p - size, 0.001, 0.999) if kind == "p" else 1 / (1 + np.exp(size) * (1 - p) / p)
    )
    predicted = np.where(np.arange(rounds) >= since, predicted, p)
    if wait == 1:
        found = Monitor(tolerance=0.0).run(predicted, y)
    else:
        found = Monitor(tolerance=0.0).run(predicted, y, times=np.arange(rounds), available=known)
    return found[0].alarm - since if found else np.inf


def delays(say, runs=10, seed=9):
    rows = []
    for wait in LENGTHS:
        for storm in (0, 1) if wait > 1 else (0,):
            row = [f"{wait:,}", "yes" if storm else "no"]
            for change in CHANGES:
                say(f"monitor_late: delay, {wait} wait, {change}")
                found = [delay(wait, storm, change, run, seed) for run in range(runs)]
                row.append(f"{np.median(found):,.0f}")
            rows.append(row)
    return table(DELAYS, ["waiting", "shared storms", *CHANGES], rows)


# -- episodes --------------------------------------------------------------------------------------

SHAPES = {
    "Beta(2, 4)": lambda random, n: random.beta(2, 4, n),
    "Beta(1/2, 1/2)": lambda random, n: random.beta(0.5, 0.5, n),
    "uniform": lambda random, n: random.random(n),
    "rare, near 0.01": lambda random, n: 0.01 * np.exp(random.normal(0, 0.7, n)),
}


def lasting(say, runs=60, rounds=100_000):
    """Return how often one shift that lasts rings."""
    rows = []
    for name, shape in SHAPES.items():
        row = [name]
        for shift in (0.3, -0.3, 0.5, -0.5, 1.0, -1.0):
            say(f"monitor_late: a lasting shift of {shift}, {name}")
            alarms = []
            for run in range(runs):
                random = np.random.default_rng([21, run])
                p = np.clip(shape(random, rounds), 1e-4, 1 - 1e-4)
                odds = np.exp(-shift * (np.arange(rounds) >= 20_000)) * (1 - p) / p
                tolerance = 0.0 if name.startswith("rare") else 0.02
                y = random.random(rounds) < 1 / (1 + odds)
                alarms.append(len(Monitor(tolerance=tolerance).run(p, y)))
            rang = [each for each in alarms if each]
            row.append(f"{np.mean(rang):.2f}" if rang else "none")
        rows.append(row)
    head = ["predictions", *(f"logit {shift:+}" for shift in (0.3, -0.3, 0.5, -0.5, 1.0, -1.0))]
    title = f"Alarms of one shift that lasts {rounds - 20_000:,} rounds, mean of {runs} streams"
    return table(title, head, rows)


def recovery(say, runs=20):
    rows = []
    for wait, rounds in ((1, 60_000), (10, 60_000), (100, 120_000), (1_000, 600_000)):
        say(f"monitor_late: recovery, {wait} wait")
        ends, dated, early = [], [], 0
        for run in range(runs):
            t = np.arange(rounds)
            size = 0.6 if wait > 1 else 0.0
            p, y, known = storms(np.random.default_rng([5, wait, run]), rounds, wait, wait, size)
            off = (t >= rounds / 3) & (t < 2 * rounds / 3)
            predicted = np.where(off, np.clip(p - 0.1, 0.001, 0.999), p)
            late = {} if wait == 1 else {"times": t, "available": known}
            episode = Monitor().run(predicted, y, **late)[0]
            end = np.inf if episode.end is None else episode.end
            ends.append(end - 2 * rounds / 3)
            dated.append(np.inf if end == np.inf else episode.recovered - 2 * rounds / 3)
            early += end < 2 * rounds / 3
        rows.append([
            f"{wait:,}", f"{np.median(ends):,.0f}", f"{np.median(dated):+,.0f}",
            f"{early} of {runs}",
        ])  # fmt: skip
    return table(
        "After a bias of 0.1: predictions until the episode is closed, and its end as dated",
        ["waiting", "closed after", "dated", "closed while it lasted"],
        rows,
    )


# -- flights ---------------------------------------------------------------------------------------


def watched_flights():
    """Return calibrated probabilities, scores, outcomes, when both were known, and carriers."""
    from calibrant.cli import console  # noqa: PLC0415 - the table of the bundled stream

    stream = console.read_source("nycflights", None)
    rows = take_scored(
        stream, score="score", outcome="outcome", time="t", available="landed", due="due",
        by="carrier",
    )  # fmt: skip
    carriers, rows.__dict__["groups"] = rows.groups, None
    told = recalibrate_rows(Recalibrator(silence=1), rows)
    made, known = rows.clock.ticks, np.fmin(rows.available.ticks, rows.due.ticks)
    known[np.isnan(told.outcomes)] = np.nan  # still to come when the year ends
    return told.expected, rows.scores, told.outcomes, made, known, carriers


def flights(say):
    say("monitor_late: flights")
    expected, scores, y, made, known, carriers = watched_flights()
    order = np.argsort(known, kind="stable")
    order = order[~np.isnan(known[order])]
    found = []
    for name, p in (("raw", scores), ("calibrated", expected)):
        for rule, by in (("", None), (", by carrier", carriers)):
            monitor = Monitor()
            monitor.run(p, y, by=by, times=made, available=known)
            found.append([f"{name}{rule}", len(monitor.episodes), time_inside(monitor, made)])
        monitor = Monitor()
        monitor.run(p[order], y[order])
        found.append([f"{name}, as outcomes come", len(monitor.episodes), ""])
    for carrier in ("MQ", "B6"):
        own = np.array(carriers) == carrier
        monitor = Monitor()
        monitor.run(expected[own], y[own], times=made[own], available=known[own])
        found.append([
            f"calibrated, {carrier} alone", len(monitor.episodes), time_inside(monitor, made[own])
        ])  # fmt: skip
    return table(
        "Flights from New York in 2013, every = 1,000,000, tolerance 0.02",
        ["predictions", "episodes", "of the time"],
        found,
    )


def by_carrier(say):
    say("monitor_late: flights by carrier")
    expected, _, y, made, known, carriers = watched_flights()
    rows = [
        [each.group, *map(day, (each.onset_at, each.alarm_at, each.recovered_at)),
         f"{each.bias:+.3f}"]
        for each in Monitor().run(expected, y, by=carriers, times=made, available=known)
    ]  # fmt: skip
    return table(CARRIERS, ["carrier", "onset", "alarm", "recovered", "bias"], rows)


def day(seconds):
    return "lasts" if seconds is None else str(np.datetime64(int(seconds), "s").astype("M8[D]"))


def time_inside(monitor, made):
    inside = np.zeros(len(made), dtype=bool)
    for each in monitor.episodes:
        inside[each.onset : len(made) if each.end is None else max(each.recovered, each.onset)] = (
            True
        )
    return f"{inside.mean():.0%}"


# -- cost ------------------------------------------------------------------------------------------


def cost(say):
    say("monitor_late: cost")
    rounds = 200_000

    def run(wait):
        p, y, known = storms(np.random.default_rng(1), rounds, max(wait, 1), 1, 0.0)
        late = {} if wait == 0 else {"times": np.arange(rounds), "available": known}
        monitor = Monitor()
        start = time.process_time()
        monitor.run(p, y, **late)
        return (time.process_time() - start) / rounds * 1e9

    times = take_turns({wait: lambda wait=wait: run(wait) for wait in (0, 10, 100, 1_000)})
    many = Monitor(patience=10**6)
    empty = many.__sizeof__()
    for t in range(100_000):
        many.expect(t, 0.3)
    size = (many.__sizeof__() - empty) / 100_000
    rows = [
        [f"{wait:,} wait" if wait else "nothing waits", f"{times[wait]:,.0f}"] for wait in times
    ]
    rows.append(["bytes a prediction that waits, spare room included", f"{size:.0f}"])
    return table("What a round costs", ["", "ns"], rows)


def tables(say):
    for part in (
        cost, lasting, recovery, flights, by_carrier, delays, false_alarms, names,
        number_false_alarms,
    ):  # fmt: skip
        yield part(say)
