"""The cost of ids: rows one by one and in batches, compared with river's in the same run.

All contenders process their rows in stretches of equal length, in turns. The smallest time
of a stretch counts, to reduce the effect of other load on the machine.
"""

import time

import numpy as np

from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import Recalibrator, streams

TITLE = "Rows with ids"
ROWS = 1_000_000
ONE_BY_ONE = 100_000
REPEATS = 3
STRETCH = 10_000
LATE = 1_000  # predictions between one and its outcome
RIVER = "river LogisticRegression, predict + learn"
# What was promised, in river's pairs.
SINGLE, BATCHES = 0.5, 0.35


def scored(rows):
    """Return so many scores and outcomes: the flights, again and again."""
    stream = streams.load("nycflights")
    return (
        np.resize(np.asarray(each, dtype=np.float64), rows)
        for each in (stream.scores, stream.outcomes)
    )


def river(outcomes):
    """Return what plays river's pair on some rows."""
    pair = RiverPair()

    def play(rows):
        for outcome in outcomes[rows]:
            pair.predict()
            pair.update(outcome)

    return play


def one_by_one(scores, outcomes, ids, late=0):
    """Return what predicts rows and learns outcomes by id, those of `late` rows before."""
    recalibrator = Recalibrator()
    predict, update = recalibrator.predict, recalibrator.update
    for score, id_ in zip(scores[:late], ids[:late], strict=True):
        predict(score, id=id_)

    def play(rows):
        coming = slice(rows.start + late, rows.stop + late)
        each = zip(scores[coming], ids[coming], outcomes[rows], ids[rows], strict=False)
        for score, id_, outcome, known in each:
            predict(score, id=id_)
            update(outcome, id=known)

    return play


def in_batches(scores, outcomes, ids, size):
    """Return what plays rows by predict_many and update_many."""
    recalibrator = Recalibrator()

    def play(rows):
        for at in range(rows.start, rows.stop, size):
            batch = slice(at, at + size)
            recalibrator.predict_many(scores[batch], ids=ids[batch])
            recalibrator.update_many(outcomes[batch], ids=ids[batch])

    return play


def stretches(play, rows):
    """Return the nanoseconds of processor time of each stretch."""
    times = []
    for at in range(0, rows, STRETCH):
        start = time.process_time_ns()
        play(slice(at, at + STRETCH))
        times.append(time.process_time_ns() - start)
    return np.array(times)


def contenders():
    """Return what is timed, by name: the limit, how many rows, and what starts over."""
    scores, outcomes = scored(ROWS)
    few = scores.tolist()[: ONE_BY_ONE + LATE], outcomes.tolist()[: ONE_BY_ONE + LATE]
    names, numbers = [f"row {row}" for row in range(ROWS)], np.arange(ROWS)
    few_numbers = numbers.tolist()[: ONE_BY_ONE + LATE]
    late = f"one by one, texts, outcomes {LATE:,} predictions late"
    found = {
        RIVER: (None, ONE_BY_ONE, lambda: river(few[1])),
        "one by one, ids are texts": (SINGLE, ONE_BY_ONE, lambda: one_by_one(*few, names)),
        "one by one, integers": (SINGLE, ONE_BY_ONE, lambda: one_by_one(*few, few_numbers)),
        late: (None, ONE_BY_ONE, lambda: one_by_one(*few, names, LATE)),
    }
    for size in (1_000, 10_000):
        for kind, ids in (("texts", names), ("an array of integers", numbers)):
            found[f"batches of {size:,}, {kind}"] = (
                BATCHES, ROWS, lambda size=size, ids=ids: in_batches(scores, outcomes, ids, size),
            )  # fmt: skip
    return found


def tables(progress):
    """Return the table of this module."""
    found = contenders()
    least = dict.fromkeys(found, np.inf)
    for turn in range(REPEATS):
        for name, (_, rows, start) in found.items():
            progress(f"ids: {name}, turn {turn + 1} of {REPEATS}")
            least[name] = np.minimum(least[name], stretches(start(), rows))
    times = {name: each.mean() / STRETCH for name, each in least.items()}
    rows = [
        (name, f"{ns:,.0f}", f"{ns / times[RIVER]:.2f}", found[name][0] or "")
        for name, ns in times.items()
    ]
    yield table(
        f"Predictions and outcomes by id, {ROWS:,} rows in batches, {ONE_BY_ONE:,} one by one",
        ["rows", "ns of processor time per row", "river's pairs", "limit"],
        rows,
    )
