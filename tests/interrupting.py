"""What may happen to a run from outside: Ctrl-C, and another thread that changes its input."""

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


@contextmanager
def alarm(after, within=None):
    """Let a signal raise KeyboardInterrupt, as Ctrl-C does, that many seconds from now.

    If it comes outside of a call of the function `within`, nothing happens.
    """

    def stop(_, frame):
        while within is not None and frame is not None and frame.f_code is not within.__code__:
            frame = frame.f_back
        if within is None or frame is not None:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def interrupted(after):
    """Require that the body is interrupted, as by Ctrl-C, that many seconds from now."""
    with alarm(after), pytest.raises(KeyboardInterrupt):
        yield


class AtLine:
    """Raise KeyboardInterrupt before the n-th line that runs; without n, count the lines."""

    def __init__(self, n=0):
        self.left = n

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if frame.f_code.co_filename == __file__:
            return None  # the call itself is not part of what is interrupted
        if event == "line":
            self.left -= 1
            if self.left == 0:
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
    """A call on what was played before: `make(size)` gives it, `call(player, size)` makes it."""

    def __init__(self, make, call):
        self.make, self.call = make, call

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
    "fleet, run": Case(
        lambda: fleet(shards=3, monitor=True), lambda f, n: f.run(keys(n), *rows(n))
    ),
    "fleet, run with hold": Case(
        lambda: fleet(shards=3, hold="9s"), lambda f, n: f.run(keys(n), *rows(n), **later(n))
    ),
    "fleet, predict_many": Case(
        lambda: fleet(shards=3), lambda f, n: f.predict_many(keys(n), rows(n)[0], at=7)
    ),
    "fleet, predict_many by id": Case(
        lambda: fleet(shards=3, monitor=True),
        lambda f, n: f.predict_many(keys(n), rows(n)[0], ids=range(100, 100 + n)),
    ),
    "fleet, update_many": Case(
        lambda: fleet(shards=3, monitor=True),
        lambda f, _: f.update_many(rows(60)[1], ids=range(60)),
    ),
    "fleet, update_many with silence": Case(
        lambda: fleet(shards=3, silence=0, after="20s"),
        lambda f, _: f.update_many(rows(30)[1], ids=range(30), at=310.0 + np.arange(30) % 7),
    ),
    "fleet, update": Case(
        lambda: fleet(shards=3, hold="20s"), lambda f, _: f.update(1, id=7, at=330.0)
    ),
    "fleet, advance": Case(lambda: fleet(shards=3, hold="20s"), lambda f, _: f.advance(330.0)),
}  # fmt: skip


LATE = "all was done, and then the signal raised"


def judged(case, player, before, after, size):
    """Make a call that may be interrupted; return what is wrong with the state afterwards.

    A fleet has no copy of a million keys: interrupted while it learns, it learns all. Elsewhere a
    signal between the last look for signals and the caller's own lines comes too late, which is
    rare: LATE is returned.
    """
    try:
        CASES[case].call(player, size)
        allowed = [after]
    except KeyboardInterrupt:
        allowed = [before, after] if isinstance(player, Fleet) else [before]
    sys.settrace(None)
    found = state_of(player)
    if found in [state_of(type(player).from_bytes(blob)) for blob in allowed]:
        return None
    is_whole = found == state_of(type(player).from_bytes(after))
    return LATE if is_whole else f"{case}: neither whole nor undone"


def state_of(player):
    """Return all that counts: not how much room the index of a fleet has."""
    if not isinstance(player, Fleet):
        return player.to_bytes()
    kept = [player.keys().tolist()]
    for number in player._shards:
        arrays = player.shard_arrays(number)
        kept.append({k: v.tobytes() for k, v in arrays.items() if "_index_" not in k})
    return kept
