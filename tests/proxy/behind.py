"""A whole service behind a proxy, between a fake model server and clients with keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.browser.held_reply import BEFORE_TEXT, HeldPieces
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.fakes.certificate import Certificate, make_certificate
from tests.proxy.proxies import Proxy, Run
from tests.web.fake_keys import FakeKeys
from tests.web.serving import BOUND_S, Frame

TOKENS = ("Half ", "a word")


class HeldAnswer(HeldPieces):
    """Lets the first token of an answer out, and the rest when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.let(BEFORE_TEXT)


@dataclass
class Behind:
    """What stands there, and a client that goes through the proxy."""

    proxy: Proxy
    service: WholeService
    llama: StrictLlama
    http: httpx.AsyncClient
    certificate: Certificate
    key: dict[str, str]

    def hold(self, conversation: str) -> HeldAnswer:
        """Let the model say one token in the conversation that begins with this, and then wait."""
        held = HeldAnswer()
        self.llama.play(conversation, say(TOKENS, hold=held))
        return held

    async def session(self) -> str:
        """Make a session through the proxy and give its path."""
        created = await self.http.post("/sessions", json={})
        assert created.status_code == 201, created.text
        return created.headers["location"]

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[httpx.AsyncClient]:
        """Have a client with connections of its own."""
        async with _client(self.proxy, self.certificate, self.key) as http:
            yield http


@asynccontextmanager
async def behind(folder: Path, run: Run, *, keys: FakeKeys | None) -> AsyncGenerator[Behind]:
    """Start it all; without keys the service serves this machine alone."""
    certificate = make_certificate(folder)
    key = keys.add("behind") if keys is not None else {}
    async with AsyncExitStack() as stack:
        llama = await stack.enter_async_context(StrictLlama(say("Hello.")))
        service = await stack.enter_async_context(service_over(folder, llama, keys=keys))
        service.served.http.headers.update(key)
        proxy = await stack.enter_async_context(run(folder, certificate, service.served.port))
        http = await stack.enter_async_context(_client(proxy, certificate, key))
        yield Behind(proxy, service, llama, http, certificate, key)
    assert llama.refusals == []


async def text_in(frames: AsyncIterator[Frame]) -> str:
    """Read until a piece of the answer comes, and give it."""
    async with asyncio.timeout(BOUND_S):
        async for frame in frames:
            if frame.field("event") == "content":
                return frame.data["text"]
    raise AssertionError("the stream has ended without a piece of text")


def _client(proxy: Proxy, certificate: Certificate, key: dict[str, str]) -> httpx.AsyncClient:
    trust = certificate.trusted()
    return httpx.AsyncClient(base_url=proxy.url, verify=trust, headers=key, timeout=BOUND_S, trust_env=False)
