"""The contract of a recalibrator, as checks that anyone can run on a recalibrator of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._checks import describe
from calibrant.testing.inputs import KINDS, Inputs, probabilities
from calibrant.testing.late_outcomes import (
    BAD_COUNTS,
    BAD_IDS,
    check_capacity,
    check_expiry,
    check_late_outcomes,
    check_repeats,
)
from calibrant.testing.requirements import (
    copies_of,
    refusal,
    require,
    require_damage_is_found,
    run_checks,
)
from calibrant.testing.rounds import Subject

#: A method, its arguments, and its arguments by name.
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def check_recalibrator(
    cls: Callable[..., Any], inputs: Inputs | None = None, /, **arguments: Any
) -> None:
    """Run every check of the contract on ``cls(**arguments)``.

    Raises AssertionError that names the check and what it found. The checks: the first round,
    which prediction is open, bounds, `run` against single steps, late outcomes by id, repeated and
    contradicting outcomes, expiry, seeding, scores and outcomes as people have them, bad scores,
    outcomes, ids and batches, the constructor's arguments; looking (`expected`) where it can be
    looked at; and where it can be saved (`to_bytes`), saving with predictions that wait, damaged
    bytes and bounded memory.

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
    subject = Subject(cls, inputs or probabilities(), arguments)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    run_checks(CHECKS, subject, lambda: f"{getattr(cls, '__name__', cls)}({given})")


def check_first_round(subject: Subject) -> None:
    """`predict` opens a round and `update` closes it; there is nothing to close before or after."""
    rounds = subject.stream("honest", 10, 1)
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
    rounds = subject.stream("honest", 200, 2)
    replacing, expiring = subject.make(), subject.make()
    for t in range(0, 200, 2):
        rounds.predict(replacing, t)
        rounds.predict(expiring, t, id=t)  # the same round, given up by its id
        predictions = [rounds.predict(each, t + 1) for each in (replacing, expiring)]
        require(np.array_equal(*predictions), f"a replaced prediction counts in round {t + 1}")
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


def check_bounds(subject: Subject) -> None:
    """A prediction is a float in [0, 1], or a row of them that sums to one."""
    for kind in KINDS:
        rounds = subject.stream(kind, 400, 3)
        recalibrator, predictions = subject.make(), []
        for t, score in enumerate(rounds.scores):
            prediction = rounds.predict(recalibrator, t)
            rounds.update(recalibrator, t)
            shape = np.shape(score)
            if np.shape(prediction) != shape or not (shape or type(prediction) is float):
                raise AssertionError(f"predict() gives {describe(prediction)} on {kind}")
            predictions.append(prediction)
        said = np.array(predictions)
        outside = said[~((said >= 0) & (said <= 1))]
        require(not len(outside), f"predict() gives {outside[:1]} on {kind}")
        if said.ndim == 2:
            sums = said.sum(axis=1)
            wrong = sums[np.abs(sums - 1) > 1e-9]
            require(not len(wrong), f"predict() gives a row that sums to {wrong[:1]} on {kind}")


def check_run_equals_steps(subject: Subject) -> None:
    """`run`, in one piece or several, is bit for bit what single rounds give."""
    for kind in KINDS:
        rounds = subject.stream(kind, 500, 4)
        stepping, running, pieces = subject.make(), subject.make(), subject.make()
        expected = rounds.play(stepping)
        require(np.array_equal(rounds.run(running), expected), f"run() differs on {kind}")
        cuts = [0, 0, 1, 2, 130, 499, 500]
        parts = [rounds.run(pieces, *cut) for cut in pairwise(cuts)]
        require(
            np.array_equal(np.concatenate(parts), expected), f"run() in pieces differs on {kind}"
        )
        states = [subject.state_of(each) for each in (stepping, running, pieces)]
        require(states[0] == states[1] == states[2], f"run() ends in another state on {kind}")


