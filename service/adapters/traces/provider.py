"""Keeps and sends spans: over OTLP and HTTP to one collector, beside the turns.

Below: OpenTelemetry's SDK and exporter. They send in a thread of their own, keep no more than a queue holds, and drop
what a collector that is away does not take. Headers, a certificate and what the resource is called are the SDK's own
variables (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and their kin); where spans go is for our settings alone to
say (K4).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Thread
from urllib.parse import urlsplit

import requests  # noqa: TID251 - the exporter's client, to which nothing but its session can be given
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from service import __version__
from service.adapters.traces import names
from service.adapters.traces.own_ids import OwnIds
from service.adapters.traces.tracer import OpenTelemetryTracer

NAME = "turnkeeper"

END_WITHIN_S = 5.0
"""What is left in the queue at the end gets so long; a collector that hangs holds up no stop."""

_UNNAMED = "unknown_service"
_USUAL_PATH = "/v1/traces"


def collector_address(url: str) -> str:
    """Give where spans are sent: an address without a path gets the usual one."""
    return url.rstrip("/") + _USUAL_PATH if urlsplit(url).path in ("", "/") else url


@asynccontextmanager
async def traces_to(url: str, llama_url: str, *, share: float, content: bool) -> AsyncGenerator[OpenTelemetryTracer]:
    """Give a tracer whose spans go to the collector at `url`; at the end, send what is left."""
    # The library starts threads, waits for them and reads files, which is nothing for the loop.
    exporter = await asyncio.to_thread(_exporter_to, collector_address(url))
    processor = await asyncio.to_thread(BatchSpanProcessor, exporter)
    async with traces_by(processor, llama_url, share=share, content=content, give_up=exporter.shutdown) as tracer:
        yield tracer


@asynccontextmanager
async def traces_by(
    processor: SpanProcessor,
    llama_url: str,
    *,
    share: float,
    content: bool,
    give_up: Callable[[], None] = lambda: None,
) -> AsyncGenerator[OpenTelemetryTracer]:
    """Give a tracer whose spans go to `processor`, which is shut down at the end.

    `share` of the traces that begin here are kept; those that began elsewhere are kept if they are there. `give_up`
    is called where the end takes too long.
    """
    ids = OwnIds()
    provider = await asyncio.to_thread(_provider, processor, ids, share)
    tracer = provider.get_tracer(NAME, __version__, schema_url=names.SCHEMA_URL)
    try:
        yield OpenTelemetryTracer(tracer, ids, server=_server(llama_url), content=content)
    finally:
        await _shut_down(provider, give_up)


def _exporter_to(address: str) -> OTLPSpanExporter:
    session = requests.Session()
    # Neither proxies nor logins of the environment (K4).
    session.trust_env = False
    return OTLPSpanExporter(endpoint=address, session=session)


def _provider(processor: SpanProcessor, ids: OwnIds, share: float) -> TracerProvider:
    provider = TracerProvider(
        sampler=ParentBasedTraceIdRatio(share), resource=_resource(), id_generator=ids, shutdown_on_exit=False
    )
    provider.add_span_processor(processor)
    return provider


def _resource() -> Resource:
    found = Resource.create({SERVICE_VERSION: __version__})
    if str(found.attributes.get(SERVICE_NAME, _UNNAMED)).startswith(_UNNAMED):
        found = found.merge(Resource({SERVICE_NAME: NAME}))
    return found


def _server(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


async def _shut_down(provider: TracerProvider, give_up: Callable[[], None]) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()

    def shut_down() -> None:
        provider.shutdown()
        # Nobody waits any more where the bound was over first, and the loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    # No thread of the loop's: the loop's end would wait for it.
    Thread(target=shut_down, name="last spans", daemon=True).start()
    try:
        async with asyncio.timeout(END_WITHIN_S):
            await ended.wait()
    except TimeoutError:
        # It would try the collector again, and again.
        give_up()
