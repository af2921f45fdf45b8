"""Disturbances of a run: Ctrl-C, and another thread that changes its input."""

import gc
import signal
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from calibrant import (
    Decider,
    EventForecaster,
    Fleet,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
    Zoom,
)
from calibrant._kernels.interrupts import is_held


@contextmanager
def alarm(after, within=None):
    """Send this process SIGINT, as Ctrl-C does, that many seconds from now.

    If that is outside of a call of the function `within`, nothing happens. Meanwhile no garbage of
    other tests is collected: Python ignores what is raised while it calls back weak references.
    """

    def stop(_, frame):
        while within is not None and frame is not None and frame.f_code is not within.__code__:
            frame = frame.f_back
        if within is None or frame is not None:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, stop)
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


@contextmanager
def interrupted(after):
    """Require that the body is interrupted, as by Ctrl-C, that many seconds from now."""
    with alarm(after), pytest.raises(KeyboardInterrupt):
        yield


def interrupt_call(monkeypatch, owner, name, call=1, *, is_done=False):
    """Let one call of a method be interrupted, before it does anything or when it is done."""
    method, calls = getattr(owner, name), []

    def interrupted(*given):
        calls.append(given)
        if len(calls) < call:
            return method(*given)
        if is_done:
            method(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


class AtLine:
    """Raise KeyboardInterrupt before the n-th line that runs; without n, count the lines.

    With `path`, only lines of this file count. Where SIGINT is held, it is raised before the first
    line after that.
    """

    def __init__(self, n=0, path=None):
        self.left, self.path, self.came = n, path, False

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        file = frame.f_code.co_filename
        if file == __file__ or self.path not in (None, file):
            return None  # the call itself is not part of what is interrupted
        if event == "line":
            self.left -= 1
            self.came = self.came or self.left == 0
            if self.came and not is_held():
                self.came = False
                raise KeyboardInterrupt
        return self.trace


@contextmanager
def changed_meanwhile(array, value, after):
    """Let another thread fill an array with a value that many seconds from now."""

    def fill():
        time.sleep(after)
        array[:] = value

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield
    finally:
        thread.join()


# -- calls that happen whole or not at all -----------------------------------------------------


class Case:
    """A call on what was played before: `make()` gives it, `call(player, size)` makes it.

    What `is_undone` was not made where it is interrupted; all else was made or not.
    """

    def __init__(self, make, call, is_undone=True):
        self.make, self.call, self.is_undone = make, call, is_undone

    def after(self, blob, cls, size):
        """Return the state after the call, undisturbed."""
        player = cls.from_bytes(blob)
        self.call(player, size)
        return player.to_bytes()


def rows(size, seed=0):
    random = np.random.default_rng(seed)
    scores = random.random(size)
    return scores, (random.random(size) < scores).astype(np.float64)


def classes(size):
    random = np.random.default_rng(0)
    return random.dirichlet([1, 1, 1], size), random.integers(3, size=size)


def groups(size):
    return [["a", "b", None, "c"][row % 4] for row in range(size)]


def started(cls, given, by=None, **arguments):
    player = cls(**arguments)
    book = player._late._book if cls is EventForecaster else getattr(player, "_book", None)
    more = {"at": np.arange(300.0)} if book is not None and book.has_deadlines else {}
    player.run(*given, **more, **({} if by is None else {"by": by}))
    return player


def fleet(**arguments):
    player = Fleet(seed=3, **arguments)
    scores, outcomes = rows(300)
    more = {"at": np.arange(300.0)} if player._policy.has_deadlines else {}
    player.run(np.arange(300) % 50, scores, outcomes, **more)
    player.predict_many(range(60), scores[:60], ids=range(60), **({"at": 300.0} if more else {}))
    return player


def later(size):
    return {"at": 1000.0 + np.arange(size)}


def keys(size):
    return np.arange(size) % 400


CASES = {
    "scores": Case(lambda: started(Recalibrator, rows(300)), lambda r, n: r.run(*rows(n))),
    "scores, watched": Case(
        lambda: started(Recalibrator, rows(300), monitor=True), lambda r, n: r.run(*rows(n))
    ),
    "scores, groups": Case(
        lambda: started(Recalibrator, rows(300), groups(300), monitor=True),
        lambda r, n: r.run(*rows(n), by=[*groups(n - 1), "new"]),
    ),
    "scores, silence": Case(
        lambda: started(Recalibrator, rows(300), silence=0, after="20s", monitor=True),
        lambda r, n: r.run(*rows(n), **later(n)),
    ),
    "classes": Case(
        lambda: started(MulticlassRecalibrator, classes(300), classes=3),
        lambda r, n: r.run(*classes(n)),
    ),
    "classes, watched": Case(
        lambda: started(MulticlassRecalibrator, classes(300), classes=3, hold="9s", monitor=True),
        lambda r, n: r.run(*classes(n), **later(n)),
    ),
    "numbers": Case(
        lambda: started(NumberRecalibrator, rows(300), monitor=True), lambda r, n: r.run(*rows(n))
    ),
    "numbers, hold": Case(
        lambda: started(NumberRecalibrator, rows(300), hold="9s"),
        lambda r, n: r.run(*rows(n), **later(n)),
    ),
    "events": Case(
        lambda: started(EventForecaster, rows(300)[1:]), lambda r, n: r.run(rows(n)[1])
    ),
    "events, watched": Case(
        lambda: started(EventForecaster, rows(300)[1:], monitor=True),
        lambda r, n: r.run(rows(n)[1]),
    ),
    "points": Case(lambda: started(Zoom, rows(300)[1:]), lambda r, n: r.run(rows(n)[1])),
    "decisions": Case(
        lambda: started(Decider, rows(300), precision=0.7), lambda r, n: r.run(*rows(n))
    ),
}  # fmt: skip
#: What a fleet does, and single steps: made or not made.
FLEETS = {
    "run": (
        {"shards": 3, "monitor": True}, lambda f, n: f.run(keys(n), *rows(n))
    ),
    "run with hold": (
        {"shards": 3, "hold": "9s"}, lambda f, n: f.run(keys(n), *rows(n), **later(n))
    ),
    "predict_many": (
        {"shards": 3}, lambda f, n: f.predict_many(keys(n), rows(n)[0], at=7)
    ),
    "predict_many by id": (
        {"shards": 3, "monitor": True},
        lambda f, n: f.predict_many(keys(n), rows(n)[0], ids=range(100, 100 + n)),
    ),
    "update_many": (
        {"shards": 3, "monitor": True}, lambda f, _: f.update_many(rows(60)[1], ids=range(60))
    ),
    "update_many with silence": (
        {"shards": 3, "silence": 0, "after": "20s"},
        lambda f, _: f.update_many(rows(30)[1], ids=range(30), at=310.0 + np.arange(30) % 7),
    ),
    "update": ({"shards": 3, "hold": "20s"}, lambda f, _: f.update(1, id=7, at=330.0)),
    "advance": ({"shards": 3, "hold": "20s"}, lambda f, _: f.advance(330.0)),
    "evict": ({"shards": 3, "monitor": True}, lambda f, _: f.evict(40)),
    "expire": ({"shards": 3, "monitor": True}, lambda f, _: f.expire(older_than=7)),
    "forget_ids": ({"shards": 3, "hold": "20s"}, lambda f, _: f.forget_ids()),
    "play": (
        {"shards": 3, "monitor": True},
        lambda f, n: f.play(
            keys(n), rows(n)[0], np.where(np.arange(n) % 2, np.nan, rows(n)[1]),
            ids=range(100, 100 + n),
        ),
    ),
}  # fmt: skip
CASES |= {
    f"fleet, {name}": Case(lambda given=given: fleet(**given), call, is_undone=False)
    for name, (given, call) in FLEETS.items()
}


def waiting(cls, given, by=None, **arguments):
    """Return what was played, with twenty pending predictions."""
    player = started(cls, given, None if by is None else groups(len(given[-1])), **arguments)
    if cls is EventForecaster:
        for id_ in range(20):
            player.predict(id=id_)
        return player
    named = {} if by is None else {"by": groups(20)}
    times = {"at": 300.0} if player._book.has_deadlines else {}
    many = player.decide_many if cls is Decider else player.predict_many
    many(given[0][:20], ids=range(20), **named, **times)
    return player


#: Whose steps: a class, what it is played with, an outcome, its groups or None, and arguments.
STEPPERS = {
    "scores": (Recalibrator, rows(300), 1, None, {}),
    "scores, watched": (Recalibrator, rows(300), 1, None, {"monitor": True}),
    "scores, groups": (Recalibrator, rows(300), 1, "new", {}),
    "scores, groups watched": (Recalibrator, rows(300), 1, "new", {"hold": "9s", "monitor": True}),
    "scores, silence": (Recalibrator, rows(300), 1, None, {"silence": 0, "after": "9s"}),
    "classes": (MulticlassRecalibrator, classes(300), 1, None, {"classes": 3}),
    "classes, groups": (
        MulticlassRecalibrator, classes(300), 1, "new", {"classes": 3, "monitor": True},
    ),
    "classes, silence": (
        MulticlassRecalibrator, classes(300), 1, None, {"classes": 3, "silence": 0, "after": "9s"},
    ),
    "numbers": (NumberRecalibrator, rows(300), 0.4, None, {}),
    "numbers, groups": (NumberRecalibrator, rows(300), 0.4, "new", {"monitor": True}),
    "numbers, hold": (NumberRecalibrator, rows(300), 0.4, None, {"hold": "9s", "monitor": True}),
    "events": (EventForecaster, rows(300)[1:], 1, None, {"monitor": True}),
    "decisions": (Decider, rows(300), 1, None, {"precision": 0.7}),
    "decisions, hold": (
        Decider, rows(300), 1, None, {"recall": 0.7, "explore": 0.1, "hold": "9s"},
    ),
}  # fmt: skip


def steps_of(cls, given, outcome, by, arguments):
    """Return the steps of a player, each a call of it."""
    is_timed = "s" in str(arguments.get("hold", arguments.get("after", "")))
    times, early = ({"at": 310.0}, {"at": 305.0}) if is_timed else ({}, {})
    row = [] if cls is EventForecaster else [given[0][7]]
    named, named_many = {}, {}
    if by is not None:
        named, named_many = {"by": by}, {"by": [by, None]}
    predict = "decide" if cls is Decider else "predict"
    found = {
        predict: lambda p: getattr(p, predict)(*row, id="a", **named, **times),
        "update": lambda p: p.update(outcome, id=3, **early),
        "update_many": lambda p: p.update_many([outcome] * 15, ids=range(15), **times),
        "expire": lambda p: p.expire(older_than=5),
        "forget_ids": lambda p: p.forget_ids(),
    }
    if row:
        found[f"{predict}_many"] = lambda p: getattr(p, f"{predict}_many")(
            [*row, *row], ids=["a", "b"], **named_many, **times
        )
    if not {"hold", "silence"} & arguments.keys():
        found["unnamed"] = lambda p: getattr(p, predict)(*row, **named)
    if times:
        found["advance"] = lambda p: p.advance(400.0)
    return found


CASES |= {
    f"{name}: {step}": Case(
        lambda stepper=stepper: waiting(*stepper[:2], stepper[3], **stepper[4]),
        lambda player, _, call=call: call(player),
        is_undone=False,
    )
    for name, stepper in STEPPERS.items()
    for step, call in steps_of(*stepper).items()
}


LATE = "all was done, and then the signal raised"


def judged(case, player, before, after, size):
    """Make a call that may be interrupted; return what is wrong with the state afterwards.

    A fleet has no copy of a million keys: interrupted while it learns, it learns all, and so does a
    step. Elsewhere a signal between the last look for signals and the caller's own lines comes too
    late, which is rare: LATE is returned.
    """
    try:
        CASES[case].call(player, size)
        allowed = [after]
    except KeyboardInterrupt:
        allowed = [before] if CASES[case].is_undone else [before, after]
    sys.settrace(None)
    found = state_of(player)
    if found in [state_in(blob, type(player)) for blob in allowed]:
        return None
    is_whole = found == state_in(after, type(player))
    return LATE if is_whole else f"{case}: neither whole nor undone"


def state_in(blob, cls):
    """Return `state_of` what was saved."""
    return state_of(cls.from_bytes(blob)) if cls is Fleet else blob


def state_of(player):
    """Return all that counts: not how much room the index of a fleet has."""
    if not isinstance(player, Fleet):
        return player.to_bytes()
    kept = [player.keys().tolist()]
    for number in player._shards:
        arrays = player.shard_arrays(number)
        kept.append({k: v.tobytes() for k, v in arrays.items() if "_index_" not in k})
    return kept
