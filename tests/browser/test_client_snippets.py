"""The JavaScript of `docs/howto/call-it-from-code.md` in a browser, on a page that comes from elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.browser.chromium import browser_running
from tests.cases.http_fake import Exchange, HttpFake
from tests.cli.breaking_proxy import breaking_proxy
from tests.cli.client_snippets import SNIPPETS
from tests.cli.hesitant_llama import FIRST, LOOKS, REST, HesitantLlama
from tests.fakes.house import House
from tests.fakes.tool_port import TablePort, spec
from tests.web.serving import settings_with
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "K1"), pytest.mark.timeout(180)]

FOLLOW = """
async (turnUrl) => {
  const { follow } = await import("/resume.mjs");
  window.shown = "";
  window.ended = follow(turnUrl, (text) => { window.shown += text; });
}
"""


async def give(exchange: Exchange) -> None:
    """Answer with a file of the snippets, or with an empty page."""
    file = SNIPPETS / Path(exchange.path).name
    is_module = file.suffix == ".mjs"
    kind = "text/javascript" if is_module else "text/html"
    body = await asyncio.to_thread(file.read_bytes) if is_module else b"<title>Elsewhere</title>"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    await exchange.raw(head.encode() + body)


async def test_a_page_follows_a_turn_over_connections_that_are_cut() -> None:
    llama = HesitantLlama()
    house = House(llama, TablePort(spec("look")))
    async with (
        browser_running() as browser,
        HttpFake(give) as elsewhere,
        served_house(house, settings=settings_with(allowed_origins=[elsewhere.url])) as service,
        breaking_proxy(service.port, b'"type":"user"', b'"type":"partial"') as proxy,
    ):
        page = await browser.new_page()
        await page.goto(elsewhere.url)
        session = await house.session()
        await page.evaluate(FOLLOW, f"{proxy.url}/sessions/{session}/turns/{await house.start(session)}")
        await page.wait_for_function("(text) => window.shown === text", arg=LOOKS + FIRST)
        proxy.cut()
        llama.goes_on.set()

        assert await page.evaluate("() => window.ended") == "answered"
        assert await page.evaluate("() => window.shown") == LOOKS + FIRST + REST
        assert proxy.marks == []
