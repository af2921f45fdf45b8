"""What ids cost: rows one by one and in batches, beside river's pair in the same run."""

import time

import numpy as np

from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import Recalibrator, streams

TITLE = "Rows with ids"
IN_README = ()
ROWS = 1_000_000
ONE_BY_ONE = 100_000
REPEATS = 5
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


def timed(play, rows):
    """Return nanoseconds of processor time a row."""
    start = time.process_time_ns()
    play()
    return (time.process_time_ns() - start) / rows


def river(outcomes):
    pair = RiverPair()

    def play():
        for outcome in outcomes:
            pair.predict()
            pair.update(outcome)

    return timed(play, len(outcomes))


def one_by_one(scores, outcomes, ids, late=0):
    """Return the time of a predict and an update by id, which come `late` predictions apart."""
    recalibrator = Recalibrator()
    predict, update = recalibrator.predict, recalibrator.update

    def play():
        for score, id_ in zip(scores[:late], ids[:late], strict=True):
            predict(score, id=id_)
        rest = zip(scores[late:], ids[late:], outcomes, ids, strict=False)
        for score, id_, outcome, known in rest:
            predict(score, id=id_)
            update(outcome, id=known)

    return timed(play, len(scores))


def in_batches(scores, outcomes, ids, size):
    """Return the time a row of predict_many and update_many."""
    recalibrator = Recalibrator()

    def play():
        for at in range(0, len(scores), size):
            rows = slice(at, at + size)
            recalibrator.predict_many(scores[rows], ids=ids[rows])
            recalibrator.update_many(outcomes[rows], ids=ids[rows])

    return timed(play, len(scores))


def contenders():
    """Return what is timed, by name, and the ratio to river that was promised, if any."""
    scores, outcomes = scored(ROWS)
    few = scores[:ONE_BY_ONE].tolist(), outcomes[:ONE_BY_ONE].tolist()
    names, numbers = [f"row {row}" for row in range(ROWS)], np.arange(ROWS)
    texts, integers = names[:ONE_BY_ONE], list(range(ONE_BY_ONE))
    found = {
        RIVER: (None, lambda: river(few[1])),
        "one by one, ids are texts": (SINGLE, lambda: one_by_one(*few, texts)),
        "one by one, integers": (SINGLE, lambda: one_by_one(*few, integers)),
        f"one by one, texts, outcomes {LATE:,} predictions late": (
            None, lambda: one_by_one(*few, texts, LATE),
        ),
    }  # fmt: skip
    for size in (1_000, 10_000, 100_000):
        for kind, ids in (("texts", names), ("an array of integers", numbers)):
            found[f"batches of {size:,}, {kind}"] = (
                BATCHES if size < 100_000 else None,
                lambda size=size, ids=ids: in_batches(scores, outcomes, ids, size),
            )
    return found


def tables(progress):
    """Return the table of this module: the least of several turns, so that all see quiet times."""
    found = contenders()
    least = dict.fromkeys(found, np.inf)
    for turn in range(REPEATS):
        for name, (_, measure) in found.items():
            progress(f"ids: {name}, turn {turn + 1} of {REPEATS}")
            least[name] = min(least[name], measure())
    rows = [
        (name, f"{ns:,.0f}", f"{ns / least[RIVER]:.2f}", found[name][0] or "")
        for name, ns in least.items()
    ]
    yield table(
        f"Predictions and outcomes by id, {ROWS:,} rows in batches, {ONE_BY_ONE:,} one by one",
        ["rows", "ns of processor time a row", "river's pairs", "limit"],
        rows,
    )
