"""Attacks by a hostile user, machine or network: ``python -m benchmarks attack``.

``--minutes N`` sets the total time. Each row of the table is one kind of attack, with the number of
attempts and the number of failures: a state that is neither complete nor undone, an invalid saved
state that is accepted, an error that is not a clear refusal, a process that hangs, an
acknowledged row that is lost. The tests have a few of each; this runs the same, seeded, round after
round, for as long as one likes.

Failures are printed immediately, with the command that repeats the round. Rounds run in a separate
process, which is ended when one takes longer than its limit: the stacks of its threads are then the
text of the failure, as they are when the process crashes.
"""

import argparse
import contextlib
import faulthandler
import inspect
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from benchmarks import forged, hostile_requests, kills, machine
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
from calibrant.forecasters.named import FORECASTERS
from calibrant.measures import Scorecard
from calibrant.monitor import NumberMonitor
from calibrant.partitions import Partition
from interrupting import CASES, LATE, AtLine, alarm, judged

HERE = Path(__file__).parent
#: Seconds after which a forked child counts as one that hangs.
HANGS = 60.0
#: Signals in a round for each class.
SIGNALS = 12
#: Signals after one that came too late to be undone: of these no more than an eighth may.
OFTEN = 24
ODD = [
    None, True, 0, 1, -1, 2, 0.5, 1e308, float("nan"), float("inf"), 10**30, 10**400, np.int64(5),
    np.float32(0.5), "x", "", "30d", "1e400d", "-3h", [], {}, [1, 2], {"every": np.int64(1000)},
    {"nothing": 1}, np.datetime64("NaT", "s"), np.timedelta64(90, "m"), object(), "expire",
    "refuse", [[0, 1], [4, 0.5]], (0.0, 1.0), np.array([7, 24]), ["a", "b"], Fraction(1, 3),
    Decimal("0.1"), np.float64("nan"), np.array(3), np.str_("logit"), np.bool_(True), 1j, b"x",
    2**63, 5e-324, timedelta(days=30), "logit", "probability", "\ud800", 1000, np.float64(0.2),
    "kl", "l1", "log", "paper", "swap", [0.1, 0.5, 0.9], Partition((0.0, 0.5, 1.0)),
]  # fmt: skip
CONSTRUCTORS = {
    cls: list(inspect.signature(cls).parameters)
    for cls in (
        Recalibrator, MulticlassRecalibrator, NumberRecalibrator, Fleet, EventForecaster, Decider,
        Monitor, NumberMonitor, Scorecard, *(makers[0] for makers in FORECASTERS.values()),
    )
    if inspect.isclass(cls)
}  # fmt: skip
#: What else such a call takes so that single arguments can be accepted, one of them.
BESIDE = {
    MulticlassRecalibrator: ({"classes": 3}, {"classes": 3, "silence": 0}),
    Decider: (
        {"cost_of_acting": 1}, {"cost_of_missing": 4}, {"budget": 0.1, "per": 1000},
        {"precision": 0.6}, {"recall": 0.6, "explore": 0.1}, {"precision": 0.6, "silence": 0}, {},
    ),
}  # fmt: skip
SILENT = ({}, {}, {"silence": 0}, {"after": 15})


class Tally:
    """What was tried, and what was bad; `tell` is told of each bad one at once."""

    def __init__(self, tell=lambda _: None):
        self.tries, self.bad, self.tell = Counter(), [], tell

    def note(self, kind, wrong, tries=1):
        """Count tries of a kind; `wrong` is what was bad, None for nothing."""
        self.tries[kind] += tries
        if isinstance(wrong, BaseException):
            wrong = "".join(traceback.format_exception(wrong, limit=-4))
        if wrong is not None:
            self.bad.append((kind, str(wrong)))
            self.tell(f"BAD {kind}: {wrong}")

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
            other = forged.another(states, cls, random)
            verdict = forged.verdict(cls, forged.forged(blob, random, other))
            tally.note("saved states", None if verdict in ("refused", "taken") else (name, verdict))


