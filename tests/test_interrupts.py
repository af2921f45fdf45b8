"""Ctrl-C at any moment: a call was made whole, or not at all."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from calibrant._kernels.interrupts import is_held, uninterrupted
from interrupting import CASES, LATE, AtLine, alarm, judged

#: Signals a case, and lines of which one is tried at each, so that a test takes half a second.
SIGNALS, LINES = 5, 12


@pytest.mark.parametrize("case", CASES)
def test_an_interrupt_at_any_line(case):
    size, kept = 40, CASES[case].make()
    before = kept.to_bytes()
    after = CASES[case].after(before, type(kept), size)
    with AtLine() as counted:
        CASES[case].call(type(kept).from_bytes(before), size)
    lines = -counted.left
    first, step = np.random.default_rng(0).integers(3), max(lines // LINES, 1)
    tried = sorted({*range(1 + first, lines + 1, step), *range(max(lines - 8, 1), lines + 1)})
    for n in tried:
        player = type(kept).from_bytes(before)
        with AtLine(n):
            wrong = judged(case, player, before, after, size)
        assert wrong is None, f"line {n} of {lines}"


@pytest.mark.parametrize("case", CASES)
def test_a_signal_at_any_moment(case):
    size, kept = 3000, CASES[case].make()
    before = kept.to_bytes()
    after = CASES[case].after(before, type(kept), size)
    player = type(kept).from_bytes(before)
    started = time.perf_counter()
    CASES[case].call(player, size)
    took, random = time.perf_counter() - started, np.random.default_rng(0)
    found = []
    for _ in range(SIGNALS):
        player = type(kept).from_bytes(before)
        with alarm(max(took * random.random(), 1e-6), CASES[case].call):
            found.append(judged(case, player, before, after, size))
    assert {*found} <= {None, LATE}
    assert found.count(LATE) <= 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sigaction")
def test_sigint_is_held_until_all_that_belongs_together_is_done():
    done = []
    time.sleep(0.02)  # until what another test set is looked for
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with uninterrupted:
            with uninterrupted:
                signal.raise_signal(signal.SIGINT)
                done.append(is_held())
            done.append(is_held())
        done.append("too late")
    assert done == [True, True]
    assert not is_held()


BEFORE_OR_AFTER = """
import signal, time
{before}
from calibrant._kernels.interrupts import uninterrupted
with uninterrupted:
    pass
{after}
for restored in (False, True):
    if restored:
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    time.sleep(0.02)
    done = []
    try:
        with uninterrupted:
            signal.raise_signal(signal.SIGINT)
            done.append("held")
        done.append("too late")
    except KeyboardInterrupt:
        done.append("raised")
    assert done == ["held", "raised"], done
    done = []
    try:
        signal.raise_signal(signal.SIGINT)
        done.append("too late")
    except KeyboardInterrupt:
        done.append("raised")
    assert done == ["raised"], done
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sigaction")
@pytest.mark.parametrize("imported", [("import polars", ""), ("", "import polars"), ("", "")])
def test_handlers_of_other_libraries_do_not_matter(imported):
    # polars places a handler of its own in front of Python's when it is imported
    before, after = imported
    code = BEFORE_OR_AFTER.format(before=before, after=after)
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sigaction")
def test_whose_handler_it_was_gets_sigint_afterwards():
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(is_held()))
    time.sleep(0.02)  # until it is looked for a new one
    try:
        with uninterrupted:
            signal.raise_signal(signal.SIGINT)
            assert came == []
        assert came == [False]
        signal.raise_signal(signal.SIGINT)
        assert came == [False, False]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hold_nothing():
    found = []

    def look():
        with uninterrupted:
            found.append(is_held())

    with uninterrupted:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert found == [False]
