"""How the tests are distributed over processes, which of them are slow, and Ctrl-C in them."""

import os
import signal
from pathlib import Path

import pytest

#: A test that asks for one of these is slow: a Spark session, a database server, a browser, a
#: cluster, a built wheel, the built documentation.
SLOW_FIXTURES = {"java", "spark", "databases", "browser", "cluster", "wheel", "site"}

# GNU readline, in the process that starts the others, tells them how wide its terminal is; rich
# would believe it before a test can say otherwise.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


def pytest_configure():
    # A shell lets what it starts in the background ignore Ctrl-C, and children inherit that: the
    # programs that tests interrupt would run on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave empty what pages draw, which takes seconds: tests/report looks at figures."""
    empty = '<svg role="img" aria-label="{1}" id="{0}"></svg>'.format
    monkeypatch.setattr("calibrant.report.page.inline_svg", lambda _, name, alt: empty(name, alt))


def pytest_addoption(parser):
    message = "run one case of each test, and none that is marked slow or long"
    parser.addoption("--quick", action="store_true", help=message)


def pytest_collection_modifyitems(config, items):
    # Tests of the whole package take longest and run first, so that no process waits for them
    # alone.
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)
    for item in items:
        if SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    if config.getoption("quick"):
        quick = [item for item in items if is_quick(item)]
        chosen = {*{item.nodeid.partition("[")[0]: item for item in reversed(quick)}.values()}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in quick if item in chosen]


def is_quick(item):
    return not any(mark.name in ("slow", "long") for mark in item.iter_markers())