def attack_arguments(tally, random):
    """Make objects with odd arguments: each is refused in words, or can be saved and restored."""
    for _ in range(60):
        cls = list(CONSTRUCTORS)[random.integers(len(CONSTRUCTORS))]
        names = random.permutation(CONSTRUCTORS[cls])[: random.integers(1, 4)].tolist()
        beside = BESIDE.get(cls, SILENT if "silence" in CONSTRUCTORS[cls] else ({},))
        given = dict(beside[random.integers(len(beside))])
        given |= {name: ODD[random.integers(len(ODD))] for name in names}
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


def attack_signals(tally, random, ready={}, by_class=Counter()):  # noqa: B006 - made once
    """Interrupt calls by signals at random moments, and at lines; of each class as often."""
    if not by_class:
        by_class.update(type(each.make()) for each in CASES.values())
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
                tally.note("interrupts at a line", wrong and f"{case}: {wrong}")
                continue

            def signalled(case=case, each=each, cls=cls, before=before, after=after, took=took):
                player = cls.from_bytes(before)
                with alarm(max(took * random.random(), 1e-6), each.call):
                    return judged(case, player, before, after, 3000)

            for _ in range(SIGNALS // by_class[cls] + 1):
                wrong = signalled()
                if wrong == LATE:  # rare, or there is no last look
                    late = [signalled() for _ in range(OFTEN)].count(LATE)
                    wrong = f"{late} of {OFTEN} times: {LATE}" if late > OFTEN // 8 else None
                tally.note("signals", wrong and f"{case}: {wrong}")


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


#: The ends of what each class takes, and next to them.
WEIGHTS = (0.0, 5e-324, 1e-9, 1.0, 1.0, 3.0, 1e9, 1e100)
UNIT = (0.0, 5e-324, 1e-300, 1e-16, 0.5, 1.0 - 2**-53, 1.0)
WIDE = (0.0, 5e-324, -1e-300, 1e-9, -1.0, 36.0, -745.0, 1e17, 1.7e308, -1.7e308)
NUMBERS = (0.0, 5e-324, 1e-300, -1.0, 1e17, 1e200, -1e249, 1e250, -1e250)
NAMES_OF = (
    "", "x" * 5000, "a\0b", "\n", "ключ", "🎲", 0, -1, 2**62, "0", np.int64(7), np.uint8(7),
    np.str_("n"),
)  # fmt: skip


def attack_play(tally, random):
    """Play what lies at the ends against what is predicted; it can be saved, and stays possible."""
    for make, ends in (
        (lambda: Recalibrator(monitor=True), UNIT),
        (lambda: Recalibrator(kind="logit"), WIDE),
        (lambda: Recalibrator(kind="margin", silence=0, after=9), WIDE),
        (lambda: NumberRecalibrator(monitor=True), NUMBERS),
        (lambda: NumberRecalibrator(hold=7), NUMBERS),
        (lambda: MulticlassRecalibrator(3, monitor=True), UNIT),
        (lambda: MulticlassRecalibrator(3, "logit", silence=0, after=9), WIDE),
        (lambda: Fleet(shards=3, monitor=True), UNIT),
        (lambda: Decider(precision=0.6), UNIT),
    ):
        player = make()
        few = random.choice(ends, size=int(random.integers(1, 4)))
        weights = random.choice(WEIGHTS, size=2) if random.random() < 0.5 else None
        wrong = None
        for row in range(150):
            try:
                wrong = wrong or extreme_round(player, few, weights, row, random)
                if random.random() < 0.03:
                    player.expire(older_than=int(random.integers(5)))
                if row == 149 or random.random() < 0.03:
                    again = type(player).from_bytes(player.to_bytes())
                    if again.to_bytes() != player.to_bytes():
                        wrong = "restored as another"
                    player = again
            except ValueError as error:
                wrong = (
                    wrong or f"{type(player).__name__} with {few}, {weights}, row {row}: {error}"
                )
        tally.note("play at the ends", wrong, tries=150)


def extreme_round(player, ends, weights, row, random):
    """Play one round with one of these; return what is wrong with what is predicted."""
    given, name = float(random.choice(ends)), NAMES_OF[row % len(NAMES_OF)]
    late = row - int(random.integers(4))
    weighed = {} if weights is None else {"weights": [float(random.choice(weights))]}
    if isinstance(player, Decider):
        acts = player.decide(given, id=row)
        player.update_many([float(not acts)], ids=[late])
        return None
    if isinstance(player, NumberRecalibrator):
        found = player.predict(given, id=row, by=name).quantile(np.array([0.05, 0.5, 0.95]))
        outcome = float(random.choice([*ends, *-np.asarray(ends)]))
        player.update_many([outcome], ids=[late])
        return f"quantiles {found}" if np.isnan(found).any() or (np.diff(found) < 0).any() else None
    if isinstance(player, MulticlassRecalibrator):
        scores = np.array([1.0 - given, given, 0.0])[random.permutation(3)]
        found = player.predict(scores, id=row, by=name if row % 3 else None)
        player.update_many([int(found.argmin())], ids=[late], **weighed)
        is_one = (found >= 0).all() and abs(found.sum() - 1.0) < 1e-6
        return None if is_one else f"distribution {found}"
    if isinstance(player, Fleet):
        found = player.predict(str(name), given, id=row)
    else:
        found = player.predict(given, id=row, by=name)
    player.update_many([float(found < 0.5)], ids=[late], **weighed)
    return None if 0.0 <= found <= 1.0 else f"probability {found}"


# -- threads and forks -----------------------------------------------------------------------------


class Player:
    """One of a class, and how each of its public methods is called in a turn, a number."""

    def __init__(self, made, given, outcome):
        self.made, self.given, self.outcome = made, given, outcome
        self.calls = {name: call for name, call in METHODS.items() if hasattr(made, name)}

    def call(self, name, turn):
        """Call a method; what is refused is fine."""
        with contextlib.suppress(ValueError):
            self.calls[name](self, self.made, turn)


def columns(player):
    """Return three rows of what is predicted from, column by column."""
    return [[each] * 3 for each in player.given]


def through_a_file(_, made, __):
    """Save, and load again."""
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "saved")
        type(made).load(Path(folder) / "saved")
        if isinstance(made, Fleet):
            Fleet.open(Path(folder) / "saved").expected(["key"], [0.3])


