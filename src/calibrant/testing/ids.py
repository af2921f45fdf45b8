"""The clauses on outcomes by id that recalibrators and forecasters with ids share."""

from __future__ import annotations

from calibrant.testing.inputs import NOT_COUNTS
from calibrant.testing.playing import Subject, refusal, require, require_same


def check_repeats(subject: Subject) -> None:
    """A repeated outcome is ignored; another one, an unknown id and one in use are refused."""
    if not subject.has_ids:
        return
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
            rounds.update(player, known, id=known)
            before = subject.state_of(player)
            rounds.update(player, known, id=known)
            require(subject.state_of(player) == before, "a repeated outcome counts twice")
            other = next(y for y in rounds.outcomes if y != rounds.outcomes[known])
            with refusal("another outcome for the same id"):
                player.update(other, id=known)
            with refusal(f"predict() with id {known}, which is finished"):
                rounds.predict(player, known, id=known)
            with refusal("update() with an unknown id"):
                rounds.update(player, known, id="never predicted")
            require(subject.state_of(player) == before, "a refusal changes the state")


def check_capacity(subject: Subject) -> None:
    """No more predictions wait, and no more finished ids are remembered, than `capacity` says.

    When one more would wait, the oldest expires and is counted; with full="refuse", where it can
    be said, the new one is refused.
    """
    if not (subject.has_ids and "capacity" in subject.settings):
        return
    rounds = subject.stream(10, 8)
    expiring, player = subject.make(capacity=3), subject.make(capacity=3, full="refuse")
    for t in range(3):
        rounds.predict(expiring, t, id=t)
        rounds.predict(player, t, id=t)
    if "full" in subject.settings:
        rounds.predict(expiring, 3, id=3)
        require(expiring.pending == 3, f"pending = {expiring.pending} where capacity=3")
        require(expiring.expired == 1, f"expired = {expiring.expired} after one expired")
        with refusal("the outcome of the oldest of four where capacity=3"):
            rounds.update(expiring, 0, id=0)
        rounds.update(expiring, 1, id=1)
    with refusal("a fourth prediction where capacity=3"):
        rounds.predict(player, 3, id=3)
    for t in range(4):
        rounds.update(player, t, id=t)
        rounds.predict(player, t, id=t + 3)
    with refusal("an id that finished four outcomes ago where capacity=3"):
        rounds.update(player, 0, id=0)
    for bad in (0, *NOT_COUNTS):
        with refusal(f"capacity={bad!r}"):
            subject.make(capacity=bad)


IDS = (check_repeats, check_capacity)
