"""Threads that share a recalibrator: in any order, steps are atomic."""

import sys
import threading

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator

THREADS = 3


@pytest.fixture(autouse=True)
def threads_that_switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(work):
    """Do this in every thread, which is told its number; errors count as errors."""
    errors = []

    def guarded(number):
        try:
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def whole_and_restored(recalibrator, rounds, learned):
    """Require that everything was counted, and that the state makes sense to the one who reads."""
    assert (recalibrator.rounds, recalibrator.learned) == (rounds, learned)
    again = type(recalibrator).from_bytes(recalibrator.to_bytes())
    assert again.to_bytes() == recalibrator.to_bytes()


def test_runs_and_steps_in_groups():
    """A run of groups passes from kernel to kernel; others wait until it has passed them all."""
    scores = np.random.default_rng(0).random(20_000)
    by = ["a", "b"] * 10_000
    recalibrator = Recalibrator()

    def work(number):
        for turn in range(4):
            recalibrator.run(scores, scores > 0.5, by=by)
            recalibrator.predict(0.3, id=f"{number} {turn}", by="a")
            recalibrator.to_bytes()
            assert 0 < recalibrator.expected(0.3, by="b") < 1
            assert len(recalibrator.distribution(0.3, by="b")[0]) in (1, 2)
            recalibrator.update(1, id=f"{number} {turn}")

    together(work)
    whole_and_restored(recalibrator, THREADS * 4 * 20_001, THREADS * 4 * 20_001)
    assert recalibrator.groups == {"a": THREADS * 4 * 10_001, "b": THREADS * 4 * 10_000}


@pytest.mark.parametrize(
    ("recalibrator", "given"),
    [
        (Recalibrator(), [{"score": 0.3}, {"score": 0.8, "by": "a"}, {"score": 0.6, "by": "b"}]),
        (MulticlassRecalibrator(3), [{"probabilities": [0.2, 0.3, 0.5]}]),
    ],
)
def test_steps_with_ids(recalibrator, given):
    def work(number):
        for turn in range(600):
            recalibrator.predict(**given[turn % len(given)], id=f"{number} {turn}")
            if turn >= 5:
                recalibrator.update(turn % 2, id=f"{number} {turn - 5}")

    together(work)
    whole_and_restored(recalibrator, THREADS * 600, THREADS * 595)
    assert recalibrator.pending == THREADS * 5


def test_runs_of_classes():
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 5000)
    recalibrator = MulticlassRecalibrator(3)

    def work(number):
        for turn in range(3):
            recalibrator.run(rows, rows.argmax(axis=1))
            recalibrator.predict(rows[turn], id=f"{number} {turn}")

    together(work)
    whole_and_restored(recalibrator, THREADS * 3 * 5001, THREADS * 3 * 5000)