def check_seeding(subject: Subject) -> None:
    """The draws depend on the seed and the rounds alone, whatever else draws meanwhile."""
    rounds = subject.stream("switching", 300, 9)
    expected = rounds.run(subject.make(seed=3))
    other, predictions = subject.make(seed=3), []
    for t in range(len(rounds)):
        np.random.default_rng().random()
        rounds.predict(subject.make(seed=4), t)
        predictions.append(rounds.predict(other, t))
        rounds.update(other, t)
    require(np.array_equal(predictions, expected), "the same seed gives other predictions")
    if "seed" in subject.settings:
        require(len(rounds.run(subject.make(seed=2**64 - 1))) == 300, "the largest seed fails")
        for bad in (2**64, *BAD_COUNTS):
            with refusal(f"seed={bad!r}"):
                subject.make(seed=bad)


def check_looking(subject: Subject) -> None:
    """`expected`, where there is one, lies in [0, 1] and changes nothing."""
    if not hasattr(subject.cls, "expected"):
        return
    rounds = subject.stream("switching", 100, 10)
    looking, expected = subject.make(), rounds.play(subject.make())
    for t in range(len(rounds)):
        more = subject.inputs.more(t)
        before = subject.state_of(looking)
        mean = np.asarray(looking.expected(rounds.scores[t], **more))
        require(((mean >= 0) & (mean <= 1)).all(), f"expected() is {mean} in round {t}")
        require(subject.state_of(looking) == before, f"expected() changes the state in round {t}")
        prediction = rounds.predict(looking, t)
        require(np.array_equal(prediction, expected[t]), f"expected() changes round {t}")
        looking.expected(rounds.scores[0], **more)  # between a prediction and its outcome
        rounds.update(looking, t)


def check_saving(subject: Subject) -> None:
    """What is saved continues exactly, with predictions that wait and outcomes that came."""
    if not subject.can_be_saved:
        return
    rounds = subject.stream("switching", 240, 11)
    for cut in (0, 1, 2, 62, 239):
        saved = subject.make()
        rounds.play_late(saved, 0, cut)  # up to two rounds wait by id
        rounds.predict(saved, 0)
        blob = saved.to_bytes()
        require(isinstance(blob, bytes), "to_bytes() does not return bytes")
        restored = type(saved).from_bytes(blob)
        when = f"after {cut} rounds"
        require(type(restored) is type(saved), f"another class {when}")
        require(repr(restored) == repr(saved), f"other arguments {when}")
        require(subject.state_of(restored) == subject.state_of(saved), f"another state {when}")
        for each in (saved, restored):
            rounds.update(each, 0)
            for waiting in range(cut - cut % 3, cut):
                rounds.update(each, waiting, id=waiting)
        rest = rounds.run(saved, cut)
        require(np.array_equal(rounds.run(restored, cut), rest), f"other predictions {when}")
        require(subject.state_of(restored) == subject.state_of(saved), f"another end {when}")
    recalibrator = subject.make()
    rounds.run(recalibrator, 0, 100)
    for how, twin in copies_of(recalibrator):
        rounds.predict(twin, 0)
        require(recalibrator.rounds == 100, f"{how}: the twin shares state")
        require(twin.rounds == 101, f"{how}: the twin does not play")


def check_bounded_memory(subject: Subject) -> None:
    """What is kept does not grow with the rounds: 16 times as many, at most 4 times as much."""
    if not subject.can_be_saved:
        return
    running, naming = subject.make(), subject.make(capacity=10)
    sizes: dict[str, list[int]] = {"run()": [], "ids": []}
    for rounds, few in ((5_000, 100), (75_000, 1_500)):
        stream = subject.stream("switching", rounds, 12)
        stream.run(running)
        sizes["run()"].append(len(running.to_bytes()))
        if "capacity" in subject.settings:
            stream.play_late(naming, naming.rounds, naming.rounds + few)
            naming.expire(older_than=0)
            sizes["ids"].append(len(naming.to_bytes()))
    for how, (early, late) in ((how, pair) for how, pair in sizes.items() if pair):
        require(late <= 4 * early, f"saved bytes grow from {early} to {late} with {how}")


def check_damaged_bytes(subject: Subject) -> None:
    """Truncated, altered, lengthened or foreign bytes are refused."""
    if not subject.can_be_saved:
        return
    recalibrator = subject.make()
    subject.stream("honest", 50, 13).play_late(recalibrator, 0, 50)
    require_damage_is_found(recalibrator, places=500)


