"""Interrupts and forks leave a fleet in a consistent state."""

import faulthandler
import os
import threading
import time

import numpy as np
import pytest

from calibrant import Fleet
from calibrant.fleet import shard as shards
from interrupting import AtLine


def lines_of(call):
    """Return how many lines of `shard.py` a call runs."""
    with AtLine(path=shards.__file__) as counted:
        call()
    return -counted.left


def test_an_interrupt_at_any_line_leaves_keys_and_their_index_together():
    def fresh():
        fleet = Fleet(seed=3)
        fleet.run(range(50), np.linspace(0.1, 0.9, 50), [0, 1] * 25)
        return fleet

    scores = np.linspace(0.2, 0.8, 300)
    counted = fresh()
    lines = lines_of(lambda: counted.predict_many(range(300), scores))
    assert lines > 10
    for n in range(1, lines + 1):
        fleet = fresh()
        with pytest.raises(KeyboardInterrupt), AtLine(n, shards.__file__):
            fleet.predict_many(range(300), scores)
        (shard,) = fleet._shards.values()
        assert len(shard.index) == len(shard.kernel.keys)
        assert len(fleet.expected(range(300), scores)) == 300
        again = Fleet.from_bytes(fleet.to_bytes())
        predicted, twin = (each.run(range(300), scores, [1] * 300) for each in (fleet, again))
        assert (predicted == twin).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_waits_for_no_lock_while_it_keeps_others():
    """`split` makes new locks while it holds that of the fleet; `merge` takes several."""
    fleet = Fleet(shards=8)
    fleet.run(range(100), None, [0, 1] * 50)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            Fleet.merge(fleet.split(4)).run([1, 2], None, [0, 1])

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    faulthandler.dump_traceback_later(120, exit=True)  # a fork that waits forever cannot fail
    try:
        for _ in range(40):
            child = os.fork()
            if child == 0:
                is_whole = len(fleet.expected(range(100))) == 100
                os._exit(0 if is_whole else 1)
            ends = time.monotonic() + 20
            while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < ends:
                time.sleep(0.001)
            assert done == (child, 0)
    finally:
        faulthandler.cancel_dump_traceback_later()
        stop.set()
        for thread in threads:
            thread.join()
