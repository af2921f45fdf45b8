"""The clauses of a recalibrator's contract on rows that arrive together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from calibrant.testing.inputs import NOT_IDS
from calibrant.testing.subject import Call, Subject, require, require_same


def check_missing_outcomes(subject: Subject) -> None:
    """`run` predicts a row whose outcome is missing, and learns nothing from it."""
    if not subject.calls.takes_missing:
        return
    for kind, rounds in subject.streams(60, 21):
        stepping, running = subject.make(), subject.make()
        outcomes = [None if t % 3 == 0 else y for t, y in enumerate(rounds.outcomes.tolist())]
        expected = []
        for t, outcome in enumerate(outcomes):
            expected.append(rounds.predict(stepping, t))
            if outcome is not None:
                rounds.update(stepping, t)
        columns, lists = rounds.columns[:-1], rounds.inputs.lists(0, 60)
        predicted = subject.calls.run(running, *columns, outcomes, **lists)
        require_same([predicted, expected], f"run() with missing outcomes differs on {kind}")
        counts = running.rounds, running.learned
        require(counts == (60, 40), f"rounds, learned = {counts} with 20 of 60 missing on {kind}")


def check_many_predictions(subject: Subject) -> None:
    """`predict_many` gives what `predict` would, row by row; without ids, nothing waits."""
    if not subject.can("predict_many"):
        return
    for kind, rounds in subject.streams(60, 22):
        one, many = subject.make(), subject.make()
        for each in (one, many):
            rounds.run(each, 0, 30)
        expected = [rounds.predict(one, t, id=t) for t in range(30, 60)]
        predicted = rounds.predict_many(many, 30, 60)
        require_same([predicted, expected], f"predict_many() differs from predict() on {kind}")
        require(many.pending == 30, f"pending = {many.pending} after 30 predictions at once")
        without = subject.make()
        require(len(rounds.predict_many(without, 0, 60, ids=None)) == 60, "no predictions")
        require((without.rounds, without.pending) == (60, 0), "predictions without ids wait")


def check_many_outcomes(subject: Subject) -> None:
    """`update_many` ends in the same state in every order; one row is what `update` learns."""
    if not subject.can("update_many"):
        return
    for kind, rounds in subject.streams(120, 23):
        ends, rows = [], list(range(40, 80))
        happened = np.argsort([float(y) for y in rounds.outcomes[40:80]], kind="stable") + 40
        shuffled = np.random.default_rng(0).permutation(rows)
        for order in (rows, rows[::-1], happened.tolist(), shuffled.tolist()):
            player = subject.make()
            rounds.run(player, 0, 40)
            rounds.predict_many(player, 40, 60)
            for t in range(60, 80):
                rounds.predict(player, t, id=t)
            answers = rounds.update_many(player, order)
            require(answers == ["applied"] * 40, f"answers are {answers} on {kind}")
            ends.append((subject.state_of(player), rounds.run(player, 80).tolist()))
        message = f"the order of outcomes that come together matters on {kind}"
        require(all(end == ends[0] for end in ends), message)
        alone, single = subject.make(), subject.make()
        for t in range(40):
            for each in (alone, single):
                rounds.predict(each, t, id=t)
            rounds.update(alone, t, id=t)
            rounds.update_many(single, [t])
        states = [subject.state_of(each) for each in (alone, single)]
        require(states[0] == states[1], f"update_many() of one row is not update() on {kind}")


def check_answers(subject: Subject) -> None:
    """Each row is applied, repeated, conflict, unknown or expired; only what is applied counts."""
    if not subject.can("update_many"):
        return
    rounds = subject.stream(40, 24)
    other = {t: next(y for y in rounds.outcomes if y != rounds.outcomes[t]) for t in range(8)}
    first, second = subject.make(), subject.make()
    for player in (first, second):
        rounds.predict_many(player, 0, 8)
        player.expire(older_than=7)
        rounds.update(player, 1, id=1)
        rounds.update(player, 2, id=2)
    given: list[tuple[Any, Any, str]] = [
        (0, rounds.outcomes[0], "expired"),
        (1, rounds.outcomes[1], "repeated"),
        (2, other[2], "conflict"),
        (3, rounds.outcomes[3], "applied"),
        (3, rounds.outcomes[3], "repeated"),
        (4, rounds.outcomes[4], "conflict"),
        (4, other[4], "conflict"),
        (5, rounds.outcomes[5], "applied"),
        ("never", rounds.outcomes[6], "unknown"),
    ]
    ids, outcomes, expected = (list(column) for column in zip(*given, strict=True))
    answers = subject.calls.update_many(first, outcomes, ids=ids).tolist()
    require(answers == expected, f"update_many() answers {answers}, not {expected}")
    rounds.update_many(second, [5, 3])
    states = [subject.state_of(each) for each in (first, second)]
    require(states[0] == states[1], "a row that is not applied changes the state")
    counts = first.learned, first.pending
    require(counts == (4, 3), f"learned, pending = {counts} where 4 were learned and 3 wait")


def check_bad_many(subject: Subject) -> None:
    """A batch with one row that cannot be used is refused whole."""
    if not subject.can("predict_many"):
        return
    rounds = subject.stream(3, 26)
    scores, outcomes = (column.tolist() for column in rounds.columns)
    more = subject.inputs.lists(0, 3)
    calls: list[Call] = []
    for ids in (["a", "a", "b"], ["waits", "b", "c"], ["a", "b"], "abc", 3, {"a", "b", "c"}):
        calls.append(("predict_many", (scores,), {"ids": ids, **more}))
    for bad in NOT_IDS:
        calls.append(("predict_many", (scores,), {"ids": ["a", bad, "b"], **more}))
        calls.append(("update_many", (outcomes[:2],), {"ids": ["waits", bad]}))
    for bad in subject.inputs.bad_scores:
        rows = [scores[0], bad, scores[1]]
        calls.append(("predict_many", (rows,), {"ids": ["a", "b", "c"], **more}))
    for bad in subject.inputs.bad_outcomes:
        calls.append(("update_many", ([outcomes[0], bad],), {"ids": ["waits", "x"]}))
    for bad in subject.inputs.not_series:
        calls.append(("predict_many", (bad,), {"ids": ["a"], **subject.inputs.lists(0, 1)}))
        calls.append(("update_many", (bad,), {"ids": ["waits"]}))
    subject.require_refused(calls)


def check_batches_of_every_cut(subject: Subject) -> None:
    """However outcomes are cut into batches, each prediction's outcome is learned once."""
    if not subject.can("update_many"):
        return
    rounds = subject.stream(24, 27)
    for sizes in itertools.product((1, 3, 8), repeat=2):
        player, done = subject.make(), 0
        rounds.predict_many(player, 0, 24)
        for size in itertools.cycle(sizes):
            rows = list(range(done, min(done + size, 24)))
            if not rows:
                break
            rounds.update_many(player, rows)
            done += len(rows)
        counts = player.learned, player.pending
        require(counts == (24, 0), f"learned, pending = {counts} after batches of {sizes}")


BATCHES = (
    check_missing_outcomes,
    check_many_predictions,
    check_many_outcomes,
    check_answers,
    check_bad_many,
    check_batches_of_every_cut,
)