def require_refused(subject: Subject, calls: Iterable[Call]) -> None:
    """Require that each call raises ValueError, and that nothing changes."""
    rounds = subject.stream("honest", 60, 14)
    recalibrator, twin = subject.make(), subject.make()
    for each in (recalibrator, twin):
        rounds.run(each, 0, 30)
        rounds.predict(each, 30, id="waits")
        rounds.predict(each, 31)
    before = subject.state_of(recalibrator)
    for method, given, named in calls:
        shown = [describe(value) for value in given]
        shown += [f"{name}={describe(value)}" for name, value in named.items()]
        what = f"{method}({', '.join(shown)})"
        with refusal(what):
            getattr(recalibrator, method)(*given, **named)
        require(subject.state_of(recalibrator) == before, f"{what} changes the state")
    for each in (recalibrator, twin):
        rounds.update(each, 31)
        rounds.update(each, 30, id="waits")
    require(
        np.array_equal(rounds.run(recalibrator, 32), rounds.run(twin, 32)),
        "what was refused changes the predictions that follow",
    )


def check_bad_scores(subject: Subject) -> None:
    """A bad score raises ValueError, and nothing changes."""
    more = subject.inputs.more(0)
    calls: list[Call] = []
    for bad in subject.inputs.bad_scores:
        calls += [("predict", (bad,), more), ("predict", (bad,), {"id": "new", **more})]
        if hasattr(subject.cls, "expected"):
            calls.append(("expected", (bad,), more))
    require_refused(subject, calls)


def check_bad_outcomes(subject: Subject) -> None:
    """A bad outcome raises ValueError, and nothing changes."""
    bad = subject.inputs.bad_outcomes
    ids: list[dict[str, Any]] = [{}, {"id": "waits"}]
    require_refused(subject, [("update", (each,), id_) for id_ in ids for each in bad])


def check_bad_ids(subject: Subject) -> None:
    """What is neither text nor an integer that can be saved is no id."""
    rounds = subject.stream("honest", 2, 15)
    more = subject.inputs.more(0)
    score, outcome = rounds.scores[0], rounds.outcomes[0]
    calls: list[Call] = [("predict", (score,), {"id": bad, **more}) for bad in BAD_IDS]
    require_refused(subject, [*calls, *(("update", (outcome,), {"id": bad}) for bad in BAD_IDS)])


def check_bad_batches(subject: Subject) -> None:
    """A batch with one bad value, or of another shape or length, is refused whole."""
    rounds = subject.stream("honest", 2, 15)
    scores, outcomes = rounds.scores.tolist(), rounds.outcomes.tolist()
    more = subject.inputs.lists(0, 2)
    pairs = [
        *(([scores[0], bad], outcomes) for bad in subject.inputs.bad_scores),
        *((scores, [outcomes[0], bad]) for bad in subject.inputs.bad_outcomes),
        (scores, outcomes[:1]), (scores[:1], outcomes), (scores, [outcomes]), ([scores], outcomes),
        (scores[0], outcomes[0]), ("01", "01"), (None, None),
    ]  # fmt: skip
    calls: list[Call] = [("run", pair, more) for pair in pairs]
    for name, values in more.items():
        calls.append(("run", (scores, outcomes), {**more, name: values[:1]}))
    require_refused(subject, calls)


def check_input_as_people_have_it(subject: Subject) -> None:
    """Lists, strided and read-only arrays mean the same."""
    rounds = subject.stream("honest", 100, 15)
    expected = rounds.run(subject.make())
    more = subject.inputs.lists(0, 100)
    frozen = rounds.scores.copy(), rounds.outcomes.copy()
    for each in frozen:
        each.flags.writeable = False
    strided = [np.repeat(each, 2, axis=0)[::2] for each in frozen]
    for what, given in (
        ("lists", [each.tolist() for each in frozen]), ("read-only arrays", frozen),
        ("strided arrays", strided),
    ):  # fmt: skip
        predictions = subject.make().run(*given, **more)
        require(np.array_equal(predictions, expected), f"{what} give other predictions")


CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_first_round,
    check_open_round,
    check_bounds,
    check_run_equals_steps,
    check_late_outcomes,
    check_repeats,
    check_expiry,
    check_capacity,
    check_seeding,
    check_looking,
    check_saving,
    check_bounded_memory,
    check_damaged_bytes,
    check_bad_scores,
    check_bad_outcomes,
    check_bad_ids,
    check_bad_batches,
    check_input_as_people_have_it,
)
