"""The part of a recalibrator's contract that is about ids, and outcomes that come late."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.testing.inputs import KINDS
from calibrant.testing.requirements import refusal, require
from calibrant.testing.rounds import Subject

BAD_IDS: tuple[Any, ...] = (True, 1.5, b"a", ("a",), ["a"], float("nan"), object(), 2**1024)
BAD_COUNTS: tuple[Any, ...] = (-1, 1.5, "1", None, True)


def check_late_outcomes(subject: Subject) -> None:
    """Outcomes come by id, in any order; an id is but a name, and so is having none."""
    for kind in KINDS:
        rounds = subject.stream(kind, 300, 5)
        plain, named = subject.make(), subject.make()
        expected = rounds.play(plain)
        for t in range(len(rounds)):
            prediction = rounds.predict(named, t, id=f"round {t}")
            require(np.array_equal(prediction, expected[t]), f"an id changes round {t} of {kind}")
            rounds.update(named, t, id=f"round {t}")
        one, other = subject.make(), subject.make()
        expected = rounds.play_late(one, 0, 300)
        for t in range(0, 300, 3):  # of three rounds, one has no id, and the others have new names
            ids: list[dict[str, Any]] = [{"id": f"{t} a"}, {}, {"id": -1 - t}]
            for late, id_ in enumerate(ids):
                prediction = rounds.predict(other, t + late, **id_)
                require(
                    np.array_equal(prediction, expected[t + late]),
                    f"late outcomes under other ids change round {t + late} of {kind}",
                )
            require(other.pending == 3, f"pending = {other.pending}, and three wait")
            for late in (2, 1, 0):
                rounds.update(other, t + late, **ids[late])
        require((one.learned, one.pending) == (300, 0), "late outcomes are lost or counted twice")


def check_repeats(subject: Subject) -> None:
    """An outcome told again is ignored; another one, an unknown id or one in use is refused."""
    rounds = subject.stream("honest", 120, 6)
    expected = rounds.play_late(subject.make(), 0, 120)
    recalibrator = subject.make()
    for t in range(0, 120, 3):
        predictions = [rounds.predict(recalibrator, t + late, id=t + late) for late in range(3)]
        require(
            np.array_equal(predictions, expected[t : t + 3]),
            f"repeated or refused outcomes change the predictions from round {t} on",
        )
        for known in (t + 2, t + 1, t):
            with refusal(f"predict() with id {known}, which waits"):
                rounds.predict(recalibrator, known, id=known)
            rounds.update(recalibrator, known, id=known)
            before = subject.state_of(recalibrator)
            rounds.update(recalibrator, known, id=known)
            require(subject.state_of(recalibrator) == before, "an outcome told twice counts twice")
            with refusal("another outcome for the same id"):
                recalibrator.update(rounds.other_outcome(known), id=known)
            with refusal(f"predict() with id {known}, which is finished"):
                rounds.predict(recalibrator, known, id=known)
            with refusal("update() with an unknown id"):
                rounds.update(recalibrator, known, id="never predicted")
            require(subject.state_of(recalibrator) == before, "a refusal changes the state")


def check_expiry(subject: Subject) -> None:
    """`expire` gives up the ids that are older, oldest first, and their outcomes are refused."""
    rounds = subject.stream("honest", 20, 7)
    recalibrator = subject.make()
    rounds.predict(recalibrator, 0)
    for t in range(10):
        rounds.predict(recalibrator, t, id=t)
    rounds.update(recalibrator, 1, id=1)
    before = subject.state_of(recalibrator)
    for bad in BAD_COUNTS:
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


def check_capacity(subject: Subject) -> None:
    """No more predictions wait, and no more finished ids are remembered, than `capacity` says."""
    if "capacity" not in subject.settings:
        return
    rounds = subject.stream("honest", 10, 8)
    recalibrator = subject.make(capacity=3)
    for t in range(3):
        rounds.predict(recalibrator, t, id=t)
    with refusal("a fourth prediction where capacity=3"):
        rounds.predict(recalibrator, 3, id=3)
    for t in range(4):
        rounds.update(recalibrator, t, id=t)
        rounds.predict(recalibrator, t, id=t + 3)
    with refusal("an id that finished four outcomes ago where capacity=3"):
        rounds.update(recalibrator, 0, id=0)
    for bad in (0, *BAD_COUNTS):
        with refusal(f"capacity={bad!r}"):
            subject.make(capacity=bad)
