"""Ctrl-C, threads that change the input, and forks: a call has its full effect or none."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator
from interrupting import changed_meanwhile, interrupted


def rounds(count):
    random = np.random.default_rng(0)
    scores = random.random(count)
    return scores, (random.random(count) < scores).astype(np.float64)


def classes(count):
    random = np.random.default_rng(0)
    rows = random.dirichlet([1, 1, 1], count)
    return rows, random.integers(3, size=count)


COUNT = 500_000
LONG = 8  # times COUNT are too many rounds for any machine to play before it is interrupted
CASES = {
    "alone": (Recalibrator, rounds(COUNT), None),
    "groups": (Recalibrator, rounds(COUNT), ["a", "b", None, "c", "d"] * (COUNT // 5)),
    "classes": (lambda: MulticlassRecalibrator(3), classes(COUNT), None),
}


@pytest.mark.parametrize("after", [0.1, 0.25])
@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_run_was_not_played(case, after):
    """Wherever it is: between two kernels, or inside one."""
    make, given, by = CASES[case]
    recalibrator = make()
    few, few_by = [each[:600] for each in given], {} if by is None else {"by": by[:600]}
    if case == "alone":  # the fastest
        given = [np.tile(each, LONG) for each in given]
    recalibrator.run(*few, **few_by)
    recalibrator.predict(given[0][0], id="waits")
    before = recalibrator.to_bytes()
    with interrupted(after):
        recalibrator.run(*given, **({} if by is None else {"by": by}))
    assert recalibrator.to_bytes() == before
    again = type(recalibrator).from_bytes(before)
    assert np.array_equal(recalibrator.run(*few, **few_by), again.run(*few, **few_by))
    assert recalibrator.to_bytes() == again.to_bytes()


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("case", ["alone", "groups", "classes"])
def test_another_thread_cannot_change_the_input_during_a_run(case, which):
    make, given, by = CASES[case]
    given, more = [each[:100_000] for each in given], {} if by is None else {"by": by[:100_000]}
    expected = make().run(*given, **more)
    for after in (0.0, 0.003, 0.02):
        changed = list(given)
        changed[which] = given[which].copy()
        recalibrator = make()
        with changed_meanwhile(changed[which], 7, after):  # no score, outcome or class
            try:
                predictions = recalibrator.run(*changed, **more)
            except ValueError:  # changed before it was read
                assert recalibrator.to_bytes() == make().to_bytes()
                continue
        assert np.array_equal(predictions, expected)


FORKS = """
    import os, sys, threading, time
    from calibrant import MulticlassRecalibrator, Recalibrator

    sys.setswitchinterval(1e-5)
    recalibrators = [(Recalibrator(), 0.3), (MulticlassRecalibrator(3), [0.2, 0.3, 0.5])]
    done = False

    def work():
        turn = 0
        while not done:
            for recalibrator, score in recalibrators:
                recalibrator.predict(score, id=turn)
                recalibrator.update(turn % 2, id=turn)
            turn += 1

    thread = threading.Thread(target=work)
    thread.start()
    for fork in range(40):
        child = os.fork()
        if child == 0:
            for recalibrator, score in recalibrators:
                assert recalibrator.rounds - recalibrator.learned == recalibrator.pending
                recalibrator.predict(score, id="child")
                recalibrator.update(1, id="child")
            os._exit(0)
        for _ in range(6000):
            if (ended := os.waitpid(child, os.WNOHANG)) != (0, 0):
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            print("a child hangs"); os._exit(1)
        if ended[1]:
            print("a child failed"); os._exit(1)
    done = True
    thread.join()
"""


def test_a_child_forked_while_another_thread_predicts_by_id_goes_on():
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKS)]
    subprocess.run(program, check=True, timeout=240)
