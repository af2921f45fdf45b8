"""The service's own log, and what becomes of it when nobody reads."""

import contextlib
import json
import os

from calibrant.service.api.logs import set_up


@contextlib.contextmanager
def read_stderr():
    """Put a pipe in the place of standard error; give the end that is read."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as lines:
        stderr = os.fdopen(writing, "w", encoding="utf-8", buffering=1)
        with contextlib.redirect_stderr(stderr):
            yield lines
        with contextlib.suppress(BrokenPipeError):  # what nobody read is still in the buffer
            stderr.close()


def test_a_line_is_json_and_below_the_level_there_is_none():
    with read_stderr() as lines:
        log = set_up("warning")
        log.info("no")
        log.warning("yes", detail="d")
        line = json.loads(lines.readline())
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "yes", "level": "warning", "detail": "d"}


def test_an_error_that_nobody_reads_does_not_fail_the_request_that_met_it():
    with read_stderr() as lines:
        log = set_up("info")
        lines.close()
        log.error("store failed")
        try:
            raise KeyError("k")
        except KeyError:
            log.exception("request failed")