def split_and_merge(_, made, __):
    """Split a fleet, and merge what came of it."""
    Fleet.merge(made.split(2)).run(["key"], [0.3], [1])


#: How public methods are called; a class has some of them.
METHODS = {
    "predict": lambda p, m, turn: m.predict(*p.given, id=turn),
    "update": lambda p, m, turn: m.update(p.outcome, id=turn - turn % 3),
    "predict_many": lambda p, m, turn: m.predict_many(
        *columns(p), ids=[f"{turn} {row}" for row in range(3)]
    ),
    "update_many": lambda p, m, turn: m.update_many([p.outcome] * 2, ids=[turn, f"{turn - 5} 1"]),
    "run": lambda p, m, _: m.run(*columns(p), [p.outcome] * 3),
    "fit": lambda p, m, _: m.fit(*columns(p), [p.outcome] * 3),
    "play": lambda p, m, turn: m.play(
        *columns(p), [p.outcome] * 3, ids=[f"{turn} p{row}" for row in range(3)]
    ),
    "trace": lambda p, m, _: m.trace([p.outcome] * 3),
    "decide": lambda p, m, turn: m.decide(*p.given, id=f"{turn} d"),
    "decide_many": lambda p, m, _: m.decide_many(*columns(p)),
    "expected": lambda p, m, _: m.expected(*p.given),
    "smooth": lambda p, m, _: m.smooth(*p.given),
    "distribution": lambda p, m, _: m.distribution(*p.given),
    "weights": lambda _, m, __: m.weights(),
    "precision_bound": lambda _, m, __: m.precision_bound(),
    "unlabelled": lambda _, m, __: m.unlabelled(),
    "named": lambda _, m, __: m.named([0.2, 0.3, 0.5]),
    "add_class": lambda _, m, turn: m.add_class(f"new {turn}") if turn < 3 else None,
    "advance": lambda _, m, turn: m.advance(float(turn)),
    "expire": lambda _, m, __: m.expire(older_than=20),
    "evict": lambda _, m, __: m.evict(10_000),
    "forget_ids": lambda _, m, turn: m.forget_ids() if turn % 16 == 0 else None,
    "keys": lambda _, m, __: [m["key"] for key in m.keys().tolist() if key == "key" and key in m],
    "ranked": lambda _, m, __: m.ranked("outcomes"),
    "waiting": lambda _, m, __: m.waiting(),
    "frozen": lambda _, m, __: Fleet.from_bytes(m.frozen()()),
    "shard_arrays": lambda _, m, __: m.shard_arrays(0),
    "split": split_and_merge,
    "merge": split_and_merge,
    "from_shards": split_and_merge,
    "to_bytes": lambda _, m, __: type(m).from_bytes(m.to_bytes()),
    "from_bytes": lambda _, m, __: type(m).from_bytes(m.to_bytes()),
    "save": through_a_file,
    "load": through_a_file,
    "open": through_a_file,
}  # fmt: skip


