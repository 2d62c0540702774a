"""A model server or a tool port that says our secrets back to us gets them neither shown nor stored (K5)."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.bootstrap import build
from service.config.settings import load_settings
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import JSON, WholeService
from tests.secrets import echoing
from tests.secrets.canaries import API_KEY, LLAMA_API_KEY, PASSWORD, TOOL_PORT_SECRET, TOOL_PORT_TOKEN
from tests.secrets.echoing import EchoingLlama, EchoingPort, Refuse
from tests.secrets.exempt import holds_secrets
from tests.secrets.search import canaries_in, search_folder
from tests.web.serving import BOUND_S, served_by

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.rules("K5"),
]

REFUSALS = [
    echoing.as_json,
    echoing.as_text,
    echoing.in_another_form,
    echoing.in_mid_stream,
    echoing.as_another_kind_of_answer,
]
TOOLS = ("fail", "deny", "ask", "tell", "refuse")
ABOUT_ITSELF = ("/readyz", "/livez", "/sessions", "/approvals", "/readings", "/openapi.json", "/metrics", "/nothing")
OF_A_SESSION = ("", "/messages", "/records", "/turns")


@asynccontextmanager
async def service_with_secrets(
    store: Path, llama: StrictLlama, port: EchoingPort, *, login: bool = False
) -> AsyncGenerator[WholeService]:
    """Start the service with all the secrets that it can have."""
    settings = await asyncio.to_thread(
        load_settings,
        llama_url=llama.url.replace("//", f"//ann:{PASSWORD}@") if login else llama.url,
        llama_api_key=None if login else LLAMA_API_KEY,
        tool_port_url=port.url,
        tool_port_token=TOOL_PORT_TOKEN,
        tool_port_secret=TOOL_PORT_SECRET,
        database_url=f"sqlite:///{(store / 'store.db').as_posix()}",
        retry_attempts=0,
        load_wait_ms=50,
        poll_ms=50,
    )
    async with served_by(build, settings) as served:
        served.http.headers["X-API-Key"] = API_KEY
        yield WholeService(served)


async def all_that_is_told(service: WholeService, *sessions: str) -> list[str]:
    """Give all answers, each with its headers, and what the streams of sessions have to say."""
    http = service.served.http
    paths = [*ABOUT_ITSELF, *(f"{session}{path}" for session in sessions for path in OF_A_SESSION)]
    answers = [await http.get(path) for path in paths]
    told = [f"{answer.headers} {answer.text}" for answer in answers]
    for session in sessions:
        for turn in (await http.get(f"{session}/turns")).json()["items"]:
            path = f"{session}/turns/{turn['id']}/events"
            async with http.stream("GET", path) as response, asyncio.timeout(BOUND_S):
                told.append((await response.aread()).decode() if turn["state"] == "finished" else "")
    return told


def check_nothing_leaked(folder: Path, told: list[str], printed: str) -> None:
    """Neither answers nor streams, neither the log of the program nor its files hold a secret."""
    assert {name for text in told for name in canaries_in(text.encode())} == set()
    assert canaries_in(printed.encode()) == set()
    assert [(find.path.name, find.names) for find in search_folder(folder)] == []


@pytest.mark.parametrize("login", [False, True], ids=["a key", "a login in the address"])
@pytest.mark.parametrize("refuse", REFUSALS, ids=lambda refuse: refuse.__name__)
async def test_a_model_server_that_repeats_our_key_is_not_quoted_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuse: Refuse, login: bool
) -> None:
    holds_secrets(tmp_path)  # searched here, so that a leak is told once
    llama, port = EchoingLlama(refuse), EchoingPort()
    async with llama, port, service_with_secrets(tmp_path, llama, port, login=login) as service:
        session = await service.session()
        ended = await service.turn(session)
        llama.all_else = True
        refused = await service.served.http.post("/sessions", json={"tools": {"mode": "direct"}})
        told = [str(ended), refused.text, *await all_that_is_told(service, session)]

    expected = f"Basic {b64encode(f'ann:{PASSWORD}'.encode()).decode()}" if login else f"Bearer {LLAMA_API_KEY}"
    assert llama.presented == {expected}
    assert ended["outcome"] == "failed"
    check_nothing_leaked(tmp_path, told, str(capsys.readouterr()))


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tool_port_that_repeats_our_token_is_not_quoted_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str
) -> None:
    holds_secrets(tmp_path)  # searched here, so that a leak is told once
    llama = StrictLlama(ask_for(Call(name=tool)), say("Done."))
    async with llama, EchoingPort() as port, service_with_secrets(tmp_path, llama, port) as service:
        session = await service.session()
        await service.served.http.post(f"{session}/turns", json={"content": "Hello"}, headers=JSON)
        told = await all_that_is_told(service, session)
        asked = [text.decode() for text in (asked.raw for asked in llama.asked)]

    assert port.presented == {f"Bearer {TOOL_PORT_TOKEN}"}
    check_nothing_leaked(tmp_path, [*told, *asked], str(capsys.readouterr()))
