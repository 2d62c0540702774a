"""Ids of traces that begin here: a turn's trace has an id that follows from the turn's, so restarts stay in it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from service.core.trace_context import own_context


class OwnIds(RandomIdGenerator):
    """Random ids, but for the trace of a turn or a reading that is just being begun."""

    def __init__(self) -> None:
        self._trace_id: int | None = None

    @contextmanager
    def of(self, work: str) -> Generator[None]:
        """Let a trace that begins meanwhile be that of this work; nothing may be awaited in it."""
        self._trace_id = int(own_context(work).trace_id, 16)
        try:
            yield
        finally:
            self._trace_id = None

    def generate_trace_id(self) -> int:
        """Give the next trace's id."""
        return super().generate_trace_id() if self._trace_id is None else self._trace_id