def players():
    """Return one of each class."""
    return [
        Player(Recalibrator(monitor=True), (0.3,), 1),
        Player(Recalibrator(silence=0, after=50), (0.3,), 1),
        Player(MulticlassRecalibrator(3, monitor=True), ([0.2, 0.3, 0.5],), 1),
        Player(NumberRecalibrator(monitor=True), (0.3,), 0.4),
        Player(EventForecaster(monitor=True), (), 1),
        Player(Fleet(shards=4, monitor=True), ("key", 0.3), 1),
        Player(Fleet(shards=2, hold=20), ("key", 0.3), 1),
        Player(Decider(precision=0.6), (0.3,), 1),
        Player(Decider(budget=0.1, per=100), (0.3,), 1),
    ]


def every_method(player, turn):
    """Call all public methods, one after the other; look at it, too."""
    for name in player.calls:
        player.call(name, turn)
    made = player.made
    repr(made)
    _ = made.rounds, made.learned, made.pending, made.expired


def attack_threads(tally, _):
    """Let two threads play while a third saves: what is saved always loads."""
    for player in players():
        ends, wrong = threading.Event(), []

        def work(turn, player=player, ends=ends, wrong=wrong):
            while not ends.is_set():
                try:
                    every_method(player, turn)
                except Exception as error:
                    wrong.append(error)
                    return
                turn += 2

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
        for thread in threads:
            thread.start()
        tries, until, cls = 0, time.monotonic() + 0.4, type(player.made)
        while time.monotonic() < until:
            try:
                cls.from_bytes(player.made.to_bytes())
            except Exception as error:
                wrong.append(error)
            tries += 1
        ends.set()
        for thread in threads:
            thread.join()
        tally.note("threads: a save always loads", wrong[0] if wrong else None, tries)


def attack_forks(tally, random):
    """Fork while threads call every public method; the child must be able to go on."""
    all_players, ends = players(), threading.Event()
    said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - threads and children use it to the end
    faulthandler.register(signal.SIGUSR1, said)  # for children that hang

    def work(turn):
        while not ends.is_set():
            for each in all_players:
                with contextlib.suppress(Exception):  # the row above is about those
                    every_method(each, turn)
            turn += 2

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            time.sleep(0.2 * random.random())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                code = 1
                try:
                    for player in all_players:
                        every_method(player, 10**6)
                    code = 0
                except BaseException:
                    traceback.print_exc(file=said)
                    said.flush()
                os._exit(code)
            status = status_of(child)
            said.seek(0)
            tally.note("forks", f"a child ended with {status}: {said.read()}" if status else None)
    finally:
        faulthandler.unregister(signal.SIGUSR1)
        ends.set()
        for thread in threads:
            thread.join()
        said.close()


