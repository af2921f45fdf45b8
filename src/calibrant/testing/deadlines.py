"""The clauses of a recalibrator's contract on when an outcome counts: silence, hold, and times."""

from __future__ import annotations

from typing import Any

from calibrant.testing.subject import Call, Rounds, Subject, refusal, require, require_same

SILENT, EVENT = 0, 1
#: By count of predictions, and by the time that rows say.
CLOCKS: tuple[bool, ...] = (False, True)
WAITING: tuple[dict[str, Any], ...] = ({"silence": SILENT, "after": 12}, {"hold": 12})


def require_counts(player: Any, learned: int, pending: int, when: str) -> None:
    """Require how many outcomes are learned, and how many predictions wait."""
    counts = player.learned, player.pending
    require(
        counts == (learned, pending), f"learned, pending = {counts} {when}, not {learned, pending}"
    )


def check_silence(subject: Subject) -> None:
    """No news until the deadline means the silent outcome; an outcome before is learned there too.

    What comes after is "repeated" or a "conflict". A prediction that expires teaches nothing.
    """
    if "silence" not in subject.settings:
        return
    rounds, update = subject.stream(10, 31), subject.calls.update
    player = subject.make(silence=SILENT, after=3)
    for t in range(3):
        rounds.predict(player, t, id=t)
    require_counts(player, 1, 2, "when the first of three is due")
    require(
        update(player, EVENT, id=1) == "applied", "an outcome before its deadline is not applied"
    )
    require_counts(player, 1, 2, "after an outcome before its deadline")
    require(update(player, EVENT, id=1) == "repeated", "an outcome that is known is not repeated")
    with refusal("another outcome than the one that is known", "conflict"):
        update(player, SILENT, id=1)
    for t in range(3, 5):
        rounds.predict(player, t, id=t)
    require_counts(player, 3, 2, "when the first three of five are due")
    require(update(player, SILENT, id=0) == "repeated", "the outcome of silence is not repeated")
    require(update(player, EVENT, id=1) == "repeated", "an outcome that is learned is not repeated")
    with refusal("an outcome after silence was learned", "conflict"):
        update(player, EVENT, id=2)
    require_counts(player, 3, 2, "after outcomes that come too late")
    player = subject.make(silence=SILENT, after=8, capacity=3)
    for t in range(10):
        rounds.predict(player, t, id=t)
    require_counts(player, 0, 3, "where all expire before their deadlines")


def check_hold(subject: Subject) -> None:
    """With `hold`, outcomes are learned at that age, or when they come if that is later."""
    if "hold" not in subject.settings:
        return
    for kind, rounds in subject.streams(80, 32):
        for timed in CLOCKS:
            held, plain = subject.make(hold=3), subject.make()
            for t in range(80):
                at = {"at": float(t)} if timed else {}
                predicted = [rounds.predict(held, t, id=t, **at), rounds.predict(plain, t, id=t)]
                require_same(predicted, f"hold=3 is not learning at age 3 in round {t} of {kind}")
                if t % 7:
                    rounds.update(held, t, id=t, **at)
                # What is due at a time comes after the predictions and the outcomes of that time.
                late, due = [t - 7] if t > 9 and t % 7 == 0 else [], t - 2 - timed
                over = [due] if due >= 0 and due % 7 else []
                for known in late + over if timed else over + late:
                    rounds.update(plain, known, id=known)
                for known in late:
                    rounds.update(held, known, id=known, **at)


def check_deadlines_in_time(subject: Subject) -> None:
    """Times never run backwards; what is due at a time comes after the steps of that time."""
    if "silence" not in subject.settings:
        return
    rounds, update = subject.stream(10, 33), subject.calls.update
    player = subject.make(silence=SILENT, after=10)
    rounds.predict(player, 0, id="a", at=0)
    rounds.predict(player, 1, id="b", at=0, due=5)
    update(player, EVENT, id="a", at=5)
    require_counts(player, 0, 2, "at the time of a deadline")
    rounds.predict(player, 2, id="c", at=6)
    require_counts(player, 1, 2, "after a deadline of its own")
    rounds.predict(player, 3, id="d", at=2)  # which counts as 6
    for now, learned in ((10, 1), (15, 0), (3, 0), (16, 2)):
        found = player.advance(now)
        require(found == learned, f"advance({now}) learns {found} outcomes, not {learned}")
    with refusal("an outcome after silence was learned", "conflict"):
        update(player, EVENT, id="b", at=17)
    if "when_full" in subject.settings:
        player = subject.make(silence=SILENT, after=10, capacity=2, when_full="refuse")
        for t in range(2):
            rounds.predict(player, t, id=t, at=0)
        with refusal("a third prediction where capacity=2, before the first is due"):
            rounds.predict(player, 2, id=2, at=10)
        rounds.predict(player, 2, id=2, at=11)
        require_counts(player, 2, 1, "when time has made room")


