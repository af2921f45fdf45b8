"""The order of locks, and forks: no two threads wait for each other."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

from benchmarks.attack import METHODS, every_method, players
from calibrant._kernels import locks
from calibrant._kernels.locks import Order, forkable_lock

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


class CheckedLock:
    """A lock that notes who takes it out of order."""

    here, wrong = threading.local(), []

    def __init__(self):
        self.lock, self.made_under = threading.RLock(), [*self.mine()]

    def mine(self):
        if not hasattr(self.here, "held"):
            self.here.held = []
        return self.here.held

    def acquire(self):
        mine, order = self.mine(), order_of(self)
        if self not in mine:
            for each in mine:
                if order_of(each) >= order and each not in self.made_under:
                    self.wrong.append((order_of(each), order))
        mine.append(self)
        return self.lock.acquire()

    def release(self):
        self.mine().remove(self)
        self.lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()


def order_of(lock):
    return Order.MAKING if lock is locks._making else locks._locks[lock]


@pytest.fixture
def checked(monkeypatch):
    monkeypatch.setattr(locks, "RLock", CheckedLock)
    monkeypatch.setattr(locks, "_making", CheckedLock())
    monkeypatch.setattr(CheckedLock, "wrong", [])
    return CheckedLock.wrong


def test_all_public_methods_are_called():
    for player in players():
        public = {
            name
            for name in dir(type(player.made))
            if not name.startswith("_") and callable(getattr(player.made, name))
        }
        assert public - {"watched_by", "monitors"} == player.calls.keys(), type(player.made)
    assert METHODS.keys() == set().union(*(player.calls for player in players()))


def test_no_method_takes_locks_out_of_order(checked):
    made = players()

    def work():
        for each in made:
            for turn in range(4):
                every_method(each, turn)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {order_of(lock) for lock in locks._locks if isinstance(lock, CheckedLock)} == {
        Order.FLEET, Order.BOOK,
    }  # fmt: skip
    assert checked == []


def test_locks_out_of_order_are_noted(checked):
    fleet, first, second = (forkable_lock(each) for each in (Order.FLEET, Order.BOOK, Order.BOOK))
    with fleet, first, forkable_lock(Order.FLEET):  # which nobody else knows
        pass
    assert checked == []
    with first, fleet:
        pass
    with first, second:
        pass
    assert checked == [(Order.BOOK, Order.FLEET), (Order.BOOK, Order.BOOK)]


def run(program):
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    subprocess.run(program, check=True, timeout=120)


@forks
def test_a_fork_takes_our_locks_before_those_of_logging():
    """Whoever holds one of ours may collect a handler, which takes the lock of `logging`."""
    run(
        """
        import faulthandler, os, sys, threading, time
        from calibrant import Recalibrator

        recalibrator = Recalibrator()
        import logging

        held, began = threading.Event(), threading.Event()
        os.register_at_fork(before=began.set)  # the first hook of all

        def work():
            with recalibrator._book.lock:
                held.set()
                began.wait()
                time.sleep(0.3)  # until the fork waits in another hook
                logging.Handler().close()

        thread = threading.Thread(target=work)
        thread.start()
        held.wait()
        faulthandler.dump_traceback_later(30, exit=True)
        child = os.fork()
        if child == 0:
            recalibrator.predict(0.3, id="child")
            os._exit(0)
        thread.join()
        sys.exit(os.waitpid(child, 0)[1])
        """
    )


@forks
def test_two_threads_fork_at_once():
    run(
        """
        import faulthandler, os, sys, threading
        from calibrant import Fleet, Recalibrator

        sys.setswitchinterval(1e-5)
        made, fleet, bad, ends = [Recalibrator() for _ in range(20)], Fleet(shards=4), [], []

        def work():
            while not ends:
                for each in made:
                    each.predict(0.3, id="a")
                    each.update(1, id="a")
                    each.forget_ids()
                fleet.split(2)

        def fork():
            for _ in range(25):
                child = os.fork()
                if child == 0:
                    for each in made:
                        each.predict(0.3)
                    fleet.run(["a"], None, [1])
                    os._exit(0)
                bad.extend([1] if os.waitpid(child, 0)[1] else [])

        faulthandler.dump_traceback_later(90, exit=True)
        sys.unraisablehook = lambda found: bad.append(found.exc_value)  # of a hook
        worker = threading.Thread(target=work)
        threads = [threading.Thread(target=fork) for _ in range(3)]
        for each in (worker, *threads):
            each.start()
        for each in threads:
            each.join()
        ends.append(True)
        worker.join()
        assert not bad, bad
        """
    )


@forks
def test_a_fork_comes_to_its_turn_among_threads_that_keep_their_locks_for_long():
    run(
        """
        import faulthandler, os, sys, threading, time
        from calibrant._kernels.locks import Order, forkable_lock

        def work(lock, seconds):
            while True:
                with lock:
                    time.sleep(seconds)
                time.sleep(0.001)

        locks = [forkable_lock(Order.BOOK) for _ in range(8)]
        for at, lock in enumerate(locks):
            threading.Thread(target=work, args=(lock, 0.2 + 0.03 * at), daemon=True).start()
        faulthandler.dump_traceback_later(30, exit=True)
        child = os.fork()
        if child == 0:
            os._exit(0 if all(lock.acquire(timeout=1) for lock in locks) else 1)
        sys.exit(os.waitpid(child, 0)[1])
        """
    )