def status_of(child):
    """Wait until a child ends; one that hangs says where, and is killed."""
    until = time.monotonic() + HANGS
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.002)
    if done == (0, 0):
        os.kill(child, signal.SIGUSR1)
        time.sleep(1.0)
        os.kill(child, signal.SIGKILL)
        done = os.waitpid(child, 0)
    return done[1]


# -- files and services ----------------------------------------------------------------------------


#: What stands in a file where a number is expected, and how a whole file may be changed.
CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1e400", "1e-400", "0x1", "1_0", "1,5", "½",
    "١", "None", "true", "1e308", "-0.0", "0.5 ", "+0.5", "1.0.0", "0.5\0", '"0.5"', '"0\n5"', '"',
    "'", "=1+1", "9" * 400, "2026-01-01", "2026-13-01", "9999999999999999999",
    "9223372036854775808", "\u202e0.5",
)  # fmt: skip
FILES = (
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text.decode(errors="replace").encode("utf-16"),
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text.replace(b"\n", b"\r"),
    lambda text: text.replace(b",", b";"),
    lambda text: text.replace(b",", b"\t"),
    lambda text: text.replace(b"\n", b"\n\n"),
    lambda text: text.replace(b"s,", b"t,", 1),
    lambda text: text[:8],
    lambda text: text[:-1],
    lambda text: text + text,
    lambda text: text + b"\0",
    lambda text: text + b'"open',
    lambda text: text + b",,,,,,,,\n",
    lambda text: text + b"\xff\xfe\n",
    lambda text: b"\n\n" + text,
    lambda text: b"\x1f\x8b" + text,
    lambda _: b"",
)
OPTIONS = (
    ["--key", "k"], ["--hold", "5"], ["--silence", "0", "--after", "7"], ["--json"],
    ["--seed", "-1"], ["--key", "nowhere"], ["--by", "k"], ["--hold", "30d"], ["--hold", "0"],
    ["--silence", "2"], ["--after", "7"], ["--key", "s"], ["--forecast", "s"], ["--budget", "0.1"],
    ["--precision", "0.6"], ["--cost", "1:5"], ["--key", ""], ["--hold", "1e400"],
)  # fmt: skip


