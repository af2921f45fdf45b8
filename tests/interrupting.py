"""What may happen to a run from outside: Ctrl-C, and another thread that changes its input."""

import signal
import threading
import time
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(after):
    """Require that the body is interrupted, as by Ctrl-C, that many seconds from now."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
