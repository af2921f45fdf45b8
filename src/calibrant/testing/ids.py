"""The clauses of a recalibrator's contract on rounds with ids."""

from __future__ import annotations

from typing import Any

from calibrant.testing.inputs import NOT_COUNTS, NOT_IDS
from calibrant.testing.subject import Call, Subject, refusal, require, require_same


def check_repeats(subject: Subject) -> None:
    """An outcome is "applied", and "repeated" if it comes again; all others are refused.

    Another outcome for the same id is a "conflict", and an id that never was is "unknown". An id in
    use cannot be predicted.
    """
    rounds = subject.stream(120, 6)
    expected = rounds.play_late(subject.make(), 0, 120)
    player = subject.make()
    for t in range(0, 120, 3):
        predictions = [rounds.predict(player, each, id=each) for each in range(t, t + 3)]
        message = f"repeated or refused outcomes change the predictions from round {t} on"
        require_same([predictions, expected[t : t + 3]], message)
        require(player.pending == 3, f"pending = {player.pending}, and three wait")
        for known in (t + 2, t + 1, t):
            with refusal(f"predict() with id {known}, which waits"):
                rounds.predict(player, known, id=known)
            answer = rounds.update(player, known, id=known)
            require(answer == "applied", f"update() answers {answer!r}, not 'applied'")
            before = subject.state_of(player)
            answer = rounds.update(player, known, id=known)
            require(answer == "repeated", f"update() answers {answer!r}, not 'repeated'")
            require(subject.state_of(player) == before, "a repeated outcome counts twice")
            other = next(y for y in rounds.outcomes if y != rounds.outcomes[known])
            with refusal("another outcome for the same id", "conflict"):
                subject.calls.update(player, other, id=known)
            with refusal(f"predict() with id {known}, which is finished"):
                rounds.predict(player, known, id=known)
            with refusal("update() with an unknown id", "unknown"):
                rounds.update(player, known, id="never predicted")
            require(subject.state_of(player) == before, "a refusal changes the state")


def check_capacity(subject: Subject) -> None:
    """No more predictions wait, and no more finished ids are remembered, than `capacity` says.

    When one more would wait, the oldest expires and is counted; with when_full="refuse", where that
    is an option, the new one is refused.
    """
    if "capacity" not in subject.settings:
        return
    rounds = subject.stream(10, 8)
    player = subject.make(capacity=3)
    for t in range(4):
        rounds.predict(player, t, id=t)
    require(player.pending == 3, f"pending = {player.pending} where capacity=3")
    require(player.expired == 1, f"expired = {player.expired} after one expired")
    with refusal("the outcome of the oldest of four where capacity=3", "expired"):
        rounds.update(player, 0, id=0)
    for t in range(1, 5):
        rounds.update(player, t, id=t)
        rounds.predict(player, t, id=t + 3)
    with refusal("an id that finished four outcomes ago where capacity=3", "unknown"):
        rounds.update(player, 1, id=1)
    if "when_full" in subject.settings:
        player = subject.make(capacity=3, when_full="refuse")
        for t in range(3):
            rounds.predict(player, t, id=t)
        before = subject.state_of(player)
        with refusal("a fourth prediction where capacity=3 and when_full='refuse'"):
            rounds.predict(player, 3, id=3)
        require(subject.state_of(player) == before, "a fourth prediction changes the state")
        rounds.update(player, 0, id=0)
        rounds.predict(player, 3, id=3)
    for bad in (0, *NOT_COUNTS):
        with refusal(f"capacity={bad!r}"):
            subject.make(capacity=bad)


def check_late_outcomes(subject: Subject) -> None:
    """Outcomes come by id, in any order; which ids, or none, changes nothing."""

    def other_ids(t: int) -> dict[str, Any]:
        return ({"id": f"{t} a"}, {}, {"id": -1 - t})[t % 3]

    for kind, rounds in subject.streams(150, 5):
        expected = rounds.play(subject.make())
        named = rounds.play(subject.make(), ids=lambda t: {"id": f"round {t}"})
        require_same([named, expected], f"ids change the predictions on {kind}")
        late = subject.make()
        expected = rounds.play_late(late, 0, 150)
        require((late.learned, late.pending) == (150, 0), "late outcomes are lost or counted twice")
        named = rounds.play(subject.make(), late=3, ids=other_ids)
        require_same([named, expected], f"late outcomes under other ids change them on {kind}")


def check_expiry(subject: Subject) -> None:
    """`expire` drops the ids that are older, oldest first, and their outcomes are refused."""
    rounds = subject.stream(20, 7)
    player = subject.make()
    for t in range(10):
        rounds.predict(player, t, id=t)
    rounds.update(player, 1, id=1)
    before = subject.state_of(player)
    for bad in NOT_COUNTS:
        with refusal(f"expire(older_than={bad!r})"):
            player.expire(older_than=bad)
    require(player.expire(older_than=10) == [], "expire() gives up one that is not older")
    require(subject.state_of(player) == before, "expire() of none changes the state")
    expired = player.expire(older_than=6)
    require(expired == [0, 2, 3], f"expire(older_than=6) of ten gives {expired}, not [0, 2, 3]")
    require(player.pending == 6, f"pending = {player.pending}, and 6 wait")
    with refusal("the outcome of an expired id", "expired"):
        rounds.update(player, 0, id=0)
    rounds.predict(player, 0, id=0)  # which may be used again


def check_times(subject: Subject) -> None:
    """Where predictions may carry a time, those made before another expire by it."""
    rounds = subject.stream(6, 25)
    try:
        rounds.predict(subject.make(), 0, id=0, at=0)
    except TypeError:
        return
    player = subject.make()
    rounds.predict(player, 4, id="timeless")
    for t in range(4):
        rounds.predict(player, t, id=t, at=10.0 * t)
    expired = player.expire(before=20)
    require(expired == [0, 1], f"expire(before=20) of 0, 10, 20, 30 gives {expired}")
    for bad in ("yesterday", True, float("nan"), [1]):
        with refusal(f"expire(before={bad!r})"):
            player.expire(before=bad)
        with refusal(f"predict(at={bad!r})"):
            rounds.predict(player, 5, id="bad", at=bad)


def check_bad_ids(subject: Subject) -> None:
    """What is neither text nor an integer that can be saved is no id."""
    rounds, more = subject.stream(2, 15), subject.inputs.more(0)
    calls: list[Call] = [("predict", rounds.score(0), {"id": bad, **more}) for bad in NOT_IDS]
    calls += [("update", (rounds.outcomes[0],), {"id": bad}) for bad in NOT_IDS]
    subject.require_refused(calls)


IDS = (
    check_late_outcomes,
    check_repeats,
    check_expiry,
    check_capacity,
    check_times,
    check_bad_ids,
)