def attack_command_line(tally, random):
    """Recalibrate files that were changed, with options that may not fit."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(6):
            source, state = Path(folder, "in.csv"), Path(folder, "state")
            source.write_bytes(changed_file(random))
            options = ["--time", "t", "--available", "known"] if random.random() < 0.5 else []
            for more in (*OPTIONS, *4 * [["--state", str(state)]]):
                options += more if random.random() < 0.1 and more[0] not in options else []
            asked = ["recalibrate", str(source), "--score", "s", "--outcome", "y", *options]
            before = state.read_bytes() if state.exists() else None
            result = CliRunner().invoke(app, asked)
            wrong = None
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                wrong = "".join(traceback.format_exception(result.exception, limit=-4))
            elif result.exit_code and (state.read_bytes() if state.exists() else None) != before:
                wrong = "a refused file changed the state"
            elif result.exit_code not in (0, 1, 2):
                wrong = f"exit code {result.exit_code}"
            elif "Traceback" in result.output:
                wrong = result.output
            tally.note("command line", wrong and f"{asked} {source.read_bytes()!r}: {wrong}")


def changed_file(random):
    """Return a table of which bytes, cells or all was changed."""
    rows = [f"{row},{random.random():.3f},{int(random.random() < 0.5)},{row + 3},k{row % 3}"
            for row in range(60)]  # fmt: skip
    for _ in range(int(random.integers(3))):
        at = int(random.integers(len(rows)))
        cells = rows[at].split(",")
        cells[random.integers(len(cells))] = CELLS[random.integers(len(CELLS))]
        rows[at] = ",".join(cells)
    changed = bytearray(("t,s,y,known,k\n" + "\n".join(rows) + "\n").encode())
    if random.random() < 0.3:
        changed = bytearray(FILES[random.integers(len(FILES))](bytes(changed)))
    for _ in range(int(random.integers(3)) if changed else 0):
        at = int(random.integers(len(changed)))
        changed[at : at + int(random.integers(2))] = random.bytes(int(random.integers(3)))
    return bytes(changed)


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
    result = kills.siege_postgresql(3, int(random.integers(2**31)))
    wrong = result.verdict.wrong
    tally.note(
        "PostgreSQL: kills, failover to another owner", wrong[0] if wrong else None, result.kills
    )


def attack_connections(tally, random):
    """Cut the connections of three processes to PostgreSQL."""
    seed = int(random.integers(2**31))
    result = kills.siege_postgresql(4, seed, strike=kills.cut_connections)
    wrong = result.verdict.wrong
    tally.note("PostgreSQL: lost connections", wrong[0] if wrong else None, result.kills)


#: Addresses that a message must never be sent to, unless the operator allows it.
INNER = (
    "http://169.254.169.254/", "http://10.0.0.1/", "file:///etc/passwd", "http://127.0.0.1:22/",
    "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://localhost/", "http://0x7f000001/",
    "http://2130706433/", "http://127.1/", "http://0/", "http://192.168.0.1/", "gopher://10.0.0.1/",
    "http://user@10.0.0.1/", "http://10.0.0.1.nip.io/", "https://[fd00::1]/", "http://100.64.0.1/",
)  # fmt: skip


def attack_webhooks(tally, _):
    """Redirect, delay and break what is sent, and name inner addresses from outside."""
    from calibrant.service.store.sqlite import SqliteStore  # noqa: PLC0415 - needs an extra
    from calibrant.service.webhooks.policy import Policy, Webhooks  # noqa: PLC0415
    from calibrant.service.webhooks.secrets import key_of  # noqa: PLC0415
    from service.conftest import Running  # noqa: PLC0415
    from service.webhooks.receiver import SECRET, Receiver  # noqa: PLC0415

    receiver, slow = Receiver(), "webhooks: slow and broken receivers"
    with tempfile.TemporaryDirectory() as folder:
        hooks = Webhooks((receiver.url,), (key_of(SECRET),), Policy())
        running = Running(SqliteStore(Path(folder) / "store.db"), webhooks=hooks)
        try:
            for address in INNER:
                answer = running.http.put("/v1/streams/inner", json={"webhook": address})
                wrong = None if answer.status_code >= 400 else f"took {address}"
                tally.note("webhooks: inner addresses (SSRF)", wrong)
            receiver.answers = [302, 307, lambda _: time.sleep(3.0), 500]
            running.stream(capacity=10_000)
            rows = [{"id": f"r{row}", "score": 0.5} for row in range(8500)]
            running.predict(rows).raise_for_status()
            until = time.monotonic() + 20.0
            while len(receiver.attempts) < 4 and time.monotonic() < until:
                started = time.monotonic()
                running.predict([{"id": f"x{started}", "score": 0.5}]).raise_for_status()
                took = time.monotonic() - started
                tally.note(slow, None if took < 2.5 else f"a prediction took {took:.1f} s")
                time.sleep(0.1)
            tally.note(slow, None if len(receiver.attempts) > 2 else "not sent again")
            for each in receiver.attempts:
                followed = "a redirection was followed" if "elsewhere" in each.path else None
                tally.note("webhooks: redirects", followed)
        finally:
            running.stop()
            receiver.close()


#: Each is called again and again; those above take a second or two, those below ten or more.
QUICK = (
    attack_states, attack_arguments, attack_play, attack_signals, attack_clock, attack_threads,
    attack_forks, attack_command_line,
)  # fmt: skip
SLOW = (
    attack_service, attack_kills, attack_postgresql, attack_connections, attack_webhooks,
)  # fmt: skip


NAMES = {kind.__name__.removeprefix("attack_"): kind for kind in (*QUICK, *SLOW)}
#: Seconds after which a round hangs: a round of the quick ones, and one of the others.
LIMITS = (500.0, 900.0)


# -- round after round -----------------------------------------------------------------------------


def play_round(name, seed, tally):
    """Play one round of a kind."""
    try:
        NAMES[name](tally, np.random.default_rng(seed))
    except Exception as error:
        tally.note(name.replace("_", " "), error)


class Worker:
    """A process that plays rounds; one that hangs or crashes is replaced."""

    def __init__(self):
        self.process = None

    def play(self, name, seed, tally):
        """Play one round of a kind, and add what came of it to the tally."""
        limit = LIMITS[NAMES[name] in SLOW]
        if self.process is None:
            self.start()
        self.pipe.send((name, seed, limit))
        found = Tally()
        try:
            if not self.pipe.poll(limit + 30.0):  # it ends itself, but for a child that keeps on
                raise EOFError
            found.tries, found.bad = self.pipe.recv()
        except EOFError:
            self.stop()
            end = f"no end in {limit:g} s, or a crash"
            found.note(name.replace("_", " "), f"{end}\n{self.said.read_text()[:5000]}")
        tally.tries.update(found.tries)
        for kind, wrong in found.bad:
            tally.note(kind, f"{wrong} (--only {name} --round {seed})", tries=0)

    def start(self):
        """Start the process, in a session of its own; it writes into a file when it dies."""
        self.folder = tempfile.TemporaryDirectory()
        self.said = Path(self.folder.name) / "said"
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self.process = spawn.Process(target=serve_rounds, args=(other, os.fspath(self.said)))
        self.process.start()
        other.close()

    def stop(self):
        """End the process, and all that it started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.join()
            self.process = None
            self.pipe.close()


