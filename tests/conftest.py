"""How the tests are shared out among processes, when there are several; and Ctrl-C in them."""

import os
import signal
from pathlib import Path

# GNU readline, in the process that starts the others, tells them how wide its terminal is; rich
# would believe it before a test can say otherwise.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


def pytest_configure():
    # A shell lets what it starts in the background ignore Ctrl-C, and children inherit that: the
    # programs that tests interrupt would run on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    # What is about the whole house takes longest, and goes first, so that none waits for it alone.
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)
