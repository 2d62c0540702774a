"""How log lines look: for people on a terminal, as JSON elsewhere; never with the values of variables (K5).

Lines of libraries, such as uvicorn's, look as ours do. A line of ours has the session and the turn, or the reading,
in which it was written, where there is one.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from service.cli.repeated_lines import RepeatedLines

_TIME = structlog.processors.TimeStamper(fmt="iso", utc=True)


def configure_logs(stream: TextIO | None = None) -> None:
    """Send log lines to standard error, or to this stream."""
    out = stream or sys.stderr
    rendering = _rendering(out)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            RepeatedLines(),
            structlog.processors.add_log_level,
            _TIME,
            _in_order,
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    _take_lines_of_libraries(out, rendering)


class _LinesOfLibraries(logging.StreamHandler[TextIO]):
    """Writes what libraries log, of which only warnings and worse."""


def _take_lines_of_libraries(stream: TextIO, rendering: list[Processor]) -> None:
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, _LinesOfLibraries):
            root.removeHandler(handler)
    handler = _LinesOfLibraries(stream)
    handler.setLevel(logging.WARNING)
    handler.addFilter(RepeatedLines())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.processors.add_log_level, _TIME],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _in_order, *rendering],
        )
    )
    root.addHandler(handler)


def _rendering(stream: TextIO) -> list[Processor]:
    # structlog's own choice would print the local variables of each frame: messages, arguments, keys.
    if stream.isatty():
        return [structlog.dev.ConsoleRenderer(sort_keys=False, exception_formatter=structlog.dev.plain_traceback)]
    without_locals = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(without_locals), _as_json]


def _in_order(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
    """Put first what each line has."""
    pop = line.pop
    return {"timestamp": pop("timestamp"), "level": pop("level"), "event": pop("event"), **line}


def _as_json(logger: WrappedLogger, method: str, line: EventDict) -> str:
    return _ENCODER.encode(line)


# ASCII only, so that nothing in a line turns its text around or ends it. structlog's own way makes an encoder for each
# line, and each turn has one.
_ENCODER = json.JSONEncoder(default=repr)


def be_silent() -> None:
    """Write no log lines: the command's own words say all that they would."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
