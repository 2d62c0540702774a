"""The HTTP application: `GET /tools`, `POST /calls`, `GET /healthz`.

Above: `__main__`, tests. Below, in the order of a call: `port_wire` reads it and checks who wrote it,
`answer_memory.py` lets it run once, `tools.py` runs it, `answers.py` of `port_wire` writes what came out.
"""

import logging
from collections.abc import Sequence

from fastapi import FastAPI, Request, Response

from service.example_port.answer_memory import AnswerMemory
from service.example_port.calculator import calculator_tools
from service.example_port.clock import clock_tools
from service.example_port.notes import note_tools
from service.example_port.text_search import text_search_tools
from service.example_port.tools import Call, Registry, Tool
from service.example_port.weather import weather_tools
from service.port_wire.answers import Failed, to_bytes, to_wire
from service.port_wire.endpoints import json_answer, port_app
from service.port_wire.incoming import CallRequest
from service.port_wire.signatures import Signatures

_log = logging.getLogger(__name__)


def example_tools() -> tuple[Tool, ...]:
    """Give all tools of the example port, with a new store of notes."""
    return (*weather_tools(), *calculator_tools(), *note_tools(), *clock_tools(), *text_search_tools())


def create_app(
    tools: Sequence[Tool] | None = None,
    *,
    token: str | None = None,
    signatures: Signatures | None = None,
    memory: AnswerMemory | None = None,
) -> FastAPI:
    """Build the app over some tools (else the example's), open to all callers without token and signatures (X5)."""
    registry = Registry(example_tools() if tools is None else tools)
    answers = memory or AnswerMemory()

    async def list_tools() -> bytes:
        return to_bytes({"tools": registry.specs()})

    async def run_call(_: Request, asked: CallRequest, key: str | None) -> Response:
        if key is None:
            return json_answer(await _run(registry, _to_call(asked)))
        return json_answer(await answers.answer(key, asked.fingerprint(), lambda: _run(registry, _to_call(asked))))

    return port_app("Example tool port", list_tools, run_call, token=token, signatures=signatures)


def _to_call(asked: CallRequest) -> Call:
    return Call(tool=asked.tool, arguments=asked.arguments, approved=asked.approval is not None)


async def _run(registry: Registry, call: Call) -> bytes:
    wire = to_wire(await registry.run(call))
    # The name comes from outside: quoted, so that it cannot fake a line of the log.
    _log.info("%r: %s", call.tool, wire["status"])
    try:
        return to_bytes(wire)
    except (TypeError, ValueError):
        _log.exception("tool %r gave what JSON cannot hold", call.tool)
        return to_bytes(to_wire(Failed(message="the tool's answer can't be written as JSON")))
