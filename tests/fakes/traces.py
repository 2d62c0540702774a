"""Spans that stay in memory, and what tests want to know of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from service.adapters.traces.provider import traces_by
from service.adapters.traces.tracer import OpenTelemetryTracer

Attributes = dict[str, Any]

BOUND_S = 20.0


class _Told(SimpleSpanProcessor):
    """Keeps each span at once, and tells whoever waits for one."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        super().__init__(exporter)
        self.come = asyncio.Event()

    def on_end(self, span: ReadableSpan) -> None:
        super().on_end(span)
        self.come.set()


class Spans:
    """What was kept, in the order in which it ended."""

    def __init__(self, tracer: OpenTelemetryTracer, exporter: InMemorySpanExporter, told: _Told) -> None:
        self.tracer = tracer
        self._exporter = exporter
        self._told = told

    async def ended(self, operation: str, times: int = 1) -> None:
        """Wait until so many spans of an operation have ended."""
        async with asyncio.timeout(BOUND_S):
            while len(self.of(operation)) < times:
                self._told.come.clear()
                await self._told.come.wait()

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def of(self, operation: str) -> list[ReadableSpan]:
        """Give the spans of an operation, or of one span of ours without one."""
        return [span for span in self.all if span.name.split(" ")[0] == operation]

    def one(self, operation: str) -> ReadableSpan:
        (span,) = self.of(operation)
        return span

    def tree(self) -> list[str]:
        """Give the names, below their parents by two blanks each, in the order of their beginnings."""
        known = {span_id(span): span for span in self.all}
        below: dict[str | None, list[ReadableSpan]] = {}
        for span in sorted(self.all, key=lambda span: span.start_time or 0):
            parent = parent_id(span)
            below.setdefault(parent if parent in known else None, []).append(span)

        def lines(parent: str | None, depth: int) -> list[str]:
            return [
                line
                for span in below.get(parent, [])
                for line in ["  " * depth + span.name, *lines(span_id(span), depth + 1)]
            ]

        return lines(None, 0)


@asynccontextmanager
async def spans_in_memory(*, share: float = 1.0, content: bool = False) -> AsyncGenerator[Spans]:
    """Keep spans in memory; llama-server is said to be at model.test."""
    exporter = InMemorySpanExporter()
    told = _Told(exporter)
    async with traces_by(told, "http://model.test:8080", share=share, content=content) as tracer:
        yield Spans(tracer, exporter, told)


def attributes_of(span: ReadableSpan) -> Attributes:
    """Give the attributes of a span."""
    return dict(span.attributes or {})


def json_of(span: ReadableSpan, name: str) -> Any:
    """Give an attribute that is a JSON text."""
    return json.loads(attributes_of(span)[name])


def trace_id(span: ReadableSpan) -> str:
    """Give the id of the span's trace, as headers have it."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def span_id(span: ReadableSpan) -> str:
    """Give the id of the span, as headers have it."""
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def parent_id(span: ReadableSpan) -> str | None:
    """Give the id of the span above, as headers have it."""
    return None if span.parent is None else f"{span.parent.span_id:016x}"


def failed(span: ReadableSpan) -> bool:
    """Say whether the span ended in an error."""
    return span.status.status_code is StatusCode.ERROR