def serve_rounds(pipe, said):
    """Play the rounds that come through a pipe; each that takes too long ends the process."""
    os.setsid()
    with open(said, "w") as file:  # noqa: PTH123 - kept open for where threads stand
        faulthandler.enable(file)
        while True:
            name, seed, limit = pipe.recv()
            tally = Tally()
            faulthandler.dump_traceback_later(limit, exit=True, file=file)
            play_round(name, seed, tally)
            faulthandler.cancel_dump_traceback_later()
            pipe.send((tally.tries, tally.bad))


def attack(seconds, seed=0, names=tuple(NAMES), tell=lambda _: None):
    """Attack for so long, each kind for as long as the others; return the tally."""
    tally, spent, worker = Tally(tell), Counter(), Worker()
    random = np.random.default_rng(seed)
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends:
            name = min(names, key=lambda each: spent[each])
            started = time.monotonic()
            tell(f"{name}: {sum(tally.tries.values()):,} tries, {len(tally.bad)} bad")
            worker.play(name, int(random.integers(2**32)), tally)
            spent[name] += time.monotonic() - started
    finally:
        worker.stop()
    return tally


def tell(text):
    """Say how it goes."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main(arguments):
    """Attack and print the table; of all kinds, write it to benchmarks/attack.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=NAMES, action="append", help="kinds of attacks")
    parser.add_argument("--round", type=int, help="play this one round of a kind, in this process")
    given = parser.parse_args(arguments)
    if given.round is not None:
        for name in given.only or NAMES:
            play_round(name, given.round, Tally(tell))
        return
    tally = attack(60 * given.minutes, given.seed, given.only or tuple(NAMES), tell)
    title = f"{given.minutes:g} minutes, seed {given.seed}"
    text = table(title, ["attack", "tries", "bad"], tally.rows())
    text += "".join(f"\n- {kind}: `{wrong[:300]}`" for kind, wrong in tally.bad[:40])
    print(text)
    if given.only is None:
        command = f"python -m benchmarks attack --minutes {given.minutes:g} --seed {given.seed}"
        page = f"# Attacks\n\nMeasured on {machine.describe()}, with `{command}`.\n\n"
        (HERE / "attack.md").write_text(page + text)
