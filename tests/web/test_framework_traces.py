"""The web framework has traces, metrics and logs of its own, with what callers send; none of them leaves (K4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BOUND_S = 60

# A process of its own: providers are set once in a process's life.
_ASK_ONCE = """\
import asyncio, json, os, sys

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from service.example_port.app import create_app as example_port
from service.mcp_port.app import create_app as mcp_port
from service.web.app import create_app
from tests.web.fakes import FakeApplication
from tests.web.serving import settings_with


async def ask(app, path):
    async with app.router.lifespan_context(app) as state:
        async def stated(scope, receive, send):
            await app({**scope, "state": dict(state or {})}, receive, send)

        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(stated), base_url="http://localhost:8000", trust_env=False
        ) as http:
            return (await http.get(path)).status_code


async def start(app):
    # What the framework does when a server starts it.
    received, sent = asyncio.Queue(), asyncio.Queue()
    received.put_nowait({"type": "lifespan.startup"})
    received.put_nowait({"type": "lifespan.shutdown"})
    await app({"type": "lifespan", "asgi": {}, "state": {}}, received.get, sent.put)
    return [sent.get_nowait()["type"] for _ in range(sent.qsize())]


async def main():
    def apps():
        return [create_app(settings_with(), FakeApplication().build), example_port(), mcp_port([])]

    started = [await start(app) for app in apps()]
    set_by_it = type(trace.get_tracer_provider()).__name__ == "TracerProvider"
    if not set_by_it:
        provider, exporter = TracerProvider(), InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
    statuses = [await ask(app, path) for app, path in zip(apps(), ("/sessions", "/tools", "/tools"))]
    spans = [] if set_by_it else [span.name for span in exporter.get_finished_spans()]
    print(json.dumps({"started": started, "set_by_it": set_by_it, "statuses": statuses, "spans": spans}))


asyncio.run(main())
"""


@pytest.mark.rules("K4")
def test_what_the_environment_sets_up_for_the_framework_gets_nothing_of_the_service_or_a_port() -> None:
    environment = {
        **os.environ,
        "FASTAPI_OTEL_AUTO_CONFIGURE": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
    }

    ended = subprocess.run(
        [sys.executable, "-c", _ASK_ONCE],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told == {
        "started": [["lifespan.startup.complete", "lifespan.shutdown.complete"]] * 3,
        "set_by_it": False,
        "statuses": [200, 200, 200],
        "spans": [],
    }
