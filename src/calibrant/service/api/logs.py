"""Structured logs: one line of JSON per event on standard error, without bodies or headers."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any

from calibrant.service.api import structlog


class Log(structlog.PrintLogger):
    """Lines on standard error, written at once; a failure to write is ignored."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def msg(self, message: str) -> None:
        """Write a line, unless nobody reads it or the disk is full."""
        with suppress(OSError):
            super().msg(message)

    debug = info = warning = error = critical = exception = msg


def set_up(level: str) -> Any:
    """Return the service's log at a level."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=Log,
    )
    return structlog.get_logger()
