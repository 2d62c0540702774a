"""How log lines look: for people on a terminal, as JSON elsewhere; never with the values of variables (K5)."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor


def configure_logs() -> None:
    """Send log lines to standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *_rendering(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _rendering() -> list[Processor]:
    # structlog's own choice would print the local variables of each frame: messages, arguments, keys.
    if sys.stderr.isatty():
        return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    without_locals = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(without_locals), structlog.processors.JSONRenderer()]


def be_silent() -> None:
    """Write no log lines: the command's own words say all that they would."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
