"""Requests made from the API's own description, to the real service: no mistake of ours, and each answer ends (H2)."""

# pyright: basic
# The types that schemathesis gives its own classes are partly unknown.

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
import schemathesis
import uvicorn
from hypothesis import settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from structlog.testing import capture_logs

from service.bootstrap import build
from service.web.app import create_app
from service.web.connection_bounds import bounds_of
from service.web.connections import bounded_connections
from service.web.openapi import openapi_document
from tests.web.serving import BOUND_S, settings_with

# Of a session or of all these go on for ever.
ENDLESS = ["/sessions/{session}/events", "/events"]
SCHEMA = schemathesis.openapi.from_dict(openapi_document()).exclude(path=ENDLESS)
DECLARED = 503
# What is here depends on what was made before, which the description can't know; and in a form all is text.
UNFIT = [not_a_server_error, negative_data_rejection, positive_data_acceptance]


@dataclass
class Running:
    """The service, and something to ask for."""

    address: str
    session: str
    turn: str


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """The service over its own store, in a thread; there is no model server, so that turns fail at once."""
    values = settings_with(
        database_url="memory:", llama_url="http://127.0.0.1:9", load_wait_ms=50, poll_ms=50, connect_ms=500
    )
    config = uvicorn.Config(
        create_app(values, build),
        http=bounded_connections(bounds_of(values)),
        log_level="error",
        ws="none",
        lifespan="on",
    )
    server, listener = uvicorn.Server(config), Listener()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    with socket.create_server(("127.0.0.1", 0)) as listening, capture_logs() as lines:
        serving = threading.Thread(target=server.run, args=([listening],), name="uvicorn")
        serving.start()
        for logger in loggers:
            logger.addHandler(listener)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        yield asyncio.run(_made(address))
        for logger in loggers:
            logger.removeHandler(listener)
        server.should_exit = True
        serving.join(BOUND_S)
    assert not serving.is_alive()
    assert listener.said == []
    assert [line for line in lines if line["log_level"] in ("error", "critical") or line.get("exc_info")] == []


class Listener(logging.Handler):
    """Keeps what is an error in the server's log: a traceback above all."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {record.exc_info}")


async def _made(address: str) -> Running:
    async with httpx.AsyncClient(base_url=address, timeout=BOUND_S, trust_env=False) as http:
        session = (await http.post("/sessions", json={})).json()["id"]
        turn = await http.post(
            f"/sessions/{session}/turns", json={"content": "Hi"}, headers={"Prefer": "respond-async"}
        )
    return Running(address, session, turn.json()["id"])


@pytest.mark.rules("H2")
@pytest.mark.timeout(120)
@SCHEMA.parametrize()
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_real_service_answers_each_request_as_described(case: schemathesis.Case, service: Running) -> None:
    # The session stays: what is asked of it would be not found else.
    if case.method != "DELETE":
        known = {"session": service.session, "turn": service.turn}
        case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
    answer = case.call_and_validate(
        base_url=service.address, headers={"Host": "localhost"}, timeout=BOUND_S, excluded_checks=UNFIT
    )

    assert answer.status_code < 500 or answer.status_code == DECLARED