def check_batches_at_times(subject: Subject) -> None:
    """Rows that arrive together may have a time each; outcomes are taken in order of time."""
    if "silence" not in subject.settings:
        return
    rounds, many = subject.stream(10, 34), subject.calls.update_many
    players = [subject.make(silence=SILENT, after=10) for _ in range(2)]
    for player in players:
        rounds.predict_many(player, 0, 6, at=[0, 1, 2, 3, 3, 3], due=[9, 9, 9, 9, 4, 20])
    answers = many(players[0], [EVENT, EVENT, SILENT], ids=[5, 4, 4], at=[12, 3, 6]).tolist()
    expected = ["applied", "applied", "conflict"]
    require(answers == expected, f"update_many() answers {answers}, not {expected}")
    require_counts(players[0], 5, 1, "after an outcome at 12")
    for name, at in ((4, 3), (5, 12)):
        subject.calls.update(players[1], EVENT, id=name, at=at)
    for player in players:
        player.advance(20)
        require_counts(player, 6, 0, "when all are due")
    predicted = [rounds.predict(player, 7, id=7, at=21) for player in players]
    require_same(predicted, "outcomes at times of their own differ from single ones")


def check_runs_until_deadlines(subject: Subject) -> None:
    """`run` with deadlines is what single rounds give, and what is then pending remains so."""
    for settings in (each for each in WAITING if {*each} <= subject.settings):
        for timed in CLOCKS:
            stepping, running = subject.make(**settings), subject.make(**settings)
            rounds, expected = subject.stream(60, 35), []
            for t in range(60):
                at = {"at": float(t)} if timed else {}
                expected.append(rounds.predict(stepping, t, id=t, **at))
                rounds.update(stepping, t, id=t, **at)
            predicted: list[Any] = []
            for start, stop in ((0, 25), (25, 60)):
                times = {"at": [float(t) for t in range(start, stop)]} if timed else {}
                predicted.extend(rounds.run(running, start, stop, **times))
            require_same([predicted, expected], f"run() with {settings} differs from single rounds")
            counts = [(each.learned, each.pending) for each in (stepping, running)]
            require(counts[0] == counts[1], f"learned, pending = {counts} after the same rounds")


def check_saved_deadlines(subject: Subject) -> None:
    """What is saved while predictions wait for deadlines continues exactly."""
    if not subject.can_be_saved:
        return
    for settings in (each for each in WAITING if {*each} <= subject.settings):
        for timed in CLOCKS:
            saved, rounds = subject.make(**settings), subject.stream(80, 36)
            play_until(rounds, saved, 0, 50, timed)
            both = [saved, type(saved).from_bytes(saved.to_bytes())]
            rest = [play_until(rounds, each, 50, 80, timed) for each in both]
            require_same(rest, f"other predictions after saving with {settings}")
            states = [subject.state_of(each) for each in both]
            require(states[0] == states[1], f"another end after saving with {settings}")


def play_until(rounds: Rounds, player: Any, start: int, stop: int, timed: bool) -> list[Any]:
    """Play rounds whose outcomes are known after five, but for some that never are."""
    predicted = []
    for t in range(start, stop):
        at = {"at": float(t)} if timed else {}
        predicted.append(rounds.predict(player, t, id=t, **at))
        if t >= 5 and t % 3:
            rounds.update(player, t - 5, id=t - 5, **at)
    return predicted


def check_bad_deadlines(subject: Subject) -> None:
    """A step that has no deadline, or makes no sense with one, is refused, and no time passes."""
    if "silence" not in subject.settings:
        return
    rounds, more = subject.stream(2, 37), subject.inputs.more(0)
    player, row = subject.make(silence=SILENT, after=10), rounds.score(0)
    rounds.predict(player, 0, id="waits", at=0)
    calls: list[Call] = [
        ("predict", row, {"at": 99, **more}),
        ("predict", row, {"id": "new", **more}),
        ("predict", row, {"id": "waits", "at": 99, **more}),
        ("predict", row, {"id": "new", "at": 99, "due": 99, **more}),
        ("predict", row, {"id": "new", "at": "soon", **more}),
        ("update", (0.5,), {"id": "waits", "at": 99}),
        ("update", (EVENT,), {"id": "waits", "at": "soon"}),
        ("update", (EVENT,), {"id": "never", "at": 99}),
        ("advance", ("soon",), {}),
    ]
    bad_scores = subject.inputs.bad_scores
    calls += [("predict", (bad,), {"id": "new", "at": 99, **more}) for bad in bad_scores]
    subject.require_unchanged(player, calls)
    plain = subject.make()
    subject.require_unchanged(
        plain, [("advance", (3,), {}), ("predict", row, {"id": "new", "at": 1, "due": 2, **more})]
    )
    wrong: list[dict[str, Any]] = [
        {"after": 3}, {"silence": SILENT, "after": 0}, {"hold": -1}, {"hold": "soon"},
        {"silence": SILENT, "after": 3, "hold": 3}, {"silence": "never", "after": 3},
    ]  # fmt: skip
    for settings in wrong:
        with refusal(f"{settings}"):
            subject.make(**settings)


DEADLINES = (
    check_silence,
    check_hold,
    check_deadlines_in_time,
    check_batches_at_times,
    check_runs_until_deadlines,
    check_saved_deadlines,
    check_bad_deadlines,
)
