"""The contract of a recalibrator, as checks that anyone can run on a recalibrator of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.testing.batches import BATCHES
from calibrant.testing.ids import IDS
from calibrant.testing.inputs import NOT_COUNTS, NOT_IDS, Inputs, probabilities
from calibrant.testing.playing import Call, Subject, refusal, require, require_same
from calibrant.testing.shared import SHARED


def check_recalibrator(
    cls: Callable[..., Any], inputs: Inputs | None = None, /, **arguments: Any
) -> None:
    """Run every check of the contract on ``cls(**arguments)``.

    Raises AssertionError that names the check and what it found. The checks: the first round,
    which prediction is open, bounds, `run` against single steps, late outcomes by id, repeated and
    contradicting outcomes, expiry, missing outcomes in `run`, seeding, scores and outcomes as
    people have them, bad scores, outcomes, ids and batches, the constructor's arguments; batches
    (`predict_many`, `update_many`) where there are any; looking (`expected`) where it can be looked
    at, at one score and at many; and where it can be saved (`to_bytes`), saving with predictions
    that wait, damaged bytes and bounded memory.

    Parameters
    ----------
    cls : class
        With `predict`, `update`, `run`, `expire`, `rounds`, `learned` and `pending`. If it takes a
        `seed` or a `capacity`, these are checked too.
    inputs : Inputs, optional
        What to give it: `probabilities()` unless it takes something else, as `numbers()`,
        `grouped()` or `class_probabilities(3)`.
    **arguments
        For the constructor.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.testing import check_recalibrator
    >>> check_recalibrator(Recalibrator)
    """
    Subject(cls, inputs or probabilities(), arguments).run_checks(CHECKS)


def check_first_round(subject: Subject) -> None:
    """`predict` opens a round and `update` closes it; there is nothing to close before or after."""
    rounds = subject.stream(10, 1)
    recalibrator = subject.make()

    def require_counts(expected: tuple[int, int, int], when: str) -> None:
        counts = recalibrator.rounds, recalibrator.learned, recalibrator.pending
        require(counts == expected, f"rounds, learned, pending = {counts} {when}, not {expected}")

    require_counts((0, 0, 0), "at first")
    with refusal("update() before any predict()"):
        rounds.update(recalibrator, 0)
    rounds.predict(recalibrator, 0)
    require_counts((1, 0, 1), "after predict()")
    rounds.update(recalibrator, 0)
    require_counts((1, 1, 0), "after update()")
    with refusal("a second update()"):
        rounds.update(recalibrator, 0)
    require_counts((1, 1, 0), "after a second update()")


def check_open_round(subject: Subject) -> None:
    """A further `predict` without an id replaces the open one; so does a `run` that plays any."""
    rounds = subject.stream(200, 2)
    replacing, expiring = subject.make(), subject.make()
    for t in range(0, 200, 2):
        rounds.predict(replacing, t)
        rounds.predict(expiring, t, id=t)  # the same round, given up by its id
        predictions = [rounds.predict(each, t + 1) for each in (replacing, expiring)]
        require_same(predictions, f"a replaced prediction counts in round {t + 1}")
        require(replacing.pending == 1, f"pending = {replacing.pending} after two predict()")
        rounds.update(replacing, t + 1)
        rounds.update(expiring, t + 1)
        expiring.expire(older_than=0)
        with refusal("update() of a prediction that was replaced"):
            rounds.update(replacing, t)
    rounds.predict(replacing, 0, id="kept")
    rounds.predict(replacing, 1)
    require(len(rounds.run(replacing, 0, 0)) == 0, "an empty run() does not give an empty array")
    require(replacing.pending == 2, "an empty run() gives up what waits")
    rounds.run(replacing, 0, 1)
    require(replacing.pending == 1, f"pending = {replacing.pending} after run(), beside one id")
    with refusal("update() of a prediction before run()"):
        rounds.update(replacing, 1)
    rounds.update(replacing, 0, id="kept")


def check_late_outcomes(subject: Subject) -> None:
    """Outcomes come by id, in any order; which ids, or none, changes nothing."""

    def other_ids(t: int) -> dict[str, Any]:
        return ({"id": f"{t} a"}, {}, {"id": -1 - t})[t % 3]

    for kind, rounds in subject.streams(300, 5):
        expected = rounds.play(subject.make())
        named = rounds.play(subject.make(), ids=lambda t: {"id": f"round {t}"})
        require_same([named, expected], f"ids change the predictions on {kind}")
        late = subject.make()
        expected = rounds.play_late(late, 0, 300)
        require((late.learned, late.pending) == (300, 0), "late outcomes are lost or counted twice")
        named = rounds.play(subject.make(), late=3, ids=other_ids)
        require_same([named, expected], f"late outcomes under other ids change them on {kind}")


def check_expiry(subject: Subject) -> None:
    """`expire` gives up the ids that are older, oldest first, and their outcomes are refused."""
    rounds = subject.stream(20, 7)
    recalibrator = subject.make()
    rounds.predict(recalibrator, 0)
    for t in range(10):
        rounds.predict(recalibrator, t, id=t)
    rounds.update(recalibrator, 1, id=1)
    before = subject.state_of(recalibrator)
    for bad in NOT_COUNTS:
        with refusal(f"expire(older_than={bad!r})"):
            recalibrator.expire(older_than=bad)
    require(recalibrator.expire(older_than=11) == [], "expire() gives up one that is not older")
    require(subject.state_of(recalibrator) == before, "expire() of none changes the state")
    expired = recalibrator.expire(older_than=6)
    require(expired == [0, 2, 3], f"expire(older_than=6) of ten gives {expired}, not [0, 2, 3]")
    require(recalibrator.pending == 7, f"pending = {recalibrator.pending}, and 7 wait")
    with refusal("the outcome of an expired id"):
        rounds.update(recalibrator, 0, id=0)
    rounds.update(recalibrator, 0)  # one without an id does not expire


def check_looking(subject: Subject) -> None:
    """`expected`, where there is one, lies in [0, 1] and changes nothing."""
    if not hasattr(subject.cls, "expected"):
        return
    rounds = subject.stream(100, 10, "switching")
    looking, expected = subject.make(), rounds.play(subject.make())
    for t in range(len(rounds)):
        more = subject.inputs.more(t)
        before = subject.state_of(looking)
        mean = np.asarray(looking.expected(*rounds.score(t), **more))
        require(((mean >= 0) & (mean <= 1)).all(), f"expected() is {mean} in round {t}")
        require(subject.state_of(looking) == before, f"expected() changes the state in round {t}")
        several = looking.expected(rounds.columns[0][: t + 1], **subject.inputs.lists(0, t + 1))
        require_same([several[t], mean], f"expected() of many scores differs in round {t}")
        require(subject.state_of(looking) == before, f"expected() of many changes round {t}")
        pair = rounds.predict(looking, t), expected[t]
        require_same(pair, f"expected() changes round {t}")
        looking.expected(*rounds.score(0), **more)  # between a prediction and its outcome
        rounds.update(looking, t)


def check_bad_scores(subject: Subject) -> None:
    """A bad score raises ValueError, and nothing changes."""
    more = subject.inputs.more(0)
    calls: list[Call] = []
    one = np.ndim(subject.stream(1, 0).columns[0][0])
    for bad in subject.inputs.bad_scores:
        calls += [("predict", (bad,), more), ("predict", (bad,), {"id": "new", **more})]
        if hasattr(subject.cls, "expected") and axes(bad) != one + 1:  # which would be many
            calls.append(("expected", (bad,), more))
    subject.require_refused(calls)


def axes(value: Any) -> int | None:
    """Return how many axes an array of this value has, None if there is no such array."""
    try:
        return np.ndim(value)
    except ValueError:
        return None


def check_bad_ids(subject: Subject) -> None:
    """What is neither text nor an integer that can be saved is no id."""
    score, outcome = (column[0] for column in subject.stream(2, 15).columns)
    more = subject.inputs.more(0)
    calls: list[Call] = [("predict", (score,), {"id": bad, **more}) for bad in NOT_IDS]
    subject.require_refused([*calls, *(("update", (outcome,), {"id": bad}) for bad in NOT_IDS)])


CHECKS = (
    check_first_round,
    check_open_round,
    check_late_outcomes,
    check_expiry,
    *IDS,
    check_looking,
    check_bad_scores,
    check_bad_ids,
    *SHARED,
    *BATCHES,
)
