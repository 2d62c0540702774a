"""The whole service before the example port that verifies what it gets: with its secret, and with another one."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from service.example_port.app import create_app
from service.port_wire.signatures import Signatures
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start
from tests.example_port.port_client import served

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4", "K5")]

BOUND_S = 20
ASK_WEATHER = ask_for(Call(name="get_weather", arguments='{"city": "Paris"}'))


def secret_of(word: str) -> str:
    return f"whsec_{base64.b64encode((word * 5).encode()).decode()}"


SHARED, OTHER = secret_of("canary-1"), secret_of("canary-2")


async def test_the_example_port_runs_what_the_service_signed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asyncio.timeout(BOUND_S), served(create_app(signatures=Signatures(SHARED))) as port:
        monkeypatch.setenv("TURNKEEPER_TOOL_PORT_URL", str(port.http.base_url))
        service = await start(StrictLlama(ASK_WEATHER, say("It is sunny.")), None, tool_port_secret=SHARED)
        session = await service.session()
        turn = await service.turn(session)
        (result,) = await service.records(session, "tool_result")

    assert (turn["outcome"], turn["content"]) == ("answered", "It is sunny.")
    assert (result["status"], result["content"]) == ("ok", "18 degrees, sunny")


async def test_with_another_secret_it_runs_nothing_and_nobody_is_told_a_secret(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(signatures=Signatures(SHARED))
    async with asyncio.timeout(BOUND_S), served(app) as port:
        monkeypatch.setenv("TURNKEEPER_TOOL_PORT_URL", str(port.http.base_url))
        service = await start(StrictLlama(say("Hello.")), None, tool_port_secret=OTHER)
        refused = await service.served.http.post("/sessions", json={})
        ready = await service.served.http.get("/readyz")

    assert (refused.status_code, refused.json()["code"]) == (503, "tool_port_unavailable")
    told = refused.text + ready.text
    assert told.count("refuses our token or signature (HTTP 401)") == 2
    assert not [shown for shown in (SHARED, OTHER, "canary") if shown in told or shown.removeprefix("whsec_") in told]


async def test_a_port_that_changes_its_secret_fails_the_calls_of_a_session_shortly(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    signatures = Signatures(SHARED)
    async with asyncio.timeout(BOUND_S), served(create_app(signatures=signatures)) as port:
        monkeypatch.setenv("TURNKEEPER_TOOL_PORT_URL", str(port.http.base_url))
        service = await start(StrictLlama(ASK_WEATHER, say("It did not work.")), None, tool_port_secret=SHARED)
        session = await service.session()
        changed = Signatures(OTHER)
        monkeypatch.setattr(signatures, "check", changed.check)
        turn = await service.turn(session)
        records = await service.records(session)

    assert turn["content"] == "It did not work."
    (result,) = [record for record in records if record["type"] == "tool_result"]
    assert result["status"] == "failed"
    assert "the tool port refuses our token or signature (HTTP 401)" in result["content"]
    assert len(result["content"]) < 120
    assert not [shown for shown in (SHARED, OTHER) if shown.removeprefix("whsec_") in json.dumps(records)]
