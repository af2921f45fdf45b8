"""The contract of a recalibrator, as checks that anyone can run on a recalibrator of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.testing.batches import BATCHES
from calibrant.testing.deadlines import DEADLINES
from calibrant.testing.ids import IDS
from calibrant.testing.inputs import Inputs, probabilities
from calibrant.testing.shared import SHARED
from calibrant.testing.subject import Call, Subject, refusal, require, require_same
from calibrant.testing.weights import WEIGHTS


def check_recalibrator(
    cls: Callable[..., Any], inputs: Inputs | None = None, /, **arguments: Any
) -> None:
    """Run every check of the contract on ``cls(**arguments)``.

    Raises AssertionError that names the check and what it found. The checks: the first round, which
    prediction is open, bounds, `run` against single steps, late outcomes by id and their answers,
    expiry, missing outcomes in `run`, seeding, scores and outcomes as people have them, invalid
    scores, outcomes, ids and batches; batches (`predict_many`, `update_many`) where there are any;
    times (`at`), `capacity` and deadlines (`silence`, `after`, `due`, `hold`) where it takes them;
    weights where `run` takes them; looking (`expected`) where it can be looked at, at one score and
    at many; and where it can be saved (`to_bytes`), saving with pending predictions, damaged bytes
    and bounded memory.

    Parameters
    ----------
    cls : class
        With `predict`, `update`, `run`, `expire`, `rounds`, `learned` and `pending`. If it takes a
        `seed` or a `capacity`, these are checked too.
    inputs : Inputs, optional
        What to give it: `probabilities()` unless it takes something else, as `numbers()`,
        `grouped()`, `class_probabilities(3)`, `forecasts()`, `keyed()` or `events()`.
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
    if not subject.calls.has_unnamed:
        return
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
    if not subject.calls.has_unnamed:
        return
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
    rounds.predict(replacing, 2)
    require(replacing.expire(older_than=0) == [], "a prediction without an id expires")
    rounds.update(replacing, 2)


def check_looking(subject: Subject) -> None:
    """`expected`, where there is one, lies in [0, 1] and changes nothing."""
    if not hasattr(subject.cls, "expected"):
        return
    rounds = subject.stream(100, 10, "switching")
    looking, expected = subject.make(), rounds.play(subject.make())
    for t in range(len(rounds)):
        more = subject.inputs.more(t)
        before = subject.state_of(looking)
        mean = np.asarray(subject.calls.expected(looking, *rounds.score(t), **more))
        require(((mean >= 0) & (mean <= 1)).all(), f"expected() is {mean} in round {t}")
        require(subject.state_of(looking) == before, f"expected() changes the state in round {t}")
        if rounds.score(t):
            scores, lists = rounds.columns[0][: t + 1], subject.inputs.lists(0, t + 1)
            several = subject.calls.expected(looking, scores, **lists)
            require_same([several[t], mean], f"expected() of many scores differs in round {t}")
            require(subject.state_of(looking) == before, f"expected() of many changes round {t}")
        pair = rounds.predict(looking, t), expected[t]
        require_same(pair, f"expected() changes round {t}")
        subject.calls.expected(looking, *rounds.score(0), **more)  # between this and its outcome
        rounds.update(looking, t)


def check_bad_scores(subject: Subject) -> None:
    """An invalid score raises ValueError, and nothing changes."""
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


CHECKS = (
    check_first_round,
    check_open_round,
    *IDS,
    check_looking,
    check_bad_scores,
    *SHARED,
    *BATCHES,
    *DEADLINES,
    *WEIGHTS,
)
