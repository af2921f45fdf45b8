"""Everything that a hostile user, machine or network can do: ``python -m benchmarks attack``.

``--minutes N`` says for how long in all. Each row of the table is one kind of attack, with how
often it was tried and how often something was bad: a state neither whole nor undone, a saved state
that is taken and makes no sense, an error that is no clear refusal, a process that hangs, a row
that was acknowledged and is lost. The tests hold a little of each; this is the same for as long as
one likes, seeded, round after round.
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from benchmarks import forged, hostile_requests, kills, kills_postgres, machine
from benchmarks.tables import table
from calibrant import (
    Decider,
    EventForecaster,
    Fleet,
    Monitor,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
)
from calibrant.cli import app
from interrupting import CASES, AtLine, alarm, judged

HERE = Path(__file__).parent
#: Seconds after which a forked child counts as one that hangs.
HANGS = 20.0
ODD = [
    None, True, 0, 1, -1, 2, 0.5, 1e308, float("nan"), float("inf"), 10**30, 10**400, np.int64(5),
    np.float32(0.5), "x", "", "30d", "1e400d", "-3h", [], {}, [1, 2], {"every": np.int64(1000)},
    {"nothing": 1}, np.datetime64("NaT"), np.timedelta64(90, "m"), object(), "expire", "refuse",
]  # fmt: skip
CONSTRUCTORS = {
    Recalibrator: ("kind", "seed", "capacity", "when_full", "max_groups", "silence", "after",
                   "hold", "monitor"),
    MulticlassRecalibrator: ("classes", "kind", "seed", "capacity", "silence", "after", "hold"),
    NumberRecalibrator: ("seed", "capacity", "hold", "bounds", "periods", "monitor"),
    Fleet: ("seed", "kind", "shards", "capacity", "when_full", "monitor", "silence", "after"),
    EventForecaster: ("seed", "periods", "ahead", "capacity", "when_full", "monitor"),
    Decider: ("budget", "per", "band", "precision", "recall", "explore", "seed", "capacity"),
    Monitor: ("every", "tolerance", "alpha", "ahead", "max_groups", "patience"),
}  # fmt: skip


class Tally:
    """What was tried, and what was bad."""

    def __init__(self):
        self.tries, self.seconds, self.bad = Counter(), Counter(), []

    def note(self, kind, wrong, tries=1):
        """Count tries of a kind; `wrong` is what was bad, None for nothing."""
        self.tries[kind] += tries
        if wrong is not None:
            self.bad.append((kind, str(wrong)[:300]))

    def rows(self):
        """Return the rows of the table."""
        wrong = Counter(kind for kind, _ in self.bad)
        return [(kind, f"{count:,}", wrong[kind]) for kind, count in self.tries.items()]


# -- in this process -----------------------------------------------------------------------------


def attack_states(tally, random, states=[]):  # noqa: B006 - made once
    """Change saved states, and make their checksums right."""
    if not states:
        states += forged.saved_states()
    with np.errstate(all="ignore"):
        for _ in range(200):
            name, cls, blob = states[random.integers(len(states))]
            verdict = forged.verdict(cls, forged.forged(blob, random))
            tally.note("saved states", None if verdict in ("refused", "taken") else (name, verdict))


def attack_arguments(tally, random):
    """Make objects with odd arguments: each is refused in words, or can be saved and restored."""
    for _ in range(60):
        cls = list(CONSTRUCTORS)[random.integers(len(CONSTRUCTORS))]
        names = random.permutation(CONSTRUCTORS[cls])[: random.integers(1, 4)].tolist()
        given = {name: ODD[random.integers(len(ODD))] for name in names}
        wrong = None
        try:
            made = cls(**given)
            if cls.from_bytes(made.to_bytes()).to_bytes() != made.to_bytes():
                wrong = "restored as another"
        except (ValueError, TypeError) as error:  # TypeError: of the call itself
            wrong = None if isinstance(error, ValueError) or "argument" in str(error) else error
        except Exception as error:
            wrong = error
        tally.note("arguments", None if wrong is None else (cls.__name__, given, repr(wrong)))


def attack_signals(tally, random, ready={}):  # noqa: B006 - made once
    """Interrupt calls by signals at random moments, and at lines."""
    for case, each in CASES.items():
        for size in (40, 3000):
            if (case, size) not in ready:
                kept = each.make()
                before = kept.to_bytes()
                after = each.after(before, type(kept), size)
                with AtLine() if size == 40 else contextlib.nullcontext() as counted:
                    started = time.perf_counter()
                    each.call(type(kept).from_bytes(before), size)
                took = time.perf_counter() - started
                ready[case, size] = type(kept), before, after, took, counted
            cls, before, after, took, counted = ready[case, size]
            player = cls.from_bytes(before)
            if size == 40:
                with AtLine(int(random.integers(1, 1 - counted.left))):
                    wrong = judged(case, player, before, after, size)
                tally.note("interrupts at a line", wrong)
                continue
            for _ in range(3):
                player = cls.from_bytes(before)
                with alarm(max(took * random.random(), 1e-6), each.call):
                    wrong = judged(case, player, before, after, size)
                tally.note("signals", wrong)


def attack_clock(tally, random):
    """Let the clock of predictions and outcomes jump, a year or a century ahead or back."""
    for cls, more in (
        (Recalibrator, {"silence": 0, "after": "30d"}),
        (Recalibrator, {"hold": "1h"}),
        (MulticlassRecalibrator, {"classes": 2, "silence": 0, "after": "30d"}),
        (NumberRecalibrator, {"hold": "1h"}),
        (Fleet, {"silence": 0, "after": "30d", "shards": 2}),
    ):
        player, now, wrong, told = cls(**more), 1.7e9, None, -np.inf
        for row in range(80):
            now += float(random.choice([1.0, 3600.0, 3e7, -3e7, 3e9, -3e9]))
            given = [[0.4, 0.6]] if cls is MulticlassRecalibrator else [0.4]
            first = (row % 5,) if cls is Fleet else ()
            player.predict(*first, *given, id=row, at=now)
            player.update_many([1], ids=[int(random.integers(row + 1))], at=[now + 1.0])
            books = (
                [each.book for each in player._shards.values()]
                if cls is Fleet else [player._book]
            )  # fmt: skip
            least = min(book.now for book in books)
            if least < told and cls is not Fleet:
                wrong = "time ran backwards"
            told = max(told, least)
            if player.learned + player.pending + player.expired > player.rounds:
                wrong = "learned more than was predicted"
        if cls.from_bytes(player.to_bytes()).to_bytes() != player.to_bytes():
            wrong = "saves to other bytes"
        tally.note("a clock that jumps", wrong, tries=80)


# -- threads and forks -----------------------------------------------------------------------------


def players():
    """Return one of each class, each with what it is predicted from, and outcomes."""
    return [
        (Recalibrator(monitor=True), (0.3,), 1),
        (Recalibrator(silence=0, after=50), (0.3,), 1),
        (MulticlassRecalibrator(3), ([0.2, 0.3, 0.5],), 1),
        (NumberRecalibrator(), (0.3,), 0.4),
        (EventForecaster(monitor=True), (), 1),
        (Fleet(shards=4, monitor=True), ("key", 0.3), 1),
    ]


def every_method(player, given, outcome, turn, random):
    """Call public methods in turn; refusals are fine, anything else is not."""
    with contextlib.suppress(ValueError):
        player.predict(*given, id=turn)
    with contextlib.suppress(ValueError):
        player.update(outcome, id=turn - int(random.integers(3)))
    way = turn % 7
    with contextlib.suppress(ValueError):
        if way == 0:
            player.update_many([outcome] * 2, ids=[turn, turn - 1])
        elif way == 1:
            player.expire(older_than=20)
        elif way == 2 and not isinstance(player, EventForecaster):
            column = [[each] * 3 for each in given]
            player.predict_many(*column, ids=[f"{turn} {row}" for row in range(3)])
        elif way == 3 and isinstance(player, Fleet):
            parts = player.split(2)
            Fleet.merge(parts)
            assert "key" in player
            assert player["key"] is not None
            assert "key" in player.keys().tolist()
        elif way == 4:
            repr(player)
            _ = player.rounds, player.learned, player.pending, player.expired
        elif way == 5 and hasattr(player, "weights"):
            player.weights()
        else:
            player.to_bytes()


def attack_threads(tally, _):
    """Let two threads play while a third saves: what is saved always loads."""
    for player, given, outcome in players():
        ends, wrong = threading.Event(), []

        def work(first, player=player, given=given, outcome=outcome, ends=ends, wrong=wrong):
            own, turn = np.random.default_rng(first), first
            while not ends.is_set():
                try:
                    every_method(player, given, outcome, turn, own)
                except Exception:
                    wrong.append(traceback.format_exc(limit=3))
                    return
                turn += 2

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
        for thread in threads:
            thread.start()
        tries, until = 0, time.monotonic() + 0.4
        while time.monotonic() < until:
            try:
                type(player).from_bytes(player.to_bytes())
            except Exception as error:
                wrong.append(f"{type(player).__name__}: {error!r}")
            tries += 1
        ends.set()
        for thread in threads:
            thread.join()
        tally.note("threads: a save always loads", wrong[0] if wrong else None, tries)


def attack_forks(tally, random):
    """Fork while threads call every public method; the child must be able to go on."""
    all_players, ends = players(), threading.Event()
    own = np.random.default_rng(int(random.integers(2**32)))

    def work():
        turn = 0
        while not ends.is_set():
            for each in all_players:
                with contextlib.suppress(Exception):
                    every_method(*each, turn, own)
            turn += 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                code = 1
                with contextlib.suppress(BaseException):
                    for player, given, outcome in all_players:
                        player.predict(*given, id="child")
                        player.update(outcome, id="child")
                        type(player).from_bytes(player.to_bytes())
                    code = 0
                os._exit(code)
            until = time.monotonic() + HANGS
            while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
                time.sleep(0.002)
            if done == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            tally.note("forks", None if done == (child, 0) else f"a child ended with {done}")
    finally:
        ends.set()
        for thread in threads:
            thread.join()


# -- files and services ----------------------------------------------------------------------------


def attack_command_line(tally, random):
    """Recalibrate files of which some bytes were changed, with options that may not fit."""
    rows = [f"{row},{random.random():.3f},{int(random.random() < 0.5)},{row + 3},k{row % 3}"
            for row in range(60)]  # fmt: skip
    text = ("t,s,y,known,k\n" + "\n".join(rows) + "\n").encode()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(4):
            changed = bytearray(text)
            for _ in range(int(random.integers(0, 4))):
                at = int(random.integers(len(changed)))
                changed[at : at + int(random.integers(2))] = random.bytes(int(random.integers(3)))
            source, state = Path(folder, "in.csv"), Path(folder, "state")
            source.write_bytes(changed)
            options = ["--time", "t", "--available", "known"] if random.random() < 0.7 else []
            for more in (["--key", "k"], ["--hold", "5"], ["--silence", "0", "--after", "7"],
                         ["--state", str(state)], ["--json"]):  # fmt: skip
                options += more if random.random() < 0.3 else []
            asked = ["recalibrate", str(source), "--score", "s", "--outcome", "y", *options]
            before = state.read_bytes() if state.exists() else None
            result = CliRunner().invoke(app, asked)
            wrong = None
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                wrong = repr(result.exception)
            elif result.exit_code and before is not None and state.read_bytes() != before:
                wrong = "a refused file changed the state"
            elif result.exit_code not in (0, 1, 2):
                wrong = f"exit code {result.exit_code}"
            tally.note("command line", wrong and (asked, wrong))


def attack_service(tally, random):
    """Send hostile requests to a service."""
    _, wrong = hostile_requests.attack(int(random.integers(2**31)), 300)
    tally.note("service: hostile requests", wrong[0] if wrong else None, tries=300)


def attack_kills(tally, random):
    """Kill a loaded service on SQLite."""
    result = kills.siege_sqlite(3, int(random.integers(2**31)))
    wrong = result.verdict.wrong
    tally.note("service: kills on SQLite", wrong[0] if wrong else None, tries=result.kills)


def attack_postgresql(tally, random):
    """Kill owners of streams on PostgreSQL, so that others take over."""
    if kills_postgres.programs() is None:
        return
    result = kills.siege_postgresql(3, int(random.integers(2**31)))
    wrong = result.verdict.wrong
    tally.note("PostgreSQL: kills, failover", wrong[0] if wrong else None, tries=result.kills)


def attack_webhooks(tally, _):
    """Redirect, delay and break what is sent, and name inner addresses from outside."""
    from calibrant.service.store.sqlite import SqliteStore  # noqa: PLC0415 - needs an extra
    from calibrant.service.webhooks.policy import Policy, Webhooks  # noqa: PLC0415
    from calibrant.service.webhooks.secrets import key_of  # noqa: PLC0415
    from service.conftest import Running  # noqa: PLC0415
    from service.webhooks.receiver import SECRET, Receiver  # noqa: PLC0415

    receiver = Receiver()
    with tempfile.TemporaryDirectory() as folder:
        hooks = Webhooks((receiver.url,), (key_of(SECRET),), Policy())
        running = Running(SqliteStore(Path(folder) / "store.db"), webhooks=hooks)
        try:
            for address in ("http://169.254.169.254/", "http://10.0.0.1/", "file:///etc/passwd"):
                settings = {"capacity": 10_000, "webhook": address, "webhooks": [address]}
                answer = running.http.put("/v1/streams/inner", json=settings)
                tally.note("webhooks", None if answer.status_code >= 400 else f"took {address}")
            receiver.answers = [302, 307, lambda _: time.sleep(3.0), 500]
            running.stream(capacity=10_000)
            rows = [{"id": f"r{row}", "score": 0.5} for row in range(8500)]
            running.predict(rows).raise_for_status()
            until = time.monotonic() + 20.0
            while len(receiver.attempts) < 3 and time.monotonic() < until:
                started = time.monotonic()
                running.predict([{"id": f"x{started}", "score": 0.5}]).raise_for_status()
                slow = time.monotonic() - started
                tally.note("webhooks", None if slow < 2.5 else f"a prediction took {slow:.1f} s")
                time.sleep(0.1)
            followed = [each for each in receiver.attempts if "elsewhere" in each.path]
            tally.note("webhooks", "a redirection was followed" if followed else None)
            tally.note("webhooks", None if receiver.attempts else "nothing was sent")
        finally:
            running.stop()
            receiver.close()


#: Each is called again and again; those above take a second or two, those below ten or more.
QUICK = (
    attack_states, attack_arguments, attack_signals, attack_clock, attack_threads, attack_forks,
    attack_command_line,
)  # fmt: skip
SLOW = (attack_service, attack_kills, attack_postgresql, attack_webhooks)


def attack(seconds, seed=0, kinds=(*QUICK, *SLOW), progress=lambda _: None):
    """Attack for so long, each kind for as long as the others; return the tally."""
    tally, spent = Tally(), Counter()
    random = np.random.default_rng(seed)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        kind = min(kinds, key=lambda each: spent[each])
        started = time.monotonic()
        progress(f"{kind.__name__}: {sum(tally.tries.values()):,} tries, {len(tally.bad)} bad")
        try:
            kind(tally, random)
        except Exception:
            tally.note(kind.__name__.replace("_", " "), traceback.format_exc(limit=-3))
        spent[kind] += time.monotonic() - started
    return tally


def main(arguments):
    """Attack, print the table, and write it to benchmarks/attack.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tally = attack(
        60 * given.minutes, given.seed, progress=lambda text: print(text, file=sys.stderr)
    )
    title = f"{given.minutes:g} minutes, seed {given.seed}"
    text = table(title, ["attack", "tries", "bad"], tally.rows())
    text += "".join(f"\n- {kind}: `{wrong}`" for kind, wrong in tally.bad[:40])
    print(text)
    command = f"python -m benchmarks attack --minutes {given.minutes:g} --seed {given.seed}"
    page = f"# Attacks\n\nMeasured on {machine.describe()}, with `{command}`.\n\n"
    (HERE / "attack.md").write_text(page + text)
