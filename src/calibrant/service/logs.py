"""Structured logs: a line of JSON an event, on standard error. No body and no header is logged."""

from __future__ import annotations

import logging
import sys
from typing import Any

from calibrant.service.api import structlog


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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    return structlog.get_logger()
