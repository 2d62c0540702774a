"""The log of the process as `serve` writes it where no terminal is: lines of JSON, here kept in memory."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import structlog

from service.cli.logs import configure_logs


class WrittenLog(io.StringIO):
    """What was written."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All lines so far."""
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        """The lines of one event."""
        return [line for line in self.lines if line["event"] == event]


@contextmanager
def written_logs() -> Generator[WrittenLog]:
    """Have log lines written as a service does, and give them."""
    before, handlers = structlog.get_config(), logging.getLogger().handlers[:]
    written = WrittenLog()
    configure_logs(written)
    # Loggers that remember their configuration would go on writing here in later tests.
    structlog.configure(cache_logger_on_first_use=False)
    try:
        yield written
    finally:
        structlog.configure(**before)
        logging.getLogger().handlers[:] = handlers
