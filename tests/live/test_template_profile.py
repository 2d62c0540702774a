"""The template profile, learnt from a real llama-server, and what happens when another one takes its place."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from service.adapters.llama import LlamaHttp, build_llama_client
from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from tests.live.client import Client, named
from tests.live.processes import TEMPLATES, free_port, llama_server, service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

SHORT = {"max_tokens": 16, "thinking_tokens": 16}


async def profile_at(address: str) -> TemplateProfile:
    async with build_llama_client(address, None) as client:
        return (await LlamaHttp(client).facts()).template


@pytest.mark.rules("L10")
async def test_the_profiles_of_two_templates_are_what_the_templates_are(
    thinking_llama: str, wrapped_llama: str
) -> None:
    drops = await profile_at(thinking_llama)
    plain = await profile_at(wrapped_llama)

    assert drops == TemplateProfile(
        hash=drops.hash, tools=True, parallel=True, thinking_off="tail", keeps_steps=True, keeps_turns=False
    )
    assert plain == TemplateProfile(
        hash=plain.hash, tools=True, parallel=True, thinking_off="none", keeps_steps=True, keeps_turns=True
    )


@pytest.mark.rules("L10")
async def test_a_server_that_comes_back_with_another_template_is_noticed_and_the_session_goes_on(
    tool_port_url: str, folder: Path, http: httpx.AsyncClient
) -> None:
    port = free_port()
    with ExitStack() as first:
        llama = first.enter_context(llama_server(TEMPLATES / "chatml-think-drop.jinja", folder, port=port))
        with service(llama, tool_port_url, folder) as address:
            client = Client(address, http)
            session = await client.session(tools={"names": []}, limits=SHORT)
            before = await readiness(client)
            await client.turn(session, content="Say hello.")
            first.close()
            away = await readiness(client)
            with llama_server(TEMPLATES / "chatml-tools-wrapped.jinja", folder, port=port):
                frames = await client.turn(session, content="Say hello again.")
                after = await readiness(client)
            made_with = (await client.get(f"/sessions/{session}"))["baseline"]["template"]
            logged = (folder / f"{httpx.URL(address).port}.log").read_text()

    assert named(frames, "turn_finished")[0]["outcome"] == "answered"
    assert "each new message evaluates the last turn again" in before["message"]
    assert (before["ok"], away["ok"], after["ok"]) == (True, False, True)
    assert "no switch for thinking" in after["message"]
    assert logged.count("llama_server.template_changed") == 1
    assert made_with["thinking_off"] == "tail"


async def readiness(client: Client) -> JsonObject:
    checks = (await client.http.get(f"{client.address}/readyz")).json()["checks"]
    return next(check for check in checks if check["name"] == "llama_server")
